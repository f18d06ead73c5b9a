//! Any bytes as a session file: everything that can be asked is answered, and the answers fit together.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;
use xcsh_session::{Leaf, ReadOptions, Session, json, parse_session_entries};

fuzz_target!(|bytes: &[u8]| {
    let records = parse_session_entries(bytes);
    let Ok(session) = Session::parse(bytes, "fuzz.jsonl", ReadOptions::default()) else {
        assert!(records.is_empty());
        return;
    };
    assert_eq!(records.len(), session.len() + 1);
    let entries: Vec<_> = session.entries().map(Result::unwrap).collect();
    for (entry, record) in entries.iter().zip(&records[1..]) {
        json::check(entry.line().as_bytes()).unwrap();
        assert!(session.is_migrated() || entry.line() == record);
        let _ = (entry.data(), entry.kind(), entry.timestamp(), entry.parent_id());
        assert_eq!(entry.id().as_deref(), session.id_of(entry.number()));
        if let Some(id) = entry.id() {
            assert!(session.number_of(&id) >= Some(entry.number()));
            let _ = session.label(&id);
        }
    }
    let tree = session.tree();
    let walked: HashSet<_> = tree.depth_first().map(|(entry, _)| entry).collect();
    assert_eq!((walked.len(), tree.depth_first().count()), (session.len(), session.len()));
    let branch = session.branch(None).unwrap();
    assert_eq!(branch.iter().collect::<HashSet<_>>().len(), branch.len());
    let report = session.diagnostics().unwrap();
    for malformed in &report.malformed_lines {
        assert!(malformed.offset + malformed.length <= bytes.len() as u64 && malformed.line > 0);
    }
    let plan = session.context(Leaf::Last).unwrap();
    json::check(session.context_json(&plan).unwrap().as_bytes()).unwrap();
    let header = session.header();
    let _ = (header.id(), header.cwd(), header.title_source(), session.title(), session.usage(), session.labels());
});
