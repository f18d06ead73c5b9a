//! Sessions whose file, directory or disk is not what it was, or never was what it should be (SPEC sections 4 and 8).
#![cfg(unix)]

mod support;

use proptest::prelude::*;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::process::{as_plain_user, command, job};
use support::store::*;
use xcsh_session::storage::{FileSessionStorage, SessionStorage};
use xcsh_session::{Error, OnInvalid, SessionManager, TitleSource};

const NONE: [PathBuf; 0] = [];

/// A session with the messages a, b and c under a manager that appended b and c itself.
struct Opened {
    dir: tempfile::TempDir,
    path: PathBuf,
    manager: SessionManager,
}

fn opened() -> Opened {
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("sessions");
    fs::create_dir(&sessions).unwrap();
    let path = sessions.join("s.jsonl");
    write_session(&path, "mine", &["a"]);
    let manager = open(&path);
    say(&manager, "b").unwrap();
    say(&manager, "c").unwrap();
    Opened { dir, path, manager }
}

impl Opened {
    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    /// Another program puts a file of its own at the path.
    fn replace(&self, text: impl AsRef<[u8]>) {
        let other = self.path.with_extension("other");
        fs::write(&other, text).unwrap();
        fs::rename(&other, &self.path).unwrap();
    }

    fn say(&self, tag: &str) -> Result<String, Error> {
        say(&self.manager, tag)
    }

    /// What memory, the file and a second manager hold, which is the same, in any order.
    fn all(&self) -> Vec<String> {
        let sorted = |mut tags: Vec<String>| {
            tags.sort();
            tags
        };
        self.manager.refresh().unwrap();
        let in_file = sorted(tags(&self.path));
        assert_eq!(sorted(held(&self.manager)), in_file, "memory and file");
        assert_eq!(sorted(held(&open(&self.path))), in_file, "file and a second look");
        in_file
    }

    /// Each entry follows the one that it was appended behind.
    fn chain(&self) -> Vec<String> {
        let path = self.manager.read(|session| session.branch(None).unwrap());
        let entry = |number| self.manager.read(|session| session.entry_at(number).unwrap().unwrap());
        path.into_iter().filter_map(|number| tag(&serde_json::from_str(entry(number).line()).unwrap())).collect()
    }
}

fn append(path: &Path, bytes: impl AsRef<[u8]>) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes.as_ref()).unwrap();
}

fn truncate(path: &Path, len: usize) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len as u64).unwrap();
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

// Deleted.

#[test]
fn a_deleted_file_is_written_anew_whole_by_whatever_comes_next() {
    type Next = fn(&Opened);
    let nexts: [Next; 5] = [
        |it| drop(it.say("d").unwrap()),
        |it| it.manager.flush().unwrap(),
        |it| assert!(it.manager.set_session_name("named", TitleSource::User).unwrap()),
        |it| it.manager.close().unwrap(),
        |it| it.manager.ensure_on_disk().unwrap(),
    ];
    for next in nexts {
        for with_directory in [false, true] {
            let it = opened();
            if with_directory {
                fs::remove_dir_all(it.path.parent().unwrap()).unwrap();
            } else {
                fs::remove_file(&it.path).unwrap();
            }
            assert_eq!(held(&it.manager), ["a", "b", "c"]);
            next(&it);
            assert_eq!(it.all()[..3], ["a", "b", "c"]);
            assert_eq!(lines(&it.path)[0]["id"], "mine");
            assert_eq!(mode(&it.path), 0o600);
            if with_directory {
                assert_eq!(mode(it.path.parent().unwrap()), 0o700);
            }
        }
    }
}

#[test]
fn a_file_in_the_place_of_its_directory_is_an_error_until_it_is_gone() {
    let it = opened();
    let sessions = it.path.parent().unwrap();
    fs::remove_dir_all(sessions).unwrap();
    fs::write(sessions, "in the way").unwrap();
    let error = it.say("d").unwrap_err();
    assert_eq!((error.code(), error.entry_id().is_some()), ("Io", true), "{error}");
    assert_eq!(it.manager.flush().unwrap_err().code(), "Io");
    fs::remove_file(sessions).unwrap();
    it.say("e").unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d", "e"]);
    assert_eq!(it.chain(), ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_moved_session_file_is_written_anew() {
    let it = opened();
    let elsewhere = it.dir.path().join("elsewhere.jsonl");
    fs::rename(&it.path, &elsewhere).unwrap();
    it.say("d").unwrap();
    it.manager.close().unwrap();
    // Within the time for which a path is believed the entry may have gone to the moved file: it is in one of the two.
    let manager = open(&it.path);
    let mut found = held(&manager);
    if found.is_empty() {
        found = held(&open(&elsewhere));
    }
    assert_eq!(found, ["a", "b", "c", "d"]);
}

// Replaced.

#[test]
fn what_another_manager_renamed_and_added_is_taken_in() {
    let it = opened();
    let other = open(&it.path);
    other.set_session_name("theirs", TitleSource::User).unwrap();
    say(&other, "x").unwrap();
    assert_eq!(it.manager.refresh().unwrap().len(), 4);
    assert_eq!(it.manager.session_name().as_deref(), Some("theirs"));
    it.say("d").unwrap();
    say(&other, "y").unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d", "x", "y"]);
    assert_eq!(it.chain(), ["a", "b", "c", "d"]);
}

#[test]
fn an_automatic_title_does_not_replace_a_title_that_a_user_gave_meanwhile() {
    let it = opened();
    let other = open(&it.path);
    other.set_session_name("the user's", TitleSource::User).unwrap();
    assert!(!it.manager.set_session_name("automatic", TitleSource::Auto).unwrap());
    assert_eq!(it.manager.session_name().as_deref(), Some("the user's"));
    let header = &lines(&it.path)[0];
    assert_eq!((&header["title"], &header["titleSource"]), (&"the user's".into(), &"user".into()));
    assert!(it.manager.set_session_name("the user's second", TitleSource::User).unwrap());
    assert_eq!(lines(&it.path)[0]["title"], "the user's second");
}

#[test]
fn an_entry_that_another_manager_changed_stays_changed() {
    // Long texts are cut in the file and whole in memory: what is held must not come back over the change.
    let it = opened();
    let long = it.say(&"l".repeat(600_000)).unwrap();
    it.say("d").unwrap();
    let other = open(&it.path);
    other.replace_entry(&long, &foreign_line(&long, Some("e-a"), "changed")).unwrap();
    it.manager.set_session_name("rewritten", TitleSource::User).unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "changed", "d"]);
}

#[test]
fn a_long_entry_stays_whole_in_memory_when_another_manager_rewrites() {
    let it = opened();
    it.say(&"l".repeat(600_000)).unwrap();
    open(&it.path).set_session_name("theirs", TitleSource::User).unwrap();
    it.say("d").unwrap();
    assert_eq!(held(&it.manager)[3].len(), 600_000);
    assert_eq!(tags(&it.path)[3].len(), 500_000);
}

#[test]
fn a_changed_entry_survives_that_another_manager_rewrites_at_the_same_time() {
    let it = opened();
    let other = open(&it.path);
    other.set_session_name("theirs", TitleSource::User).unwrap();
    let label = r#"{"type":"label","id":"e-a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","targetId":"e-a","label":"L"}"#;
    it.manager.replace_entry("e-a", label).unwrap();
    assert_eq!(it.manager.read(|session| session.label("e-a").map(str::to_owned)).as_deref(), Some("L"));
    assert_eq!(lines(&it.path)[1]["label"], "L");
    assert_eq!(lines(&it.path)[0]["title"], "theirs");
}

#[test]
fn a_foreign_rewrite_that_keeps_all_is_taken_in() {
    let it = opened();
    it.replace(
        it.text().replacen("\"cwd\"", "\"title\":\"foreign\",\"cwd\"", 1) + &foreign_line("f", None, "f") + "\n",
    );
    it.say("d").unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d", "f"]);
    assert_eq!(it.manager.session_name().as_deref(), Some("foreign"));
    assert_eq!(it.chain(), ["a", "b", "c", "d"]);
}

#[test]
fn what_a_foreign_rewrite_dropped_is_written_again() {
    let it = opened();
    append(&it.path, "{\"type\":\"marker\",\"n\":1}\n{\"type\":\"marker\",\"n\":2}\n");
    it.manager.refresh().unwrap();
    let kept: Vec<String> = it.text().lines().take(2).map(str::to_owned).collect();
    it.replace(kept.join("\n") + "\n{\"type\":\"marker\",\"n\":2}\n" + &foreign_line("f", Some("e-a"), "f") + "\n");
    it.say("d").unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d", "f"]);
    assert_eq!(it.chain(), ["a", "b", "c", "d"]);
    let markers: Vec<_> = lines(&it.path).iter().filter_map(|line| line["n"].as_u64()).collect();
    assert_eq!(markers, [2, 1], "entries without an id come back once");
}

#[test]
fn garbage_in_the_place_of_the_file_is_moved_aside_and_the_session_written_anew() {
    for next in [|it: &Opened| drop(it.say("d").unwrap()), |it: &Opened| drop(it.manager.refresh().unwrap())] {
        let it = opened();
        it.replace("no session at all\n");
        next(&it);
        it.manager.flush().unwrap();
        assert_eq!(it.all()[..3], ["a", "b", "c"]);
        let aside = named(it.path.parent().unwrap(), ".invalid-");
        assert_eq!(aside.len(), 1);
        assert_eq!(fs::read(&aside[0]).unwrap(), b"no session at all\n");
    }
}

#[test]
fn another_session_in_the_place_of_the_file_is_left_alone_until_it_is_gone() {
    let it = opened();
    let theirs = session_text("theirs", "", &["x"]);
    it.replace(&theirs);
    for error in [it.say("d").unwrap_err(), it.manager.flush().unwrap_err(), it.manager.close().unwrap_err()] {
        assert_eq!(error.code(), "Replaced");
        assert!(error.to_string().contains("theirs"), "{error}");
    }
    assert_eq!(it.text(), theirs);
    fs::rename(&it.path, it.dir.path().join("theirs.jsonl")).unwrap();
    it.manager.recover().unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d"]);
    assert_eq!(fs::read_to_string(it.dir.path().join("theirs.jsonl")).unwrap(), theirs);
}

#[test]
fn an_empty_file_in_the_place_of_the_file_is_filled() {
    for text in ["", "\n \n"] {
        let it = opened();
        it.replace(text);
        it.say("d").unwrap();
        assert_eq!(it.all(), ["a", "b", "c", "d"]);
        assert_eq!(lines(&it.path)[0]["id"], "mine");
    }
}

#[test]
fn a_newer_version_in_the_place_of_the_file_is_left_alone_until_it_is_gone() {
    for in_place in [false, true] {
        let it = opened();
        let before = it.text();
        let newer =
            before.replacen("\"version\":3", "\"version\":4,\"new\":true", 1) + &foreign_line("x", None, "x") + "\n";
        if in_place {
            fs::write(&it.path, &newer).unwrap()
        } else {
            it.replace(&newer)
        }
        assert_eq!(it.say("d").unwrap_err().code(), "UnsupportedVersion");
        assert_eq!(it.text(), newer);
        it.replace(&before);
        it.say("e").unwrap();
        assert_eq!(it.all()[..5], ["a", "b", "c", "d", "e"]);
    }
}

#[test]
fn an_older_version_in_the_place_of_the_file_is_migrated() {
    let it = opened();
    it.replace(it.text().replacen("\"version\":3", "\"version\":2", 1).replacen("\"assistant\"", "\"hookMessage\"", 1));
    it.say("d").unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d"]);
    let lines = lines(&it.path);
    assert_eq!((&lines[0]["version"], &lines[1]["message"]["role"]), (&3.into(), &"custom".into()));
}

// Rewritten in place, as relatives of the agent do it.

#[test]
fn a_rewrite_in_place_is_noticed_whatever_its_length() {
    // The longer header moves every entry; the file only ever grew, as far as lengths can tell.
    for more in [
        "",
        ",\"title\":\"in place\"",
        ",\"title\":\"a title that is longer than an entry of this session is, so that every line moves by more than its length, and then some more to be sure of it\"",
    ] {
        for kept in 0..=3 {
            for added in [0, 1, 4] {
                let it = opened();
                let old = it.text();
                let entries: Vec<&str> = old.lines().skip(1).take(kept).collect();
                let mut text = session_text("mine", more, &[]);
                entries.iter().for_each(|entry| text += &format!("{entry}\n"));
                (0..added).for_each(|n| text += &(foreign_line(&format!("f{n}"), None, &format!("x{n}")) + "\n"));
                fs::write(&it.path, &text).unwrap();
                it.say("d").unwrap();
                let all = it.all();
                let mut expected: Vec<String> = ["a", "b", "c"][..kept].iter().map(|tag| tag.to_string()).collect();
                expected.push("d".to_owned());
                expected.extend((0..added).map(|n| format!("x{n}")));
                let missing: Vec<_> = expected.iter().filter(|tag| !all.contains(tag)).collect();
                assert!(missing.is_empty(), "{missing:?} missing of {all:?}: {more} {kept} {added}");
                it.manager.set_session_name("after", TitleSource::User).unwrap();
                assert_eq!(it.all(), all);
            }
        }
    }
}

#[test]
fn another_session_written_in_place_is_left_alone_until_it_is_gone() {
    for tags in [&["x"][..], &["u", "v", "w", "x", "y", "z"]] {
        let it = opened();
        let theirs = session_text("theirs", "", tags);
        fs::write(&it.path, &theirs).unwrap();
        assert_eq!(it.say("d").unwrap_err().code(), "Replaced");
        assert_eq!(it.say("e").unwrap_err().code(), "Replaced");
        assert_eq!(it.text(), theirs);
        let elsewhere = it.dir.path().join("theirs.jsonl");
        fs::rename(&it.path, &elsewhere).unwrap();
        it.manager.recover().unwrap();
        assert_eq!(it.all(), ["d", "e"], "what was overwritten is gone, what was not is there");
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), theirs);
        it.say("f").unwrap();
        assert_eq!(it.chain(), ["d", "e", "f"]);
    }
}

#[test]
fn a_damaged_header_costs_no_entry() {
    for damage in [&b"X"[..], b"\0\0\0\0\0\0\0\0", b"{\"type\":\"message\"}\n"] {
        let it = opened();
        let before = fs::read(&it.path).unwrap();
        let mut bytes = before.clone();
        bytes[..damage.len()].copy_from_slice(damage);
        bytes.truncate(before.len() - 10);
        fs::write(&it.path, &bytes).unwrap();
        it.say("d").unwrap();
        assert_eq!(it.all(), ["a", "b", "d"]);
        let aside = named(it.path.parent().unwrap(), ".invalid-");
        assert_eq!(aside.len(), 1);
        assert!(fs::read(&aside[0]).unwrap().starts_with(&bytes));
    }
}

// Truncated.

#[test]
fn what_is_left_of_a_truncated_file_and_what_comes_after_it_are_kept() {
    let text = opened().text();
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    for len in 0..text.len() {
        let it = opened();
        truncate(&it.path, len);
        it.say("d").unwrap();
        it.say("e").unwrap();
        let left = ends.iter().filter(|&&end| end <= len + 1).count().saturating_sub(1);
        let expected: Vec<&str> = ["a", "b", "c"][..left.min(3)].iter().copied().chain(["d", "e"]).collect();
        assert_eq!(held(&it.manager), expected, "cut at {len}");
        assert_eq!(held(&open(&it.path)), expected, "cut at {len}");
        assert_eq!(it.chain(), expected, "cut at {len}");
        if len % 5 == 0 {
            it.manager.set_session_name("after", TitleSource::User).unwrap();
            assert_eq!(held(&open(&it.path)), expected, "cut at {len}");
        }
    }
}

#[test]
fn a_file_that_was_truncated_and_has_grown_past_its_old_end_is_read_anew() {
    let it = opened();
    let text = it.text();
    for keep in [1, 2, 3] {
        let it = opened();
        let len = text.match_indices('\n').nth(keep - 1).unwrap().0 + 1;
        truncate(&it.path, len);
        (0..9).for_each(|n| append(&it.path, foreign_line(&format!("f{n}"), None, &format!("x{n}")) + "\n"));
        assert!(it.text().len() > text.len());
        it.say("d").unwrap();
        assert_eq!(it.all().len(), keep - 1 + 9 + 1);
    }
}

// Grown without lock.

#[test]
fn what_a_program_without_locks_appends_is_taken_in() {
    let it = opened();
    append(&it.path, foreign_line("f", Some("e-a"), "f") + "\n");
    let new = it.manager.refresh().unwrap();
    assert_eq!(new.len(), 1);
    assert_eq!(it.manager.read(|session| session.id_of(new[0]).map(str::to_owned)).as_deref(), Some("f"));
    it.say("d").unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d", "f"]);
    assert_eq!(it.chain(), ["a", "b", "c", "d"]);
}

/// A line that another program is about to write, in two parts, wherever it is torn. In between this manager looks,
/// appends, or does nothing.
#[test]
fn a_torn_line_that_is_completed_later_is_one_entry() {
    let inner = r#"{"type":"message","id":"inner","parentId":"e-a","timestamp":"2026-01-01T00:00:00.000Z"}"#;
    let line = format!(
        r#"{{"type":"custom","customType":"x","data":{{"log":[{inner},{inner}]}},"id":"f","parentId":"e-a","timestamp":"2026-01-01T00:00:00.000Z"}}"#
    );
    for whole in [
        foreign_line("f", Some("e-a"), "f"),
        line,
        format!("{}{}", foreign_line("g", None, "g"), foreign_line("f", None, "f")),
    ] {
        for cut in (1..=whole.len()).filter(|cut| cut % 3 == 1 || *cut + 3 > whole.len()) {
            let it = opened();
            append(&it.path, &whole[..cut]);
            it.manager.refresh().unwrap();
            append(&it.path, &whole[cut..]);
            it.manager.refresh().unwrap();
            append(&it.path, "\n");
            it.say("d").unwrap();
            let fresh = open(&it.path);
            let ids = |manager: &SessionManager| -> Vec<Option<String>> {
                manager.read(|session| (0..session.len() as u32).map(|n| session.id_of(n).map(str::to_owned)).collect())
            };
            assert_eq!(ids(&it.manager), ids(&fresh), "torn at {cut}");
            let diagnosed = it.manager.read(|session| session.diagnostics().unwrap());
            assert!(diagnosed.malformed_lines.is_empty(), "torn at {cut}");
            it.manager.set_session_name("rewritten", TitleSource::User).unwrap();
            assert_eq!(ids(&open(&it.path)), ids(&fresh), "torn at {cut}");
            let last = it.manager.read(|session| session.entry("f").unwrap().unwrap().line().to_owned());
            assert!(whole.ends_with(&last), "torn at {cut}: {last}");
        }
    }
}

#[test]
fn a_torn_line_that_nobody_completes_swallows_nothing_and_stays() {
    let whole = foreign_line("f", Some("e-a"), "f");
    for cut in (1..whole.len()).step_by(4) {
        let it = opened();
        append(&it.path, &whole[..cut]);
        it.say("d").unwrap();
        it.say("e").unwrap();
        it.manager.set_session_name("rewritten", TitleSource::User).unwrap();
        assert_eq!(held(&it.manager), ["a", "b", "c", "d", "e"]);
        assert_eq!(held(&open(&it.path)), ["a", "b", "c", "d", "e"]);
        assert!(it.text().contains(&format!("\n{}\n", &whole[..cut])), "torn at {cut}");
    }
}

#[test]
fn a_line_glued_to_a_torn_one_is_found() {
    let whole = foreign_line("f", Some("e-a"), "f");
    for cut in (1..whole.len()).step_by(3) {
        let it = opened();
        append(&it.path, &whole[..cut]);
        it.manager.refresh().unwrap();
        append(&it.path, foreign_line("g", Some("e-a"), "g") + "\n");
        it.say("d").unwrap();
        let mut found = held(&it.manager);
        found.sort();
        assert_eq!(found, ["a", "b", "c", "d", "g"], "torn at {cut}");
        it.manager.set_session_name("rewritten", TitleSource::User).unwrap();
        assert_eq!(held(&open(&it.path)).len(), 5, "torn at {cut}");
    }
}

#[test]
fn line_numbers_stay_right_when_others_end_an_unended_line() {
    let it = opened();
    append(&it.path, foreign_line("f", None, "f"));
    it.manager.refresh().unwrap();
    append(&it.path, "\nnot json\n");
    it.say("d").unwrap();
    let malformed = it.manager.read(|session| session.diagnostics().unwrap().malformed_lines);
    assert_eq!(malformed.iter().map(|line| line.line).collect::<Vec<_>>(), [6]);
}

/// A program without locks appends while the file is being rewritten.
#[test]
fn what_is_appended_during_a_rewrite_is_not_renamed_over() {
    let it = opened();
    let storage = FileSessionStorage::new();
    let mut writer = storage.open_writer(&it.path).unwrap();
    writer.begin(std::time::Duration::from_secs(60)).unwrap();
    let replaced = writer.replace(&mut |out| {
        append(&it.path, foreign_line("f", None, "f") + "\n");
        out.write_all(b"new\n")
    });
    assert_eq!(replaced.unwrap_err().kind(), io::ErrorKind::StaleNetworkFileHandle);
    drop(writer);
    it.manager.set_session_name("rewritten", TitleSource::User).unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "f"]);
    assert_eq!(named(it.path.parent().unwrap(), ".tmp"), NONE);
}

// Permissions.

#[test]
fn a_file_that_may_not_be_written_is_an_error_until_it_may() {
    as_plain_user("a_file_that_may_not_be_written_is_an_error_until_it_may", |dir| {
        let path = dir.join("s.jsonl");
        write_session(&path, "mine", &["a"]);
        let manager = open(&path);
        chmod(&path, 0o400);
        let before = fs::read(&path).unwrap();
        let error = say(&manager, "b").unwrap_err();
        assert_eq!(error.io().unwrap().kind(), io::ErrorKind::PermissionDenied, "{error}");
        assert!(error.to_string().contains("s.jsonl"), "{error}");
        assert_eq!(manager.set_session_name("t", TitleSource::User).unwrap_err().code(), "Io");
        assert_eq!(manager.flush().unwrap_err().code(), "Io");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(manager.persist_error().unwrap().code, "Io");
        chmod(&path, 0o640);
        say(&manager, "c").unwrap();
        assert_eq!(tags(&path), ["a", "b", "c"]);
        assert_eq!(lines(&path)[0]["title"], "t");
        assert_eq!(mode(&path), 0o640);
        // A manager that has the file open already goes on, and a rewrite keeps the mode.
        chmod(&path, 0o400);
        say(&manager, "d").unwrap();
        let _ = manager.set_session_name("u", TitleSource::User);
        chmod(&path, 0o600);
        manager.recover().unwrap();
        assert_eq!(tags(&path), ["a", "b", "c", "d"]);
        assert_eq!(lines(&path)[0]["title"], "u");
    });
}

#[test]
fn a_file_that_may_not_be_read_is_an_error() {
    as_plain_user("a_file_that_may_not_be_read_is_an_error", |dir| {
        let path = dir.join("s.jsonl");
        write_session(&path, "mine", &["a"]);
        chmod(&path, 0);
        let error = SessionManager::open(&path, options(dir)).err().unwrap();
        assert_eq!((error.code(), error.path()), ("Io", Some(&*path)), "{error}");
        chmod(&path, 0o600);
        assert_eq!(tags(&path), ["a"]);
        assert_eq!(named(dir, ".invalid-"), NONE);
    });
}

#[test]
fn in_a_read_only_directory_appends_go_on_and_rewrites_are_made_up_for() {
    as_plain_user("in_a_read_only_directory_appends_go_on_and_rewrites_are_made_up_for", |dir| {
        let sessions = dir.join("sessions");
        fs::create_dir(&sessions).unwrap();
        let path = sessions.join("s.jsonl");
        write_session(&path, "mine", &["a"]);
        let manager = SessionManager::open(&path, options(dir)).unwrap();
        chmod(&sessions, 0o500);
        say(&manager, "b").unwrap();
        assert_eq!(manager.set_session_name("t", TitleSource::User).unwrap_err().code(), "Io");
        // The title cannot be written, which is said; the entry can, and is there if the process dies now.
        assert_eq!(say(&manager, "c").unwrap_err().code(), "Io");
        assert_eq!(tags(&path), ["a", "b", "c"]);
        chmod(&sessions, 0o700);
        say(&manager, "d").unwrap();
        assert_eq!(tags(&path), ["a", "b", "c", "d"]);
        assert_eq!(lines(&path)[0]["title"], "t");
        assert_eq!(manager.persist_error(), None);
    });
}

#[test]
fn a_new_session_in_a_directory_without_write_permission_is_an_error_until_there_is_one() {
    as_plain_user("a_new_session_in_a_directory_without_write_permission_is_an_error_until_there_is_one", |dir| {
        let manager = SessionManager::create("/srv/pi", options(dir)).unwrap();
        chmod(dir, 0o500);
        let error = say(&manager, "a").unwrap_err();
        assert_eq!(error.io().unwrap().kind(), io::ErrorKind::PermissionDenied, "{error}");
        assert_eq!(SessionManager::open(dir.join("new.jsonl"), options(dir)).err().unwrap().code(), "Io");
        chmod(dir, 0o700);
        say(&manager, "b").unwrap();
        assert_eq!(tags(&manager.session_file().unwrap()), ["a", "b"]);
    });
}

#[test]
fn an_old_session_in_a_read_only_directory_opens_and_is_written_later() {
    as_plain_user("an_old_session_in_a_read_only_directory_opens_and_is_written_later", |dir| {
        let sessions = dir.join("sessions");
        fs::create_dir(&sessions).unwrap();
        let path = sessions.join("s.jsonl");
        fs::write(&path, V1).unwrap();
        chmod(&sessions, 0o500);
        let manager = SessionManager::open(&path, options(dir)).unwrap();
        assert_eq!(manager.persist_error().unwrap().code, "Io");
        assert_eq!(held(&manager), ["first", "second"]);
        assert_eq!(say(&manager, "third").unwrap_err().code(), "Io");
        assert_eq!(fs::read_to_string(&path).unwrap(), V1, "nothing new in a file of an older version");
        chmod(&sessions, 0o700);
        manager.recover().unwrap();
        assert_eq!(tags(&path), ["first", "second", "third"]);
        assert_eq!(lines(&path)[0]["version"], 3);
    });
}

const V1: &str = concat!(
    r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/srv/pi"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":[{"text":"first"}]}}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"user","content":[{"text":"second"}]}}"#,
    "\n",
);

/// Runs a system command that may not be allowed here; says so if it is not.
fn allowed(what: &str, command: &mut Command) -> bool {
    let allowed = command.output().is_ok_and(|output| output.status.success());
    if !allowed {
        eprintln!("skipped: {what} is not allowed here");
    }
    allowed
}

#[test]
fn an_immutable_file_is_an_error_until_it_is_none() {
    let it = opened();
    if !allowed("chattr +i", Command::new("chattr").arg("+i").arg(&it.path)) {
        return;
    }
    let other = open(&it.path);
    let error = say(&other, "x").unwrap_err();
    assert_eq!(error.code(), "Io");
    let said = it.say("d");
    let named = it.manager.set_session_name("t", TitleSource::User);
    assert!(allowed("chattr -i", Command::new("chattr").arg("-i").arg(&it.path)));
    assert_eq!(named.unwrap_err().code(), "Io");
    drop(said);
    other.recover().unwrap();
    it.manager.recover().unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d", "x"]);
    assert_eq!(lines(&it.path)[0]["title"], "t");
}

// A full disk.

struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(dir: &Path) -> Option<Tmpfs> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"]).arg(dir);
        allowed("mounting a tmpfs", &mut mount).then(|| Tmpfs(dir.to_owned()))
    }

    /// Takes all the space there is; removing the file gives it back.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut filler = fs::File::create(&path).unwrap();
        while filler.write_all(&[0; 512]).is_ok() {}
        path
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn is_full(error: &Error) -> bool {
    error.io().is_some_and(|error| error.kind() == io::ErrorKind::StorageFull)
}

#[test]
fn a_full_disk_loses_nothing_and_recovers() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Tmpfs::mount(dir.path()) else { return };
    let path = dir.path().join("s.jsonl");
    write_session(&path, "mine", &["a"]);
    let manager = open(&path);
    let filler = disk.fill();
    // As much as fits in the last page of the file is written, then comes the error.
    let mut expected = vec!["a".to_owned()];
    let mut failed = 0;
    for number in 0.. {
        let tag = format!("{number}.{}", "x".repeat(900));
        let said = say(&manager, &tag);
        expected.push(tag);
        if let Err(error) = said {
            assert!(is_full(&error), "{error}");
            failed += 1;
            if failed == 3 {
                break;
            }
        } else {
            assert_eq!(failed, 0);
        }
    }
    let written = tags(&path);
    assert_eq!(written, expected[..expected.len() - 3], "the failed ones left nothing behind");
    assert!(is_full(&manager.set_session_name("t", TitleSource::User).unwrap_err()));
    assert!(is_full(&manager.flush().unwrap_err()));
    // An image goes to the blob store first, which is as full.
    let image = format!(
        r#"{{"role":"user","content":[{{"type":"image","mimeType":"image/png","data":"{}"}}]}}"#,
        base64_simd::STANDARD.encode_to_string(vec![7; 3000])
    );
    assert!(is_full(&manager.append_message(&image).unwrap_err()));
    assert_eq!(tags(&path), written);
    assert_eq!(held(&manager), expected);
    assert_eq!(named(dir.path(), ".tmp"), NONE);
    fs::remove_file(filler).unwrap();
    say(&manager, "after").unwrap();
    expected.push("after".to_owned());
    assert_eq!(tags(&path), expected);
    assert_eq!(lines(&path)[0]["title"], "t");
    let all = lines(&path);
    let image = &all[all.len() - 2]["message"]["content"][0]["data"];
    let hash = image.as_str().unwrap().strip_prefix("blob:sha256:").unwrap();
    assert_eq!(fs::read(dir.path().join("agent/blobs").join(hash)).unwrap(), vec![7; 3000]);
    assert_eq!(manager.persist_error(), None);
    assert_eq!(held(&open(&path)), expected);
}

#[test]
fn a_new_session_on_a_full_disk_is_an_error_until_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Tmpfs::mount(dir.path()) else { return };
    let manager = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
    let filler = disk.fill();
    assert!(is_full(&say(&manager, "a").unwrap_err()));
    let path = dir.path().join("s.jsonl");
    assert!(is_full(&SessionManager::open(&path, options(dir.path())).err().unwrap()));
    assert!(!path.exists());
    let file = manager.session_file().unwrap();
    assert!(!file.exists());
    fs::write(&path, "no session").unwrap_err();
    fs::remove_file(filler).unwrap();
    say(&manager, "b").unwrap();
    assert_eq!(tags(&file), ["a", "b"]);
}

// Links.

#[test]
fn a_link_stays_and_its_target_is_rewritten() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("real")).unwrap();
    let (link, target) = (dir.path().join("s.jsonl"), dir.path().join("real/target.jsonl"));
    for text in [&session_text("mine", "", &["a"])[..], "", "garbage\n", V1] {
        fs::write(&target, text).unwrap();
        symlink("real/target.jsonl", &link).unwrap();
        let manager = open(&link);
        say(&manager, "b").unwrap();
        manager.set_session_name("t", TitleSource::User).unwrap();
        say(&manager, "c").unwrap();
        fs::remove_file(&target).unwrap();
        say(&manager, "d").unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("real/target.jsonl"), "{text}");
        let tags = tags(&target);
        assert_eq!(tags[tags.len() - 3..], ["b", "c", "d"], "{text}");
        assert_eq!(lines(&target)[0]["title"], "t");
        assert_eq!(named(dir.path(), ".tmp"), NONE);
        fs::remove_file(&link).unwrap();
    }
    let aside = named(&dir.path().join("real"), ".invalid-");
    assert_eq!(aside.len(), 1);
    assert_eq!(fs::read(&aside[0]).unwrap(), b"garbage\n");
    assert_eq!(named(dir.path(), ".invalid-"), NONE);
}

#[test]
fn a_dangling_link_becomes_a_session_at_its_target() {
    let dir = tempfile::tempdir().unwrap();
    let (link, target) = (dir.path().join("s.jsonl"), dir.path().join("target.jsonl"));
    symlink(&target, &link).unwrap();
    say(&open(&link), "a").unwrap();
    assert_eq!(fs::read_link(&link).unwrap(), target);
    assert_eq!(tags(&target), ["a"]);
    // A link to itself leads nowhere.
    let circle = dir.path().join("circle.jsonl");
    symlink("circle.jsonl", &circle).unwrap();
    assert_eq!(SessionManager::open(&circle, options(dir.path())).err().unwrap().code(), "Io");
}

// Odd files.

#[test]
fn what_is_no_regular_file_is_an_error_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo.jsonl");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let directory = dir.path().join("dir.jsonl");
    fs::create_dir(&directory).unwrap();
    for path in [&fifo, &directory, Path::new(""), Path::new("/dev/null"), &fifo.join("below.jsonl")] {
        let error = SessionManager::open(path, options(dir.path())).err().unwrap();
        assert_eq!(error.code(), "Io", "{}: {error}", path.display());
    }
    // One that takes the place of the file of an open session, too.
    let it = opened();
    fs::remove_file(&it.path).unwrap();
    fs::rename(&fifo, &it.path).unwrap();
    assert_eq!(it.say("d").unwrap_err().code(), "Io");
    assert_eq!(it.manager.refresh().unwrap_err().code(), "Io");
    fs::remove_file(&it.path).unwrap();
    it.say("e").unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d", "e"]);
}

#[test]
fn blank_files_become_sessions_with_their_header_at_once() {
    for text in ["", "\n", " \n\t\r\n \n", "\u{feff}", "\u{feff}\n\n"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        fs::write(&path, text).unwrap();
        let manager = open(&path);
        assert_eq!(lines(&path)[0]["id"], manager.session_id(), "{text:?}");
        say(&manager, "a").unwrap();
        assert_eq!(tags(&path), ["a"]);
        assert_eq!(manager.moved_aside(), None);
        assert_eq!(named(dir.path(), ".invalid-"), NONE);
    }
}

#[test]
fn a_path_may_hold_any_name() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["new\nline.jsonl", "ä ö.jsonl", "no extension", ".hidden", "-- -x"] {
        let path = dir.path().join(name);
        let manager = open(&path);
        say(&manager, "a").unwrap();
        manager.set_session_name("t", TitleSource::User).unwrap();
        assert_eq!(tags(&path), ["a"], "{name:?}");
    }
}

#[test]
fn files_that_are_no_sessions_are_moved_aside_complete_or_refused() {
    let files: [&[u8]; 7] = [
        b"garbage",
        b"\0\0\0\0\0\0\0\0",
        b"\xff\xfe{\"type\":\"session\"}\n",
        b"{\"type\":\"session\",\"id\":7}\n{\"type\":\"message\",\"id\":\"a\"}\n",
        b"{\"type\":\"message\",\"id\":\"a\",\"parentId\":null}\n",
        b"{\"type\":\"session\",\"version\":3,\"id\":\"torn",
        b"{\"type\":\"title\",\"title\":\"x\"}\n",
    ];
    for bytes in files {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        fs::write(&path, bytes).unwrap();
        let mut refusing = options(dir.path());
        refusing.on_invalid = OnInvalid::Refuse;
        assert_eq!(SessionManager::open(&path, refusing).err().unwrap().code(), "NotASession");
        assert_eq!(fs::read(&path).unwrap(), bytes);
        let manager = open(&path);
        let aside = manager.moved_aside().unwrap();
        assert_eq!(named(dir.path(), ".invalid-"), std::slice::from_ref(&aside));
        assert_eq!(fs::read(&aside).unwrap(), bytes);
        say(&manager, "a").unwrap();
        assert_eq!(held(&open(&path)), ["a"]);
    }
}

#[test]
fn a_newer_version_opens_read_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let text = session_text("mine", "", &["a"]).replacen("\"version\":3", "\"version\":4", 1);
    fs::write(&path, &text).unwrap();
    let modified = fs::metadata(&path).unwrap().mtime_nsec();
    let manager = open(&path);
    assert_eq!(held(&manager), ["a"]);
    assert_eq!(say(&manager, "b").unwrap_err().code(), "UnsupportedVersion");
    assert_eq!(manager.set_session_name("t", TitleSource::User).unwrap_err().code(), "UnsupportedVersion");
    manager.flush().unwrap();
    manager.close().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(fs::metadata(&path).unwrap().mtime_nsec(), modified);
}

#[test]
fn a_failed_switch_leaves_the_session_as_it_was() {
    let it = opened();
    let (cwd, dir) = (it.manager.cwd(), it.manager.session_dir());
    let nowhere = it.dir.path().join("file");
    fs::write(&nowhere, "").unwrap();
    it.manager.set_session_file(nowhere.join("s.jsonl")).unwrap_err();
    assert_eq!((it.manager.cwd(), it.manager.session_dir()), (cwd.clone(), dir.clone()));
    let circle = it.dir.path().join("elsewhere");
    fs::create_dir(&circle).unwrap();
    symlink("nowhere/s.jsonl", circle.join("s.jsonl")).unwrap();
    it.manager.set_session_file(circle.join("s.jsonl")).unwrap_err();
    assert_eq!((it.manager.cwd(), it.manager.session_dir()), (cwd, dir));
    it.say("d").unwrap();
    assert_eq!(it.all(), ["a", "b", "c", "d"]);
    it.manager.close().unwrap();
    it.manager.set_session_file(circle.join("s.jsonl")).unwrap_err();
    assert_eq!(it.say("e").unwrap_err().code(), "Closed", "a closed session stays closed");
}

/// Makes one of everything under a umask that takes nothing away.
#[test]
fn child_without_a_umask() {
    let Some(job) = job() else { return };
    let manager = SessionManager::create("/srv/pi", options(Path::new(&job[0]))).unwrap();
    say(&manager, "a").unwrap();
    manager.put_blob(b"blob").unwrap();
    manager.save_artifact(b"artifact", "bash").unwrap();
    manager.set_session_name("t", TitleSource::User).unwrap();
    let path = Path::new(&job[0]).join("sub/dir/opened.jsonl");
    say(&SessionManager::open(&path, options(Path::new(&job[0]))).unwrap(), "b").unwrap();
    let invalid = Path::new(&job[0]).join("sub/invalid.jsonl");
    fs::write(&invalid, "garbage").unwrap();
    chmod(&invalid, 0o600);
    SessionManager::open(&invalid, options(Path::new(&job[0]))).unwrap();
    manager.fork().unwrap();
}

#[test]
fn files_are_0600_and_directories_0700_whatever_the_umask() {
    let dir = tempfile::tempdir().unwrap();
    let child = command(&std::env::current_exe().unwrap(), "child_without_a_umask", &[dir.path().to_str().unwrap()]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0; exec \"$0\" \"$@\""]).arg(child.get_program()).args(child.get_args());
    shell.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(shell.status().unwrap().success());
    let (mut files, mut open) = (0, vec![dir.path().to_owned()]);
    while let Some(next) = open.pop() {
        for path in named(&next, "") {
            if path.is_dir() {
                assert_eq!(mode(&path), 0o700, "{}", path.display());
                open.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert_eq!(files, 7);
}

// Torn, glued, cut.

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// A good file cut anywhere, with or without something in front of the cut, opened, appended to and opened again:
    /// all that was complete is there, and the new entry.
    #[test]
    fn any_cut_of_a_good_file_keeps_every_complete_entry(
        sizes in prop::collection::vec(0usize..400, 0..8),
        cut in any::<prop::sample::Index>(),
        tail in prop::sample::select(vec!["", "\0\0\0", "{", "{\"type\":\"message\"}", "\n\n", "\u{2028}", "}", "glued"]),
        rewrite in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let long: Vec<String> = sizes.iter().enumerate().map(|(n, size)| format!("{n}{}", "é".repeat(*size))).collect();
        let text = session_text("mine", "", &long.iter().map(String::as_str).collect::<Vec<_>>());
        let header = text.find('\n').unwrap();
        let cut = header + 1 + cut.index(text.len() - header);
        let mut bytes = text.as_bytes()[..cut].to_vec();
        // A record without its line end is complete as well.
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).skip(1).collect();
        let complete = ends.iter().filter(|&&end| end <= cut).count();
        bytes.extend_from_slice(if tail == "glued" { foreign_line("glued", None, "glued").into_bytes() } else { tail.into() }.as_slice());
        fs::write(&path, &bytes).unwrap();
        let manager = open(&path);
        say(&manager, "new").unwrap();
        if rewrite {
            manager.set_session_name("t", TitleSource::User).unwrap();
        }
        let found = held(&open(&path));
        let mut expected = long[..complete].to_vec();
        if tail == "glued" {
            expected.push("glued".to_owned());
        }
        expected.push("new".to_owned());
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(held(&manager), expected);
        prop_assert_eq!(named(dir.path(), ".invalid-"), NONE);
    }

    /// Any bytes at all: opening, appending and opening again finds the new entry, and all bytes are still somewhere.
    #[test]
    fn any_bytes_survive_being_opened(
        header in any::<bool>(),
        parts in prop::collection::vec(prop::sample::select(vec![
            "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null}", "\n", "\n", "{", "}", "\"", "\0", "x", "{\"type\":\"se",
            "\u{feff}", "[1]", "{\"type\":\"session\",\"id\":\"other\"}", "\r\n",
        ]), 0..20),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let mut text = if header { session_text("mine", "", &[]) } else { String::new() };
        text += &parts.concat();
        fs::write(&path, &text).unwrap();
        let manager = open(&path);
        say(&manager, "new").unwrap();
        let again = open(&path);
        prop_assert_eq!(held(&again).pop(), Some("new".to_owned()));
        match manager.moved_aside() {
            Some(aside) => prop_assert_eq!(fs::read_to_string(aside).unwrap(), text),
            None => {
                let now = fs::read_to_string(&path).unwrap();
                let blank = text.trim_start_matches('\u{feff}').trim().is_empty();
                prop_assert!(blank || now.starts_with(&text) || !header, "{:?}", now);
            }
        }
    }
}

/// Relatives of the agent lead a file with a padded title record, which they overwrite in place.
#[test]
fn a_title_record_that_was_overwritten_in_place_is_not_undone_by_a_rewrite() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let record = |title: &str| {
        let pad = " ".repeat(20 - title.len());
        format!("{{\"type\":\"title\",\"title\":\"{title}\",\"source\":\"user\",\"pad\":\"{pad}\"}}\n")
    };
    fs::write(&path, record("before") + &session_text("mine", "", &["a"])).unwrap();
    let manager = open(&path);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, record("theirs").as_bytes(), 0).unwrap();
    let entry = foreign_line("e-a", None, "changed");
    manager.replace_entry("e-a", &entry).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), record("theirs") + &session_text("mine", "", &[]) + &entry + "\n");
    assert!(!manager.set_session_name("automatic", TitleSource::Auto).unwrap());
    std::os::unix::fs::FileExt::write_all_at(
        &fs::OpenOptions::new().write(true).open(&path).unwrap(),
        record("again").as_bytes(),
        0,
    )
    .unwrap();
    assert!(manager.set_session_name("mine", TitleSource::User).unwrap());
    assert_eq!(manager.session_name().as_deref(), Some("mine"));
    assert_eq!(lines(&path)[0]["title"], "mine");
}
