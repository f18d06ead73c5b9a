//! Reading session files that real agents wrote, and leaving them as they are.

mod real_sessions;

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::Path;
use xcsh_session::{Leaf, Session};

fn counts<'a>(names: impl Iterator<Item = std::borrow::Cow<'a, str>>) -> Value {
    let mut counts = BTreeMap::<String, u64>::new();
    names.for_each(|name| *counts.entry(name.into_owned()).or_default() += 1);
    json!(counts)
}

fn found(session: &Session) -> Value {
    let leaf = session.leaf_id();
    let plan = session.context(leaf.as_deref().map_or(Leaf::None, Leaf::Id)).unwrap();
    let context: Value = serde_json::from_str(&session.context_json(&plan).unwrap()).unwrap();
    let messages = context["messages"].as_array().unwrap();
    let entries: Vec<_> = session.entries().map(Result::unwrap).collect();
    let mut found = json!({
        "version": session.file_version().parse::<u64>().unwrap(),
        "entries": session.len(),
        "types": counts(entries.iter().map(|entry| entry.entry_type())),
        "branch": session.branch(None).unwrap().len(),
        "contextMessages": messages.len(),
        "roles": counts(messages.iter().map(|message| message["role"].as_str().unwrap().into())),
        "thinkingLevel": context["thinkingLevel"],
        "mode": context["mode"],
        "usage": session.usage(),
        "models": context["models"],
    });
    if let Some(title) = session.title() {
        found["title"] = json!(title);
    }
    found
}

#[test]
fn real_sessions_hold_what_is_expected() {
    for (file, expected) in real_sessions::all() {
        let session = Session::read(&file).unwrap();
        real_sessions::check(&file, &found(&session), &expected);
        for (number, entry) in session.entries().enumerate() {
            let entry = entry.unwrap();
            let number = number as u32;
            assert_eq!(session.entry_at(number).unwrap().as_ref(), Some(&entry), "{}", file.display());
            assert_eq!(session.kind_of(number), Some(entry.kind()), "{}: entry {number}", file.display());
        }
        assert_eq!(session.kind_of(session.len() as u32), None);
    }
}

#[test]
fn a_session_tells_the_version_in_its_file() {
    for (header, version) in [
        (r#""x":1"#, "1"),
        (r#""version":null"#, "1"),
        (r#""version":1"#, "1"),
        (r#""version":2"#, "2"),
        (r#""version":3"#, "3"),
        (r#""version":7"#, "7"),
    ] {
        let text = format!("{{\"type\":\"session\",\"id\":\"s\",{header}}}\n");
        let session = Session::parse(text, "s.jsonl", Default::default()).unwrap();
        assert_eq!(session.file_version(), version, "{header}");
        let migrated = session.is_migrated();
        assert_eq!(migrated, version < "3", "{header}");
        assert_eq!(session.header().version_text(), if migrated { "3" } else { version }, "{header}");
    }
}

/// Everything of a file and its directory that a reader could change.
fn state(file: &Path) -> (Vec<u8>, Vec<std::ffi::OsString>, [Map<String, Value>; 2]) {
    let dir = file.parent().unwrap();
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let facts = |metadata: Metadata| {
        let facts = json!({
            "modified": format!("{:?}", metadata.modified().unwrap()),
            "length": metadata.len(),
            "readonly": metadata.permissions().readonly(),
        });
        facts.as_object().unwrap().clone()
    };
    let of_both = [file, dir].map(|path| facts(fs::metadata(path).unwrap()));
    (fs::read(file).unwrap(), names, of_both)
}

fn read_everything(file: &Path) {
    let session = Session::read(file).unwrap();
    session.diagnostics().unwrap();
    found(&session);
}

#[test]
fn reading_leaves_real_sessions_as_they_are() {
    for (file, _) in real_sessions::all() {
        let before = state(&file);
        read_everything(&file);
        assert!(state(&file) == before, "{} has changed", file.display());
    }
}

/// Two that a manager would rewrite or repair: one of version 1, one with a torn last line.
const TEMPTING: [&str; 2] = [
    "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
    "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null}\n{\"type\":\"mess",
];

#[test]
fn a_read_only_directory_is_enough() {
    for text in TEMPTING {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("session.jsonl");
        fs::write(&file, text).unwrap();
        for path in [&file, dir.path()] {
            let mut permissions = fs::metadata(path).unwrap().permissions();
            permissions.set_readonly(true);
            fs::set_permissions(path, permissions).unwrap();
        }
        let before = state(&file);
        read_everything(&file);
        assert_eq!(state(&file), before);
        let session = Session::read(&file).unwrap();
        assert_eq!(session.len(), 1, "{text}");
        drop(session);
        let mut permissions = fs::metadata(dir.path()).unwrap().permissions();
        #[allow(clippy::permissions_set_readonly_false, reason = "the directory is about to be removed")]
        permissions.set_readonly(false);
        fs::set_permissions(dir.path(), permissions).unwrap();
    }
}
