//! Any lines behind a header of an older version: what comes out is of the current one, loads, and has every entry.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;
use xcsh_session::{ReadOptions, Session, json, migrate_session_entries};

fuzz_target!(|bytes: &[u8]| {
    let Some((version, lines)) = bytes.split_first() else { return };
    let header: &[u8] = match version % 3 {
        0 => br#"{"type":"session","id":"s"}"#,
        1 => br#"{"type":"session","version":1,"id":"s","version":2}"#,
        _ => br#"{"type":"session","version":1,"id":"s"}"#,
    };
    let text = [header, b"\n", lines].concat();
    let session = Session::parse(text, "fuzz.jsonl", ReadOptions::default()).unwrap();
    assert!(session.is_migrated());
    let mut records = vec![session.header().json().to_owned()];
    for entry in session.entries() {
        let entry = entry.unwrap();
        json::check(entry.line().as_bytes()).unwrap();
        assert_eq!(entry.id().as_deref(), session.id_of(entry.number()));
        if let Some(message) = entry.raw().get("message").filter(|_| entry.entry_type() == "message") {
            assert_ne!(message.get("role").and_then(|role| role.as_str()).as_deref(), Some("hookMessage"));
        }
        records.push(entry.into_line());
    }
    if version % 3 != 1 {
        let ids: HashSet<_> = (0..session.len() as u32).map(|entry| session.id_of(entry).unwrap()).collect();
        assert_eq!(ids.len(), session.len());
        assert_eq!(session.branch(None).unwrap().len(), session.len());
    }
    assert_eq!(migrate_session_entries(&records).unwrap(), None);
    let again = Session::parse(records.join("\n"), "fuzz.jsonl", ReadOptions::default()).unwrap();
    assert!(!again.is_migrated());
    assert_eq!(again.len(), session.len());
});
