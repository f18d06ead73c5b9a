//! The context that goes to the model (SPEC section 7): first a plan, which entries and which made-up messages, then
//! the JSON of each, in which a message passes through byte for byte.

use crate::content::{Content, Lines};
use crate::entry::{model, strings};
use crate::error::Result;
use crate::header::Fields;
use crate::index::{EntryNo, NO_TIME};
use crate::json::{self, Raw};
use crate::record::{EntryKind, Role};
use crate::session;
use std::collections::{HashMap, HashSet};

/// Which leaf a context is built for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leaf<'a> {
    /// None was given: the last entry.
    #[default]
    Last,
    /// Explicitly none: an empty context.
    None,
    /// The entry with this id; the last entry where there is none.
    Id(&'a str),
}

/// Who decides `models.default`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelResolution {
    /// A model_change for the default role; only where the path has none, the last assistant message.
    #[default]
    ModelChange,
    /// The newest of model_change and assistant message.
    Latest,
}

/// Where a message of the context comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSource {
    /// A message entry: its message as it is.
    Message,
    /// A custom_message entry.
    Custom,
    /// A branch_summary entry.
    BranchSummary,
    /// The compaction that counts; `remote` where the provider keeps the history itself.
    CompactionSummary {
        /// Whether the message carries `providerPayload`.
        remote: bool,
    },
}

/// One message of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedMessage {
    /// The entry it is made of: its place in the session, from 0.
    pub entry: u32,
    /// How it is made.
    pub source: MessageSource,
}

/// The context, messages as a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextPlan {
    /// The messages in order.
    pub messages: Vec<PlannedMessage>,
    /// `off` where none was chosen.
    pub thinking_level: String,
    /// The service tier last chosen.
    pub service_tier: Option<String>,
    /// Role and `provider/modelId`, in the order of first mention.
    pub models: Vec<(String, String)>,
    /// Of the last context_change.
    pub active_context_name: Option<String>,
    /// Of the last context_change.
    pub active_context_tenant: Option<String>,
    /// Without repeats, first occurrence first.
    pub injected_ttsr_rules: Vec<String>,
    /// Of the last mcp_tool_selection.
    pub selected_mcp_tool_names: Vec<String>,
    /// Whether the path has an mcp_tool_selection.
    pub has_persisted_mcp_tool_selection: bool,
    /// `none` where none was entered.
    pub mode: String,
    /// The exact JSON of the mode's data.
    pub mode_data: Option<String>,
}

impl Default for ContextPlan {
    fn default() -> Self {
        ContextPlan {
            messages: Vec::new(),
            thinking_level: "off".to_owned(),
            service_tier: None,
            models: Vec::new(),
            active_context_name: None,
            active_context_tenant: None,
            injected_ttsr_rules: Vec::new(),
            selected_mcp_tool_names: Vec::new(),
            has_persisted_mcp_tool_selection: false,
            mode: "none".to_owned(),
            mode_data: None,
        }
    }
}

/// Bytes that are read at once where the path's lines follow each other in the file.
const AHEAD: usize = 128 << 10;

pub(crate) fn plan(content: &Content, leaf: Leaf<'_>, resolution: ModelResolution) -> Result<ContextPlan> {
    let last = || content.index.len().checked_sub(1).map(|last| last as EntryNo);
    let leaf = match leaf {
        Leaf::None => None,
        Leaf::Last => last(),
        Leaf::Id(id) => content.index.by_id(id).or_else(last),
    };
    let Some(leaf) = leaf else { return Ok(ContextPlan::default()) };
    let mut path = content.index.path(leaf);
    path.reverse();
    let mut planner = Planner { content, path: &path, lines: content.lines(0), plan: ContextPlan::default() };
    planner.state()?;
    planner.models(resolution)?;
    planner.messages()?;
    Ok(planner.plan)
}

struct Planner<'a> {
    content: &'a Content,
    path: &'a [EntryNo],
    lines: Lines<'a>,
    plan: ContextPlan,
}

impl<'a> Planner<'a> {
    fn kind(&self, entry: EntryNo) -> EntryKind {
        self.content.index.slot(entry).kind
    }

    fn role(&self, entry: EntryNo) -> Role {
        self.content.index.slot(entry).role
    }

    fn last(&self, kind: EntryKind) -> Option<EntryNo> {
        self.path.iter().rev().copied().find(|&entry| self.kind(entry) == kind)
    }

    /// Reads the last entry of a kind on the path, if there is one.
    fn read_last(&mut self, kind: EntryKind, read: impl FnOnce(&mut ContextPlan, Raw<'_>)) -> Result<()> {
        if let Some(entry) = self.last(kind) {
            read(&mut self.plan, Raw::new(&self.lines.get(entry)?));
        }
        Ok(())
    }

    fn state(&mut self) -> Result<()> {
        let text = |entry: Raw<'_>, name| entry.get(name).and_then(Raw::as_str).map(|text| text.into_owned());
        self.read_last(EntryKind::ThinkingLevelChange, |plan, entry| {
            plan.thinking_level = text(entry, "thinkingLevel").unwrap_or_else(|| "off".to_owned());
        })?;
        self.read_last(EntryKind::ServiceTierChange, |plan, entry| plan.service_tier = text(entry, "serviceTier"))?;
        self.read_last(EntryKind::ContextChange, |plan, entry| {
            plan.active_context_name = text(entry, "contextName");
            plan.active_context_tenant = text(entry, "tenant");
        })?;
        self.read_last(EntryKind::McpToolSelection, |plan, entry| {
            plan.has_persisted_mcp_tool_selection = true;
            let names = entry.get("selectedToolNames").map(strings).unwrap_or_default();
            plan.selected_mcp_tool_names = names.into_iter().map(|name| name.into_owned()).collect();
        })?;
        self.read_last(EntryKind::ModeChange, |plan, entry| {
            plan.mode = text(entry, "mode").unwrap_or_else(|| "none".to_owned());
            plan.mode_data = entry.get("data").map(|data| data.text().to_owned());
        })?;
        self.plan.injected_ttsr_rules = ttsr_rules(self.content, self.path)?;
        Ok(())
    }

    fn models(&mut self, resolution: ModelResolution) -> Result<()> {
        let mut default_set_at = None;
        let mut places = HashMap::new();
        for (place, &entry) in self.path.iter().enumerate() {
            if self.kind(entry) != EntryKind::ModelChange {
                continue;
            }
            let line = self.lines.get(entry)?;
            let change = Raw::new(&line);
            let Some(model) = model(change) else { continue };
            let role = change.get("role").and_then(Raw::as_str);
            let role = role.as_deref().unwrap_or("default");
            if role == "default" {
                default_set_at = Some(place);
            }
            set_model(&mut self.plan.models, &mut places, role, model.into_owned());
        }
        let after = match (resolution, default_set_at) {
            (ModelResolution::ModelChange, Some(_)) => return Ok(()),
            (ModelResolution::Latest, Some(place)) => place,
            (_, None) => 0,
        };
        for &entry in self.path[after..].iter().rev() {
            if self.role(entry) != Role::Assistant {
                continue;
            }
            let line = self.lines.get(entry)?;
            let message = Raw::new(&line).get("message");
            let text = |name| message?.get(name).and_then(Raw::as_str);
            if let (Some(provider), Some(model)) = (text("provider"), text("model")) {
                set_model(&mut self.plan.models, &mut places, "default", format!("{provider}/{model}"));
                break;
            }
        }
        Ok(())
    }

    fn messages(&mut self) -> Result<()> {
        let compaction = self.path.iter().rposition(|&entry| self.kind(entry) == EntryKind::Compaction);
        let Some(at) = compaction else { return self.emit(self.path) };
        let (before, after) = (&self.path[..at], &self.path[at + 1..]);
        let entry = self.path[at];
        let line = self.lines.get(entry)?;
        let compaction = Raw::new(&line);
        let remote = remote_history(compaction).is_some();
        let first_kept = compaction.get("firstKeptEntryId").and_then(Raw::as_str);
        let first_kept = first_kept.and_then(|id| self.content.index.by_id(&id));
        let source = MessageSource::CompactionSummary { remote };
        self.plan.messages.push(PlannedMessage { entry, source });
        let kept = before.iter().position(|&entry| Some(entry) == first_kept).filter(|_| !remote);
        if let Some(kept) = kept {
            self.emit(&before[kept..])?;
        }
        self.emit(after)
    }

    fn emit(&mut self, path: &[EntryNo]) -> Result<()> {
        for &entry in path {
            let source = match self.kind(entry) {
                EntryKind::Message if self.role(entry) != Role::None => MessageSource::Message,
                EntryKind::CustomMessage => MessageSource::Custom,
                EntryKind::BranchSummary => {
                    let line = self.lines.get(entry)?;
                    let summary = Raw::new(&line).get("summary").and_then(Raw::as_str);
                    if summary.is_none_or(|summary| summary.is_empty()) {
                        continue;
                    }
                    MessageSource::BranchSummary
                }
                _ => continue,
            };
            self.plan.messages.push(PlannedMessage { entry, source });
        }
        Ok(())
    }
}

/// The rules that the ttsr_injection entries of a path name, without repeats.
pub(crate) fn ttsr_rules(content: &Content, path: &[EntryNo]) -> Result<Vec<String>> {
    let mut lines = content.lines(0);
    let (mut rules, mut seen) = (Vec::new(), HashSet::new());
    for &entry in path.iter().filter(|&&entry| content.index.slot(entry).kind == EntryKind::TtsrInjection) {
        let line = lines.get(entry)?;
        for rule in Raw::new(&line).get("injectedRules").map(strings).unwrap_or_default() {
            if seen.insert(rule.clone().into_owned()) {
                rules.push(rule.into_owned());
            }
        }
    }
    Ok(rules)
}

/// `places` tells where in `models` a role is.
fn set_model(models: &mut Vec<(String, String)>, places: &mut HashMap<String, usize>, role: &str, model: String) {
    match places.get(role) {
        Some(&place) => models[place].1 = model,
        None => {
            places.insert(role.to_owned(), models.len());
            models.push((role.to_owned(), model));
        }
    }
}

/// Provider and items of a history that the provider compacted itself.
fn remote_history(compaction: Raw<'_>) -> Option<(Raw<'_>, Raw<'_>)> {
    let remote = compaction.get("preserveData")?.get("openaiRemoteCompaction")?;
    let provider = remote.get("provider").filter(|provider| provider.as_str().is_some_and(|name| !name.is_empty()))?;
    let items = remote.get("replacementHistory").filter(|items| items.is_array())?;
    Some((provider, items))
}

/// The exact JSON of each planned message, in order.
pub(crate) fn for_each_message(
    content: &Content,
    messages: &[PlannedMessage],
    mut each: impl FnMut(&[u8]),
) -> Result<()> {
    let mut lines = content.lines(AHEAD);
    for message in messages {
        let line = lines.get(message.entry)?;
        let entry = Raw::new(&line);
        match message.source {
            MessageSource::Message => each(entry.get("message").unwrap_or(Raw::new(b"null")).bytes()),
            source => each(&made_up(entry, source, content.index.slot(message.entry).time)),
        }
    }
    Ok(())
}

fn made_up(entry: Raw<'_>, source: MessageSource, time: i64) -> Vec<u8> {
    let (role, names): (&str, &[&str]) = match source {
        MessageSource::Custom => ("custom", &["customType", "content", "display", "details", "attribution"]),
        MessageSource::BranchSummary => ("branchSummary", &["summary", "fromId"]),
        _ => ("compactionSummary", &["summary", "shortSummary", "tokensBefore"]),
    };
    let mut fields = Fields::new(format!("{{\"role\":\"{role}\"").as_bytes());
    for name in names {
        fields.raw(name, entry.get(name).map(Raw::bytes));
    }
    if source == (MessageSource::CompactionSummary { remote: true })
        && let Some((provider, items)) = remote_history(entry)
    {
        let mut payload = Fields::new(br#"{"type":"openaiResponsesHistory""#);
        payload.raw("provider", Some(provider.bytes()));
        payload.raw("items", Some(items.bytes()));
        fields.raw("providerPayload", Some(&payload.close()));
    }
    let timestamp = if time == NO_TIME { "null".to_owned() } else { time.to_string() };
    fields.raw("timestamp", Some(timestamp.as_bytes()));
    fields.close()
}

impl ContextPlan {
    /// The JSON of the whole context, given the JSON of its messages: what [`crate::Session::messages`] gave for this plan.
    pub fn to_json(&self, messages: &[String]) -> String {
        session::context_json(self, messages)
    }

    /// The JSON of the context with this JSON in the place of its messages: for callers that make the messages
    /// themselves.
    pub fn json_with(&self, messages: &str) -> String {
        json::utf8(&self.json(messages.as_bytes())).into_owned()
    }

    /// The JSON of everything but the messages, which `messages` must be: the text of an array.
    pub(crate) fn json(&self, messages: &[u8]) -> Vec<u8> {
        let mut start = br#"{"messages":"#.to_vec();
        start.extend_from_slice(messages);
        let mut fields = Fields::new(&start);
        fields.string("thinkingLevel", Some(&self.thinking_level));
        fields.string("serviceTier", self.service_tier.as_deref());
        fields.raw("models", Some(&object(&self.models)));
        fields.string("activeContextName", self.active_context_name.as_deref());
        fields.string("activeContextTenant", self.active_context_tenant.as_deref());
        fields.raw("injectedTtsrRules", Some(&array(&self.injected_ttsr_rules)));
        fields.raw("selectedMCPToolNames", Some(&array(&self.selected_mcp_tool_names)));
        let selected: &[u8] = if self.has_persisted_mcp_tool_selection { b"true" } else { b"false" };
        fields.raw("hasPersistedMCPToolSelection", Some(selected));
        fields.string("mode", Some(&self.mode));
        fields.raw("modeData", self.mode_data.as_ref().map(String::as_bytes));
        fields.close()
    }
}

fn object(members: &[(String, String)]) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (i, (name, value)) in members.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        json::encode(name, &mut out);
        out.push(b':');
        json::encode(value, &mut out);
    }
    out.push(b'}');
    out
}

fn array(items: &[String]) -> Vec<u8> {
    let mut out = vec![b'['];
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        json::encode(item, &mut out);
    }
    out.push(b']');
    out
}
