//! What the library does, written again in the plainest way over serde_json: the other side of every comparison. No
//! line here knows how the library goes about it, and nothing here is fast.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "each user takes a part of it")]

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Whether the bytes are one JSON text. serde_json steps over values it does not keep without recursion.
pub fn is_json(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<&RawValue>(text).is_ok())
}

/// Keys and values of an object as they are spelled, in order.
pub struct Members<'a>(pub Vec<(&'a str, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfObject;
        impl<'de> Visitor<'de> for OfObject {
            type Value = Vec<(&'de str, &'de str)>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    members.push((key.get(), value.get()));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(OfObject).map(Members)
    }
}

impl<'a> Members<'a> {
    pub fn of(text: &'a str) -> Option<Members<'a>> {
        serde_json::from_str(text).ok()
    }

    /// The value that counts for a key: the last.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rfind(|(key, _)| string(key).as_deref() == Some(name)).map(|(_, value)| *value)
    }

    pub fn string(&self, name: &str) -> Option<String> {
        string(self.get(name)?)
    }
}

/// The characters of a string token, lone surrogates as U+FFFD.
pub fn string(token: &str) -> Option<String> {
    struct Bytes;
    impl<'de> Visitor<'de> for Bytes {
        type Value = Vec<u8>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a string")
        }
        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }
    }
    if !token.starts_with('"') {
        return None;
    }
    // Asked for bytes, serde_json gives a lone surrogate as the three bytes that UTF-8 would have for it.
    let bytes = serde_json::Deserializer::from_str(token).deserialize_bytes(Bytes).ok()?;
    let (mut text, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        if bytes[at] == 0xed && bytes[at + 1] >= 0xa0 {
            text.extend("\u{fffd}".bytes());
            at += 3;
        } else {
            text.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(text).ok()
}

/// What a line that is one record says of itself.
#[derive(Debug, PartialEq)]
pub struct Seen {
    pub kind: String,
    pub id: Option<String>,
    pub parent: Option<String>,
    pub has_parent: bool,
    pub timestamp: Option<String>,
    /// `assistant`, `toolResult`, `hookMessage` or `other`, of a message entry whose message is an object.
    pub role: Option<&'static str>,
    /// input, output, cacheRead, cacheWrite, premiumRequests, cost.
    pub usage: [f64; 6],
    pub target: Option<String>,
    pub label: Option<String>,
}

pub fn seen(line: &[u8]) -> Option<Seen> {
    let line = std::str::from_utf8(line).ok()?;
    let members = Members::of(line)?;
    let kind = members.string("type")?;
    let message = members.get("message").filter(|_| kind == "message").and_then(Members::of);
    let role = message.as_ref().map(|message| match message.string("role").as_deref() {
        Some("assistant") => "assistant",
        Some("toolResult") => "toolResult",
        Some("hookMessage") => "hookMessage",
        _ => "other",
    });
    let usage = message.and_then(|message| match role? {
        "assistant" => Members::of(message.get("usage")?),
        "toolResult" if message.string("toolName")? == "task" => {
            Members::of(Members::of(message.get("details")?)?.get("usage")?)
        }
        _ => None,
    });
    Some(Seen {
        id: members.string("id"),
        parent: members.string("parentId"),
        has_parent: members.get("parentId").is_some(),
        timestamp: members.string("timestamp"),
        role,
        usage: usage.map(|usage| sums(&usage)).unwrap_or_default(),
        target: members.string("targetId"),
        label: members.string("label"),
        kind,
    })
}

fn sums(usage: &Members<'_>) -> [f64; 6] {
    // A number that is too large for a double is refused here, and counts 0 there.
    let number = |of: Option<&str>| of.and_then(|text| serde_json::from_str::<f64>(text).ok()).unwrap_or(0.0);
    let cost = usage.get("cost").and_then(Members::of);
    [
        number(usage.get("input")),
        number(usage.get("output")),
        number(usage.get("cacheRead")),
        number(usage.get("cacheWrite")),
        number(usage.get("premiumRequests")),
        number(cost.and_then(|cost| cost.get("total"))),
    ]
}

/// The entries of a session as value trees, file order. Ids are those that count: of duplicates the last.
pub struct Plain(pub Vec<Value>);

impl Plain {
    pub fn id(&self, entry: usize) -> Option<&str> {
        self.0[entry]["id"].as_str()
    }

    pub fn find(&self, id: &str) -> Option<usize> {
        (0..self.0.len()).rev().find(|&entry| self.id(entry) == Some(id))
    }

    pub fn parent(&self, entry: usize) -> Option<usize> {
        self.find(self.0[entry]["parentId"].as_str()?)
    }

    /// Root first.
    pub fn path(&self, leaf: usize) -> Vec<usize> {
        let (mut path, mut next) = (Vec::new(), Some(leaf));
        while let Some(entry) = next.filter(|entry| !path.contains(entry)) {
            path.insert(0, entry);
            next = self.parent(entry);
        }
        path
    }

    pub fn children(&self, id: &str) -> Vec<u32> {
        (0..self.0.len()).filter(|&entry| self.0[entry]["parentId"] == id).map(|entry| entry as u32).collect()
    }

    /// Whether the entry is a root of the tree: no parent, or the first in the file of its cycle.
    pub fn is_root(&self, entry: usize) -> bool {
        let Some(parent) = self.parent(entry) else { return true };
        let up = self.path(parent);
        // The entry is on its own way up: it is in a cycle, and all of it is on that way.
        up.contains(&entry) && up[up.iter().position(|&at| at == entry).unwrap()..].iter().all(|&other| other >= entry)
    }

    pub fn label(&self, id: &str) -> Option<&str> {
        let of = |entry: &&Value| entry["type"] == "label" && entry["targetId"] == id;
        let last = self.0.iter().rev().find(of)?;
        last["label"].as_str().filter(|label| !label.is_empty())
    }

    /// SPEC section 7, step by step. `time` gives an entry's milliseconds.
    pub fn context(&self, leaf: Option<usize>, latest: bool, time: impl Fn(&Value) -> Option<i64>) -> Value {
        let path: Vec<&Value> =
            leaf.map(|leaf| self.path(leaf)).unwrap_or_default().iter().map(|&at| &self.0[at]).collect();
        let mut context = Map::new();
        let (mut thinking, mut mode, mut mode_data) = (json!("off"), json!("none"), None);
        let (mut tier, mut name, mut tenant, mut tools) = (None, None, None, None);
        let (mut models, mut decided) = (Map::new(), false);
        let mut rules: Vec<Value> = Vec::new();
        let string = |value: &Value| value.as_str().map(|text| json!(text));
        let strings = |value: &Value| -> Vec<Value> {
            value.as_array().into_iter().flatten().filter(|item| item.is_string()).cloned().collect()
        };
        for entry in &path {
            match entry["type"].as_str().unwrap() {
                "thinking_level_change" => thinking = string(&entry["thinkingLevel"]).unwrap_or(json!("off")),
                "service_tier_change" => tier = string(&entry["serviceTier"]),
                "context_change" => (name, tenant) = (string(&entry["contextName"]), string(&entry["tenant"])),
                "mcp_tool_selection" => tools = Some(strings(&entry["selectedToolNames"])),
                "mode_change" => {
                    mode = string(&entry["mode"]).unwrap_or(json!("none"));
                    mode_data = entry.get("data");
                }
                "ttsr_injection" => {
                    for rule in strings(&entry["injectedRules"]) {
                        if !rules.contains(&rule) {
                            rules.push(rule);
                        }
                    }
                }
                "model_change" => {
                    let model = match (entry["model"].as_str(), entry["provider"].as_str(), entry["modelId"].as_str()) {
                        (Some(model), ..) if !model.is_empty() => model.to_owned(),
                        (_, Some(provider), Some(model)) => format!("{provider}/{model}"),
                        _ => continue,
                    };
                    let role = entry["role"].as_str().unwrap_or("default");
                    decided |= role == "default";
                    models.insert(role.to_owned(), json!(model));
                }
                "message" if entry["message"]["role"] == "assistant" => {
                    let message = &entry["message"];
                    if let (Some(provider), Some(model)) = (message["provider"].as_str(), message["model"].as_str())
                        && (latest || !decided)
                    {
                        models.insert("default".to_owned(), json!(format!("{provider}/{model}")));
                    }
                }
                _ => {}
            }
        }

        let mut messages = Vec::new();
        let emit = |entry: &Value, messages: &mut Vec<Value>| {
            let made = |role: &str, names: &[&str]| {
                let mut message = Map::new();
                message.insert("role".to_owned(), json!(role));
                for name in names {
                    if let Some(value) = entry.get(name) {
                        message.insert((*name).to_owned(), value.clone());
                    }
                }
                message.insert("timestamp".to_owned(), json!(time(entry)));
                Value::Object(message)
            };
            match entry["type"].as_str().unwrap() {
                "message" if entry["message"].is_object() => messages.push(entry["message"].clone()),
                "custom_message" => {
                    messages.push(made("custom", &["customType", "content", "display", "details", "attribution"]))
                }
                "branch_summary" if entry["summary"].as_str().is_some_and(|summary| !summary.is_empty()) => {
                    messages.push(made("branchSummary", &["summary", "fromId"]));
                }
                _ => {}
            }
        };
        match path.iter().rposition(|entry| entry["type"] == "compaction") {
            None => path.iter().for_each(|entry| emit(entry, &mut messages)),
            Some(at) => {
                let compaction = path[at];
                let mut message = Map::new();
                message.insert("role".to_owned(), json!("compactionSummary"));
                for name in ["summary", "shortSummary", "tokensBefore"] {
                    if let Some(value) = compaction.get(name) {
                        message.insert(name.to_owned(), value.clone());
                    }
                }
                let remote = &compaction["preserveData"]["openaiRemoteCompaction"];
                let provider = remote["provider"].as_str().filter(|provider| !provider.is_empty());
                let remote = provider.zip(remote["replacementHistory"].as_array());
                if let Some((provider, items)) = remote {
                    let payload = json!({"type": "openaiResponsesHistory", "provider": provider, "items": items});
                    message.insert("providerPayload".to_owned(), payload);
                }
                message.insert("timestamp".to_owned(), json!(time(compaction)));
                messages.push(Value::Object(message));
                let first = compaction["firstKeptEntryId"].as_str();
                let mut keeping = false;
                for entry in &path[..at] {
                    keeping |= first.is_some() && entry["id"].as_str() == first && remote.is_none();
                    if keeping {
                        emit(entry, &mut messages);
                    }
                }
                path[at + 1..].iter().for_each(|entry| emit(entry, &mut messages));
            }
        }

        context.insert("messages".to_owned(), Value::Array(messages));
        context.insert("thinkingLevel".to_owned(), thinking);
        let mut put = |name: &str, value: Option<Value>| value.map(|value| context.insert(name.to_owned(), value));
        put("serviceTier", tier);
        put("models", Some(Value::Object(models)));
        put("activeContextName", name);
        put("activeContextTenant", tenant);
        put("injectedTtsrRules", Some(Value::Array(rules)));
        put("hasPersistedMCPToolSelection", Some(json!(tools.is_some())));
        put("selectedMCPToolNames", Some(json!(tools.unwrap_or_default())));
        put("mode", Some(mode));
        put("modeData", mode_data.cloned());
        Value::Object(context)
    }
}
