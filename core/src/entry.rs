//! Typed access to an entry beside its raw line (SPEC section 3).

use crate::json::Raw;
use crate::record::EntryKind;
use std::borrow::Cow;

/// One entry: its line, exactly as it is, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    line: String,
    number: u32,
}

/// The fields of an entry by its type. Strings have lone surrogates replaced by U+FFFD; [`Raw`] values are exact.
/// A required string that is missing is empty, a required array that is missing has no items.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum EntryData<'a> {
    Message {
        /// The message, exactly.
        message: Raw<'a>,
        role: Cow<'a, str>,
    },
    ThinkingLevelChange {
        thinking_level: Option<Cow<'a, str>>,
    },
    ModelChange {
        /// `provider/modelId`, also where the entry names the two apart.
        model: Cow<'a, str>,
        /// Absent means `default`.
        role: Option<Cow<'a, str>>,
    },
    Compaction {
        summary: Cow<'a, str>,
        short_summary: Option<Cow<'a, str>>,
        first_kept_entry_id: Option<Cow<'a, str>>,
        tokens_before: Option<f64>,
        details: Option<Raw<'a>>,
        from_extension: Option<bool>,
        preserve_data: Option<Raw<'a>>,
    },
    BranchSummary {
        /// An entry id, or `root`.
        from_id: Cow<'a, str>,
        summary: Cow<'a, str>,
        details: Option<Raw<'a>>,
        from_extension: Option<bool>,
    },
    Custom {
        custom_type: Cow<'a, str>,
        data: Option<Raw<'a>>,
    },
    CustomMessage {
        custom_type: Cow<'a, str>,
        /// A string or an array of blocks.
        content: Option<Raw<'a>>,
        display: bool,
        details: Option<Raw<'a>>,
        attribution: Option<Cow<'a, str>>,
    },
    Label {
        target_id: Cow<'a, str>,
        /// Absent or empty clears.
        label: Option<Cow<'a, str>>,
    },
    TtsrInjection {
        injected_rules: Vec<Cow<'a, str>>,
    },
    SessionInit {
        system_prompt: Cow<'a, str>,
        task: Cow<'a, str>,
        tools: Vec<Cow<'a, str>>,
        output_schema: Option<Raw<'a>>,
    },
    ModeChange {
        mode: Cow<'a, str>,
        data: Option<Raw<'a>>,
    },
    ServiceTierChange {
        service_tier: Option<Cow<'a, str>>,
    },
    ContextChange {
        context_name: Cow<'a, str>,
        tenant: Cow<'a, str>,
        namespace: Cow<'a, str>,
    },
    McpToolSelection {
        selected_tool_names: Vec<Cow<'a, str>>,
    },
    /// Any other type: the whole entry.
    Other {
        entry: Raw<'a>,
    },
}

impl Entry {
    /// `line` is checked JSON, so it is UTF-8.
    pub(crate) fn new(line: Vec<u8>, number: u32) -> Entry {
        let line = String::from_utf8(line).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into());
        Entry { line, number }
    }

    /// The entry's place in the session, from 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The exact line, white space around the object included, without its line end.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The whole entry as a JSON value.
    pub fn raw(&self) -> Raw<'_> {
        Raw::new(self.line.as_bytes())
    }

    /// The line, taken out.
    pub fn into_line(self) -> String {
        self.line
    }

    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.raw().get(name).and_then(Raw::as_str)
    }

    /// The `type`.
    pub fn entry_type(&self) -> Cow<'_, str> {
        self.text("type").unwrap_or_default()
    }

    /// The type as one of those the library knows.
    pub fn kind(&self) -> EntryKind {
        EntryKind::of(&self.entry_type())
    }

    /// The id.
    pub fn id(&self) -> Option<Cow<'_, str>> {
        self.text("id")
    }

    /// The id of the entry this one follows.
    pub fn parent_id(&self) -> Option<Cow<'_, str>> {
        self.text("parentId")
    }

    /// The timestamp as it is written.
    pub fn timestamp(&self) -> Option<Cow<'_, str>> {
        self.text("timestamp")
    }

    /// The fields that the entry's type has.
    pub fn data(&self) -> EntryData<'_> {
        let entry = self.raw();
        let text = |name| entry.get(name).and_then(Raw::as_str);
        let required = |name| text(name).unwrap_or_default();
        let texts = |name| entry.get(name).map(strings).unwrap_or_default();
        let flag = |name| entry.get(name).and_then(Raw::as_bool);
        match self.kind() {
            EntryKind::Message => {
                let message = entry.get("message").unwrap_or(Raw::new(b"null"));
                let role = message.get("role").and_then(Raw::as_str).unwrap_or_default();
                EntryData::Message { message, role }
            }
            EntryKind::ThinkingLevelChange => EntryData::ThinkingLevelChange { thinking_level: text("thinkingLevel") },
            EntryKind::ModelChange => {
                EntryData::ModelChange { model: model(entry).unwrap_or_default(), role: text("role") }
            }
            EntryKind::Compaction => EntryData::Compaction {
                summary: required("summary"),
                short_summary: text("shortSummary"),
                first_kept_entry_id: text("firstKeptEntryId"),
                tokens_before: entry.get("tokensBefore").and_then(Raw::as_f64),
                details: entry.get("details"),
                from_extension: flag("fromExtension"),
                preserve_data: entry.get("preserveData"),
            },
            EntryKind::BranchSummary => EntryData::BranchSummary {
                from_id: required("fromId"),
                summary: required("summary"),
                details: entry.get("details"),
                from_extension: flag("fromExtension"),
            },
            EntryKind::Custom => EntryData::Custom { custom_type: required("customType"), data: entry.get("data") },
            EntryKind::CustomMessage => EntryData::CustomMessage {
                custom_type: required("customType"),
                content: entry.get("content"),
                display: flag("display").unwrap_or(false),
                details: entry.get("details"),
                attribution: text("attribution"),
            },
            EntryKind::Label => EntryData::Label { target_id: required("targetId"), label: text("label") },
            EntryKind::TtsrInjection => EntryData::TtsrInjection { injected_rules: texts("injectedRules") },
            EntryKind::SessionInit => EntryData::SessionInit {
                system_prompt: required("systemPrompt"),
                task: required("task"),
                tools: texts("tools"),
                output_schema: entry.get("outputSchema"),
            },
            EntryKind::ModeChange => EntryData::ModeChange { mode: required("mode"), data: entry.get("data") },
            EntryKind::ServiceTierChange => EntryData::ServiceTierChange { service_tier: text("serviceTier") },
            EntryKind::ContextChange => EntryData::ContextChange {
                context_name: required("contextName"),
                tenant: required("tenant"),
                namespace: required("namespace"),
            },
            EntryKind::McpToolSelection => {
                EntryData::McpToolSelection { selected_tool_names: texts("selectedToolNames") }
            }
            EntryKind::Other => EntryData::Other { entry },
        }
    }
}

/// The strings of an array; other items are left out.
pub(crate) fn strings(array: Raw<'_>) -> Vec<Cow<'_, str>> {
    array.items().filter_map(Raw::as_str).collect()
}

/// The `provider/modelId` of a model_change, in either of its forms.
pub(crate) fn model(entry: Raw<'_>) -> Option<Cow<'_, str>> {
    let text = |name| entry.get(name).and_then(Raw::as_str);
    match text("model") {
        Some(model) if !model.is_empty() => Some(model),
        _ => Some(format!("{}/{}", text("provider")?, text("modelId")?).into()),
    }
}
