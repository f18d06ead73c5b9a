//! Sessions of a shape that nobody writes by hand, large enough that work which grows with the square of their size
//! would not come to an end.

use std::fmt::Write;
use xcsh_session::{Leaf, ReadOptions, Session};

const MANY: usize = 200_000;

fn parse(text: String) -> Session {
    Session::parse(text, "session.jsonl", ReadOptions::default()).unwrap()
}

fn header(version: u32) -> String {
    format!("{{\"type\":\"session\",\"version\":{version},\"id\":\"1f9d2a6b9c0d1234\"}}\n")
}

#[test]
fn a_role_of_its_own_for_every_model_change() {
    let mut text = header(3);
    for i in 0..MANY {
        let parent = i.wrapping_sub(1);
        writeln!(
            text,
            r#"{{"type":"model_change","id":"{i}","parentId":"{parent}","model":"p/m","role":"role-{i:09}"}}"#
        )
        .unwrap();
    }
    assert_eq!(parse(text).context(Leaf::Last).unwrap().models.len(), MANY);
}

#[test]
fn as_many_further_headers_as_compactions_that_count_records() {
    let mut text = header(1);
    for i in 0..MANY {
        writeln!(text, r#"{{"type":"compaction","firstKeptEntryIndex":{}}}"#, 2 * i + 1).unwrap();
        text += &header(1);
    }
    let session = parse(text);
    assert_eq!(session.len(), MANY);
    for entry in session.entries() {
        let entry = entry.unwrap();
        // Every second record is a header, the first one included, so record 2i + 1 is entry i: the entry itself.
        let first = entry.raw().get("firstKeptEntryId").and_then(|id| id.as_str());
        assert_eq!(first, entry.id());
    }
}

#[test]
fn one_chain_in_either_direction() {
    for backward in [false, true] {
        let mut text = header(3);
        for i in 0..MANY {
            let parent = if backward { i + 1 } else { i.wrapping_sub(1) };
            let message = r#"{"role":"user","content":"x"}"#;
            writeln!(text, r#"{{"type":"message","id":"{i}","parentId":"{parent}","message":{message}}}"#).unwrap();
        }
        let session = parse(text);
        let leaf = if backward { "0".to_owned() } else { (MANY - 1).to_string() };
        let plan = session.context(Leaf::Id(&leaf)).unwrap();
        assert_eq!(plan.messages.len(), MANY);
        assert_eq!(session.messages(&plan).unwrap().len(), MANY);
        assert_eq!(session.branch(Some(&leaf)).unwrap().len(), MANY);
        assert_eq!(session.tree().depth_first().last().map(|(_, depth)| depth), Some(MANY - 1));
    }
}

#[test]
fn every_entry_a_cycle_of_its_own_and_one_cycle_of_all() {
    for all in [false, true] {
        let mut text = header(3);
        for i in 0..MANY {
            let parent = if all { (i + 1) % MANY } else { i };
            writeln!(text, r#"{{"type":"x","id":"{i}","parentId":"{parent}"}}"#).unwrap();
        }
        let session = parse(text);
        assert_eq!(session.tree().roots().len(), if all { 1 } else { MANY });
        assert_eq!(session.branch(None).unwrap().len(), if all { MANY } else { 1 });
        assert_eq!(session.diagnostics().unwrap().cycles.len(), if all { 1 } else { MANY });
    }
}

#[test]
fn one_id_for_all_and_one_parent_for_all() {
    let line = |id: &str| format!("{{\"type\":\"x\",\"id\":\"{id}\",\"parentId\":\"a\"}}\n");
    let session = parse(header(3) + &line("a").repeat(MANY));
    assert_eq!(session.children("a").len(), MANY);
    assert_eq!(session.tree().children(MANY as u32 - 1).len(), MANY - 1);
    assert_eq!(session.diagnostics().unwrap().duplicate_ids.len(), MANY - 1);
}
