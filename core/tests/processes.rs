//! Sessions under real processes: killed at any moment, several at once, stopped with the lock in hand (P1, P3, P4, P6).
#![cfg(target_os = "linux")]

mod support;

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;
use support::process::{Process, job, listen, report};
use support::store::*;
use xcsh_session::storage::{FileSessionStorage, SessionStorage};
use xcsh_session::{Error, SessionManager, TitleSource};

/// What a killed process does: appends numbers, now and then a rename or a changed entry, until it is killed.
#[test]
fn child_that_is_killed() {
    let Some(job) = job() else { return };
    let (path, first) = (Path::new(&job[0]), job[1].parse::<u64>().unwrap());
    let manager = open(path);
    let mut last: Option<(String, u64)> = None;
    for number in first.. {
        let padding = "x".repeat((number as usize * 37) % 3000);
        let id = say(&manager, &format!("{number}.{padding}")).unwrap();
        report(&format!("said {number}"));
        if number % 5 == 2 {
            assert!(manager.set_session_name(&format!("title {number}"), TitleSource::User).unwrap());
            report(&format!("named {number}"));
        }
        if let (7, Some((last, number))) = (number % 8, &last) {
            let entry = manager.read(|session| session.entry(last).unwrap().unwrap());
            let changed = entry.line().replace("\"model\":\"m\"", "\"model\":\"changed\"");
            manager.replace_entry(last, &changed).unwrap();
            report(&format!("changed {number}"));
        }
        last = Some((id, number));
    }
}

#[derive(Default)]
struct Acknowledged {
    said: Vec<u64>,
    named: Option<u64>,
    changed: Vec<u64>,
}

impl Acknowledged {
    fn hear(&mut self, words: &str) {
        let (what, number) = words.split_once(' ').unwrap();
        let number = number.parse().unwrap();
        match what {
            "said" => self.said.push(number),
            "named" => self.named = Some(number),
            _ => self.changed.push(number),
        }
    }

    /// Looks at the file that the killed process left, before anything else touches it, and returns the largest number
    /// that is in it.
    fn check(&self, path: &Path, seed: u64) -> u64 {
        let text = fs::read(path).unwrap_or_default();
        let mut numbers = Vec::new();
        let (mut title, mut changed) = (None, Vec::new());
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let Ok(record) = serde_json::from_slice::<serde_json::Value>(line) else {
                // A killed process leaves a part of a line at the end of the file, or one that a later one has ended.
                assert!(!line.starts_with(br#"{"type":"session""#), "seed {seed}: torn header");
                continue;
            };
            if record["type"] == "session" {
                let number = record["title"].as_str().and_then(|title| title.strip_prefix("title ")?.parse().ok());
                title = number;
            }
            if let Some(tag) = tag(&record) {
                let number: u64 = tag.split_once('.').unwrap().0.parse().unwrap();
                numbers.push(number);
                if record["message"]["model"] == "changed" {
                    changed.push(number);
                }
            }
        }
        assert!(numbers.is_sorted_by(|a, b| a < b), "seed {seed}: {numbers:?}");
        for said in &self.said {
            assert!(numbers.binary_search(said).is_ok(), "seed {seed}: {said} is lost, there are {numbers:?}");
        }
        for number in &self.changed {
            assert!(changed.contains(number), "seed {seed}: the change of {number} is lost");
        }
        assert!(title >= self.named, "seed {seed}: title {title:?} instead of {:?}", self.named);
        numbers.last().copied().unwrap_or(0)
    }
}

fn kill_rounds(sessions: u64, rounds: u64) {
    let seed = Random::seed();
    let mut random = Random::new(seed);
    for _ in 0..sessions {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let mut known = Acknowledged::default();
        let mut last = 0;
        for _ in 0..rounds {
            let mut child = Process::start("child_that_is_killed", &[path.to_str().unwrap(), &(last + 1).to_string()]);
            for _ in 0..1 + random.below(25) {
                known.hear(&child.hear().expect("the child goes on until it is killed"));
            }
            child.kill();
            // What was on its way is acknowledged too.
            while let Some(words) = child.hear() {
                known.hear(&words);
            }
            last = known.check(&path, seed);
        }
        let manager = open(&path);
        last += 1;
        say(&manager, &format!("{last}.")).unwrap();
        known.said.push(last);
        known.check(&path, seed);
        manager.set_session_name(&format!("title {last}"), TitleSource::User).unwrap();
        manager.close().unwrap();
        known.check(&path, seed);
        assert_eq!(named(dir.path(), ".tmp"), [] as [PathBuf; 0], "seed {seed}");
        assert_eq!(named(dir.path(), ".invalid"), [] as [PathBuf; 0], "seed {seed}");
    }
}

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| kill_rounds(10, 10));
        }
    });
}

const WRITERS: usize = 4;
const ENTRIES: usize = 500;

/// What each of several writers does. `log` notes the beginning and the end of each rename in one order for all.
fn write_many(manager: &SessionManager, writer: usize, log: &mut dyn FnMut(String)) {
    let mut first = None;
    for number in 0..ENTRIES {
        let id = say(manager, &format!("{writer}.{number}")).unwrap();
        let first = first.get_or_insert(id);
        if number % 50 == 10 * writer {
            let title = format!("{writer}.{number}");
            log(format!("begin {title}"));
            assert!(manager.set_session_name(&title, TitleSource::User).unwrap());
            log(format!("end {title}"));
        }
        if writer == 0 && number % 100 == 50 {
            let entry = manager.read(|session| session.entry(first).unwrap().unwrap());
            let model = format!("\"model\":\"m{number}\"");
            let at = entry.line().find("\"model\"").unwrap();
            let end = at + entry.line()[at..].find('}').unwrap();
            manager.replace_entry(first, &format!("{}{model}{}", &entry.line()[..at], &entry.line()[end..])).unwrap();
        }
    }
    manager.close().unwrap();
}

/// Looks at the file of many writers. A title may stand that no rename replaced: none began after it had ended.
fn check_many(path: &Path, log: &[String]) {
    let all = lines(path);
    assert_eq!(tags(path).len(), WRITERS * ENTRIES + 1);
    let mut last: HashMap<usize, (usize, &str)> = HashMap::new();
    for entry in all.iter().skip(2) {
        let tag = tag(entry).unwrap();
        let (writer, number) = tag.split_once('.').unwrap();
        let (writer, number): (usize, usize) = (writer.parse().unwrap(), number.parse().unwrap());
        let (expected, parent) = last.get(&writer).map_or((0, "e-base"), |(number, id)| (number + 1, *id));
        assert_eq!((number, entry["parentId"].as_str().unwrap()), (expected, parent), "writer {writer}");
        last.insert(writer, (number, entry["id"].as_str().unwrap()));
        if (writer, number) == (0, 0) {
            assert_eq!(entry["message"]["model"], "m450");
        }
    }
    let title = all[0]["title"].as_str().unwrap();
    let end = log.iter().position(|event| *event == format!("end {title}")).expect("a title that somebody gave");
    let later: Vec<_> = log[end..].iter().filter(|event| event.starts_with("begin")).collect();
    assert!(later.is_empty(), "{title} stands in spite of {later:?}");
    assert_eq!(named(path.parent().unwrap(), ".tmp"), [] as [PathBuf; 0]);
}

fn patient(path: &Path) -> SessionManager {
    let mut options = options(path.parent().unwrap());
    options.lock_wait = Duration::from_secs(120);
    SessionManager::open(path, options).unwrap()
}

#[test]
fn child_among_many() {
    let Some(job) = job() else { return };
    let manager = patient(Path::new(&job[0]));
    let mut log = OpenOptions::new().append(true).open(&job[1]).unwrap();
    report("ready");
    listen();
    write_many(&manager, job[2].parse().unwrap(), &mut |event| log.write_all(format!("{event}\n").as_bytes()).unwrap());
    report("done");
}

#[test]
fn several_processes_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (path, log) = (dir.path().join("s.jsonl"), dir.path().join("log"));
    write_session(&path, "many", &["base"]);
    fs::write(&log, "").unwrap();
    let start = |writer: usize| {
        let job = [path.to_str().unwrap(), log.to_str().unwrap(), &writer.to_string()];
        Process::start("child_among_many", &job)
    };
    let mut children: Vec<_> = (0..WRITERS).map(start).collect();
    children.iter_mut().for_each(|child| child.expect("ready"));
    children.iter_mut().for_each(|child| child.tell("go"));
    children.iter_mut().for_each(|child| child.expect("done"));
    assert!(children.into_iter().all(|child| child.wait().success()));
    let log = fs::read_to_string(&log).unwrap();
    check_many(&path, &log.lines().map(str::to_owned).collect::<Vec<_>>());
}

fn several_managers(storage: impl Fn() -> Arc<dyn SessionStorage>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    write_session(&path, "many", &["base"]);
    let (log, go) = (Mutex::new(Vec::new()), Barrier::new(WRITERS));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let mut options = options(dir.path());
            options.lock_wait = Duration::from_secs(120);
            options.storage = storage();
            let (path, log, go) = (&path, &log, &go);
            scope.spawn(move || {
                let manager = SessionManager::open(path, options).unwrap();
                go.wait();
                write_many(&manager, writer, &mut |event| log.lock().unwrap().push(event));
            });
        }
    });
    check_many(&path, &log.into_inner().unwrap());
}

#[test]
fn several_managers_of_one_storage_lose_nothing() {
    let storage: Arc<dyn SessionStorage> = Arc::new(FileSessionStorage::new());
    several_managers(|| Arc::clone(&storage));
}

#[test]
fn several_managers_of_several_storages_lose_nothing() {
    several_managers(|| Arc::new(FileSessionStorage::new()));
}

#[test]
fn child_that_holds_the_lock() {
    let Some(job) = job() else { return };
    let mut writer = FileSessionStorage::new().open_writer(Path::new(&job[0])).unwrap();
    writer.begin(Duration::from_secs(60)).unwrap();
    report("held");
    listen();
    writer.write_line(format!("{}\n", foreign_line("theirs", None, "theirs")).as_bytes()).unwrap();
    writer.end();
    report("released");
    listen();
}

#[test]
fn a_stopped_writer_makes_the_others_wait_and_then_fail_without_loss() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    write_session(&path, "stopped", &["a"]);
    let impatient = || {
        let mut options = options(dir.path());
        options.lock_wait = Duration::from_millis(100);
        SessionManager::open(&path, options).unwrap()
    };
    let managers = [impatient(), impatient()];
    say(&managers[0], "b").unwrap();
    let mut child = Process::start("child_that_holds_the_lock", &[path.to_str().unwrap()]);
    child.expect("held");
    child.stop();
    for (number, manager) in managers.iter().enumerate() {
        let error = say(manager, &format!("{number}.0")).unwrap_err();
        assert!(matches!(&error, Error::Persist { source, .. } if matches!(**source, Error::Locked { .. })), "{error}");
        assert_eq!(error.code(), "Locked");
        assert_eq!(error.entry_id().map(str::to_owned), manager.leaf_id());
        assert_eq!(say(manager, &format!("{number}.1")).unwrap_err().code(), "Locked");
        assert_eq!(manager.set_session_name(&format!("t{number}"), TitleSource::User).unwrap_err().code(), "Locked");
        assert_eq!(manager.flush().unwrap_err().code(), "Locked");
        assert_eq!(manager.close().unwrap_err().code(), "Locked");
        assert_eq!(manager.persist_error().unwrap().code, "Locked");
    }
    // Reading and opening need no lock.
    assert_eq!(held(&open(&path)), ["a", "b"]);
    assert_eq!(tags(&path), ["a", "b"]);
    child.resume();
    child.tell("let go");
    child.expect("released");
    // Still alive, and stopped without the lock: nobody cares.
    child.stop();
    managers[0].recover().unwrap();
    say(&managers[1], "1.2").unwrap();
    say(&managers[0], "0.2").unwrap();
    managers.iter().for_each(|manager| {
        manager.close().unwrap();
        assert_eq!(manager.persist_error(), None);
    });
    let mut tags = tags(&path);
    tags.sort();
    assert_eq!(tags, ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2", "a", "b", "theirs"]);
    assert_eq!(lines(&path)[0]["title"], "t1");
    child.resume();
    drop(child);
}

#[test]
fn child_that_opens() {
    let Some(job) = job() else { return };
    let path = Path::new(&job[0]);
    report("ready");
    listen();
    let manager = match SessionManager::open(path, options(path.parent().unwrap())) {
        Ok(manager) => manager,
        Err(error) => return report(&format!("failed: {error}")),
    };
    let said = say(&manager, &job[1]).and_then(|_| manager.close());
    report(&said.map_or_else(|error| format!("failed: {error}"), |()| format!("said in {}", manager.session_id())));
}

/// Several processes open one path at the same time; all must end up in the same session with their entries in it.
fn open_at_once(prepare: impl Fn(&Path), check: impl Fn(&Path)) {
    for _ in 0..15 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        prepare(&path);
        let start = |tag: &str| Process::start("child_that_opens", &[path.to_str().unwrap(), tag]);
        let mut children = ["x", "y", "z"].map(start);
        children.iter_mut().for_each(|child| child.expect("ready"));
        children.iter_mut().for_each(|child| child.tell("go"));
        let said = children.each_mut().map(|child| child.hear().unwrap());
        let mut tags: Vec<_> = tags(&path).into_iter().filter(|tag| tag.len() == 1).collect();
        tags.sort();
        assert_eq!(tags, ["x", "y", "z"], "{said:?}");
        let id = lines(&path)[0]["id"].as_str().unwrap().to_owned();
        assert_eq!(said, ["x", "y", "z"].map(|_| format!("said in {id}")));
        check(&path);
    }
}

#[test]
fn a_missing_file_opened_by_several_processes_becomes_one_session() {
    open_at_once(|_| (), |_| ());
}

#[test]
fn an_empty_file_opened_by_several_processes_becomes_one_session() {
    open_at_once(|path| fs::write(path, "").unwrap(), |_| ());
}

#[test]
fn an_invalid_file_opened_by_several_processes_is_moved_aside_once() {
    let garbage = b"no session\n\0\xff\n{\"type\":\"message\"}\n";
    open_at_once(
        |path| fs::write(path, garbage).unwrap(),
        |path| {
            let aside = named(path.parent().unwrap(), ".invalid-");
            assert_eq!(aside.len(), 1, "{aside:?}");
            assert_eq!(fs::read(&aside[0]).unwrap(), garbage);
        },
    );
}

#[test]
fn a_file_of_an_older_version_opened_by_several_processes_is_migrated_once() {
    let v1 = concat!(
        r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/srv/pi"}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":[{"text":"first"}]}}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"user","content":[{"text":"second"}]}}"#,
        "\n",
    );
    open_at_once(
        |path| fs::write(path, v1).unwrap(),
        |path| {
            let lines = lines(path);
            assert_eq!(lines.len(), 6);
            assert_eq!(lines[0]["version"], 3);
            assert_eq!((tag(&lines[1]).unwrap(), tag(&lines[2]).unwrap()), ("first".into(), "second".into()));
            assert_eq!(lines[2]["parentId"], lines[1]["id"]);
        },
    );
}

/// Two managers whose file goes away make it anew at the same time: neither may take the other's for an error.
#[test]
fn a_file_that_keeps_being_deleted_under_several_managers_comes_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    write_session(&path, "deleted", &["a"]);
    let managers: Vec<_> = (0..3).map(|_| patient(&path)).collect();
    let rounds = 60;
    let (barrier, failed) = (Barrier::new(managers.len() + 1), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for (writer, manager) in managers.iter().enumerate() {
            let (barrier, failed) = (&barrier, &failed);
            scope.spawn(move || {
                for round in 0..rounds {
                    barrier.wait();
                    if let Err(error) = say(manager, &format!("{writer}.{round}")) {
                        failed.lock().unwrap().push(error.to_string());
                    }
                    barrier.wait();
                }
            });
        }
        for _ in 0..rounds {
            fs::remove_file(&path).unwrap();
            barrier.wait();
            barrier.wait();
        }
    });
    assert_eq!(failed.into_inner().unwrap(), [""; 0]);
    managers.iter().for_each(|manager| manager.close().unwrap());
    assert_eq!(tags(&path).len(), 1 + managers.len() * rounds);
}
