//! What a manager acknowledged, and whether files and memory have it.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]

use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use xcsh_session::blob::BlobStore;
use xcsh_session::storage::SessionStorage;
use xcsh_session::{Session, SessionManager};

/// An entry whose append returned its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    pub id: String,
    pub parent: Option<String>,
    /// A text that is in its line.
    pub tag: String,
    pub is_label: bool,
    /// Another program appended it: it is in the file, and in memory once it was taken in.
    pub foreign: bool,
}

/// One session as it must be.
#[derive(Clone, Debug, Default)]
pub struct Book {
    pub file: PathBuf,
    pub session: String,
    pub entries: Vec<Noted>,
    pub title: Option<String>,
    pub cwd: Option<String>,
    /// Whether the file has to be there: the deferral is over.
    pub on_disk: bool,
    pub artifacts: Vec<(String, Vec<u8>)>,
}

impl Book {
    /// The entry that a step appended, also where another step changed it since.
    pub fn id_of(&self, tag: &str) -> Option<&str> {
        let is = |noted: &&Noted| {
            noted.tag.strip_prefix(tag).is_some_and(|rest| rest.is_empty() || rest.starts_with(" and "))
        };
        self.entries.iter().find(is).map(|noted| &*noted.id)
    }

    /// Whether the manager has every entry, where it belongs.
    #[track_caller]
    pub fn check_memory(&self, manager: &SessionManager) {
        manager.read(|session| {
            assert_eq!(session.header().id(), self.session);
            let known = |id: &str| session.number_of(id);
            for noted in &self.entries {
                let Some(number) = known(&noted.id) else {
                    assert!(noted.foreign, "not in memory: {noted:?}");
                    continue;
                };
                assert_eq!(session.id_of(number), Some(&*noted.id));
            }
            let own = |id: &str| self.entries.iter().any(|noted| noted.id == id);
            for number in 0..session.len() as u32 {
                let id = session.id_of(number).expect("an id");
                assert!(own(id), "in memory, and never acknowledged: {id}");
                assert_eq!(session.number_of(id), Some(number), "twice in memory: {id}");
            }
            assert_eq!(session.title(), self.title);
        });
        assert_eq!(manager.session_file().as_deref(), Some(&*self.file));
    }

    /// Whether the file is the session: every entry once, in its place, and nothing else. `may_be_torn` says which
    /// lines need not be JSON.
    #[track_caller]
    pub fn check_file(&self, storage: &dyn SessionStorage, blobs: &Path, may_be_torn: &dyn Fn(&[u8]) -> bool) {
        let file = Records::read(storage, &self.file);
        for torn in &file.torn {
            assert!(may_be_torn(torn), "a line that is no JSON: {:?}", String::from_utf8_lossy(torn));
        }
        assert!(file.ends_with_newline, "the last line has no end");
        self.check_records(&file);
        for (id, _, line) in &file.entries {
            assert!(self.entries.iter().any(|noted| noted.id == *id), "never acknowledged: {line}");
        }
        assert_eq!(file.header.get("title").and_then(Value::as_str), self.title.as_deref(), "title");
        assert_eq!(file.header["cwd"].as_str(), self.cwd.as_deref(), "cwd");
        check_blobs(storage, blobs, &self.file);
    }

    /// Whether every artifact is there.
    #[track_caller]
    pub fn check_artifacts(&self, storage: &dyn SessionStorage) {
        let dir = xcsh_session::artifacts::artifacts_dir(&self.file);
        for (id, content) in &self.artifacts {
            let path = dir.join(xcsh_session::artifacts::file_name(id.parse().unwrap(), "bash"));
            assert_eq!(storage.read_text(&path).ok().as_ref(), Some(content), "artifact {}", path.display());
        }
    }

    /// Whether every entry is there once, in its place.
    #[track_caller]
    pub fn check_records(&self, file: &Records) {
        assert_eq!(file.header["id"].as_str(), Some(&*self.session), "the header");
        let mut found: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, (id, ..)) in file.entries.iter().enumerate() {
            found.entry(id).or_default().push(at);
        }
        for noted in &self.entries {
            let at = found.get(&*noted.id).map(Vec::as_slice).unwrap_or_default();
            assert_eq!(at.len(), 1, "times in the file: {noted:?}");
            let (_, parent, line) = &file.entries[at[0]];
            assert_eq!(*parent, noted.parent, "parent of {noted:?}");
            assert!(line.contains(&noted.tag), "{noted:?} is {line}");
        }
        for (at, (id, parent, _)) in file.entries.iter().enumerate() {
            let Some(parent) = parent else { continue };
            assert!(found.get(&**parent).is_some_and(|places| places[0] < at), "the parent of {id} is not before it");
            assert_eq!(found[&**id].len(), 1, "twice in the file: {id}");
        }
    }

    /// Whether a reader without memory finds the session.
    #[track_caller]
    pub fn check_reopened(&self, session: &Session, malformed: bool) {
        assert_eq!(session.header().id(), self.session);
        for noted in &self.entries {
            let number = session.number_of(&noted.id).unwrap_or_else(|| panic!("not found again: {noted:?}"));
            let entry = session.entry_at(number).unwrap().unwrap();
            assert_eq!(entry.parent_id().as_deref(), noted.parent.as_deref(), "{noted:?}");
        }
        assert_eq!(session.len(), self.entries.len());
        let mut report = session.diagnostics().unwrap();
        if malformed {
            report.malformed_lines.clear();
        }
        assert!(report.is_clean(), "{report:?}");
    }
}

/// The records of a session file.
pub struct Records {
    pub header: Value,
    /// Id, parentId and line.
    pub entries: Vec<(String, Option<String>, String)>,
    /// Lines that are no JSON.
    pub torn: Vec<Vec<u8>>,
    pub ends_with_newline: bool,
}

impl Records {
    #[track_caller]
    pub fn read(storage: &dyn SessionStorage, file: &Path) -> Records {
        let bytes = storage.read_text(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Records::parse(&bytes)
    }

    pub fn parse(bytes: &[u8]) -> Records {
        let mut records = Records {
            header: Value::Null,
            entries: Vec::new(),
            torn: Vec::new(),
            ends_with_newline: bytes.ends_with(b"\n"),
        };
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let Ok(record) = serde_json::from_slice::<Value>(line) else {
                records.torn.push(line.to_vec());
                continue;
            };
            if records.header.is_null() {
                assert_eq!(record["type"], "session", "the first record");
                records.header = record;
                continue;
            }
            let text = |name| record.get(name).and_then(Value::as_str).map(str::to_owned);
            let Some(id) = text("id") else {
                assert!(records.header.get("version").is_none(), "an entry without an id");
                continue;
            };
            records.entries.push((id, text("parentId"), String::from_utf8_lossy(line).into_owned()));
        }
        records
    }
}

/// Whether every blob that a file names is there and whole.
#[track_caller]
pub fn check_blobs(storage: &dyn SessionStorage, dir: &Path, file: &Path) {
    let text = storage.read_text(file).unwrap();
    let text = String::from_utf8_lossy(&text);
    for (at, mark) in text.match_indices("\"blob:sha256:") {
        let Some(hex) = text[at + mark.len()..].split_once('"').map(|(hex, _)| hex).filter(|hex| hex.len() == 64)
        else {
            // In a line that was torn.
            continue;
        };
        let bytes = storage.read_text(&dir.join(hex)).unwrap_or_else(|error| panic!("blob {hex}: {error}"));
        assert_eq!(xcsh_session::blob::BlobRef::of(&bytes).hex(), hex, "a damaged blob");
    }
}

/// The blobs below a directory, for readers.
pub fn blob_store(storage: &std::sync::Arc<dyn SessionStorage>, dir: &Path) -> std::sync::Arc<BlobStore> {
    std::sync::Arc::new(BlobStore::new(std::sync::Arc::clone(storage), dir.to_owned()))
}
