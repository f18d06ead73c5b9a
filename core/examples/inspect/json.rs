//! The report as one JSON object.

use crate::report::Report;
use crate::text::is_safe;
use serde_json::{Map, Number, Value, json};
use std::fmt::Write;
use xcsh_session::{Result, Session};

pub(crate) fn of(session: &Session, report: &Report) -> Result<String> {
    let header = session.header();
    // Only a header of no version that there is has something here that serde_json does not take.
    let version = serde_json::from_str(&session.file_version()).unwrap_or(Value::Null);
    let mut object = Map::new();
    let mut set = |name: &str, value: Value| object.insert(name.to_owned(), value);
    set("version", version);
    set("id", json!(header.id()));
    set("cwd", json!(header.cwd()));
    if let Some(title) = session.title() {
        set("title", json!(title));
    }
    set("entries", json!(session.len()));
    set("types", counts(&report.types));
    set("branch", json!(report.branch));
    set("leaf", json!(report.leaf));
    set("contextMessages", json!(report.plan.messages.len()));
    set("roles", counts(&report.roles));
    set("thinkingLevel", json!(report.plan.thinking_level));
    set("mode", json!(report.plan.mode));
    set("usage", usage(session));
    set("models", report.plan.models.iter().map(|(role, model)| (role.clone(), json!(model))).collect());
    set("diagnostics", json!(report.diagnostics));
    Ok(safe(&format!("{:#}\n", Value::Object(object))))
}

fn counts(counts: &[(String, usize)]) -> Value {
    counts.iter().map(|(name, count)| (name.clone(), json!(count))).collect()
}

/// Whole numbers without a fraction, as JavaScript writes them.
fn usage(session: &Session) -> Value {
    let mut sums = json!(session.usage());
    for sum in sums.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Some(number) = sum.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15) {
            *sum = Value::Number(Number::from(number as i64));
        }
    }
    sums
}

/// JSON has to escape control characters below U+0020 only; a terminal acts on more. Outside of strings there are none.
fn safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || is_safe(c) {
            out.push(c);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
    }
    out
}
