//! Single faults at moments that the script of `faults.rs` does not come to.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{Fault, FaultyDisk};
use xcsh_session::dirs::AgentDirs;
use xcsh_session::storage::{Access, Disk, DiskFile, DiskSessionStorage, MemoryDisk, SessionStorage};
use xcsh_session::{Error, ManagerOptions, ReadOptions, Session, SessionManager, TitleSource};

const USER: &str = r#"{"role":"user","content":"hi"}"#;
const ASSISTANT: &str = r#"{"role":"assistant","content":"hello","provider":"p","model":"m"}"#;

struct Rig {
    raw: MemoryDisk,
    disk: FaultyDisk<MemoryDisk>,
    manager: SessionManager,
}

fn options(disk: impl Disk) -> ManagerOptions {
    ManagerOptions::at(AgentDirs::at("/agent"), Arc::new(DiskSessionStorage::on(disk)))
}

fn rig() -> Rig {
    let raw = MemoryDisk::new();
    let disk = FaultyDisk::new(raw.clone());
    let manager = SessionManager::create("/srv/pi", options(disk.clone())).unwrap();
    manager.append_message(USER).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    manager.flush().unwrap();
    disk.forget();
    Rig { raw, disk, manager }
}

impl Rig {
    fn file(&self) -> PathBuf {
        self.manager.session_file().unwrap()
    }

    fn storage(&self) -> DiskSessionStorage<MemoryDisk> {
        DiskSessionStorage::on(self.raw.clone())
    }

    fn text(&self) -> String {
        String::from_utf8(self.storage().read_text(&self.file()).unwrap()).unwrap()
    }

    fn write_raw(&self, bytes: &[u8]) {
        self.raw.open(&self.file(), Access::Append).unwrap().append(bytes).unwrap();
    }

    #[track_caller]
    fn check_complete(&self) {
        let file = Session::read_from(&self.storage(), &self.file(), ReadOptions::default()).unwrap();
        assert_eq!(ids(&file), self.manager.read(ids));
        assert_eq!(self.manager.persist_error(), None);
    }
}

fn ids(session: &Session) -> Vec<String> {
    let mut ids: Vec<_> = (0..session.len() as u32).map(|number| session.id_of(number).unwrap().to_owned()).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn a_torn_line_is_completed_while_reading_it_fails() {
    let rig = rig();
    let line = r#"{"type":"message","id":"aaaaaaaa","parentId":null,"message":{"role":"user","content":"another's"}}"#;
    let (head, tail) = line.split_at(40);
    rig.write_raw(head.as_bytes());
    rig.manager.refresh().unwrap();
    rig.write_raw(format!("{tail}\n").as_bytes());
    rig.disk.fail_op("read_at", Fault::Io);
    rig.manager.append_message(USER).unwrap_err();
    rig.manager.refresh().unwrap_err();
    rig.disk.heal();
    rig.manager.set_session_name("title", TitleSource::User).unwrap();
    assert!(rig.text().contains(line));
    assert!(rig.manager.read(|session| session.number_of("aaaaaaaa")).is_some());
    rig.check_complete();
}

#[test]
fn a_blank_file_takes_the_place_while_nothing_can_be_written() {
    let rig = rig();
    let storage = rig.storage();
    storage.write_text(&rig.file(), b"", false).unwrap();
    rig.disk.fail_op("rename", Fault::NoSpace);
    rig.manager.append_message(USER).unwrap_err();
    rig.manager.append_message(USER).unwrap_err();
    rig.disk.heal();
    rig.manager.flush().unwrap();
    assert_eq!(rig.manager.read(Session::len), 4);
    rig.check_complete();
}

#[test]
fn a_file_goes_with_its_directory() {
    let rig = rig();
    rig.storage().remove_dir_all(rig.file().parent().unwrap()).unwrap();
    rig.manager.append_message(USER).unwrap();
    rig.check_complete();
}

#[test]
fn a_deleted_file_is_made_by_another_writer_at_the_same_time() {
    let rig = rig();
    let other = SessionManager::open(rig.file(), options(rig.raw.clone())).unwrap();
    rig.storage().unlink(&rig.file()).unwrap();
    rig.disk.before("create_new", move || drop(other.append_message(USER).unwrap()));
    rig.manager.append_message(USER).unwrap();
    assert_eq!(rig.manager.read(Session::len), 4);
    rig.check_complete();
}

/// The write is complete when its error comes, and cannot be cut back.
#[test]
fn a_line_that_was_written_after_all_is_not_written_again() {
    let long = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(500_001));
    for (message, cut) in [(USER, 0), (&*long, 0), (USER, 1), (&*long, 1)] {
        let rig = rig();
        rig.disk.fail_op("append", Fault::Late { cut });
        rig.disk.fail_op("set_len", Fault::Io);
        let error = rig.manager.append_message(message).unwrap_err();
        let id = error.entry_id().unwrap().to_owned();
        assert_eq!(rig.text().matches(&id).count(), 1);
        rig.disk.heal();
        rig.manager.append_message(USER).unwrap();
        // Once as an entry's own id, once as the next one's parent.
        assert_eq!(rig.text().matches(&id).count(), 2);
        assert_eq!(rig.manager.read(Session::len), 4);
        let whole = rig.manager.read(|session| session.entry(&id)).unwrap().unwrap().into_line();
        assert!(whole.contains(message), "memory has it whole");
        rig.check_complete();
    }
}

#[test]
fn a_session_that_cannot_be_begun_leaves_everything_as_it_was() {
    let rig = rig();
    let (dir, file) = (rig.manager.session_dir(), rig.file());
    let (id, _) = rig.manager.allocate_artifact_path("bash").unwrap().unwrap();
    rig.disk.fail_op("create_new", Fault::NoSpace);
    rig.manager.set_session_file("/elsewhere/new.jsonl").unwrap_err();
    assert_eq!((rig.manager.session_dir(), rig.manager.cwd()), (dir, PathBuf::from("/srv/pi")));
    assert_eq!((rig.file(), rig.manager.persist_error()), (file.clone(), None));
    let leaf = rig.manager.leaf_id().unwrap();
    rig.manager.create_branched_session(&leaf).unwrap_err();
    rig.manager.fork().unwrap_err();
    rig.manager.move_to("/srv/other").unwrap_err();
    assert_eq!((rig.file(), rig.manager.persist_error()), (file, None));
    rig.disk.heal();
    assert_ne!(rig.manager.allocate_artifact_path("bash").unwrap().unwrap().0, id, "an id is given out once");
    rig.manager.close().unwrap();
    rig.disk.fail_op("create_new", Fault::NoSpace);
    rig.manager.set_session_file("/elsewhere/new.jsonl").unwrap_err();
    assert!(matches!(rig.manager.append_message(USER), Err(Error::Closed)));
    rig.check_complete();
}

#[test]
fn a_move_that_fails_late_moves_the_artifacts_back() {
    for op in ["rename", "sync_dir", "remove_file"] {
        let rig = rig();
        let id = rig.manager.save_artifact(b"output", "bash").unwrap().unwrap();
        let artifacts = rig.manager.artifacts_dir().unwrap();
        let old = rig.file();
        let disk = rig.disk.clone();
        // From the look for artifacts on, when the new file is there already.
        let target = rig.manager.options().dirs.session_dirs(Path::new("/srv/other"))[0].clone();
        let moved = old.file_name().map(|name| target.join(name)).unwrap();
        rig.disk.when(move |call, path| call == "metadata" && path == artifacts, move || disk.fail_op(op, Fault::Io));
        rig.manager.move_to("/srv/other").unwrap_err();
        rig.disk.heal();
        // What could not be taken back at once is taken back now.
        let leaf = rig.manager.leaf_id().unwrap();
        rig.manager.branch(&leaf).unwrap();
        rig.manager.move_to("/srv/pi").unwrap();
        assert_eq!(rig.file(), old);
        assert!(rig.manager.artifact_path(&id).unwrap().is_some(), "{op}");
        assert!(!rig.storage().exists(&moved).unwrap(), "{op}");
        rig.check_complete();
    }
}

#[test]
fn a_session_without_a_file_is_closed_too() {
    let manager = SessionManager::create("/srv/pi", options(MemoryDisk::new())).unwrap();
    manager.append_message(USER).unwrap();
    manager.close().unwrap();
    assert!(matches!(manager.append_message(ASSISTANT), Err(Error::Closed)));
    manager.close().unwrap();
}

#[test]
fn many_entries_are_changed_at_once_or_not_at_all() {
    let lines = |manager: &SessionManager| -> Vec<String> {
        manager.read(|session| session.entries().map(|entry| entry.unwrap().into_line()).collect())
    };
    for call in 1.. {
        let rig = rig();
        let first = rig.manager.read(|session| session.id_of(0).unwrap().to_owned());
        let label = rig.manager.append_label_change(&first, Some("before")).unwrap();
        let old = lines(&rig.manager);
        let new = [
            old[0].replace("\"hi\"", "\"other\"").replace(&first, "ffffffff"),
            old[1].replace(&first, "ffffffff"),
            old[2].replace("before", "after").replace(&first, "ffffffff"),
        ];
        let changed: Vec<(u32, &str)> = (0..).zip(new.iter().map(String::as_str)).collect();
        rig.disk.forget();
        rig.disk.fail_once(call, Fault::Io);
        let result = rig.manager.rewrite_entries(&changed);
        let met = !rig.disk.failures().is_empty();
        rig.disk.heal();
        let taken = matches!(result, Ok(()) | Err(Error::Persist { .. }));
        assert_eq!(lines(&rig.manager), if taken { &new[..] } else { &old[..] }, "call {call}: {result:?}");
        rig.manager.read(|session| {
            let id = if taken { "ffffffff" } else { &first };
            assert_eq!(session.label(id), Some(if taken { "after" } else { "before" }));
            assert_eq!((session.number_of(id), session.number_of(&label)), (Some(0), Some(2)));
            assert_eq!(session.children(id), [1]);
            assert_eq!(session.number_of(&first).is_some(), !taken);
        });
        rig.manager.flush().unwrap();
        assert_eq!(rig.text().contains("\"other\""), taken);
        rig.check_complete();
        if !met {
            return;
        }
    }
}
