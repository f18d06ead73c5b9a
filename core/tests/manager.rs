//! What the manager does with real files: deferral, breadcrumbs, forks, branches, moves, captured states (SPEC
//! sections 1, 8 and 11).
#![cfg(unix)]

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::FaultyDisk;
use support::store::*;
use xcsh_session::breadcrumb::TerminalId;
use xcsh_session::storage::{DiskSessionStorage, FileSessionStorage, RealDisk};
use xcsh_session::{ManagerOptions, SessionManager, TitleSource, delete_session_with_artifacts};

const USER: &str = r#"{"role":"user","content":"hello"}"#;

fn terminal(name: &str) -> Option<TerminalId> {
    TerminalId::detect(&[("KITTY_WINDOW_ID", name)].into_iter().collect(), None)
}

fn in_terminal(dir: &Path, name: &str) -> ManagerOptions {
    let mut options = options(dir);
    options.terminal = terminal(name);
    options
}

fn said(manager: &SessionManager, tag: &str) -> PathBuf {
    say(manager, tag).unwrap();
    manager.session_file().unwrap()
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = open.pop() {
        let (dirs, mut files): (Vec<_>, Vec<_>) = named(&next, "").into_iter().partition(|path| path.is_dir());
        open.extend(dirs);
        found.append(&mut files);
    }
    found.sort();
    found
}

#[test]
fn a_new_session_has_no_file_before_its_first_assistant_message() {
    let dir = tempfile::tempdir().unwrap();
    let manager = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    manager.append_message(USER).unwrap();
    manager.append_model_change("p/m", None).unwrap();
    manager.set_session_name("early", TitleSource::User).unwrap();
    manager.flush().unwrap();
    assert_eq!(files(dir.path()), [] as [PathBuf; 0]);
    let file = said(&manager, "first");
    assert_eq!(file.parent().unwrap().file_name().unwrap(), "--srv-pi--");
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.ends_with(&format!("_{}.jsonl", manager.session_id())), "{name}");
    let all = lines(&file);
    let types: Vec<_> = all.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["session", "message", "model_change", "message"]);
    assert_eq!(all[0]["title"], "early");
    manager.append_message(USER).unwrap();
    assert_eq!(lines(&file).len(), 5, "from then on each entry at once");

    // Without one nothing is ever written, however the session ends; unless it is asked for.
    let manager = SessionManager::create("/srv/silent", options(dir.path())).unwrap();
    manager.append_message(USER).unwrap();
    manager.close().unwrap();
    drop(manager);
    let manager = SessionManager::create("/srv/silent", options(dir.path())).unwrap();
    manager.append_message(USER).unwrap();
    assert_eq!(files(dir.path()), std::slice::from_ref(&file));
    manager.ensure_on_disk().unwrap();
    assert_eq!(lines(&manager.session_file().unwrap()).len(), 2);
    let in_memory = SessionManager::in_memory("/srv/pi", options(dir.path()));
    say(&in_memory, "nowhere").unwrap();
    in_memory.ensure_on_disk().unwrap();
    assert_eq!((in_memory.session_file(), files(dir.path()).len()), (None, 2));
}

#[test]
fn continue_recent_takes_the_breadcrumb_then_the_newest_then_a_new_session() {
    let dir = tempfile::tempdir().unwrap();
    let go_on = |cwd: &str, name: &str| {
        let manager = SessionManager::continue_recent(cwd, in_terminal(dir.path(), name)).unwrap();
        (held(&manager), manager.session_file().unwrap())
    };
    let older = said(&SessionManager::create("/srv/pi", in_terminal(dir.path(), "1")).unwrap(), "older");
    let newer = said(&SessionManager::create("/srv/pi", in_terminal(dir.path(), "2")).unwrap(), "newer");
    let elsewhere = said(&SessionManager::create("/srv/else", in_terminal(dir.path(), "3")).unwrap(), "elsewhere");
    let long_ago = fs::metadata(&newer).unwrap().modified().unwrap() - Duration::from_secs(100);
    fs::File::options().append(true).open(&older).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(go_on("/srv/pi", "1"), (vec!["older".to_owned()], older.clone()));
    assert_eq!(go_on("/srv/pi/", "2"), (vec!["newer".to_owned()], newer.clone()));
    // A terminal that was somewhere else, or nowhere: the newest of the directory. It is that terminal's from then on.
    assert_eq!(go_on("/srv/pi", "3").1, newer);
    assert_eq!(go_on("/srv/pi", "4").1, newer);
    let crumb = |name: &str| fs::read_to_string(dir.path().join("agent/terminal-sessions").join(name)).unwrap();
    assert_eq!(crumb("kitty-3"), format!("/srv/pi\n{}\n", newer.display()));
    assert_eq!(go_on("/srv/else", "3").1, elsewhere);
    // A breadcrumb of a session that is gone does not count.
    fs::remove_file(&older).unwrap();
    assert_eq!(go_on("/srv/pi", "1").1, newer);
    let (entries, file) = go_on("/srv/none", "1");
    assert!(entries.is_empty() && !file.exists());
    // Reading leaves no breadcrumb, and one that cannot be written fails nothing.
    let before = crumb("kitty-2");
    let mut reading = in_terminal(dir.path(), "2");
    reading.read_only = true;
    SessionManager::open(&elsewhere, reading).unwrap();
    assert_eq!(crumb("kitty-2"), before);
    fs::remove_dir_all(dir.path().join("agent/terminal-sessions")).unwrap();
    fs::write(dir.path().join("agent/terminal-sessions"), "in the way").unwrap();
    assert_eq!(go_on("/srv/pi", "2").1, newer);
}

#[test]
fn fork_from_copies_a_session_into_another_working_directory() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source.jsonl");
    let strange = "{\"type\":\"later\", \"n\":1.0E5,\"id\":\"z\",\"parentId\":\"e-b\",\"x\":\"\\u00e9\"}\n";
    let text = session_text("old", ",\"title\":\"T\",\"titleSource\":\"user\"", &["a", "b"]) + strange + "torn {\n";
    fs::write(&source, &text).unwrap();
    let modified = fs::metadata(&source).unwrap().modified().unwrap();
    let manager = SessionManager::fork_from(&source, "/srv/fork", options(dir.path())).unwrap();
    let file = manager.session_file().unwrap();
    assert_eq!(file.parent().unwrap().file_name().unwrap(), "--srv-fork--");
    let forked = fs::read_to_string(&file).unwrap();
    assert_eq!(forked.split_once('\n').unwrap().1, text.split_once('\n').unwrap().1, "entries byte for byte");
    let header: Value = serde_json::from_str(forked.lines().next().unwrap()).unwrap();
    assert_eq!((&header["parentSession"], &header["cwd"]), (&"old".into(), &"/srv/fork".into()));
    assert_eq!((&header["title"], &header["titleSource"]), (&"T".into(), &"user".into()));
    let keys: Vec<_> = header.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["type", "version", "id", "title", "titleSource", "timestamp", "cwd", "parentSession"]);
    say(&manager, "c").unwrap();
    assert_eq!(held(&open(&file)), ["a", "b", "c"]);
    assert_eq!(fs::read_to_string(&source).unwrap(), text);
    assert_eq!(fs::metadata(&source).unwrap().modified().unwrap(), modified);
    let missing = SessionManager::fork_from(dir.path().join("none.jsonl"), "/srv/fork", options(dir.path()));
    assert_eq!(missing.err().unwrap().code(), "NotFound");
}

#[test]
fn a_fork_goes_on_in_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    let manager = SessionManager::create("/srv/pi", in_terminal(dir.path(), "1")).unwrap();
    said(&manager, "a");
    let id = manager.session_id();
    let forked = manager.fork().unwrap().unwrap();
    say(&manager, "b").unwrap();
    assert_eq!((tags(&forked.old_file), tags(&forked.new_file)), (vec!["a".into()], vec!["a".into(), "b".into()]));
    assert_eq!(manager.session_file(), Some(forked.new_file.clone()));
    assert_eq!(lines(&forked.new_file)[0]["parentSession"], *id);
    assert_ne!(manager.session_id(), id);
    let recent = SessionManager::continue_recent("/srv/pi", in_terminal(dir.path(), "1")).unwrap();
    assert_eq!(recent.session_file(), Some(forked.new_file));
}

#[test]
fn a_branched_session_holds_one_path_and_its_labels() {
    let dir = tempfile::tempdir().unwrap();
    let manager = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    let a = say(&manager, "a").unwrap();
    let label = manager.append_label_change(&a, Some("start")).unwrap();
    let b = say(&manager, "b").unwrap();
    manager.branch(&a).unwrap();
    let other = say(&manager, "other branch").unwrap();
    manager.append_label_change(&other, Some("left out")).unwrap();
    manager.append_label_change(&b, Some("end")).unwrap();
    let old = manager.session_file().unwrap();
    let before = fs::read(&old).unwrap();
    assert_eq!(manager.create_branched_session("none").unwrap_err().code(), "EntryNotFound");
    let new = manager.create_branched_session(&b).unwrap().unwrap();
    assert_eq!(tags(&new), ["a", "b"]);
    let all = lines(&new);
    assert_eq!(all[0]["parentSession"], old.to_str().unwrap());
    assert_eq!(all[2]["parentId"], *a, "what followed the label follows what that followed");
    let labels: Vec<_> = all[3..].iter().map(|line| (&line["targetId"], &line["label"])).collect();
    assert_eq!(labels, [(&Value::from(&*a), &"start".into()), (&Value::from(&*b), &"end".into())]);
    assert!(all[3..].iter().all(|line| line["id"] != *label));
    manager.read(|session| assert_eq!((session.label(&a), session.label(&b)), (Some("start"), Some("end"))));
    say(&manager, "c").unwrap();
    assert_eq!(tags(&new), ["a", "b", "c"]);
    assert_eq!(fs::read(&old).unwrap(), before);
}

#[test]
fn a_move_takes_file_and_artifacts_along_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let manager = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    let old = said(&manager, "a");
    let artifact = manager.save_artifact(b"output", "bash").unwrap().unwrap();
    // Something is in the way: everything stays.
    let in_the_way = dir.path().join("agent/sessions/--srv-taken--").join(old.file_name().unwrap());
    fs::create_dir_all(in_the_way.parent().unwrap()).unwrap();
    fs::write(&in_the_way, "mine").unwrap();
    manager.move_to("/srv/taken").unwrap_err();
    assert_eq!((manager.session_file(), manager.cwd()), (Some(old.clone()), "/srv/pi".into()));
    assert_eq!((tags(&old), fs::read_to_string(&in_the_way).unwrap()), (vec!["a".into()], "mine".into()));
    say(&manager, "b").unwrap();

    manager.move_to("/srv/new").unwrap();
    let new = manager.session_file().unwrap();
    assert_eq!(new.parent().unwrap().file_name().unwrap(), "--srv-new--");
    assert!(!old.exists() && !old.with_extension("").exists());
    assert_eq!(tags(&new), ["a", "b"]);
    assert_eq!(lines(&new)[0]["cwd"], "/srv/new");
    let artifact = manager.artifact_path(&artifact).unwrap().unwrap();
    assert!(artifact.starts_with(new.with_extension("")));
    assert_eq!(fs::read(artifact).unwrap(), b"output");
    say(&manager, "c").unwrap();
    assert_eq!(held(&open(&new)), ["a", "b", "c"]);

    // Before there is a file only the place changes.
    let manager = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    manager.move_to("/srv/new").unwrap();
    assert_eq!(said(&manager, "a").parent(), new.parent());
    delete_session_with_artifacts(&FileSessionStorage::new(), &new).unwrap();
    assert!(!new.exists() && !new.with_extension("").exists());
}

/// Another manager appends to a session while it is moved away: what was acknowledged is in a file afterwards.
#[test]
fn nothing_is_appended_to_a_file_that_a_move_is_about_to_remove() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::new(RealDisk);
    let mut mine = options(dir.path());
    mine.storage = Arc::new(DiskSessionStorage::on(disk.clone()));
    let manager = SessionManager::create("/srv/pi", mine).unwrap();
    let old = said(&manager, "a");
    let mut theirs = options(dir.path());
    theirs.lock_wait = Duration::ZERO;
    let other = Arc::new(SessionManager::open(&old, theirs).unwrap());
    let outcome = Arc::new(Mutex::new(None));
    let (in_between, noted) = (Arc::clone(&other), Arc::clone(&outcome));
    disk.before("remove_file", move || *noted.lock().unwrap() = Some(say(&in_between, "in between").map(drop)));
    manager.move_to("/srv/new").unwrap();
    let outcome = outcome.lock().unwrap().take().expect("the old file was removed");
    assert_eq!(outcome.unwrap_err().code(), "Locked");
    assert!(!old.exists());
    // Its session is written anew where it was; nothing is lost.
    other.recover().unwrap();
    assert_eq!(tags(&old), ["a", "in between"]);
    assert_eq!(tags(&manager.session_file().unwrap()), ["a"]);
}

/// What others appended before the move is in the moved session.
#[test]
fn a_move_takes_in_what_others_appended() {
    let dir = tempfile::tempdir().unwrap();
    let manager = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    let old = said(&manager, "a");
    let other = open(&old);
    say(&other, "theirs").unwrap();
    other.set_session_name("their title", TitleSource::User).unwrap();
    manager.move_to("/srv/new").unwrap();
    let new = manager.session_file().unwrap();
    assert_eq!(tags(&new), ["a", "theirs"]);
    assert_eq!((&lines(&new)[0]["title"], &lines(&new)[0]["cwd"]), (&"their title".into(), &"/srv/new".into()));
}

/// Where all sessions are in one directory a move changes the header only, whoever wrote it last.
#[test]
fn a_move_within_one_directory_changes_the_header() {
    let dir = tempfile::tempdir().unwrap();
    let mut fixed = options(dir.path());
    fixed.session_dir = Some(dir.path().join("all"));
    let manager = SessionManager::create("/srv/pi", fixed).unwrap();
    let file = said(&manager, "a");
    open(&file).set_session_name("their title", TitleSource::User).unwrap();
    manager.move_to("/srv/new").unwrap();
    assert_eq!(manager.session_file(), Some(file.clone()));
    let header = &lines(&file)[0];
    assert_eq!((&header["title"], &header["cwd"]), (&"their title".into(), &"/srv/new".into()));
    assert_eq!(tags(&file), ["a"]);
}

#[test]
fn a_captured_state_is_gone_back_to() {
    let dir = tempfile::tempdir().unwrap();
    let manager = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    let file = said(&manager, "a");
    let leaf = manager.leaf_id();
    let state = manager.capture_state().unwrap();
    say(&manager, "b").unwrap();
    // In the same session: the leaf goes back, the entries stay.
    manager.restore_state(&state).unwrap();
    assert_eq!((manager.leaf_id(), held(&manager)), (leaf.clone(), vec!["a".to_owned(), "b".to_owned()]));
    // From another session.
    manager.new_session(None).unwrap();
    let second = said(&manager, "x");
    assert_ne!(second, file);
    manager.restore_state(&state).unwrap();
    assert_eq!((manager.session_file(), manager.leaf_id()), (Some(file.clone()), leaf));
    say(&manager, "c").unwrap();
    assert_eq!((tags(&file), tags(&second)), (vec!["a".into(), "b".into(), "c".into()], vec!["x".into()]));
    // One that is in no file yet is held whole.
    manager.new_session(None).unwrap();
    manager.append_message(USER).unwrap();
    let (id, third, state) = (manager.session_id(), manager.session_file().unwrap(), manager.capture_state().unwrap());
    manager.set_session_file(&second).unwrap();
    assert!(!third.exists());
    manager.restore_state(&state).unwrap();
    assert_eq!((manager.session_id(), manager.session_file()), (id, Some(third.clone())));
    assert!(!third.exists());
    say(&manager, "y").unwrap();
    assert_eq!(lines(&third).len(), 3);
    // No reset leaf comes back as another one.
    manager.reset_leaf();
    let state = manager.capture_state().unwrap();
    manager.set_session_file(&second).unwrap();
    manager.restore_state(&state).unwrap();
    assert_eq!(manager.leaf_id(), None);
    // One whose file is gone is not made anew, empty.
    let state = manager.capture_state().unwrap();
    manager.set_session_file(&second).unwrap();
    std::fs::remove_file(&third).unwrap();
    assert_eq!(manager.restore_state(&state).unwrap_err().code(), "NotFound");
    assert_eq!((manager.session_file(), third.exists()), (Some(second), false));
}
