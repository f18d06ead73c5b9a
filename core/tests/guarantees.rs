//! The guarantees of SPEC section 8, one test each that fails without the guarantee: P1 to P5 and P7. (P6, many
//! writers, has its own tests.)

mod support;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, mpsc};
use std::thread;
use std::time::Duration;
use support::{Fault, FaultyDisk, PowerLossDisk, Survives};
use xcsh_session::dirs::AgentDirs;
use xcsh_session::storage::{Access, Disk, DiskFile, DiskSessionStorage, MemoryDisk, SessionStorage, is_temporary};
use xcsh_session::{Leaf, ManagerOptions, Profile, ReadOptions, Session, SessionManager, TitleSource};

const USER: &str = r#"{"role":"user","content":"hi"}"#;
const ASSISTANT: &str = r#"{"role":"assistant","content":"hello","provider":"p","model":"m"}"#;
const FILE: &str = "/s/session.jsonl";

/// A manager on a disk whose calls are counted and can fail.
struct Rig {
    raw: MemoryDisk,
    disk: FaultyDisk<MemoryDisk>,
    manager: Arc<SessionManager>,
}

fn options(disk: impl Disk) -> ManagerOptions {
    ManagerOptions::at(AgentDirs::at("/agent"), Arc::new(DiskSessionStorage::on(disk)))
}

impl Rig {
    /// A session whose file is there.
    fn new() -> Rig {
        let raw = MemoryDisk::new();
        let disk = FaultyDisk::new(raw.clone());
        let manager = SessionManager::create("/srv/pi", options(disk.clone())).unwrap();
        manager.append_message(USER).unwrap();
        manager.append_message(ASSISTANT).unwrap();
        manager.flush().unwrap();
        disk.forget();
        Rig { raw, disk, manager: Arc::new(manager) }
    }

    fn file(&self) -> PathBuf {
        self.manager.session_file().unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        read(&self.raw, &self.file())
    }

    /// Whether the file has exactly the entries that memory has.
    #[track_caller]
    fn check_complete(&self) {
        let storage = DiskSessionStorage::on(self.raw.clone());
        let file = Session::read_from(&storage, &self.file(), ReadOptions::default()).unwrap();
        assert_eq!(ids(&file), self.manager.read(ids));
        assert_eq!(file.title(), self.manager.session_name());
    }
}

fn ids(session: &Session) -> Vec<String> {
    (0..session.len() as u32).map(|number| session.id_of(number).unwrap().to_owned()).collect()
}

fn read(disk: &MemoryDisk, file: &Path) -> Vec<u8> {
    DiskSessionStorage::on(disk.clone()).read_text(file).unwrap()
}

fn put(disk: impl Disk, file: &str, text: &str) {
    let storage = DiskSessionStorage::on(disk);
    storage.ensure_dir(Path::new(file).parent().unwrap()).unwrap();
    storage.write_text(Path::new(file), text.as_bytes(), true).unwrap();
}

fn append_raw(disk: &MemoryDisk, file: &Path, bytes: &[u8]) {
    disk.open(file, Access::Append).unwrap().append(bytes).unwrap();
}

fn temporary(disk: &MemoryDisk, dir: &Path) -> usize {
    let names = disk.read_dir(dir).unwrap();
    names.iter().filter(|entry| is_temporary(Path::new(&entry.name))).count()
}

#[test]
fn p1_an_acknowledged_append_is_one_whole_write_that_was_made() {
    let Rig { raw, disk, manager } = Rig::new();
    let file = manager.session_file().unwrap();
    let appends: [&dyn Fn() -> String; 4] = [
        &|| manager.append_message(USER).unwrap(),
        &|| manager.append_message(&USER.replace("hi", &"x".repeat(100_000))).unwrap(),
        &|| manager.append_custom_entry("state", Some("[1]")).unwrap(),
        &|| manager.append_label_change(&manager.leaf_id().unwrap(), Some("here")).unwrap(),
    ];
    for append in appends {
        let before = read(&raw, &file);
        disk.forget();
        let id = append();
        // From here on the process may be killed: nothing more is done before the file is looked at.
        let after = read(&raw, &file);
        let writes = disk.ops().into_iter().filter(|op| *op == "append").count();
        assert_eq!(writes, 1);
        let line = manager.read(|session| session.entry(&id)).unwrap().unwrap().into_line();
        assert_eq!(String::from_utf8(after).unwrap(), format!("{}{line}\n", String::from_utf8(before).unwrap()));
    }
}

#[test]
fn p1_what_was_deferred_is_written_with_the_first_assistant_message() {
    let raw = MemoryDisk::new();
    let disk = FaultyDisk::new(raw.clone());
    let manager = SessionManager::create("/srv/pi", options(disk.clone())).unwrap();
    manager.append_message(USER).unwrap();
    assert_eq!(disk.count(), 0);
    manager.append_message(ASSISTANT).unwrap();
    let text = read(&raw, &manager.session_file().unwrap());
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 3);
    assert_eq!(disk.ops().into_iter().filter(|op| *op == "append").count(), 1);
}

#[test]
fn p2_what_was_flushed_survives_a_power_loss() {
    let disk = PowerLossDisk::new();
    let manager = SessionManager::create("/srv/pi", options(disk.clone())).unwrap();
    let survivors = || {
        let storage = DiskSessionStorage::on(disk.crash());
        Session::read_from(&storage, &manager.session_file().unwrap(), ReadOptions::default()).map(|file| ids(&file))
    };
    manager.append_message(USER).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    assert!(survivors().is_err(), "the model loses what was not synced");
    let steps: [&dyn Fn(); 5] = [
        &|| {},
        &|| drop(manager.append_message(USER).unwrap()),
        &|| assert!(manager.set_session_name("a title", TitleSource::User).unwrap()),
        &|| drop(manager.append_message(USER).unwrap()),
        &|| manager.move_to("/srv/other").unwrap(),
    ];
    for step in steps {
        step();
        manager.flush().unwrap();
        assert_eq!(survivors().unwrap(), manager.read(ids));
        let syncs = disk.syncs();
        manager.flush().unwrap();
        assert_eq!(disk.syncs(), syncs, "nothing is synced twice");
    }
}

#[test]
fn p2_a_flush_syncs_file_and_directory_before_it_returns() {
    let raw = MemoryDisk::new();
    let disk = FaultyDisk::new(raw.clone());
    let manager = SessionManager::create("/srv/pi", options(disk.clone())).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    let file = manager.session_file().unwrap();
    disk.forget();
    manager.flush().unwrap();
    let calls = disk.calls();
    let at = |op: &str, path: &Path| calls.iter().position(|call| call.op == op && call.path == path);
    let synced = at("fsync", &file).expect("fsync of the file");
    assert!(at("sync_dir", file.parent().unwrap()).expect("fsync of the directory") > synced);
}

#[test]
fn p2_appends_go_on_while_a_flush_waits_for_the_disk() {
    let rig = Rig::new();
    rig.manager.append_message(USER).unwrap();
    let (started, has_started) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    rig.disk.before("fsync", move || {
        started.send(()).unwrap();
        released.recv().unwrap();
    });
    let flushing = Arc::clone(&rig.manager);
    let flush = thread::spawn(move || flushing.flush());
    has_started.recv_timeout(Duration::from_secs(60)).expect("the flush syncs the file");
    let (done, is_done) = mpsc::channel();
    let appending = Arc::clone(&rig.manager);
    let append = thread::spawn(move || done.send(appending.append_message(USER).map_err(|error| error.to_string())));
    let id = is_done.recv_timeout(Duration::from_secs(60)).expect("the append does not wait").unwrap();
    assert!(String::from_utf8(rig.bytes()).unwrap().contains(&id));
    assert!(!flush.is_finished());
    release.send(()).unwrap();
    flush.join().unwrap().unwrap();
    append.join().unwrap().unwrap();
    // What was appended meanwhile is not taken for durable.
    rig.disk.forget();
    rig.manager.flush().unwrap();
    assert!(rig.disk.ops().contains(&"fsync"));
}

const V1: &str = concat!(
    r#"{"type":"session","id":"0123456789abcdef","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/srv/old"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one"}}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"assistant","content":"two"}}"#,
    "\n",
);

const V3: &str = concat!(
    r#"{"type":"session","version":3,"id":"0123456789abcdef","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/srv/old"}"#,
    "\n",
    r#"{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one"}}"#,
    "\n",
    "no json\n",
    r#"{"type":"message","id":"bbbbbbbb","parentId":"aaaaaaaa","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"assistant","content":"two"}}"#,
    "\n",
);

/// Something that rewrites a file; the manager is dropped as a process is that ends.
type Rewrite = fn(ManagerOptions);

const REWRITES: [(&str, Rewrite); 3] = [
    (V1, |options| drop(SessionManager::open(FILE, options))),
    (V3, |options| {
        let Ok(manager) = SessionManager::open(FILE, options) else { return };
        let _ = manager.set_session_name("title", TitleSource::User);
    }),
    (V3, |options| {
        let Ok(manager) = SessionManager::open(FILE, options) else { return };
        let line = r#"{"type":"message","id":"aaaaaaaa","parentId":null,"message":{"role":"user","content":"other"}}"#;
        let _ = manager.replace_entry("aaaaaaaa", line);
    }),
];

#[test]
fn p3_a_rewrite_that_is_cut_off_leaves_the_old_or_the_new_file() {
    for (old, rewrite) in REWRITES {
        let whole = MemoryDisk::new();
        put(whole.clone(), FILE, old);
        rewrite(options(whole.clone()));
        let new = read(&whole, Path::new(FILE));
        assert_ne!(new, old.as_bytes());
        let mut seen = [false; 2];
        for (call, fault, once) in
            (1..).flat_map(|call| Fault::ALL.map(|fault| [(call, fault, true), (call, fault, false)])).flatten()
        {
            let raw = MemoryDisk::new();
            put(raw.clone(), FILE, old);
            let disk = FaultyDisk::new(raw.clone());
            if once {
                disk.fail_once(call, fault)
            } else {
                disk.fail_from(call, fault)
            }
            rewrite(options(disk.clone()));
            if disk.failures().is_empty() {
                break;
            }
            let left = read(&raw, Path::new(FILE));
            assert!(
                left == old.as_bytes() || left == new,
                "call {call}, {fault:?}: {}",
                String::from_utf8_lossy(&left)
            );
            seen[usize::from(left == new)] = true;
            // What a dead process left goes with the next rewrite.
            rewrite(options(raw.clone()));
            let manager = SessionManager::open(FILE, options(raw.clone())).unwrap();
            assert!(manager.set_session_name("the last", TitleSource::User).unwrap());
            assert_eq!(temporary(&raw, Path::new("/s")), 0, "call {call}, {fault:?}");
        }
        assert_eq!(seen, [true; 2]);
    }
}

#[test]
fn p3_a_rewrite_survives_a_power_loss_at_any_sync_as_old_or_new() {
    for (old, rewrite) in REWRITES {
        let disk = PowerLossDisk::new();
        put(disk.clone(), FILE, old);
        let found: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let note = Arc::clone(&found);
        disk.on_sync(move |disk, _, _| {
            let after = Survives::ALL.map(|survives| read(&disk.crash_as(survives), Path::new(FILE)));
            note.lock().unwrap().extend(after);
        });
        rewrite(options(disk.clone()));
        let new = read(disk.live(), Path::new(FILE));
        assert_eq!(read(&disk.crash(), Path::new(FILE)), new, "it is durable when it has returned");
        let found = found.lock().unwrap();
        assert!(found.len() >= 12, "file and directory are synced");
        assert!(found.iter().all(|bytes| *bytes == old.as_bytes() || *bytes == new));
    }
}

#[test]
fn p4_a_short_write_is_cut_back() {
    let rig = Rig::new();
    let before = rig.bytes();
    rig.disk.fail_op("append", Fault::ShortWrite);
    rig.manager.append_message(USER).unwrap_err();
    assert_eq!(rig.disk.failures().len(), 1);
    assert_eq!(rig.bytes(), before);
    rig.disk.heal();
    rig.manager.append_message(USER).unwrap();
    rig.check_complete();
    assert!(rig.bytes().split(|byte| *byte == b'\n').all(|line| line.is_empty() || line.starts_with(b"{")));
}

#[test]
fn p4_a_torn_line_that_stays_swallows_nothing() {
    let rig = Rig::new();
    let before = rig.bytes();
    rig.disk.fail_op("append", Fault::ShortWrite);
    rig.disk.fail_op("set_len", Fault::Io);
    let error = rig.manager.append_message(USER).unwrap_err();
    let torn = rig.bytes();
    assert!(torn.len() > before.len() && !torn.ends_with(b"\n"));
    rig.disk.heal();
    let second = rig.manager.append_message(USER).unwrap();
    let line = |id: &str| rig.manager.read(|session| session.entry(id)).unwrap().unwrap().into_line();
    let first = line(error.entry_id().unwrap());
    let expected = [&torn[..], b"\n", first.as_bytes(), b"\n", line(&second).as_bytes(), b"\n"].concat();
    assert_eq!(String::from_utf8(rig.bytes()).unwrap(), String::from_utf8(expected).unwrap());
    rig.check_complete();
}

#[test]
fn p4_a_torn_line_of_another_writer_swallows_nothing() {
    let rig = Rig::new();
    append_raw(&rig.raw, &rig.file(), br#"{"type":"message","id":"torn"#);
    let torn = rig.bytes();
    let id = rig.manager.append_message(USER).unwrap();
    let line = rig.manager.read(|session| session.entry(&id)).unwrap().unwrap().into_line();
    assert_eq!(rig.bytes(), [&torn[..], b"\n", line.as_bytes(), b"\n"].concat());
    rig.check_complete();
    // A rewrite keeps it, in its place.
    rig.manager.set_session_name("title", TitleSource::User).unwrap();
    assert!(String::from_utf8(rig.bytes()).unwrap().contains("\"id\":\"torn\n{"));
    rig.check_complete();
}

/// Error messages of all tests of this file.
struct Log;

static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.level() == log::Level::Error {
            MESSAGES.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

fn logged(file: &Path) -> usize {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        log::set_logger(&Log).unwrap();
        log::set_max_level(log::LevelFilter::Error);
    });
    let file = file.to_string_lossy();
    MESSAGES.lock().unwrap().iter().filter(|message| message.contains(&*file)).count()
}

type Operation = fn(&SessionManager) -> xcsh_session::Result<()>;

/// Everything that first tries to write what is missing.
const OPERATIONS: [(&str, Operation); 8] = [
    ("append", |manager| manager.append_message(USER).map(drop)),
    ("flush", SessionManager::flush),
    ("recover", SessionManager::recover),
    ("rename", |manager| manager.set_session_name("title", TitleSource::User).map(drop)),
    ("rewrite", |manager| {
        let entry = manager.read(|session| session.entry_at(0))?.unwrap();
        manager.rewrite_entries(&[(0, entry.line())])
    }),
    ("ensure_on_disk", SessionManager::ensure_on_disk),
    ("new_session", |manager| manager.new_session(None).map(drop)),
    ("close", SessionManager::close),
];

#[test]
fn p5_an_append_that_cannot_be_written_is_kept_and_written_by_whatever_comes_next() {
    for (name, operation) in OPERATIONS {
        let rig = Rig::new();
        let file = rig.file();
        assert_eq!(logged(&file), 0);
        rig.disk.fail_op("append", Fault::NoSpace);
        let error = rig.manager.append_message(USER).unwrap_err();
        assert_eq!(error.code(), "Io");
        assert_eq!(error.io().and_then(|error| error.raw_os_error()), Some(28));
        let id = error.entry_id().expect("the id of the entry").to_owned();
        assert_eq!(rig.manager.leaf_id(), Some(id.clone()), "it is in memory");
        let shown = rig.manager.persist_error().expect("recorded");
        assert_eq!((shown.code, shown.message), ("Io", error.to_string()));
        for (name, operation) in OPERATIONS {
            let error = operation(&rig.manager).expect_err(name);
            assert_eq!(error.io().and_then(|error| error.raw_os_error()), Some(28), "{name}");
            assert_eq!(rig.manager.session_file().as_deref(), Some(&*file), "{name}");
        }
        assert_eq!(logged(&file), 1, "logged once");
        assert_eq!(read(&rig.raw, &file).iter().filter(|byte| **byte == b'\n').count(), 3);
        let known = rig.manager.read(ids);
        rig.disk.heal();
        operation(&rig.manager).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(rig.manager.persist_error(), None, "{name}");
        let storage = DiskSessionStorage::on(rig.raw.clone());
        let written = Session::read_from(&storage, &file, ReadOptions::default()).unwrap();
        assert!(ids(&written).starts_with(&known), "{name}");
        assert_eq!(written.title().as_deref(), Some("title"), "{name}");
    }
}

#[test]
fn p5_a_second_failure_is_logged_again() {
    let rig = Rig::new();
    assert_eq!(logged(&rig.file()), 0);
    for times in 1..=2 {
        rig.disk.fail_op("append", Fault::NoSpace);
        rig.manager.append_message(USER).unwrap_err();
        rig.manager.append_message(USER).unwrap_err();
        assert_eq!(logged(&rig.file()), times);
        rig.disk.heal();
        rig.manager.append_message(USER).unwrap();
        rig.check_complete();
    }
}

#[test]
fn p5_after_a_failed_fsync_only_a_whole_rewrite_counts() {
    for (name, operation) in OPERATIONS {
        for failing in ["fsync", "sync_dir"] {
            let rig = Rig::new();
            let file = rig.file();
            rig.manager.append_message(USER).unwrap();
            if failing == "sync_dir" {
                // A rewrite whose directory cannot be synced.
                rig.disk.fail_op(failing, Fault::Io);
                rig.manager.set_session_name("before", TitleSource::Auto).unwrap_err();
            } else {
                rig.disk.fail_op(failing, Fault::Io);
                rig.manager.flush().unwrap_err();
            }
            assert!(rig.manager.persist_error().is_some());
            let known = rig.manager.read(ids);
            rig.disk.heal();
            rig.disk.forget();
            operation(&rig.manager).unwrap_or_else(|error| panic!("{name}: {error}"));
            let calls = rig.disk.calls();
            let at = |op: &str| calls.iter().position(|call| call.op == op);
            let (fsync, rename) = (at("fsync").expect("fsync"), at("rename").expect("rename"));
            assert!(fsync < rename && rename < at("sync_dir").expect("sync_dir"), "{name}: {calls:?}");
            assert_eq!(rig.manager.persist_error(), None, "{name}");
            let storage = DiskSessionStorage::on(rig.raw.clone());
            let written = Session::read_from(&storage, &file, ReadOptions::default()).unwrap();
            assert!(ids(&written).starts_with(&known), "{name}");
        }
    }
}

#[test]
fn p7_opening_and_reading_changes_nothing() {
    // Calls that change nothing; locking a file that is open for appending is no change either.
    const READS: [&str; 8] =
        ["open", "open_append", "metadata", "read_link", "read_dir", "read_at", "stat", "try_lock"];
    let torn = format!("{V3}{}", r#"{"type":"message","id":"torn"#);
    let valid = V3.replace("no json\n", "");
    for (text, profile) in
        [(V3, Profile::Document), (&torn, Profile::Document), (&valid, Profile::Agent), (V1, Profile::Agent)]
    {
        let raw = MemoryDisk::new();
        put(raw.clone(), FILE, text);
        raw.set_modified(Path::new(FILE), 1_000_000_007).unwrap();
        for read_only in [false, true] {
            let disk = FaultyDisk::new(raw.clone());
            let mut options = options(disk.clone()).profile(profile);
            options.read_only = read_only;
            let manager = SessionManager::open(FILE, options).unwrap();
            let plan = manager.read(|session| session.context(Leaf::Last)).unwrap();
            assert_eq!(manager.read(|session| session.messages(&plan)).unwrap().len(), 2);
            manager.read(|session| session.diagnostics()).unwrap();
            manager.read(|session| session.entries().count());
            manager.refresh().unwrap();
            manager.branch(&manager.leaf_id().unwrap()).unwrap();
            manager.flush().unwrap();
            manager.close().unwrap();
            drop(manager);
            let other: Vec<_> = disk.calls().into_iter().filter(|call| !READS.contains(&call.op)).collect();
            assert!(other.is_empty(), "{other:?}");
            let locks = disk.ops().iter().any(|op| matches!(*op, "open_append" | "try_lock"));
            assert!(!(read_only && locks), "a reader takes no lock");
            let stat = raw.metadata(Path::new(FILE)).unwrap();
            assert_eq!((read(&raw, Path::new(FILE)), stat.modified_ns), (text.as_bytes().to_vec(), 1_000_000_007));
        }
    }
}

#[test]
fn p7_a_migration_is_written_once() {
    let raw = MemoryDisk::new();
    put(raw.clone(), FILE, V1);
    drop(SessionManager::open(FILE, options(raw.clone())).unwrap());
    let migrated = read(&raw, Path::new(FILE));
    assert_ne!(migrated, V1.as_bytes());
    raw.set_modified(Path::new(FILE), 7).unwrap();
    drop(SessionManager::open(FILE, options(raw.clone())).unwrap());
    assert_eq!((read(&raw, Path::new(FILE)), raw.metadata(Path::new(FILE)).unwrap().modified_ns), (migrated, 7));
}

/// Today's agent writes a migrated file with the next entry, and so does its profile.
#[test]
fn p7_a_migration_can_wait_for_the_next_write() {
    let raw = MemoryDisk::new();
    put(raw.clone(), FILE, V1);
    let manager = SessionManager::open(FILE, options(raw.clone()).profile(Profile::Agent)).unwrap();
    manager.flush().unwrap();
    assert_eq!(read(&raw, Path::new(FILE)), V1.as_bytes());
    let id = manager.append_message(USER).unwrap();
    let text = String::from_utf8(read(&raw, Path::new(FILE))).unwrap();
    assert!(text.contains("\"version\":3") && text.contains(&id));
    let storage = DiskSessionStorage::on(raw);
    let file = Session::read_from(&storage, Path::new(FILE), ReadOptions::default()).unwrap();
    assert_eq!(ids(&file), manager.read(ids));
}
