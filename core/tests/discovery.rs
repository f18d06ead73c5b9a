//! Finding sessions (SPEC section 11), on files and in memory. The working directories are spelled as on Unix.

#![cfg(unix)]

mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use support::{Fault, FaultyDisk};
use xcsh_session::dirs::{AgentDirs, Environment};
use xcsh_session::discovery::*;
use xcsh_session::storage::{DiskSessionStorage, MemoryDisk, RealDisk, SessionStorage};

const NS: i64 = 1_000_000_000;
const START: i64 = 1_771_237_230 * NS;

/// A storage with an agent directory in it, and the time of the next file.
struct Place<'a> {
    storage: &'a dyn SessionStorage,
    dirs: AgentDirs,
    root: PathBuf,
    set_modified: &'a dyn Fn(&Path, i64),
}

impl Place<'_> {
    /// Writes a file of these lines, changed `age` seconds before the start.
    fn file(&self, path: impl AsRef<Path>, lines: &[&str], age: i64) -> PathBuf {
        let path = self.root.join(path);
        self.storage.ensure_dir(path.parent().unwrap()).unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.storage.write_text(&path, text.as_bytes(), false).unwrap();
        (self.set_modified)(&path, START - age * NS);
        path
    }

    fn session(&self, path: &str, cwd: &str, age: i64) -> PathBuf {
        let id = path.rsplit(['/', '_']).next().unwrap().trim_end_matches(".jsonl");
        self.file(path, &[&header(id, cwd, "")], age)
    }
}

fn header(id: &str, cwd: &str, more: &str) -> String {
    format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-02-16T10:20:30.000Z","cwd":"{cwd}"{more}}}"#
    )
}

fn user(text: &str) -> String {
    message("user", text)
}

fn message(role: &str, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"type":"message","id":"a1","parentId":null,"timestamp":"2026-02-16T10:21:00.000Z","message":{{"role":"{role}","content":[{{"type":"text","text":{text}}}]}}}}"#
    )
}

/// Runs a test on files and in memory; both have `/home/ana` as home and `/tmp` for temporary files.
fn on_both(test: impl Fn(&Place<'_>)) {
    let env: Environment = [("HOME", "/home/ana"), ("TMPDIR", "/tmp")].into_iter().collect();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let set_modified = |path: &Path, ns: i64| {
        let time = UNIX_EPOCH + Duration::from_nanos(ns.unsigned_abs());
        std::fs::File::open(path).unwrap().set_modified(time).unwrap();
    };
    test(&Place {
        storage: &DiskSessionStorage::on(RealDisk),
        dirs: AgentDirs::at_in(&root, &env),
        root,
        set_modified: &set_modified,
    });
    let disk = MemoryDisk::new();
    let set_modified = |path: &Path, ns: i64| disk.set_modified(path, ns).unwrap();
    let storage = DiskSessionStorage::on(disk.clone());
    let root = PathBuf::from("/agent");
    test(&Place { storage: &storage, dirs: AgentDirs::at_in(&root, &env), root, set_modified: &set_modified });
}

fn names(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Vec<String> {
    paths.into_iter().map(|path| path.as_ref().file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn the_most_recent_session_is_the_newest_valid_one() {
    on_both(|place| {
        let dir = place.root.join("d");
        let most_recent = || find_most_recent_session(place.storage, &dir).unwrap().map(|path| names([path]).remove(0));
        assert_eq!(most_recent(), None, "a missing directory");
        place.file("d/empty.jsonl", &[], 1);
        place.file("d/notes.jsonl", &[r#"{"type":"note"}"#], 2);
        place.file("d/x.jsonl.invalid-2026", &[&header("i", "/a", "")], 0);
        place.file("d/.hidden.jsonl", &[&header("h", "/a", "")], 0);
        place.storage.ensure_dir(&dir.join("dir.jsonl")).unwrap();
        assert_eq!(most_recent(), None, "nothing that is a session");
        place.session("d/b.jsonl", "/a", 10);
        place.session("d/a.jsonl", "/b", 20);
        assert_eq!(most_recent().unwrap(), "b.jsonl");
        place.session("d/c.jsonl", "/a", 10);
        assert_eq!(most_recent().unwrap(), "c.jsonl", "of two with the same time the later name");
        place.file("d/a.jsonl", &["torn{", r#"{"type":"title","title":"t"}"#, &header("a", "/a", "")], 5);
        assert_eq!(most_recent().unwrap(), "a.jsonl", "a title record and a torn line before the header");
        let long = header("z", "/a", &format!(r#","pad":"{}""#, "p".repeat(300 << 10)));
        place.file("d/z.jsonl", &[&long], 3);
        assert_eq!(most_recent().unwrap(), "z.jsonl", "a header of 300 KiB");
    });
}

#[test]
fn continuing_looks_into_every_directory_of_the_cwd_and_at_the_header() {
    on_both(|place| {
        let most_recent = |cwd: &str| {
            let path = most_recent_for_cwd(place.storage, &place.dirs, Path::new(cwd), None).unwrap();
            path.map(|path| names([path]).remove(0))
        };
        assert_eq!(most_recent("/a/b-c"), None);
        place.session("sessions/--a-b-c--/other.jsonl", "/a-b/c", 1);
        assert_eq!(most_recent("/a/b-c"), None, "a session of another cwd");
        assert_eq!(most_recent("/a-b/c").unwrap(), "other.jsonl");
        place.session("sessions/--a-b-c--/mine.jsonl", "/a/b-c", 9);
        assert_eq!(most_recent("/a/b-c/").unwrap(), "mine.jsonl");
        place.session("sessions/--a-b-c--/moved.jsonl", "/elsewhere", 5);
        assert_eq!(most_recent("/a/b-c").unwrap(), "moved.jsonl", "moved by hand");
        place.session("sessions/--home-ana-x--/document.jsonl", "/home/ana/x", 5);
        place.session("sessions/-x/relative.jsonl", "/home/ana/x", 4);
        assert_eq!(most_recent("/home/ana/x").unwrap(), "relative.jsonl");
        place.session("sessions/-tmp-y/temp.jsonl", "/tmp/y", 4);
        assert_eq!(most_recent("/tmp/y").unwrap(), "temp.jsonl");

        place.session("given/far.jsonl", "/very/far", 50);
        let given =
            most_recent_for_cwd(place.storage, &place.dirs, Path::new("/a/b-c"), Some(&place.root.join("given")));
        assert_eq!(names(given.unwrap()), ["far.jsonl"], "an explicit directory, and only that");
    });
}

#[test]
fn continuing_follows_links_to_the_cwd() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("real")).unwrap();
    std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
    let dirs = AgentDirs::at_in(root.join("agent"), &Environment::default());
    let storage = DiskSessionStorage::on(RealDisk);
    let real = root.join("real");
    let dir = dirs.session_dir(&real, xcsh_session::dirs::Layout::Document);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("s.jsonl"), header("s", real.to_str().unwrap(), "")).unwrap();
    let found = most_recent_for_cwd(&storage, &dirs, &root.join("link"), None).unwrap();
    assert_eq!(found, Some(dir.join("s.jsonl")));
}

#[test]
fn recent_sessions_have_names() {
    on_both(|place| {
        let title = r#","title":"A \u001b[1mtitle\nsecond line""#;
        place.file("d/1_a.jsonl", &[&header("a", "/a", title), &user("ignored")], 60);
        place.file(
            "d/1_b.jsonl",
            &[&header("b", "/b", ""), &message("assistant", "no"), &user(""), &user(&"ä".repeat(41))],
            120,
        );
        place.file("d/1_c.jsonl", &[&header("c", "/c", r#","parentSession":"p","title":"""#)], 3600);
        place.file("d/1_d.jsonl", &[r#"{"type":"title","title":"Before"}"#, &header("", "/d", title)], 86_400);
        place.file("d/1_e.jsonl", &[&header("", "/e", "")], 30 * 86_400);
        place.file("d/1_f.jsonl", &[r#"{"type":"x"}"#], 0);
        let recent = get_recent_sessions(place.storage, &place.root.join("d"), 10).unwrap();
        let shown: Vec<_> = recent.sessions.iter().map(|s| (s.name(), s.time_ago(START / 1_000_000))).collect();
        let shown: Vec<_> = shown.iter().map(|(name, ago)| (name.as_str(), ago.as_str())).collect();
        let prompt = format!("{}…", "ä".repeat(39));
        assert_eq!(
            shown,
            [
                ("A [1mtitle", "1m ago"),
                (prompt.as_str(), "2m ago"),
                ("c", "1h ago"),
                ("Before", "1d ago"),
                ("1_e.jsonl", "2026-01-17")
            ]
        );
        assert_eq!(recent.sessions[1].full_name(), "ä".repeat(41));
        let c = &recent.sessions[2];
        assert_eq!((c.id.as_str(), c.cwd.as_deref(), c.parent_session.as_deref()), ("c", Some("/c"), Some("p")));
        assert_eq!((c.created_ms, c.modified_ns), (Some(1_771_237_230_000), START - 3600 * NS));
        assert_eq!(names(recent.unreadable.iter().map(|it| &it.path)), ["1_f.jsonl"]);
        assert_eq!(recent.unreadable[0].code, "NotASession");

        let two = get_recent_sessions(place.storage, &place.root.join("d"), 2).unwrap();
        assert_eq!(two.sessions, recent.sessions[..2], "the invalid file does not count");
        let none = get_recent_sessions(place.storage, &place.root.join("d"), 0).unwrap();
        assert_eq!(none, Recent::default());
        assert_eq!(get_recent_sessions(place.storage, &place.root.join("missing"), 5).unwrap(), Recent::default());
    });
}

#[test]
fn a_prompt_that_the_prefix_cuts_off_is_read_on() {
    on_both(|place| {
        let before = message("developer", &"x".repeat(5000));
        for (n, prompt) in [4000, 5000, 100_000, 400_000].into_iter().enumerate() {
            let text = format!("begin é{} end", "\u{65e5}\"".repeat(prompt / 5));
            place.file(format!("d/{n}.jsonl"), &[&header("a", "/a", ""), &user(&text)], n as i64);
            place.file(format!("d/{n}-later.jsonl"), &[&header("a", "/a", ""), &before, &user(&text)], n as i64);
        }
        let recent = get_recent_sessions(place.storage, &place.root.join("d"), 10).unwrap();
        assert_eq!((recent.sessions.len(), recent.unreadable.len()), (8, 0));
        for session in recent.sessions {
            let prompt = session.first_prompt.unwrap();
            assert!(prompt.starts_with("begin é日\"日"), "{:?}", session.path);
            let complete = !session.path.to_str().unwrap().contains("/3");
            assert_eq!(prompt.ends_with(" end"), complete, "{:?}", session.path);
            assert!(prompt.len() > 150_000 || complete);
        }
    });
}

#[test]
fn only_the_newest_files_are_opened_for_recent_ones() {
    let disk = MemoryDisk::new();
    let storage = DiskSessionStorage::on(FaultyDisk::new(disk.clone()));
    storage.ensure_dir(Path::new("/d")).unwrap();
    for n in 0..100 {
        let path = PathBuf::from(format!("/d/{n}.jsonl"));
        storage.write_text(&path, header("a", "/a", "").as_bytes(), false).unwrap();
        disk.set_modified(&path, START + n * NS).unwrap();
    }
    storage.disk().forget();
    let recent = get_recent_sessions(&storage, Path::new("/d"), 3).unwrap();
    assert_eq!(names(recent.sessions.iter().map(|s| &s.path)), ["99.jsonl", "98.jsonl", "97.jsonl"]);
    assert_eq!(storage.disk().ops().iter().filter(|op| **op == "open").count(), 3);
    // Unreadable ones are reported, and others take their place.
    disk.set_mode(Path::new("/d/99.jsonl"), 0).unwrap();
    let recent = get_recent_sessions(&storage, Path::new("/d"), 3).unwrap();
    assert_eq!(names(recent.sessions.iter().map(|s| &s.path)), ["98.jsonl", "97.jsonl", "96.jsonl"]);
    assert_eq!((recent.unreadable.len(), recent.unreadable[0].code), (1, "Io"));
    assert_eq!(names(find_most_recent_session(&storage, Path::new("/d")).unwrap()), ["98.jsonl"]);
    // A directory that cannot be listed is an error.
    storage.disk().fail_from(1 + storage.disk().count(), Fault::Io);
    assert_eq!(get_recent_sessions(&storage, Path::new("/d"), 3).unwrap_err().code(), "Io");
    assert_eq!(find_most_recent_session(&storage, Path::new("/d")).unwrap_err().code(), "Io");
}

fn listed(place: &Place<'_>, cwd: &str) -> Listing {
    list(place.storage, &place.dirs, Path::new(cwd), None, &ListOptions::default()).unwrap()
}

fn paths(listing: &Listing) -> Vec<String> {
    names(listing.sessions.iter().map(|session| &session.path))
}

const TEXTS: ListOptions = ListOptions { with_texts: true };

#[test]
fn a_list_shows_what_the_files_hold() {
    on_both(|place| {
        let compaction = |more: &str| {
            format!(
                r#"{{"type":"compaction","id":"c","parentId":"a","timestamp":"2026-02-16T10:21:00.000Z","summary":"s"{more}}}"#
            )
        };
        let dir = "sessions/--srv-pi--";
        let path = place.file(
            format!("{dir}/a.jsonl"),
            &[
                &header("A1", "/srv/pi", r#","parentSession":"before""#),
                &message("developer", "system"),
                &message("assistant", "early"),
                &user(" \n"),
                &user("first\nprompt"),
                r#"{"type":"message","id":"b","parentId":"a1","message":{"role":"user","content":"plain"}}"#,
                r#"{"type":"message","message":{"role":"toolResult","content":"not in texts"}}"#,
                "",
                &message("assistant", "answer"),
                r#"{"type":"mess{"type":"message","id":"d","parentId":"b","timestamp":"","message":{"role":"user","content":"glued"}}"#,
                &message("assistant", "torn")[..80],
                &compaction(r#","shortSummary":"older""#),
                &compaction(r#","shortSummary":"short""#),
                &compaction(""),
                r#"{"type":"custom","customType":"x","data":{"type":"message"},"id":"e","parentId":"d","timestamp":""}"#,
            ],
            7,
        );
        place.file(
            format!("{dir}/b.jsonl"),
            &[&header("B", "/srv/pi", r#","title":"Titled""#), &compaction(r#","shortSummary":"no""#)],
            6,
        );
        place.file(format!("{dir}/c.jsonl"), &[r#"{"type":"session","id":"C"}"#], 6);
        place.file(format!("{dir}/d.jsonl"), &[r#"{"type":"session"}"#], 5);
        place.file(format!("{dir}/e.jsonl"), &[], 5);
        place.file(format!("{dir}/f.jsonl"), &["torn{", ""], 5);
        place.file(format!("{dir}/g.jsonl.tmp"), &["x"], 5);
        for options in [ListOptions::default(), TEXTS] {
            let listing = list(place.storage, &place.dirs, Path::new("/srv/pi"), None, &options).unwrap();
            assert_eq!(paths(&listing), ["c.jsonl", "b.jsonl", "a.jsonl"]);
            let [c, b, a] = &listing.sessions[..] else { unreachable!() };
            assert_eq!((a.path.as_path(), a.id.as_str(), a.cwd.as_str()), (path.as_path(), "A1", "/srv/pi"));
            assert_eq!((a.title.as_deref(), a.parent_session_path.as_deref()), (Some("short"), Some("before")));
            assert_eq!((a.created_ms, a.modified_ns), (1_771_237_230_000, START - 7 * NS));
            assert_eq!((a.message_count, a.first_message.as_str()), (8, "first\nprompt"));
            let texts = "early first\nprompt plain answer glued";
            assert_eq!(a.all_messages_text.as_deref(), options.with_texts.then_some(texts));
            assert_eq!(a.size, place.storage.stat(&path).unwrap().len);
            assert_eq!(
                (b.title.as_deref(), b.message_count, b.first_message.as_str()),
                (Some("Titled"), 0, "(no messages)")
            );
            assert_eq!((c.cwd.as_str(), c.title.as_deref(), c.created_ms), ("", None, START / 1_000_000 - 6000));
            assert_eq!(names(listing.unreadable.iter().map(|it| &it.path)), ["d.jsonl", "e.jsonl", "f.jsonl"]);
            assert!(listing.unreadable.iter().all(|it| it.code == "NotASession"));
        }
    });
}

#[test]
fn a_list_counts_what_opening_finds() {
    on_both(|place| {
        let mut text = Vec::new();
        let spec = xcsh_session_testdata::SessionSpec { entries: 900, ..Default::default() };
        xcsh_session_testdata::session(&spec, &mut text).unwrap();
        // As writers leave it that were torn off in the middle of a record, and went on with or without a line end.
        for n in 1..40 {
            let line_end = text.iter().skip(n * text.len() / 40).position(|&byte| byte == b'\n').unwrap();
            let line_end = n * text.len() / 40 + line_end;
            let line_start = text[..line_end].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
            let tear = line_start + (line_end - line_start - 3) * n / 40 + 1;
            text.drain(tear..line_end + n % 2);
        }
        let path = place.root.join("sessions/--srv-pi--/s.jsonl");
        place.storage.ensure_dir(path.parent().unwrap()).unwrap();
        place.storage.write_text(&path, &text, false).unwrap();
        let session = xcsh_session::Session::read_from(place.storage, &path, Default::default()).unwrap();
        let messages =
            session.entries().filter(|e| e.as_ref().unwrap().kind() == xcsh_session::EntryKind::Message).count();
        assert!(messages > 500 && !session.diagnostics().unwrap().malformed_lines.is_empty());
        for options in [ListOptions::default(), TEXTS] {
            let listing = list_all(place.storage, &place.dirs, &options).unwrap();
            assert_eq!(listing.sessions[0].message_count, messages as u64);
        }
    });
}

#[test]
fn lines_longer_than_the_buffer_are_read_in_bounded_memory() {
    on_both(|place| {
        let long = |size: usize| user(&format!("start {}", "日\n".repeat(size / 4)));
        for (n, size) in [100_000, 300_000, 1 << 20, 9 << 20, 20 << 20].into_iter().enumerate() {
            let lines = [&header("a", "/srv/pi", ""), &long(size), &message("assistant", "end"), &long(size)];
            place.file(format!("sessions/--srv-pi--/{n}.jsonl"), &lines.map(String::as_str), n as i64);
        }
        let listing = listed(place, "/srv/pi");
        assert_eq!(paths(&listing), ["0.jsonl", "1.jsonl", "2.jsonl", "3.jsonl", "4.jsonl"]);
        for session in &listing.sessions {
            assert_eq!(session.message_count, 3, "{:?}", session.path);
            assert!(session.first_message.starts_with("start 日\n日"), "{:?}", session.path);
            assert!((64_000..66_000).contains(&session.first_message.len()), "{:?}", session.path);
        }
        let listing = list_all(place.storage, &place.dirs, &TEXTS).unwrap();
        assert!(listing.sessions.iter().all(|s| s.all_messages_text.as_ref().unwrap().contains("日\n end start 日")));

        let torn = &message("user", &"x".repeat(9 << 20))[..9 << 20];
        place.file("sessions/--srv-pi--/t.jsonl", &[&header("t", "/srv/pi", ""), torn, &user("after")], 0);
        place.file("sessions/--srv-pi--/u.jsonl", &[&long(9 << 20)], 0);
        place.file("sessions/--srv-pi--/v.jsonl", &[&"x".repeat(9 << 20)], 0);
        let listing = listed(place, "/srv/pi");
        assert_eq!(names([&listing.sessions[0].path]), ["t.jsonl"]);
        assert_eq!((listing.sessions[0].message_count, listing.sessions[0].first_message.as_str()), (1, "after"));
        assert_eq!(names(listing.unreadable.iter().map(|it| &it.path)), ["u.jsonl", "v.jsonl"]);
    });
}

#[test]
fn a_list_has_the_sessions_of_one_cwd_in_every_layout() {
    on_both(|place| {
        let sorted = |cwd: &str| {
            let mut names = paths(&listed(place, cwd));
            names.sort();
            names
        };
        place.session("sessions/--a-b-c--/one.jsonl", "/a/b-c", 1);
        place.session("sessions/--a-b-c--/two.jsonl", "/a-b/c", 2);
        place.session("sessions/--a-b-c--/moved.jsonl", "/other", 3);
        assert_eq!(sorted("/a/b-c"), ["moved.jsonl", "one.jsonl"]);
        assert_eq!(sorted("/a-b/c"), ["moved.jsonl", "two.jsonl"]);
        assert_eq!(sorted("/other"), [""; 0]);
        place.session("sessions/--home-ana-x--/document.jsonl", "/home/ana/x", 1);
        place.session("sessions/-x/relative.jsonl", "/home/ana/x", 1);
        place.session("sessions/--tmp-x--/document.jsonl", "/tmp/x", 1);
        place.session("sessions/-tmp-x/temp.jsonl", "/tmp/x", 1);
        place.session("sessions/-tmp-x/home.jsonl", "/home/ana/tmp/x", 1);
        assert_eq!(sorted("/home/ana/x"), ["document.jsonl", "relative.jsonl"]);
        assert_eq!(sorted("/tmp/x"), ["document.jsonl", "temp.jsonl"]);
        assert_eq!(sorted("/home/ana/tmp/x"), ["home.jsonl"]);
        place.session("elsewhere/given.jsonl", "/a/b-c", 1);
        let given = place.root.join("elsewhere");
        let listing = list(place.storage, &place.dirs, Path::new("/zzz"), Some(&given), &Default::default()).unwrap();
        assert_eq!(paths(&listing), ["given.jsonl"]);
        // Artifact directories beside sessions hold no sessions of the list; stray files in the root are none.
        place.session("sessions/--a-b-c--/one/sub.jsonl", "/a/b-c", 1);
        place.session("sessions/stray.jsonl", "/a/b-c", 1);
        let all = list_all(place.storage, &place.dirs, &Default::default()).unwrap();
        assert_eq!((all.sessions.len(), all.unreadable.len()), (8, 0));
        assert_eq!(paths(&all)[7], "moved.jsonl", "newest first");
    });
}

#[test]
fn one_unreadable_file_never_fails_a_list() {
    let disk = MemoryDisk::new();
    let storage = DiskSessionStorage::on(disk.clone());
    let dirs = AgentDirs::at_in("/agent", &Environment::default());
    let set_modified = |path: &Path, ns: i64| disk.set_modified(path, ns).unwrap();
    let root = PathBuf::from("/agent");
    let place = Place { storage: &storage, dirs, root, set_modified: &set_modified };
    place.session("sessions/--a--/good.jsonl", "/a", 1);
    let secret = place.session("sessions/--a--/secret.jsonl", "/a", 1);
    disk.set_mode(&secret, 0).unwrap();
    disk.symlink(Path::new("nowhere.jsonl"), Path::new("/agent/sessions/--a--/dangling.jsonl")).unwrap();
    disk.symlink(Path::new("loop.jsonl"), Path::new("/agent/sessions/--a--/loop.jsonl")).unwrap();
    let of_cwd = listed(&place, "/a");
    assert_eq!(paths(&of_cwd), ["good.jsonl"]);
    let reported: Vec<_> = of_cwd.unreadable.iter().map(|it| (names([&it.path]).remove(0), it.code)).collect();
    let reported: Vec<_> = reported.iter().map(|(name, code)| (name.as_str(), *code)).collect();
    assert_eq!(reported, [("dangling.jsonl", "NotFound"), ("loop.jsonl", "Io"), ("secret.jsonl", "Io")]);
    assert!(of_cwd.unreadable[2].reason.contains("/agent/sessions/--a--/secret.jsonl"));

    place.session("sessions/--b--/hidden.jsonl", "/b", 1);
    disk.set_mode(Path::new("/agent/sessions/--b--"), 0).unwrap();
    let all = list_all(&storage, &place.dirs, &Default::default()).unwrap();
    assert_eq!((paths(&all), all.unreadable.len()), (vec!["good.jsonl".to_owned()], 4));
    assert!(listed(&place, "/b").sessions.is_empty() && listed(&place, "/b").unreadable.len() == 1);
    disk.set_mode(Path::new("/agent/sessions"), 0).unwrap();
    assert_eq!(list_all(&storage, &place.dirs, &Default::default()).unwrap_err().code(), "Io");
    let missing = AgentDirs::at_in("/missing", &Environment::default());
    assert_eq!(list_all(&storage, &missing, &Default::default()).unwrap(), Listing::default());
}

#[test]
fn an_argument_finds_the_session_it_names() {
    on_both(|place| {
        let resolve = |arg: &str, cwd: &str| {
            let found = resolve_resumable_session(place.storage, &place.dirs, arg, Path::new(cwd), None).unwrap();
            found.map(|it| (names([&it.session.path]).remove(0), names(&it.others), it.global))
        };
        let found = |name: &str, others: &[&str], global| {
            Some((name.to_owned(), others.iter().map(|&other| other.to_owned()).collect(), global))
        };
        place.session("sessions/--a--/2026-02-16_AbC1.jsonl", "/a", 10);
        place.session("sessions/--a--/2026-02-17_abc2.jsonl", "/a", 20);
        place.session("sessions/--a--/2026-02-18_fff0.jsonl", "/a", 5);
        place.session("sessions/--b--/2025-01-01_abc3.jsonl", "/b", 1);
        place.file("sessions/--b--/renamed.jsonl", &[&header("eee9", "/b", "")], 2);
        place.file("sessions/--b--/abc-invalid.jsonl", &["{}"], 0);
        assert_eq!(resolve("ABC", "/a"), found("2026-02-16_AbC1.jsonl", &["2026-02-17_abc2.jsonl"], false));
        assert_eq!(resolve(" abc2 ", "/a"), found("2026-02-17_abc2.jsonl", &[], false));
        assert_eq!(resolve("2026-02-17", "/a"), found("2026-02-17_abc2.jsonl", &[], false));
        assert_eq!(resolve("2026-02-18_FFF0.jsonl", "/a"), found("2026-02-18_fff0.jsonl", &[], false));
        assert_eq!(resolve("abc3", "/a"), found("2025-01-01_abc3.jsonl", &[], true));
        assert_eq!(resolve("eee", "/a"), found("renamed.jsonl", &[], true), "the id in the header");
        assert_eq!(resolve("renamed", "/b"), found("renamed.jsonl", &[], false));
        assert_eq!(
            resolve("abc", "/zzz"),
            found("2025-01-01_abc3.jsonl", &["2026-02-16_AbC1.jsonl", "2026-02-17_abc2.jsonl"], true)
        );
        assert_eq!(resolve("bc", "/a"), None, "in the middle of an id");
        for empty in ["", "  "] {
            let error =
                resolve_resumable_session(place.storage, &place.dirs, empty, Path::new("/a"), None).unwrap_err();
            assert_eq!(error.code(), "InvalidArgument");
        }
        // Sessions of another cwd that share the directory come with all the others.
        place.session("sessions/--a-b-c--/x_777.jsonl", "/a-b/c", 1);
        assert_eq!(resolve("777", "/a/b-c"), found("x_777.jsonl", &[], true));
        assert_eq!(resolve("777", "/a-b/c"), found("x_777.jsonl", &[], false));
        let given = place.session("given/y_888.jsonl", "/q", 1);
        let dir = given.parent();
        let it = resolve_resumable_session(place.storage, &place.dirs, "888", Path::new("/a"), dir).unwrap().unwrap();
        assert_eq!((it.session.path, it.session.id.as_str(), it.global), (given.clone(), "888", false));
    });
}
