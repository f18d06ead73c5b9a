//! The context that would go to the model.

use crate::report::{Message, Report};
use crate::text::{WIDTH, columns, count, field, line, pad, size, tally};

/// Names that are listed of a long list.
const NAMES: usize = 12;

pub(crate) fn summary(report: &Report) -> String {
    format!("{}, {}", count(report.plan.messages.len(), "message", "messages"), size(report.bytes))
}

pub(crate) fn show(out: &mut String, report: &Report) {
    let plan = &report.plan;
    let models = plan.models.iter().map(|(role, model)| match role.as_str() {
        "default" => line(model, 70),
        role => format!("{} for {}", line(model, 60), line(role, 20)),
    });
    field(out, "models", &or_none(models.collect()));
    field(out, "thinking", &[line(&plan.thinking_level, 40)]);
    field(out, "mode", &[line(&plan.mode, 40)]);
    let text = |text: &Option<String>| text.as_ref().map(|text| line(text, WIDTH - 14));
    let others = [
        ("tier", text(&plan.service_tier)),
        ("context", text(&plan.active_context_name)),
        ("tenant", text(&plan.active_context_tenant)),
    ];
    for (name, value) in others {
        if let Some(value) = value {
            field(out, name, &[value]);
        }
    }
    if !plan.injected_ttsr_rules.is_empty() {
        field(out, "rules", &names(&plan.injected_ttsr_rules));
    }
    if plan.has_persisted_mcp_tool_selection {
        field(out, "MCP tools", &or_none(names(&plan.selected_mcp_tool_names)));
    }
    if !plan.messages.is_empty() {
        field(out, "roles", &tally(&report.roles, NAMES));
        messages(out, report);
    }
}

fn messages(out: &mut String, report: &Report) {
    let all = report.first.iter().chain(&report.last);
    let name_columns = all.map(|message| columns(&line(&message.words.name, 20))).max().unwrap_or(0);
    let digits = report.plan.messages.len().to_string().len();
    let row = |number: usize, message: &Message| {
        let name = pad(&line(&message.words.name, 20), name_columns);
        let start = format!("  {number:>digits$}  {name}  {:>8}  ", size(message.bytes));
        let text = line(&message.words.text, WIDTH - columns(&start));
        format!("{start}{text}").trim_end().to_owned() + "\n"
    };
    for (i, message) in report.first.iter().enumerate() {
        out.push_str(&row(i + 1, message));
    }
    if report.folded() > 0 {
        let folded = count(report.folded(), "message", "messages");
        out.push_str(&format!("  … {folded}, {} …\n", size(report.folded_bytes)));
    }
    let before = report.first.len() + report.folded();
    for (i, message) in report.last.iter().enumerate() {
        out.push_str(&row(before + i + 1, message));
    }
}

fn names(all: &[String]) -> Vec<String> {
    let mut shown: Vec<_> = all.iter().take(NAMES).map(|name| line(name, 40)).collect();
    if all.len() > NAMES {
        shown.push(format!("… {} more …", all.len() - NAMES));
    }
    shown
}

fn or_none(list: Vec<String>) -> Vec<String> {
    if list.is_empty() { vec!["none".to_owned()] } else { list }
}
