//! Finding sessions (SPEC section 11), on files and in memory.

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
#[cfg(unix)]
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
