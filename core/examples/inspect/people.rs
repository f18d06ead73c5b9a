//! The report for people.

use crate::args::Input;
use crate::report::Report;
use crate::text::{WIDTH, field, line, number, size, tally};
use crate::{context, findings, tree};
use xcsh_session::{CURRENT_SESSION_VERSION, Result, Session};

/// Types of entries that are listed.
const TYPES: usize = 20;

pub(crate) fn show(session: &Session, report: &Report, input: &Input) -> Result<String> {
    let mut out = String::new();
    header(&mut out, session, input);
    heading(&mut out, &format!("Entries: {}", number(session.len() as f64)));
    if !session.is_empty() {
        field(&mut out, "by type", &tally(&report.types, TYPES));
    }
    heading(&mut out, "Tree");
    tree::show(&mut out, session, report.leaf.as_deref())?;
    heading(&mut out, &format!("Context: {}", context::summary(report)));
    context::show(&mut out, report);
    heading(&mut out, "Usage");
    usage(&mut out, session);
    heading(&mut out, "Diagnostics");
    findings::show(&mut out, &report.diagnostics);
    Ok(out)
}

fn heading(out: &mut String, text: &str) {
    out.push('\n');
    out.push_str(text);
    out.push('\n');
}

fn header(out: &mut String, session: &Session, input: &Input) {
    let header = session.header();
    let value = |text: &str| line(text, WIDTH - 14);
    out.push_str(&format!("Session {}\n", line(&header.id(), WIDTH - 8)));
    let mut set = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            field(out, name, &[value]);
        }
    };
    let path = session.path().display().to_string();
    set("file", Some(value(&path)));
    match input {
        Input::Sample => set("", Some("the sample session of the project, as no FILE was named".to_owned())),
        Input::File(path) => set("size", path.metadata().ok().map(|file| size(file.len()))),
    }
    let version = session.file_version();
    let shown = if session.is_migrated() {
        format!(", shown as version {CURRENT_SESSION_VERSION}")
    } else if version.parse::<f64>().is_ok_and(|version| version <= f64::from(CURRENT_SESSION_VERSION)) {
        String::new()
    } else {
        ", which this library does not know".to_owned()
    };
    set("version", Some(value(&format!("{version}{shown}"))));
    let source = header.title_source().map_or("", |source| source.name());
    let source = if source.is_empty() { String::new() } else { format!(" ({source})") };
    let title = session.title().map(|title| line(&title, WIDTH - 14 - source.len()) + &source);
    set("title", title);
    set("cwd", header.cwd().map(|cwd| value(&cwd)));
    set("started", header.timestamp().map(|time| value(&time)));
    set("parent", header.parent_session().map(|parent| value(&parent)));
}

fn usage(out: &mut String, session: &Session) {
    let usage = session.usage();
    let tokens = [
        (usage.input, "sent"),
        (usage.output, "received"),
        (usage.cache_read, "read from the cache"),
        (usage.cache_write, "written to the cache"),
    ];
    let tokens = tokens.map(|(tokens, what)| format!("{} {what}", number(tokens)));
    field(out, "tokens", &tokens);
    if usage.premium_requests != 0.0 {
        field(out, "requests", &[format!("{} premium", number(usage.premium_requests))]);
    }
    field(out, "cost", &[cost(usage.cost)]);
}

/// Cents, and of small sums hundredths of cents.
fn cost(dollars: f64) -> String {
    if dollars.abs() < 1.0 {
        return format!("${dollars:.4}");
    }
    let rounded = format!("{dollars:.2}");
    let (whole, cents) = rounded.split_once('.').unwrap_or((&rounded, "00"));
    format!("${}.{cents}", number(whole.parse().unwrap_or(dollars)))
}
