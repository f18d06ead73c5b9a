//! Appends: every one makes exactly one entry, whose parent is the leaf, and moves the leaf to it.

use super::{Inner, SessionManager};
use crate::content::NewEntry;
use crate::error::{Error, Result};
use crate::header::Fields;
use crate::ids;
use crate::index::{EntryNo, Parent};
use crate::json::{self, Malformed, Raw};
use crate::record::{EntryKind, Role, scan_message};
use crate::session::Session;
use crate::time;
use std::borrow::Cow;

/// The fields of a compaction entry (SPEC section 3). JSON values are texts.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Compaction<'a> {
    pub summary: &'a str,
    pub short_summary: Option<&'a str>,
    pub first_kept_entry_id: Option<&'a str>,
    pub tokens_before: u64,
    pub details: Option<&'a str>,
    pub from_extension: Option<bool>,
    pub preserve_data: Option<&'a str>,
}

/// The fields of a custom_message entry (SPEC section 3). JSON values are texts.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct CustomMessage<'a> {
    pub custom_type: &'a str,
    /// A JSON string or an array of blocks.
    pub content: &'a str,
    pub display: bool,
    pub details: Option<&'a str>,
    /// `agent` where it is absent.
    pub attribution: Option<&'a str>,
}

/// An object of JSON members in the making.
struct Members(Fields);

impl Members {
    fn new() -> Members {
        Members(Fields::new(b""))
    }

    fn string(mut self, name: &str, value: &str) -> Members {
        self.0.string(name, Some(value));
        self
    }

    fn optional(mut self, name: &str, value: Option<&str>) -> Members {
        self.0.string(name, value);
        self
    }

    fn nullable(mut self, name: &str, value: Option<&str>) -> Members {
        self.0.nullable(name, value);
        self
    }

    /// A value that a caller gives as JSON text.
    fn json(mut self, name: &str, value: Option<&str>) -> Result<Members> {
        if let Some(value) = value {
            json::check_within(value.as_bytes(), 1).map_err(invalid(name))?;
            self.0.raw(name, Some(value.as_bytes()));
        }
        Ok(self)
    }

    fn raw(mut self, name: &str, value: Option<&str>) -> Members {
        self.0.raw(name, value.map(str::as_bytes));
        self
    }

    fn strings(self, name: &str, values: &[impl AsRef<str>]) -> Members {
        let mut text = b"[".to_vec();
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                text.push(b',');
            }
            json::encode(value.as_ref(), &mut text);
        }
        text.push(b']');
        self.raw(name, std::str::from_utf8(&text).ok())
    }
}

fn invalid(what: &str) -> impl FnOnce(Malformed) -> Error {
    move |fault| Error::InvalidJson { what: what.to_owned(), offset: fault.offset, reason: fault.reason.to_owned() }
}

impl SessionManager {
    /// Appends a message; `message` is its JSON, an object. Returns the entry's id, as all appends do. Errors:
    /// `InvalidJson` (nothing was appended); one with an [`Error::entry_id`] says that the entry is in memory and
    /// could not be written yet (P5).
    pub fn append_message(&self, message: &str) -> Result<String> {
        let appended = Appended::message(message)?;
        self.add(|_| Ok(appended))
    }

    /// Appends an entry of any type whose own fields are the members of a JSON object, in its order. `parentId`,
    /// `id`, `timestamp` and `type` are not taken from it. What the typed appends check is checked here too.
    pub fn append(&self, entry_type: &str, fields: &str) -> Result<String> {
        let appended = prepare(entry_type, fields)?;
        self.add_checked(appended)
    }

    /// [`SessionManager::append`] behind another leaf: an entry, or none for a new root. Where the append is refused
    /// the leaf stays where it was. Error also: `EntryNotFound`.
    pub fn append_behind(&self, parent: Option<&str>, entry_type: &str, fields: &str) -> Result<String> {
        let appended = prepare(entry_type, fields)?;
        self.add(|inner| {
            inner.session.leaf = parent.map(|id| inner.find(id)).transpose()?;
            Ok(appended)
        })
    }

    /// Appends a change of the thinking level; `None` unsets it.
    pub fn append_thinking_level_change(&self, level: Option<&str>) -> Result<String> {
        self.add_kind(EntryKind::ThinkingLevelChange, Members::new().nullable("thinkingLevel", level))
    }

    /// Appends a change of model, `provider/modelId`, for a role (absent: the default one).
    pub fn append_model_change(&self, model: &str, role: Option<&str>) -> Result<String> {
        self.add_kind(EntryKind::ModelChange, Members::new().string("model", model).optional("role", role))
    }

    /// Appends a change of mode; `data` is JSON.
    pub fn append_mode_change(&self, mode: &str, data: Option<&str>) -> Result<String> {
        self.add_kind(EntryKind::ModeChange, Members::new().string("mode", mode).json("data", data)?)
    }

    /// Appends a change of the service tier; `None` unsets it.
    pub fn append_service_tier_change(&self, tier: Option<&str>) -> Result<String> {
        self.add_kind(EntryKind::ServiceTierChange, Members::new().nullable("serviceTier", tier))
    }

    /// Appends a change of the active context.
    pub fn append_context_change(&self, name: &str, tenant: &str, namespace: &str) -> Result<String> {
        let members = Members::new().string("contextName", name).string("tenant", tenant);
        self.add_kind(EntryKind::ContextChange, members.string("namespace", namespace))
    }

    /// Appends what the session was started with; `output_schema` is JSON.
    pub fn append_session_init(
        &self,
        system_prompt: &str,
        task: &str,
        tools: &[impl AsRef<str>],
        output_schema: Option<&str>,
    ) -> Result<String> {
        let members = Members::new().string("systemPrompt", system_prompt).string("task", task).strings("tools", tools);
        self.add_kind(EntryKind::SessionInit, members.json("outputSchema", output_schema)?)
    }

    /// Appends a compaction.
    pub fn append_compaction(&self, compaction: &Compaction<'_>) -> Result<String> {
        let Compaction { summary, short_summary, first_kept_entry_id, .. } = *compaction;
        let members = Members::new()
            .string("summary", summary)
            .optional("shortSummary", short_summary)
            .optional("firstKeptEntryId", first_kept_entry_id)
            .raw("tokensBefore", Some(&compaction.tokens_before.to_string()))
            .json("details", compaction.details)?
            .raw("fromExtension", compaction.from_extension.map(|flag| if flag { "true" } else { "false" }))
            .json("preserveData", compaction.preserve_data)?;
        self.add_kind(EntryKind::Compaction, members)
    }

    /// Appends the state of an extension; `data` is JSON.
    pub fn append_custom_entry(&self, custom_type: &str, data: Option<&str>) -> Result<String> {
        self.add_kind(EntryKind::Custom, Members::new().string("customType", custom_type).json("data", data)?)
    }

    /// Appends a message of an extension that takes part in the context.
    pub fn append_custom_message_entry(&self, message: &CustomMessage<'_>) -> Result<String> {
        let members = Members::new()
            .string("customType", message.custom_type)
            .json("content", Some(message.content))?
            .raw("display", Some(if message.display { "true" } else { "false" }))
            .json("details", message.details)?
            .string("attribution", message.attribution.unwrap_or("agent"));
        self.add_kind(EntryKind::CustomMessage, members)
    }

    /// Appends the choice of MCP tools.
    pub fn append_mcp_tool_selection(&self, names: &[impl AsRef<str>]) -> Result<String> {
        self.add_kind(EntryKind::McpToolSelection, Members::new().strings("selectedToolNames", names))
    }

    /// Appends the rules that were injected.
    pub fn append_ttsr_injection(&self, rules: &[impl AsRef<str>]) -> Result<String> {
        self.add_kind(EntryKind::TtsrInjection, Members::new().strings("injectedRules", rules))
    }

    /// Labels an entry; an absent or empty label clears. Error: `EntryNotFound`.
    pub fn append_label_change(&self, target: &str, label: Option<&str>) -> Result<String> {
        let label = label.filter(|label| !label.is_empty());
        let members = Members::new().string("targetId", target).optional("label", label);
        let change = Some((target.to_owned(), label.map(str::to_owned)));
        self.add_fields("label", members, change)
    }

    /// Moves the leaf to an entry, or to none, and appends a summary of the path that is left. `details` is JSON.
    /// Error: `EntryNotFound`.
    pub fn branch_with_summary(
        &self,
        from: Option<&str>,
        summary: &str,
        details: Option<&str>,
        from_extension: Option<bool>,
    ) -> Result<String> {
        let members = Members::new()
            .string("fromId", from.unwrap_or("root"))
            .string("summary", summary)
            .json("details", details)?
            .raw("fromExtension", from_extension.map(|flag| if flag { "true" } else { "false" }));
        let appended = Appended::of("branch_summary", members, None);
        self.add(|inner| {
            inner.session.leaf = from.map(|id| inner.find(id)).transpose()?;
            Ok(appended)
        })
    }

    fn add_kind(&self, kind: EntryKind, members: Members) -> Result<String> {
        self.add_fields(kind.name().unwrap_or_default(), members, None)
    }

    fn add_fields(
        &self,
        entry_type: &str,
        members: Members,
        label: Option<(String, Option<String>)>,
    ) -> Result<String> {
        self.add_checked(Appended::of(entry_type, members, label))
    }

    fn add_checked(&self, appended: Appended<'_>) -> Result<String> {
        self.add(|inner| {
            if let Some((target, _)) = &appended.label {
                inner.find(target)?;
            }
            Ok(appended)
        })
    }

    fn add<'a>(&self, make: impl FnOnce(&mut Inner) -> Result<Appended<'a>>) -> Result<String> {
        let mut inner = self.lock();
        self.check_writable(&inner)?;
        let appended = make(&mut inner)?;
        let (id, entry) = inner.push(appended);
        inner.session.leaf = Some(entry);
        if inner.persistent {
            inner.journal.add(entry);
        }
        if inner.deferred && inner.session.content.index.slot(entry).role == Role::Assistant {
            inner.deferred = false;
        }
        inner.settle_entry(Some(&id), self.options.lock_wait)?;
        Ok(id)
    }
}

/// An entry of any type, of the members of a JSON object.
fn prepare<'a>(entry_type: &str, fields: &'a str) -> Result<Appended<'a>> {
    json::check(fields.as_bytes()).map_err(invalid(entry_type))?;
    let object = Raw::new(fields.as_bytes());
    if !object.is_object() {
        return Err(Error::InvalidArgument(format!("the fields of a {entry_type} entry must be a JSON object")));
    }
    let kind = EntryKind::of(entry_type);
    match (kind, entry_type) {
        (EntryKind::Message, _) => return Appended::message(object.get("message").map(Raw::text).unwrap_or("null")),
        (_, "session" | "title" | "") => {
            return Err(Error::InvalidArgument(format!("an entry cannot have the type {entry_type:?}")));
        }
        _ => {}
    }
    let mut members = Members::new();
    for member in object.members() {
        let name = member.key.name();
        if !matches!(&*name, "type" | "id" | "parentId" | "timestamp") {
            members.0.spelled(&object.bytes()[member.key.span()], member.value.bytes());
        }
    }
    if kind == EntryKind::CustomMessage && object.get("attribution").is_none() {
        members = members.string("attribution", "agent");
    }
    let text = |name| object.get(name).and_then(Raw::as_str).map(|text| text.into_owned());
    let label = match kind {
        EntryKind::Label => text("targetId").zip(Some(text("label").filter(|label| !label.is_empty()))),
        _ => None,
    };
    Ok(Appended::of(entry_type, members, label))
}

/// An entry that is about to be added: its own fields, as they follow in the line.
pub(super) struct Appended<'a> {
    entry_type: Cow<'static, str>,
    kind: EntryKind,
    /// Members, each with a comma before it; of a message entry the message.
    fields: Cow<'a, [u8]>,
    role: Role,
    usage: Option<crate::usage::Usage>,
    label: Option<(String, Option<String>)>,
}

impl<'a> Appended<'a> {
    /// `message` is the JSON of the message.
    fn message(message: &'a str) -> Result<Appended<'a>> {
        let (role, usage) = scan_message(message.as_bytes()).map_err(invalid("message"))?;
        let fields = Cow::Borrowed(message.as_bytes());
        Ok(Appended {
            entry_type: Cow::Borrowed("message"),
            kind: EntryKind::Message,
            fields,
            role,
            usage,
            label: None,
        })
    }
}

impl Appended<'static> {
    fn of(entry_type: &str, members: Members, label: Option<(String, Option<String>)>) -> Self {
        let kind = EntryKind::of(entry_type);
        let entry_type = kind.name().map_or_else(|| Cow::Owned(entry_type.to_owned()), Cow::Borrowed);
        Appended { entry_type, kind, fields: Cow::Owned(members.0.into_bytes()), role: Role::None, usage: None, label }
    }

    pub(super) fn label(target: &str, label: &str) -> Self {
        let members = Members::new().string("targetId", target).string("label", label);
        Appended::of("label", members, Some((target.to_owned(), Some(label.to_owned()))))
    }
}

impl Inner {
    /// Adds an entry behind the leaf, in memory only.
    pub(super) fn push(&mut self, appended: Appended<'_>) -> (String, EntryNo) {
        let Session { content, leaf, .. } = &mut self.session;
        let mut line = content.spare_line();
        let id = ids::entry_id(|id| content.index.is_taken(id));
        let now = time::now();
        build_line(&appended, &id, leaf.and_then(|leaf| content.index.id(leaf)), now, &mut line);
        let entry = content.push(
            line,
            NewEntry {
                id: Some(&id),
                parent: leaf.map_or(Parent::None, Parent::Entry),
                time: now,
                kind: appended.kind,
                role: appended.role,
                usage: appended.usage,
                label: appended.label.as_ref().map(|(target, label)| (&**target, label.as_deref())),
            },
        );
        (id, entry)
    }
}

/// The line: type, base, own fields; `custom` and `custom_message` put the base last, as the agent does.
fn build_line(appended: &Appended<'_>, id: &str, parent: Option<&str>, now: i64, line: &mut Vec<u8>) {
    line.reserve(appended.fields.len() + 160);
    line.extend_from_slice(b"{\"type\":");
    json::encode(&appended.entry_type, line);
    let fields = &appended.fields[..];
    let own_first = matches!(appended.kind, EntryKind::Custom | EntryKind::CustomMessage);
    if own_first {
        line.extend_from_slice(fields);
    }
    line.extend_from_slice(b",\"id\":");
    json::encode(id, line);
    line.extend_from_slice(b",\"parentId\":");
    match parent {
        Some(parent) => json::encode(parent, line),
        None => line.extend_from_slice(b"null"),
    }
    line.extend_from_slice(b",\"timestamp\":\"");
    time::write(now, line);
    line.push(b'"');
    if appended.kind == EntryKind::Message {
        line.extend_from_slice(b",\"message\":");
    }
    if !own_first {
        line.extend_from_slice(fields);
    }
    line.push(b'}');
    json::put_on_one_line(line);
}
