//! A store in a temporary directory, and what its files hold.

use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xcsh_session::dirs::AgentDirs;
use xcsh_session::storage::FileSessionStorage;
use xcsh_session::{Error, ManagerOptions, SessionManager};

/// Options for files in `<dir>/agent`, with a storage of their own, as another process would have.
pub fn options(dir: &Path) -> ManagerOptions {
    ManagerOptions::at(AgentDirs::at(dir.join("agent")), Arc::new(FileSessionStorage::new()))
}

pub fn open(path: &Path) -> SessionManager {
    SessionManager::open(path, options(path.parent().unwrap())).unwrap()
}

/// An assistant message that says `tag`, as its JSON.
pub fn message(tag: &str) -> String {
    format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{tag}"}}],"provider":"p","model":"m"}}"#)
}

/// Appends a message that says `tag`.
pub fn say(manager: &SessionManager, tag: &str) -> Result<String, Error> {
    manager.append_message(&message(tag))
}

/// A line that another program could write.
pub fn foreign_line(id: &str, parent: Option<&str>, tag: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{}}}"#,
        message(tag)
    )
}

/// A session file with a message for each tag; ids are `e-<tag>`, each entry follows the one before it.
pub fn write_session(path: &Path, id: &str, tags: &[&str]) {
    fs::write(path, session_text(id, "", tags)).unwrap();
}

/// The text of such a file; `more` are further members of the header (`,"title":"x"`).
pub fn session_text(id: &str, more: &str, tags: &[&str]) -> String {
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/srv/pi\"{more}}}\n"
    );
    let mut parent: Option<String> = None;
    for tag in tags {
        let id = format!("e-{tag}");
        text += &foreign_line(&id, parent.as_deref(), tag);
        text.push('\n');
        parent = Some(id);
    }
    text
}

/// Every line of a file, each of which must be one JSON object that ends with a line end.
pub fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read(path).unwrap();
    assert!(text.ends_with(b"\n"), "no line end at the end");
    let parse = |line: &[u8]| {
        serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(line)))
    };
    text[..text.len() - 1].split(|&byte| byte == b'\n').map(parse).collect()
}

/// What a message says.
pub fn tag(entry: &Value) -> Option<String> {
    Some(entry["message"]["content"][0]["text"].as_str()?.to_owned())
}

/// What the messages of a file say, in its order. Each line must parse, the first alone be a header, and no id be
/// there twice.
pub fn tags(path: &Path) -> Vec<String> {
    let lines = lines(path);
    let headers = lines.iter().filter(|line| line["type"] == "session").count();
    assert!(headers == 1 && lines[0]["type"] == "session", "{headers} headers");
    let mut ids = HashSet::new();
    for id in lines[1..].iter().filter_map(|line| line["id"].as_str()) {
        assert!(ids.insert(id), "{id} is there twice");
    }
    lines.iter().filter_map(tag).collect()
}

/// What the messages in memory say.
pub fn held(manager: &SessionManager) -> Vec<String> {
    manager.read(|session| {
        let entries = session.entries().map(|entry| serde_json::from_str(entry.unwrap().line()).unwrap());
        entries.filter_map(|entry: Value| tag(&entry)).collect()
    })
}

/// Files in a directory whose names contain `part`.
pub fn named(dir: &Path, part: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().contains(part))
        .collect();
    found.sort();
    found
}

/// Numbers that differ from run to run; a failing test prints the seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed | 1)
    }

    pub fn seed() -> u64 {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(0)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
