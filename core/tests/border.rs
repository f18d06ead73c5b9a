//! What the bindings need of a manager: numbers that are known to be valid, appends of any fields behind any leaf, and
//! sessions that hold no file once they are closed.

use std::path::Path;
use std::sync::Arc;
use xcsh_session::dirs::{AgentDirs, Environment};
use xcsh_session::storage::FileSessionStorage;
use xcsh_session::{Error, Leaf, ManagerOptions, MessageSource, ModelResolution, SessionManager, plan_session_context};

const ANSWER: &str = r#"{"role":"assistant","content":"a","provider":"p","model":"m"}"#;

fn options(dir: &Path) -> ManagerOptions {
    ManagerOptions::at(AgentDirs::at(dir), Arc::new(FileSessionStorage::new()))
}

fn contents(manager: &SessionManager) -> Vec<String> {
    manager.read(|session| session.entries().map(|entry| entry.unwrap().into_line()).collect())
}

#[test]
fn a_rewrite_is_refused_once_the_numbers_mean_other_entries() {
    let dir = tempfile::tempdir().unwrap();
    let manager = SessionManager::create("/w", options(dir.path())).unwrap();
    let id = manager.append_message(ANSWER).unwrap();
    let (numbering, line) = manager.read_numbered(|numbering, session| {
        (numbering, session.entry(&id).unwrap().unwrap().line().replace("\"a\"", "\"b\""))
    });
    assert!(manager.rewrite_entries_of(numbering, &[(0, &line)]).unwrap());
    manager.create_branched_session(&id).unwrap();
    assert!(!manager.rewrite_entries_of(numbering, &[(0, "{}")]).unwrap());
    assert_eq!(contents(&manager), [line]);
}

#[test]
fn an_append_behind_another_leaf_moves_it_only_if_it_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let manager = SessionManager::create("/w", options(dir.path())).unwrap();
    let first = manager.append_message(ANSWER).unwrap();
    let second = manager.append_message(ANSWER).unwrap();
    let refused = manager.append_behind(Some("nowhere"), "branch_summary", "{}");
    assert!(matches!(refused, Err(Error::EntryNotFound { .. })));
    assert!(matches!(manager.append_behind(None, "branch_summary", "[]"), Err(Error::InvalidArgument(_))));
    assert!(matches!(manager.append_behind(None, "branch_summary", "{"), Err(Error::InvalidJson { .. })));
    assert_eq!(manager.leaf_id(), Some(second));
    let fields = r#"{"fromId":"x","summary":"\ud83d"}"#;
    let third = manager.append_behind(Some(&first), "branch_summary", fields).unwrap();
    manager.read(|session| {
        let number = session.number_of(&third).unwrap();
        assert_eq!(session.parent_id_of(number), Some(&*first));
        assert!(session.time_of(number).is_some());
        assert!(session.entry_at(number).unwrap().unwrap().line().ends_with(&fields[1..]));
        assert_eq!((session.parent_id_of(9), session.time_of(9)), (None, None));
    });
    let root = manager.append_behind(None, "custom", "{}").unwrap();
    manager.read(|session| assert_eq!(session.parent_id_of(session.number_of(&root).unwrap()), None));
    manager.append("label", &format!(r#"{{"targetId":"{first}","label":"l"}}"#)).unwrap();
    manager.append("label", &format!(r#"{{"targetId":"{first}","label":""}}"#)).unwrap();
    manager.read(|session| assert_eq!(session.label(&first), None, "an empty label clears"));
}

#[test]
fn outlines_are_enough_for_a_plan() {
    let entries = [
        r#"{"type":"model_change","id":"a","parentId":null,"model":"x/y","role":"smol"}"#,
        r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","provider":"p","model":"m"}}"#,
        r#"{"type":"compaction","id":"c","parentId":"b","firstKeptEntryId":"b"}"#,
        r#"{"type":"-"}"#,
        r#"{"type":"branch_summary","id":"d","parentId":"c","summary":"-"}"#,
        r#"{"type":"custom_message","id":"e","parentId":"d"}"#,
    ];
    let plan = plan_session_context(&entries, Leaf::Id("e"), ModelResolution::ModelChange).unwrap();
    let messages: Vec<_> = plan.messages.iter().map(|message| (message.entry, message.source)).collect();
    let summary = MessageSource::CompactionSummary { remote: false };
    assert_eq!(
        messages,
        [(2, summary), (1, MessageSource::Message), (4, MessageSource::BranchSummary), (5, MessageSource::Custom)]
    );
    assert!(plan.json_with("[]").starts_with(r#"{"messages":[],"thinkingLevel":"off","models":{"smol":"x/y","#));
    assert!(plan_session_context(&["{", "x"], Leaf::Last, ModelResolution::Latest).unwrap().messages.is_empty());
    assert!(Environment::names().contains(&"HOME"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_closed_session_holds_no_file_and_reads_the_one_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let open_files = || {
        let fds = std::fs::read_dir("/proc/self/fd").unwrap();
        fds.filter(|fd| std::fs::read_link(fd.as_ref().unwrap().path()).is_ok_and(|at| at.starts_with(dir.path())))
            .count()
    };
    let one = SessionManager::open(&path, options(dir.path())).unwrap();
    one.append_message(ANSWER).unwrap();
    one.close().unwrap();
    let two = SessionManager::open(&path, options(dir.path())).unwrap();
    two.close().unwrap();
    assert_eq!(open_files(), 0);
    assert_eq!(contents(&two), contents(&one));
    let numbering = two.numbering();

    // Another writer puts another content in the place.
    let writer = SessionManager::open(&path, options(dir.path())).unwrap();
    let line = contents(&writer)[0].replace("\"a\"", "\"b\"");
    writer.rewrite_entries(&[(0, &line)]).unwrap();
    writer.append_message(ANSWER).unwrap();
    writer.close().unwrap();
    assert_eq!(contents(&two), contents(&writer));
    assert!(two.numbering() > numbering);
    assert!(matches!(two.append_message(ANSWER), Err(Error::Closed)));
    assert_eq!(open_files(), 0);

    // Another session in the place is not this one.
    let text = std::fs::read_to_string(&path).unwrap().replace(&two.session_id(), "0000000000000000");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, text).unwrap();
    assert_ne!(two.session_id(), "0000000000000000");
    assert!(two.read(|session| session.entry_at(0).is_err()));
    assert!(matches!(two.refresh(), Err(Error::Replaced { .. })));
}
