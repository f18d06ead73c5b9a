//! Somebody who takes no lock adds to the file between a manager's look at it and its write: the line is not where the
//! look said that it would be (SPEC section 8, P6). Nothing of that may be seen, whatever comes next.
#![cfg(unix)]

mod support;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::store::*;
use support::{Fault, FaultyDisk};
use xcsh_session::storage::{DiskSessionStorage, RealDisk};
use xcsh_session::{SessionManager, TitleSource};

/// A session with the messages a, b and c, the last two appended by the manager.
struct Opened {
    dir: tempfile::TempDir,
    path: PathBuf,
    disk: FaultyDisk<RealDisk>,
    manager: SessionManager,
}

fn opened() -> Opened {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    write_session(&path, "mine", &["a"]);
    let disk = FaultyDisk::new(RealDisk);
    let mut options = options(dir.path());
    options.storage = Arc::new(DiskSessionStorage::on(disk.clone()));
    let manager = SessionManager::open(&path, options).unwrap();
    say(&manager, "b").unwrap();
    say(&manager, "c").unwrap();
    Opened { dir, path, disk, manager }
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn foreign(tag: &str) -> Vec<u8> {
    (foreign_line(&format!("f-{tag}"), Some("e-a"), tag) + "\n").into_bytes()
}

impl Opened {
    /// Right before the write number `write` from now on, `bytes` get into the file.
    fn meddle(&self, write: usize, bytes: Vec<u8>) {
        let (path, count) = (self.path.clone(), AtomicUsize::new(0));
        let which = move |op: &str, _: &Path| op == "append" && count.fetch_add(1, Ordering::Relaxed) + 1 == write;
        self.disk.when(which, move || append(&path, &bytes));
    }

    fn say_late(&self, bytes: &[u8]) -> String {
        self.meddle(1, bytes.to_vec());
        let id = say(&self.manager, "d").unwrap();
        assert!(self.line(&id).contains(r#""text":"d""#), "{}", self.line(&id));
        id
    }

    fn line(&self, id: &str) -> String {
        self.manager.read(|session| session.entry(id).unwrap().unwrap().line().to_owned())
    }

    /// What memory, the file and a second manager hold, sorted.
    fn all(&self) -> Vec<String> {
        let path = self.manager.session_file().unwrap();
        let [mut memory, mut second] = [held(&self.manager), held(&open(&path))];
        memory.sort();
        second.sort();
        assert_eq!(memory, second, "memory and file");
        second
    }
}

type Next = fn(&Opened, &str);

const NEXTS: [(&str, Next); 12] = [
    ("append", |it, _| drop(say(&it.manager, "e").unwrap())),
    ("flush", |it, _| it.manager.flush().unwrap()),
    ("refresh", |it, _| drop(it.manager.refresh().unwrap())),
    ("close", |it, _| it.manager.close().unwrap()),
    ("rename", |it, _| assert!(it.manager.set_session_name("named", TitleSource::User).unwrap())),
    ("replace", |it, id| it.manager.replace_entry(id, &foreign_line(id, Some("e-a"), "D")).unwrap()),
    ("fork", |it, _| assert!(it.manager.fork().unwrap().is_some())),
    ("branch", |it, id| assert!(it.manager.create_branched_session(id).unwrap().is_some())),
    ("move", |it, _| it.manager.move_to("/srv/new").unwrap()),
    ("locked", |it, _| {
        let held = fs::File::open(&it.path).unwrap();
        // The lock may be kept for a moment.
        while held.try_lock().is_err() {}
        it.manager.flush().unwrap();
        drop(held);
        it.manager.refresh().unwrap();
    }),
    ("foreign", |it, _| {
        append(&it.path, &foreign("g"));
        it.manager.refresh().unwrap();
    }),
    ("deleted", |it, _| {
        fs::remove_file(&it.path).unwrap();
        say(&it.manager, "e").unwrap();
    }),
];

#[test]
fn a_line_that_is_not_where_it_should_be_is_found_whatever_comes_next() {
    let two = [foreign("x"), foreign("y")].concat();
    for (bytes, tags) in [(foreign("x"), vec!["x"]), (two, vec!["x", "y"]), (b"\n".to_vec(), vec![])] {
        for (name, next) in NEXTS {
            let it = opened();
            let numbering = it.manager.numbering();
            let id = it.say_late(&bytes);
            next(&it, &id);
            // It is no other file, in which entries would have other numbers.
            let same = !matches!(name, "fork" | "branch" | "move" | "deleted");
            assert!(!same || it.manager.numbering() == numbering, "{name}");
            let mut expected = [&["a", "b", "c"], &tags[..], &["d"]].concat();
            match name {
                "append" | "deleted" => expected.push("e"),
                "replace" => *expected.last_mut().unwrap() = "D",
                // A branch has the path alone.
                "branch" => expected.retain(|tag| !tags.contains(tag)),
                "foreign" => expected.push("g"),
                _ => {}
            }
            expected.sort_unstable();
            assert_eq!(it.all(), expected, "{name}");
            assert!(it.line(&id).contains(if name == "replace" { r#""text":"D""# } else { r#""text":"d""# }), "{name}");
            if name != "close" {
                say(&it.manager, "last").unwrap();
                expected.push("last");
                expected.sort_unstable();
                assert_eq!(it.all(), expected, "{name}");
            }
        }
    }
}

#[test]
fn a_torn_line_before_it_does_no_harm() {
    let torn = foreign("x");
    for cut in [1, torn.len() / 2, torn.len() - 1] {
        for (name, next) in NEXTS.iter().filter(|(name, _)| !matches!(*name, "branch" | "deleted" | "replace")) {
            let it = opened();
            let id = it.say_late(&torn[..cut]);
            next(&it, &id);
            let all = it.all();
            assert_eq!(all.iter().filter(|tag| *tag == "d").count(), 1, "{name}, {cut}: {all:?}");
            assert_eq!(
                all.iter().filter(|tag| *tag == "x").count(),
                usize::from(cut == torn.len() - 1),
                "{name}, {cut}"
            );
            assert!(["a", "b", "c"].iter().all(|tag| all.contains(&tag.to_string())), "{name}, {cut}: {all:?}");
        }
    }
}

/// Lines that waited are written one after the other: somebody may get between any two.
#[test]
fn between_two_lines_that_waited() {
    for write in [1, 2, 3] {
        let it = opened();
        it.disk.fail_op("append", Fault::NoSpace);
        ["d", "e"].iter().for_each(|tag| drop(say(&it.manager, tag).unwrap_err()));
        it.disk.heal();
        it.meddle(write, foreign("x"));
        say(&it.manager, "f").unwrap();
        it.manager.flush().unwrap();
        assert_eq!(it.all(), ["a", "b", "c", "d", "e", "f", "x"]);
        assert_eq!(it.manager.persist_error(), None);
    }
}

/// Of a line that is shortened in the file memory keeps the whole.
#[test]
fn a_shortened_line() {
    for late in [false, true] {
        let it = opened();
        if late {
            it.meddle(1, foreign("x"));
        }
        let message = r#"{"role":"assistant","content":[{"text":"d","partialJson":"{"}]}"#;
        let id = it.manager.append_message(message).unwrap();
        for next in ["e", "f"] {
            assert!(it.line(&id).contains("partialJson"));
            say(&it.manager, next).unwrap();
        }
        assert!(it.line(&id).contains("partialJson"));
        assert_eq!(it.all(), [&["a", "b", "c", "d", "e", "f"][..], if late { &["x"] } else { &[] }].concat());
        assert!(!fs::read_to_string(&it.path).unwrap().contains("partialJson"));
    }
}

/// A fork that fails goes back to where everything was, also where another holds the lock, so that nothing could be
/// looked at before.
#[test]
fn a_fork_that_fails_under_another_ones_lock() {
    for late in [false, true] {
        let it = opened();
        it.manager.flush().unwrap();
        let id = if late { it.say_late(&foreign("x")) } else { say(&it.manager, "d").unwrap() };
        let held = fs::File::open(&it.path).unwrap();
        while held.try_lock().is_err() {}
        it.disk.fail_op("sync_dir", Fault::Io);
        it.manager.fork().unwrap_err();
        it.disk.heal();
        drop(held);
        assert!(it.line(&id).contains(r#""text":"d""#), "{}", it.line(&id));
        say(&it.manager, "e").unwrap();
        assert_eq!(it.all(), [&["a", "b", "c", "d", "e"][..], if late { &["x"] } else { &[] }].concat());
    }
}

/// A line that was written although the write failed, and is another one by the time when it is found.
#[test]
fn a_line_that_was_written_after_all_and_changed_since() {
    let it = opened();
    it.disk.fail_op("append", Fault::Late { cut: 0 });
    it.disk.fail_op("set_len", Fault::Io);
    let error = say(&it.manager, "d").unwrap_err();
    it.disk.heal();
    let id = error.entry_id().unwrap();
    it.manager.replace_entry(id, &it.line(id).replace(r#""text":"d""#, r#""text":"D""#)).unwrap();
    assert_eq!(it.all(), ["D", "a", "b", "c"]);
}

/// Another program puts a file of its own at the path, with the line in it in its own spelling, or without it.
#[test]
fn a_file_in_its_place() {
    for late in [false, true] {
        for keeps in [false, true] {
            let it = opened();
            let id = if late { it.say_late(&foreign("x")) } else { say(&it.manager, "d").unwrap() };
            let text = fs::read_to_string(&it.path).unwrap();
            let spelled = |line: &str| line.replacen(r#""id":"#, r#""id": "#, 1) + "\n";
            let kept = text.lines().filter(|line| keeps || !line.contains(&format!(r#""id":"{id}""#)));
            let other = it.dir.path().join("other");
            fs::write(&other, kept.map(spelled).collect::<String>()).unwrap();
            fs::rename(&other, &it.path).unwrap();
            say(&it.manager, "e").unwrap();
            let mut expected = vec!["a", "b", "c", "d", "e"];
            if late {
                expected.push("x");
            }
            assert_eq!(it.all(), expected, "late {late}, keeps {keeps}");
        }
    }
}

/// The line is cut away again, in place: another program took it away.
#[test]
fn a_line_that_is_cut_away_is_gone() {
    let it = opened();
    let before = fs::metadata(&it.path).unwrap().len();
    say(&it.manager, "d").unwrap();
    OpenOptions::new().write(true).open(&it.path).unwrap().set_len(before).unwrap();
    say(&it.manager, "e").unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "e"]);
}

/// Where the system cannot tell any more where the line went, it is looked for.
#[test]
fn a_place_that_cannot_be_told() {
    for late in [false, true] {
        let it = opened();
        let id = if late { it.say_late(&foreign("x")) } else { say(&it.manager, "d").unwrap() };
        append(&it.path, &foreign("y"));
        it.disk.fail_op("appended_to", Fault::Io);
        say(&it.manager, "e").unwrap();
        it.disk.heal();
        let expected = if late { vec!["a", "b", "c", "d", "e", "x", "y"] } else { vec!["a", "b", "c", "d", "e", "y"] };
        assert_eq!(it.all(), expected);
        assert!(it.line(&id).contains(r#""text":"d""#));
    }
}

#[test]
fn a_line_replaced_where_its_place_cannot_be_told_is_there_once() {
    for op in ["appended_to", "read_at"] {
        let it = opened();
        let late = it.say_late(b"\n");
        it.disk.fail_op(op, Fault::Io);
        let replaced = it.manager.replace_entry(&late, &foreign_line(&late, Some("e-a"), "D"));
        it.disk.heal();
        it.manager.recover().unwrap();
        let expected = if replaced.is_ok() { ["D", "a", "b", "c"] } else { ["a", "b", "c", "d"] };
        assert_eq!(it.all(), expected, "{op}: {replaced:?}");
    }
}

#[test]
fn a_line_that_was_found_behind_a_torn_one_is_found_once() {
    let it = opened();
    it.meddle(1, br#"{"type":"message","id":"f-torn","parentId":""#.to_vec());
    it.disk.fail_op("append", Fault::Late { cut: 1 });
    say(&it.manager, "d").unwrap_err();
    it.disk.heal();
    it.meddle(1, foreign("late"));
    say(&it.manager, "e").unwrap();
    it.manager.recover().unwrap();
    it.manager.refresh().unwrap();
    it.manager.set_session_name("named", TitleSource::User).unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d", "e", "late"]);
}
