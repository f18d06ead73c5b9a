//! The write cases of tests/conformance through the Rust surface, on files and in memory: run the operations, flush
//! after each, compare the file line by line.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xcsh_session::dirs::AgentDirs;
use xcsh_session::storage::{FileSessionStorage, MemorySessionStorage, SessionStorage};
use xcsh_session::{Compaction, CustomMessage, Error, ManagerOptions, SessionManager, TitleSource};

fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance/write.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Builds the strings that the cases only describe, and puts ids of earlier operations in.
fn expand(value: &Value, ids: &[Value]) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix('$').and_then(|op| op.parse::<usize>().ok()) {
            Some(op) => ids[op].clone(),
            None => value.clone(),
        },
        Value::Array(items) => items.iter().map(|item| expand(item, ids)).collect(),
        Value::Object(members) => match members.iter().next().map(|(key, value)| (key.as_str(), value)) {
            Some(("$repeat", spec)) => {
                json!(spec[0].as_str().unwrap().repeat(spec[1].as_u64().unwrap() as usize))
            }
            Some(("$base64", count)) => {
                let count = count.as_u64().unwrap();
                let bytes: Vec<u8> = (0..count).map(|i| ((7 * i + count) % 256) as u8).collect();
                json!(base64_simd::STANDARD.encode_to_string(bytes))
            }
            Some(("$concat", parts)) => {
                let parts = expand(parts, ids);
                json!(parts.as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect::<String>())
            }
            _ => Value::Object(members.iter().map(|(key, value)| (key.clone(), expand(value, ids))).collect()),
        },
        other => other.clone(),
    }
}

/// Runs one operation of the Node surface and returns what it returned.
fn run(manager: &SessionManager, op: &str, args: &[Value]) -> Result<Value, Error> {
    let text = |at: usize| args.get(at).and_then(Value::as_str);
    let raw = |at: usize| args.get(at).filter(|value| !value.is_null()).map(Value::to_string);
    let required = |at: usize| text(at).unwrap_or_else(|| panic!("{op}: argument {at}"));
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
    };
    let id = match op {
        "appendMessage" => manager.append_message(&args[0].to_string())?,
        "appendThinkingLevelChange" => manager.append_thinking_level_change(text(0))?,
        "appendModelChange" => manager.append_model_change(required(0), text(1))?,
        "appendModeChange" => manager.append_mode_change(required(0), raw(1).as_deref())?,
        "appendServiceTierChange" => manager.append_service_tier_change(text(0))?,
        "appendContextChange" => manager.append_context_change(required(0), required(1), required(2))?,
        "appendMCPToolSelection" => manager.append_mcp_tool_selection(&texts(&args[0]))?,
        "appendTtsrInjection" => manager.append_ttsr_injection(&texts(&args[0]))?,
        "appendLabelChange" => manager.append_label_change(required(0), text(1))?,
        "appendCustomEntry" => manager.append_custom_entry(required(0), raw(1).as_deref())?,
        "appendSessionInit" => manager.append("session_init", &args[0].to_string())?,
        "appendCustomMessageEntry" => manager.append_custom_message_entry(&CustomMessage {
            custom_type: required(0),
            content: &raw(1).unwrap(),
            display: args[2].as_bool().unwrap(),
            details: raw(3).as_deref(),
            attribution: text(4),
        })?,
        "appendCompaction" => manager.append_compaction(&Compaction {
            summary: required(0),
            short_summary: text(1),
            first_kept_entry_id: text(2),
            tokens_before: args[3].as_u64().unwrap(),
            details: raw(4).as_deref(),
            from_extension: args.get(5).and_then(Value::as_bool),
            preserve_data: raw(6).as_deref(),
        })?,
        "branchWithSummary" => {
            let from_extension = args.get(3).and_then(Value::as_bool);
            manager.branch_with_summary(text(0), required(1), raw(2).as_deref(), from_extension)?
        }
        "setSessionName" => {
            let source = TitleSource::of(required(1)).unwrap();
            return Ok(json!(manager.set_session_name(required(0), source)?));
        }
        "branch" => return manager.branch(required(0)).map(|()| Value::Null),
        "resetLeaf" => {
            manager.reset_leaf();
            return Ok(Value::Null);
        }
        "flush" => return manager.flush().map(|()| Value::Null),
        "ensureOnDisk" => return manager.ensure_on_disk().map(|()| Value::Null),
        "fork" => return manager.fork().map(|_| Value::Null),
        "createBranchedSession" => return manager.create_branched_session(required(0)).map(|_| Value::Null),
        other => panic!("unknown operation {other}"),
    };
    Ok(json!(id))
}

/// A session file as the cases show it.
struct Shown {
    ids: HashMap<String, String>,
    parent: String,
}

impl Shown {
    fn file(text: &str, old_id: &str, old_file: &str) -> Vec<Value> {
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids =
            lines[1..].iter().enumerate().map(|(i, entry)| (entry["id"].as_str().unwrap().into(), format!("#{i}")));
        let parent = lines[0]["parentSession"].as_str().unwrap_or_default().to_owned();
        let mut shown = Shown { ids: ids.collect(), parent };
        if shown.parent == old_id {
            shown.parent = "<old id>".into();
        } else if shown.parent == old_file {
            shown.parent = "<old file>".into();
        }
        lines.into_iter().map(|line| json!(shown.line(line).to_string())).collect()
    }

    fn line(&self, line: Value) -> Value {
        let Value::Object(members) = line else { panic!("not an object") };
        let header = members["type"] == "session";
        let show = |(key, value): (String, Value)| {
            let shown = match key.as_str() {
                "id" if header => json!("<session>"),
                "cwd" if header => json!("<cwd>"),
                "parentSession" if header => json!(self.parent),
                "timestamp" => json!("<ts>"),
                _ => self.value(value),
            };
            (key, shown)
        };
        Value::Object(members.into_iter().map(show).collect())
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) if text.encode_utf16().count() > 2000 => {
                let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
                json!({"$utf16": text.encode_utf16().count(), "$sha256": digest})
            }
            Value::String(text) => json!(self.ids.get(&text).unwrap_or(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                Value::Object(members.into_iter().map(|(key, value)| (key, self.value(value))).collect())
            }
            other => other,
        }
    }
}

fn read(storage: &dyn SessionStorage, path: &Path) -> Option<String> {
    storage.read_text(path).ok().map(|bytes| String::from_utf8(bytes).unwrap())
}

fn check(case: &Value, storage: Arc<dyn SessionStorage>, dir: &Path) {
    let name = case["name"].as_str().unwrap();
    let options = ManagerOptions::at(AgentDirs::at(dir), Arc::clone(&storage));
    let manager = SessionManager::create("/srv/pi", options).unwrap();
    let (old_file, old_id) = (manager.session_file().unwrap(), manager.session_id());
    let mut returned = Vec::new();
    for op in case["ops"].as_array().unwrap() {
        let call = op.as_array().unwrap();
        let Value::Array(args) = expand(&Value::Array(call[1..].to_vec()), &returned) else { unreachable!() };
        let result = run(&manager, call[0].as_str().unwrap(), &args);
        returned.push(result.unwrap_or_else(|error| panic!("{name}: {op}: {error}")));
        manager.flush().unwrap();
    }
    let file: PathBuf = manager.session_file().unwrap();
    let show = |path: &Path| {
        read(&*storage, path)
            .map_or(Value::Null, |text| Value::Array(Shown::file(&text, &old_id, &old_file.to_string_lossy())))
    };
    let lines = |expected: &Value| match expected {
        Value::Array(lines) => lines.iter().map(|line| json!(line.as_str().unwrap())).collect(),
        other => other.clone(),
    };
    assert_eq!(show(&file), lines(&case["file"]), "{name}: file");
    if let Some(old) = case.get("oldFile") {
        assert_ne!(file, old_file, "{name}: another file");
        assert_eq!(show(&old_file), lines(old), "{name}: old file");
    }
    if let Some(returns) = case.get("returns") {
        let flags: Value =
            returned.iter().map(|value| if value.is_boolean() { value.clone() } else { Value::Null }).collect();
        assert_eq!(flags, *returns, "{name}: returns");
    }
}

#[test]
fn write_cases_on_files() {
    for case in cases() {
        let dir = tempfile::tempdir().unwrap();
        check(&case, Arc::new(FileSessionStorage::new()), dir.path());
    }
}

#[test]
fn write_cases_in_memory() {
    for case in cases() {
        check(&case, Arc::new(MemorySessionStorage::new()), Path::new("/agent"));
    }
}
