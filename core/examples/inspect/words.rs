//! What an entry or a message is and says, in a few words. Not made safe for a terminal yet.

use std::borrow::Cow;
use xcsh_session::json::Raw;
use xcsh_session::{Entry, EntryData};

/// Characters after which nobody reads on.
const ENOUGH: usize = 400;

pub(crate) struct Words {
    /// A message's role, another entry's type.
    pub(crate) name: String,
    pub(crate) text: String,
}

pub(crate) fn of_entry(entry: &Entry) -> Words {
    let text = match entry.data() {
        EntryData::Message { message, .. } => return of_message(message),
        EntryData::ThinkingLevelChange { thinking_level } => thinking_level.unwrap_or("off".into()).into_owned(),
        EntryData::ModelChange { model, role } => match role {
            Some(role) => format!("{model} for {role}"),
            None => model.into_owned(),
        },
        EntryData::Compaction { summary, short_summary, .. } => start(&short_summary.unwrap_or(summary)),
        EntryData::BranchSummary { summary, .. } => start(&summary),
        EntryData::Custom { custom_type, data } => format!("{custom_type} {}", start(data.map_or("", Raw::text))),
        EntryData::CustomMessage { custom_type, content, .. } => format!("{custom_type}: {}", of_content(content)),
        EntryData::Label { target_id, label } => match label.filter(|label| !label.is_empty()) {
            Some(label) => format!("“{label}” on {target_id}"),
            None => format!("none any more on {target_id}"),
        },
        EntryData::TtsrInjection { injected_rules } => injected_rules.join(", "),
        EntryData::SessionInit { task, .. } => start(&task),
        EntryData::ModeChange { mode, .. } => mode.into_owned(),
        EntryData::ServiceTierChange { service_tier } => service_tier.unwrap_or("none".into()).into_owned(),
        EntryData::ContextChange { context_name, tenant, .. } => format!("{context_name}, tenant {tenant}"),
        EntryData::McpToolSelection { selected_tool_names } => selected_tool_names.join(", "),
        EntryData::Other { .. } => String::new(),
    };
    Words { name: entry.entry_type().into_owned(), text }
}

pub(crate) fn of_message(message: Raw<'_>) -> Words {
    let field = |name| message.get(name).and_then(Raw::as_str).unwrap_or_default();
    let content = || of_content(message.get("content"));
    let role = field("role");
    let text = match &*role {
        "toolResult" => {
            let failed = message.get("isError").and_then(Raw::as_bool) == Some(true);
            format!("{}{}: {}", field("toolName"), if failed { " failed" } else { "" }, content())
        }
        "bashExecution" => format!("$ {}", start(&field("command"))),
        "compactionSummary" | "branchSummary" => start(&field("summary")),
        "custom" => format!("{}: {}", field("customType"), content()),
        _ => match content() {
            said if said.trim().is_empty() => unsaid(&field("stopReason"), &field("errorMessage")),
            said => said,
        },
    };
    Words { name: if role.is_empty() { "(no role)".to_owned() } else { role.into_owned() }, text }
}

/// The text of a content; where it has none, what it thinks and calls.
fn of_content(content: Option<Raw<'_>>) -> String {
    let Some(content) = content else { return String::new() };
    if let Some(text) = content.as_str() {
        return start(&text);
    }
    let (mut said, mut thought) = (String::new(), String::new());
    for block in content.items() {
        if said.len() > ENOUGH {
            break;
        }
        let field = |name| block.get(name).and_then(Raw::as_str).unwrap_or_default();
        let part: Cow<'_, str> = match &*field("type") {
            "text" => start(&field("text")).into(),
            "toolCall" => {
                let arguments = block.get("arguments").map_or("", Raw::text);
                format!("→ {} {}", field("name"), start(arguments)).into()
            }
            "thinking" => {
                thought = start(&field("thinking"));
                continue;
            }
            other => format!("[{other}]").into(),
        };
        said.push_str(&part);
        said.push(' ');
    }
    if said.trim().is_empty() && !thought.is_empty() { format!("(thinking) {thought}") } else { said }
}

/// Why a message says nothing.
fn unsaid(stop_reason: &str, error: &str) -> String {
    match (stop_reason, error) {
        ("", "") => String::new(),
        (reason, "") => format!("({reason})"),
        (reason, error) => format!("({reason}: {})", start(error)),
    }
}

fn start(text: &str) -> String {
    text.trim_start().chars().take(ENOUGH).collect()
}
