//! One record of a session file: the exact check of its text and, in the same pass, its envelope.

use crate::json::{Key, Malformed, Raw, Scanner, Span};
use crate::time;
use crate::usage::Usage;

/// The types of entries (SPEC section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum EntryKind {
    Message,
    ThinkingLevelChange,
    ModelChange,
    Compaction,
    BranchSummary,
    Custom,
    CustomMessage,
    Label,
    TtsrInjection,
    SessionInit,
    ModeChange,
    ServiceTierChange,
    ContextChange,
    McpToolSelection,
    /// Any other type: kept as it is, part of the tree, not in the context.
    Other,
}

impl EntryKind {
    const NAMES: [(&'static str, EntryKind); 14] = [
        ("message", EntryKind::Message),
        ("thinking_level_change", EntryKind::ThinkingLevelChange),
        ("model_change", EntryKind::ModelChange),
        ("compaction", EntryKind::Compaction),
        ("branch_summary", EntryKind::BranchSummary),
        ("custom", EntryKind::Custom),
        ("custom_message", EntryKind::CustomMessage),
        ("label", EntryKind::Label),
        ("ttsr_injection", EntryKind::TtsrInjection),
        ("session_init", EntryKind::SessionInit),
        ("mode_change", EntryKind::ModeChange),
        ("service_tier_change", EntryKind::ServiceTierChange),
        ("context_change", EntryKind::ContextChange),
        ("mcp_tool_selection", EntryKind::McpToolSelection),
    ];

    /// The kind that a `type` names.
    pub fn of(name: &str) -> EntryKind {
        EntryKind::of_bytes(name.as_bytes())
    }

    fn of_bytes(name: &[u8]) -> EntryKind {
        Self::NAMES.iter().find(|(known, _)| known.as_bytes() == name).map_or(EntryKind::Other, |(_, kind)| *kind)
    }

    /// The `type` as it is written; `None` for [`EntryKind::Other`].
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map(|(name, _)| *name)
    }
}

/// What the state derivation needs of a message's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Role {
    /// No message object.
    None,
    Assistant,
    ToolResult,
    /// The name that version 2 had for `custom`.
    Hook,
    Other,
}

impl Role {
    /// The role that a message names.
    pub(crate) fn of(name: &[u8]) -> Role {
        match name {
            b"assistant" => Role::Assistant,
            b"toolResult" => Role::ToolResult,
            b"hookMessage" => Role::Hook,
            _ => Role::Other,
        }
    }
}

/// What kind of record a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordType {
    Session,
    Title,
    Entry(EntryKind),
}

/// The parts of a record that opening, walking and indexing look at. Spans and raw values point into the text that
/// was scanned.
#[derive(Debug)]
pub(crate) struct Envelope<'a> {
    pub(crate) record: RecordType,
    pub(crate) span: Span,
    pub(crate) id: Option<Raw<'a>>,
    pub(crate) parent: Option<Raw<'a>>,
    /// Whether there are members `id` and `parentId`, whatever they hold.
    pub(crate) has_id: bool,
    pub(crate) has_parent: bool,
    pub(crate) timestamp: Option<Raw<'a>>,
    pub(crate) role: Role,
    pub(crate) usage: Option<Usage>,
    /// `targetId` and `label` of a label entry.
    pub(crate) target: Option<Raw<'a>>,
    pub(crate) label: Option<Raw<'a>>,
}

impl<'a> Envelope<'a> {
    /// The timestamp, in milliseconds since 1970; `None` where it is absent or cannot be read.
    pub(crate) fn time(&self) -> Option<i64> {
        time::parse_bytes(&self.timestamp?.as_bytes()?)
    }

    /// Of a line that must be exactly one record.
    pub(crate) fn of_line(line: &'a [u8]) -> Result<Envelope<'a>, Malformed> {
        let mut scanner = Scanner::new(line, 0);
        let envelope = Envelope::scan(line, &mut scanner)?;
        scanner.end()?;
        Ok(envelope)
    }

    /// Of a line that begins at `start` of a text and has a `\n` at its end, and where that is. `None` where the line
    /// has to be looked at by itself: because it is no record, or for anything that is rare.
    pub(crate) fn of_next_line(text: &'a [u8], start: usize) -> Option<(Envelope<'a>, usize)> {
        let mut scanner = Scanner::on_line(text, start);
        let envelope = Envelope::scan(text, &mut scanner).ok()?;
        scanner.skip_white();
        (scanner.peek() == Some(b'\n')).then(|| (envelope, scanner.pos()))
    }

    /// Of the object that the scanner stands at; what follows it is not looked at.
    pub(crate) fn scan(text: &'a [u8], scanner: &mut Scanner<'a>) -> Result<Envelope<'a>, Malformed> {
        scanner.skip_white();
        let start = scanner.pos();
        if scanner.peek() != Some(b'{') {
            return scanner.fail("not a JSON object");
        }
        let mut found = Members::default();
        let span = scanner.object(|scanner, key| found.member(scanner, &key))?;
        scanner.check_utf8(start)?;
        let raw = |span: Span| Raw::new(&text[span]);
        let string = |span: Option<Span>| span.map(raw).filter(|raw| raw.is_string());
        let Some(record) = string(found.kind).and_then(Raw::as_bytes) else {
            return Err(Malformed { offset: start, reason: "no string \"type\"" });
        };
        let record = match &*record {
            b"session" => RecordType::Session,
            b"title" => RecordType::Title,
            other => RecordType::Entry(EntryKind::of_bytes(other)),
        };
        let message = found.message.unwrap_or_default();
        let is_message = record == RecordType::Entry(EntryKind::Message);
        let role = if is_message { message.role(raw) } else { Role::None };
        Ok(Envelope {
            record,
            span,
            has_id: found.id.is_some(),
            id: string(found.id),
            has_parent: found.parent.is_some(),
            parent: string(found.parent),
            timestamp: string(found.timestamp),
            role,
            usage: message.usage(role, raw),
            target: string(found.target),
            label: string(found.label),
        })
    }
}

/// Checks that `text` is one JSON object and reads what the index needs of it as a message.
pub(crate) fn scan_message(text: &[u8]) -> Result<(Role, Option<Usage>), Malformed> {
    let mut scanner = Scanner::within(text, 1);
    scanner.skip_white();
    let Some(message) = Message::scan(&mut scanner)? else {
        return Err(Malformed { offset: 0, reason: "not a JSON object" });
    };
    scanner.end()?;
    scanner.check_utf8(0)?;
    let raw = |span: Span| Raw::new(&text[span]);
    let role = message.role(raw);
    Ok((role, message.usage(role, raw)))
}

#[derive(Default)]
struct Members {
    kind: Option<Span>,
    id: Option<Span>,
    parent: Option<Span>,
    timestamp: Option<Span>,
    target: Option<Span>,
    label: Option<Span>,
    message: Option<Message>,
}

impl Members {
    fn member<'a>(&mut self, scanner: &mut Scanner<'a>, key: &Key<'a>) -> Result<(), Malformed> {
        let slot = match key {
            key if key.is("message") => {
                self.message = Message::scan(scanner)?;
                return Ok(());
            }
            key if key.is("type") => &mut self.kind,
            key if key.is("id") => &mut self.id,
            key if key.is("parentId") => &mut self.parent,
            key if key.is("timestamp") => &mut self.timestamp,
            key if key.is("targetId") => &mut self.target,
            key if key.is("label") => &mut self.label,
            _ => return scanner.value().map(drop),
        };
        *slot = Some(scanner.value()?);
        Ok(())
    }
}

#[derive(Default)]
struct Message {
    role: Option<Span>,
    usage: Option<Span>,
    tool: Option<Span>,
    details: Option<Span>,
    present: bool,
}

impl Message {
    fn scan(scanner: &mut Scanner<'_>) -> Result<Option<Message>, Malformed> {
        if scanner.peek() != Some(b'{') {
            scanner.value()?;
            return Ok(None);
        }
        let mut message = Message { present: true, ..Message::default() };
        scanner.object(|scanner, key| {
            let value = scanner.value()?;
            match () {
                () if key.is("role") => message.role = Some(value),
                () if key.is("usage") => message.usage = Some(value),
                () if key.is("toolName") => message.tool = Some(value),
                () if key.is("details") => message.details = Some(value),
                () => {}
            }
            Ok(())
        })?;
        Ok(Some(message))
    }

    fn role<'a>(&self, raw: impl Fn(Span) -> Raw<'a>) -> Role {
        match self.role.clone().and_then(|span| raw(span).as_bytes()).as_deref() {
            _ if !self.present => Role::None,
            Some(name) => Role::of(name),
            None => Role::Other,
        }
    }

    fn usage<'a>(&self, role: Role, raw: impl Fn(Span) -> Raw<'a>) -> Option<Usage> {
        match role {
            Role::Assistant => self.usage.clone().map(|span| Usage::read(raw(span))),
            Role::ToolResult => {
                let tool = self.tool.clone().and_then(|span| raw(span).as_bytes())?;
                let details = self.details.clone().filter(|_| *tool == *b"task")?;
                raw(details).get("usage").map(Usage::read)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arbitrary, fuzzing, json, plain};
    use proptest::prelude::*;

    /// Fails where the scan and a plain parse do not say the same of a line.
    fn agree(line: &[u8]) -> Result<(), TestCaseError> {
        let shown = || line.escape_ascii().to_string();
        prop_assert_eq!(json::check(line).is_ok(), plain::is_json(line), "{}", shown());
        let found = fuzzing::envelope(line).ok();
        let seen = plain::seen(line).map(|seen| fuzzing::Envelope {
            kind: (!matches!(&*seen.kind, "session" | "title")).then(|| EntryKind::of(&seen.kind)),
            id: seen.id,
            parent: seen.parent,
            has_parent: seen.has_parent,
            timestamp: seen.timestamp,
            role: seen.role,
            usage: seen.usage,
            target: seen.target,
            label: seen.label,
        });
        prop_assert_eq!(found, seen, "{}", shown());
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]
        #[test]
        fn the_scan_says_what_a_plain_parse_says_of_records(record in arbitrary::record()) {
            prop_assert!(json::check(record.as_bytes()).is_ok(), "{}", record);
            agree(record.as_bytes())?;
        }

        #[test]
        fn the_scan_says_what_a_plain_parse_says_of_damaged_records(line in arbitrary::mutated(arbitrary::record())) {
            agree(&line)?;
        }

        #[test]
        fn the_scan_says_what_a_plain_parse_says_of_any_bytes(
            bytes in prop::collection::vec(any::<u8>(), 0..80), text in r#"[\[\]{},:"a1 \\u\n-]{0,16}"#,
        ) {
            agree(&bytes)?;
            agree(text.as_bytes())?;
        }
    }
}
