//! What a tester who had never seen the code found: misuse, odd options, and errors that must not last.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xcsh_session::dirs::AgentDirs;
use xcsh_session::storage::FileSessionStorage;
use xcsh_session::{
    Leaf, ManagerOptions, ReadOptions, Result, Session, SessionManager, TitleSource, breadcrumb, dirs, json,
};

const H: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/srv/pi\"}\n";
const USER: &str = r#"{"role":"user","content":"hi"}"#;
const ASSISTANT: &str = r#"{"role":"assistant","content":"hello","provider":"p","model":"m"}"#;

fn options(dir: &Path) -> ManagerOptions {
    ManagerOptions::at(AgentDirs::at(dir.join("agent")), Arc::new(FileSessionStorage::new()))
}
fn texts(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
/// Everything below a directory.
fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut out = vec![];
    let Ok(items) = fs::read_dir(dir) else { return out };
    for item in items {
        let path = item.unwrap().path();
        if path.is_dir() {
            out.extend(walk(&path));
        }
        out.push(path);
    }
    out
}
fn terminal() -> breadcrumb::TerminalId {
    let env: dirs::Environment = [("KITTY_WINDOW_ID", "7")].into_iter().collect();
    breadcrumb::TerminalId::detect(&env, None).unwrap()
}
fn parse(lines: &[&str]) -> Session {
    Session::parse(format!("{H}{}\n", lines.join("\n")), "x", ReadOptions::default()).unwrap()
}
fn ctx(lines: &[&str]) -> String {
    let session = parse(lines);
    session.context_json(&session.context(Leaf::Last).unwrap()).unwrap()
}

#[test]
fn what_is_appended_after_restoring_such_a_state_is_in_the_kernel() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    m.append_message(USER).unwrap();
    let state = m.capture_state().unwrap();
    m.append_message(ASSISTANT).unwrap();
    let file = m.session_file().unwrap();
    m.new_session(None).unwrap();
    m.restore_state(&state).unwrap();
    let id = m.append_message(r#"{"role":"user","content":"acknowledged"}"#).unwrap();
    m.flush().unwrap();
    assert!(texts(&file).contains(&id), "acknowledged and flushed, the file is there, and the entry is not in it");
}

#[test]
fn same_after_ensure_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    m.append_message(USER).unwrap();
    let state = m.capture_state().unwrap();
    m.ensure_on_disk().unwrap();
    let file = m.session_file().unwrap();
    m.new_session(None).unwrap();
    m.restore_state(&state).unwrap();
    let id = m.append_message(USER).unwrap();
    m.close().unwrap();
    assert!(texts(&file).contains(&id));
}
/// capture while deferred, first assistant message makes the file, go away, come back: the entries must be there.
#[test]
fn restoring_a_state_captured_before_the_file_was_made_shows_what_was_written_since() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    m.append_message(USER).unwrap();
    let state = m.capture_state().unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.append_message(USER).unwrap();
    assert_eq!(m.read(|s| s.len()), 3);
    m.new_session(None).unwrap();
    m.restore_state(&state).unwrap();
    assert_eq!(m.read(|s| s.len()), 3, "entries acknowledged since the capture are not shown");
}

#[test]
fn restoring_a_deferred_state_after_a_move_makes_no_second_copy() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    m.append_message(USER).unwrap();
    let state = m.capture_state().unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.move_to("/srv/other").unwrap();
    m.restore_state(&state).unwrap();
    m.append_message(ASSISTANT).unwrap();
    let files: Vec<_> = walk(&dir.path().join("agent/sessions")).into_iter().filter(|p| p.is_file()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
}

#[test]
fn restoring_after_a_move_goes_to_the_same_session() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    m.append_message(USER).unwrap();
    m.append_message(ASSISTANT).unwrap();
    let (id, state) = (m.session_id(), m.capture_state().unwrap());
    m.move_to("/srv/other").unwrap();
    let r = m.restore_state(&state);
    assert!(r.is_err() || (m.session_id() == id && m.read(|s| s.len()) == 2));
}

#[test]
fn restoring_a_state_whose_file_was_deleted_does_not_make_another_session() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    m.append_message(USER).unwrap();
    m.append_message(ASSISTANT).unwrap();
    let (id, state) = (m.session_id(), m.capture_state().unwrap());
    let file = m.session_file().unwrap();
    m.new_session(None).unwrap();
    fs::remove_file(&file).unwrap();
    let r = m.restore_state(&state);
    assert!(r.is_err() || m.session_id() == id);
}

/// P6/P5: nothing latches. Another program replaces the file without a title record that stood among the entries.
#[test]
fn a_title_record_among_entries_that_a_foreign_rewrite_drops_blocks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let f = dir.path().join("s.jsonl");
    let e = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"1"}}"#;
    fs::write(&f, format!("{H}{e}\n{{\"type\":\"title\",\"title\":\"later\"}}\n")).unwrap();
    let m = SessionManager::open(&f, options(dir.path())).unwrap();
    fs::write(dir.path().join("t"), format!("{H}{e}\n")).unwrap();
    fs::rename(dir.path().join("t"), &f).unwrap();
    let first = m.append_message(ASSISTANT);
    let second = m.append_message(ASSISTANT);
    let recover = m.recover();
    assert!(
        second.is_ok() && recover.is_ok(),
        "{first:?}\n{second:?}\n{recover:?}\nfile: {}",
        fs::read_to_string(&f).unwrap()
    );
}
/// A deep append, then another manager renames the session: the first manager must go on.
#[test]
fn a_deep_entry_and_a_foreign_rewrite_block_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let f = dir.path().join("s.jsonl");
    let m = SessionManager::open(&f, options(dir.path())).unwrap();
    let n = json::MAX_DEPTH;
    if m.append_custom_entry("x", Some(&("[".repeat(n) + &"]".repeat(n)))).is_err() {
        return;
    }
    let other = SessionManager::open(&f, options(dir.path())).unwrap();
    other.set_session_name("y", TitleSource::User).unwrap();
    let first = m.append_message(ASSISTANT);
    let second = m.append_message(ASSISTANT);
    let recover = m.recover();
    let short = |r: &Result<String>| format!("{r:?}").chars().take(300).collect::<String>();
    assert!(
        second.is_ok() && recover.is_ok(),
        "{}\n{}\n{recover:?}\nin file {} in memory {}",
        short(&first),
        short(&second),
        Session::read(&f).unwrap().len(),
        m.read(|s| s.len())
    );
}

#[test]
fn a_title_record_on_the_path_is_part_of_a_branched_session() {
    let dir = tempfile::tempdir().unwrap();
    let f = dir.path().join("s.jsonl");
    fs::write(&f, format!("{H}{{\"type\":\"title\",\"id\":\"t\",\"parentId\":null,\"title\":\"later\"}}\n{{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"t\",\"message\":{ASSISTANT}}}\n")).unwrap();
    let m = SessionManager::open(&f, options(dir.path())).unwrap();
    m.create_branched_session("a").unwrap();
}

#[test]
fn a_title_record_among_entries_survives_rewrites_forks_and_v1() {
    let dir = tempfile::tempdir().unwrap();
    let f = dir.path().join("s.jsonl");
    fs::write(&f, format!("{{\"type\":\"session\",\"id\":\"s\"}}\n{{\"type\":\"title\",\"title\":\"later\"}}\n{{\"type\":\"message\",\"message\":{ASSISTANT}}}\n")).unwrap();
    let m = SessionManager::open(&f, options(dir.path())).unwrap();
    m.set_session_name("x", TitleSource::User).unwrap();
    m.fork().unwrap();
    assert_eq!(m.read(|s| s.len()), 2);
    let id = m.leaf_id().unwrap();
    m.create_branched_session(&id).unwrap();
}

#[test]
fn appends_as_deep_as_they_are_accepted_are_loaded_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    let m = SessionManager::open(&file, options(dir.path())).unwrap();
    let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
    let mut ok = 0;
    for n in [json::MAX_DEPTH - 2, json::MAX_DEPTH - 1, json::MAX_DEPTH] {
        ok += m.append_custom_entry("x", Some(&deep(n))).is_ok() as usize;
        ok += m.append_message(&format!(r#"{{"role":"assistant","content":{}}}"#, deep(n - 1))).is_ok() as usize;
    }
    m.append_message(ASSISTANT).unwrap();
    let s = Session::read(&file).unwrap();
    assert_eq!(s.len(), ok + 1, "acknowledged entries are malformed lines when the file is read again");
}

#[test]
fn a_deep_entry_does_not_vanish_from_memory_when_another_appends() {
    let dir = tempfile::tempdir().unwrap();
    let f = dir.path().join("s.jsonl");
    let m = SessionManager::open(&f, options(dir.path())).unwrap();
    let n = json::MAX_DEPTH;
    let Ok(id) = m.append_custom_entry("x", Some(&("[".repeat(n) + &"]".repeat(n)))) else { return };
    let other = SessionManager::open(&f, options(dir.path())).unwrap();
    other.append_message(ASSISTANT).unwrap();
    m.append_message(ASSISTANT).unwrap();
    assert!(m.read(|s| s.number_of(&id)).is_some(), "acknowledged entry {id} is gone from memory too");
}

#[test]
fn a_deep_entry_forks_and_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let f = dir.path().join("s.jsonl");
    let m = SessionManager::open(&f, options(dir.path())).unwrap();
    let n = json::MAX_DEPTH;
    let Ok(id) =
        m.append_message(&format!("{{\"role\":\"assistant\",\"content\":{}}}", "[".repeat(n - 1) + &"]".repeat(n - 1)))
    else {
        return;
    };
    let r = m.create_branched_session(&id);
    assert!(r.is_ok(), "{r:?}");
}

#[test]
fn artifacts_of_a_session_without_a_file_move_too() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    m.append_message(USER).unwrap();
    let id = m.save_artifact(b"output", "bash").unwrap().unwrap();
    assert!(m.artifact_path(&id).unwrap().is_some());
    m.move_to("/srv/other").unwrap();
    m.append_message(ASSISTANT).unwrap();
    let path = m.artifact_path(&id).unwrap();
    assert!(path.is_some(), "artifacts stayed behind: {:?}", walk(&dir.path().join("agent/sessions")));
}

#[test]
fn two_managers_saving_artifacts_at_once_lose_none() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    let ms: Vec<_> = (0..2).map(|_| Arc::new(SessionManager::open(&file, options(dir.path())).unwrap())).collect();
    let threads: Vec<_> = ms
        .iter()
        .cloned()
        .enumerate()
        .map(|(n, m)| {
            std::thread::spawn(move || {
                (0..200)
                    .map(|i| {
                        (m.save_artifact(format!("{n}-{i}").as_bytes(), "bash").unwrap().unwrap(), format!("{n}-{i}"))
                    })
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    let all: Vec<_> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    let lost = all
        .iter()
        .filter(|(id, text)| fs::read_to_string(ms[0].artifact_path(id).unwrap().unwrap()).unwrap() != *text)
        .count();
    assert_eq!(lost, 0, "of {} artifacts", all.len());
}

#[test]
fn two_managers_do_not_allocate_one_artifact_path_twice() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    let a = SessionManager::open(&file, options(dir.path())).unwrap();
    let b = SessionManager::open(&file, options(dir.path())).unwrap();
    let x = a.allocate_artifact_path("bash").unwrap().unwrap();
    let y = b.allocate_artifact_path("bash").unwrap().unwrap();
    assert_ne!(x, y);
}

#[test]
fn a_fork_of_a_newer_version_is_not_called_version_3() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    fs::write(
        &file,
        "{\"type\":\"session\",\"version\":4,\"id\":\"s\",\"cwd\":\"/srv/pi\"}\n{\"type\":\"future\",\"ref\":1}\n",
    )
    .unwrap();
    match SessionManager::fork_from(&file, "/srv/pi", options(dir.path())) {
        Err(e) => println!("{e}"),
        Ok(m) => {
            let t = texts(&m.session_file().unwrap());
            panic!("{t}");
        }
    }
}

#[test]
fn read_only_fork_from_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    {
        let m = SessionManager::open(&file, options(dir.path())).unwrap();
        m.append_message(ASSISTANT).unwrap();
    }
    let mut o = options(dir.path());
    o.read_only = true;
    let before = walk(dir.path());
    let r = SessionManager::fork_from(&file, "/srv/pi", o).map(drop);
    assert_eq!(walk(dir.path()), before, "{r:?}");
}

#[test]
fn read_only_create_leaves_no_breadcrumb() {
    let dir = tempfile::tempdir().unwrap();
    let mut o = options(dir.path());
    o.read_only = true;
    o.terminal = Some(terminal());
    let before = walk(dir.path());
    let r = SessionManager::create("/srv/pi", o).map(drop);
    assert_eq!(walk(dir.path()), before, "{r:?}");
}

#[test]
fn a_read_only_manager_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    SessionManager::open(&file, options(dir.path())).unwrap().append_message(ASSISTANT).unwrap();
    let mut o = options(dir.path());
    o.read_only = true;
    o.terminal = Some(terminal());
    let m = SessionManager::open(&file, o).unwrap();
    let before = walk(dir.path());
    assert_eq!(m.allocate_artifact_path("bash").unwrap_err().code(), "ReadOnly");
    assert_eq!(m.save_artifact(b"x", "bash").unwrap_err().code(), "ReadOnly");
    assert_eq!(m.put_blob(b"x").unwrap_err().code(), "ReadOnly");
    assert_eq!(m.new_session(None).unwrap_err().code(), "ReadOnly");
    assert_eq!(m.fork().unwrap_err().code(), "ReadOnly");
    assert_eq!(walk(dir.path()), before);
}

#[test]
fn an_in_memory_manager_makes_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::in_memory("/srv/pi", options(dir.path()));
    let file = dir.path().join("x/s.jsonl");
    let _ = m.set_session_file(&file);
    let id = m.append_message(ASSISTANT);
    assert!(!file.exists() || texts(&file).contains(&id.unwrap()), "half persisted: {}", texts(&file));
}

#[test]
fn an_in_memory_manager_moves_nothing_aside() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::in_memory("/srv/pi", options(dir.path()));
    let file = dir.path().join("s.jsonl");
    fs::write(&file, "garbage\n").unwrap();
    let _ = m.set_session_file(&file);
    assert_eq!(texts(&file), "garbage\n");
}

#[test]
fn an_empty_role_is_a_role() {
    // SPEC 7.3: models[role ?? "default"]
    let c = ctx(&[r#"{"type":"model_change","id":"a","parentId":null,"model":"p/m","role":""}"#]);
    assert!(c.contains(r#""models":{"":"p/m"}"#), "{c}");
}

#[test]
fn append_keeps_keys() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::in_memory("/srv/pi", options(dir.path()));
    m.append("x", r#"{"\ud83d":1,"caf\u00e9":2,"\u0069d":3,"a\/b":4}"#).unwrap();
    let line = m.read(|s| s.entry_at(0).unwrap().unwrap().into_line());
    assert!(line.contains(r#""\ud83d":1"#), "{line}");
}

#[test]
fn usage_after_replace_is_that_of_a_fresh_read() {
    let dir = tempfile::tempdir().unwrap();
    let f = dir.path().join("s.jsonl");
    let m = SessionManager::open(&f, options(dir.path())).unwrap();
    let msg = |c: &str| format!(r#"{{"role":"assistant","content":"","usage":{{"input":1,"cost":{{"total":{c}}}}}}}"#);
    let mut ids = vec![];
    for c in ["0.1", "0.2", "0.3", "1e308", "1e308"] {
        ids.push(m.append_message(&msg(c)).unwrap());
    }
    for id in &ids {
        m.replace_entry(id, &format!(r#"{{"type":"message","id":"{id}","parentId":null,"message":{}}}"#, msg("0")))
            .unwrap();
    }
    let fresh = Session::read(&f).unwrap().usage();
    assert_eq!(m.read(|s| s.usage()), fresh);
}
/// SPEC 1: a breadcrumb counts only if its *file* is still there.
#[test]
fn a_breadcrumb_to_a_directory_does_not_keep_the_terminal_from_continuing() {
    let dir = tempfile::tempdir().unwrap();
    let mut o = options(dir.path());
    o.terminal = Some(terminal());
    let crumb = terminal().file(&o.dirs);
    fs::create_dir_all(crumb.parent().unwrap()).unwrap();
    fs::write(&crumb, format!("/srv/pi\n{}\n", dir.path().display())).unwrap();
    SessionManager::continue_recent("/srv/pi", o).unwrap();
}

#[test]
fn a_replaced_entry_that_brings_the_first_assistant_message_ends_the_deferral() {
    let dir = tempfile::tempdir().unwrap();
    let m = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    let id = m.append_message(USER).unwrap();
    m.replace_entry(&id, &format!(r#"{{"type":"message","id":"{id}","parentId":null,"message":{ASSISTANT}}}"#))
        .unwrap();
    m.append_message(USER).unwrap();
    assert!(m.session_file().unwrap().exists());
}

#[test]
fn a_breadcrumb_costs_no_file_that_is_no_session() {
    let dir = tempfile::tempdir().unwrap();
    let notes = dir.path().join("notes.txt");
    fs::write(&notes, "precious").unwrap();
    let mut o = options(dir.path());
    o.terminal = Some(terminal());
    let crumb = terminal().file(&o.dirs);
    fs::create_dir_all(crumb.parent().unwrap()).unwrap();
    fs::write(&crumb, format!("/srv/pi\n{}\n", notes.display())).unwrap();
    let _ = SessionManager::continue_recent("/srv/pi", o);
    assert_eq!(texts(&notes), "precious", "{:?}", walk(dir.path()));
}
