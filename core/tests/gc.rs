//! Collecting blobs (SPEC section 9): what is mentioned stays, and in doubt everything does. Paths are spelled as on
//! Unix.

#![cfg(unix)]

mod support;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use support::{Fault, FaultyDisk};
use xcsh_session::Result;
use xcsh_session::blob::{BlobRef, BlobStore};
use xcsh_session::dirs::{AgentDirs, Environment};
use xcsh_session::gc::{GcOptions, GcReport, gc_blobs};
use xcsh_session::storage::{Disk, DiskSessionStorage, DiskStat, MemoryDisk, RealDisk, SessionStorage};

const HOUR: i64 = 3_600_000_000_000;

fn now_ns() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// An agent directory in memory.
struct Agent {
    disk: MemoryDisk,
    storage: Arc<DiskSessionStorage<FaultyDisk<MemoryDisk>>>,
    dirs: AgentDirs,
}

impl Agent {
    fn new() -> Self {
        let disk = MemoryDisk::new();
        let storage = Arc::new(DiskSessionStorage::on(FaultyDisk::new(disk.clone())));
        let dirs = AgentDirs::at_in("/agent", &Environment::default());
        storage.ensure_dir(&dirs.sessions).unwrap();
        Agent { disk, storage, dirs }
    }

    fn store(&self) -> BlobStore {
        BlobStore::new(Arc::<DiskSessionStorage<_>>::clone(&self.storage), self.dirs.blobs.clone())
    }

    /// A blob that was put 30 hours ago.
    fn blob(&self, bytes: &[u8]) -> BlobRef {
        let blob = self.store().put(bytes).unwrap();
        self.disk.set_modified(&self.store().path(&blob), now_ns() - 30 * HOUR).unwrap();
        blob
    }

    fn file(&self, path: impl AsRef<Path>, text: &str) -> PathBuf {
        let path = self.dirs.agent.join(path);
        self.storage.ensure_dir(path.parent().unwrap()).unwrap();
        self.storage.write_text(&path, text.as_bytes(), false).unwrap();
        path
    }

    fn gc(&self, dry_run: bool) -> Result<GcReport> {
        gc_blobs(&*self.storage, &self.dirs, &options(dry_run))
    }

    fn left(&self) -> BTreeSet<BlobRef> {
        let files = self.storage.list_files(&self.dirs.blobs).unwrap();
        files.iter().filter_map(|file| BlobRef::from_hex(file.path.file_name()?.to_str()?)).collect()
    }
}

fn options(dry_run: bool) -> GcOptions {
    GcOptions { dry_run, ..GcOptions::default() }
}

fn found(report: &GcReport) -> BTreeSet<BlobRef> {
    report.unreferenced.iter().map(|found| found.blob).collect()
}

#[test]
fn deletes_old_blobs_that_nothing_mentions_and_only_when_told_to() {
    let agent = Agent::new();
    let [kept, gone] = [agent.blob(b"kept"), agent.blob(b"gone!")];
    let young = agent.store().put(b"young").unwrap();
    let future = agent.blob(b"future");
    agent.disk.set_modified(&agent.store().path(&future), now_ns() + 90 * HOUR).unwrap();
    agent.file("sessions/--a--/s.jsonl", &format!(r#"{{"data":"{kept}"}}"#));
    agent.file("blobs/notes.txt", "not a blob");

    let looked = agent.gc(true).unwrap();
    assert_eq!(found(&looked), BTreeSet::from([gone, young, future]));
    assert_eq!((looked.deleted, looked.kept_young, looked.bytes), (0, 2, 5));
    assert_eq!(agent.left().len(), 4);
    assert!(GcOptions::default().dry_run && GcOptions::default().min_age == Duration::from_secs(24 * 3600));

    let did = agent.gc(false).unwrap();
    assert_eq!((did.deleted, did.kept_young, did.bytes, did.failed.len()), (1, 2, 5, 0));
    assert_eq!(agent.left(), BTreeSet::from([kept, young, future]));
    assert!(agent.storage.exists(&agent.dirs.blobs.join("notes.txt")).unwrap());
    assert_eq!(agent.gc(false).unwrap().deleted, 0);

    // Putting it again makes an old blob young.
    let again = agent.blob(b"again");
    agent.store().put(b"again").unwrap();
    assert_eq!(agent.gc(false).unwrap().deleted, 0);
    assert!(agent.left().contains(&again));
}

#[test]
fn looks_everywhere() {
    let agent = Agent::new();
    let places = [
        "sessions/--a--/s.jsonl",
        "sessions/-relative/s.jsonl",
        "sessions/-tmp-x/s.jsonl",
        "sessions/stray.jsonl",
        "sessions/--a--/s.jsonl.invalid-2026-02-16T10-20-30-000Z",
        "sessions/--a--/s.jsonl.77-0.tmp",
        "sessions/--a--/.hidden",
        "sessions/--a--/s/0.bash.log",
        "sessions/--a--/s/0-Task.jsonl",
        "sessions/--a--/s/0-Task/1-Task/deep.jsonl",
        "given/s.jsonl",
        "given/deep/s/x.jsonl",
        "far/session.jsonl",
        "far/session/0.jsonl",
        "one/file.jsonl",
    ];
    let blobs: Vec<_> = places.iter().map(|place| agent.blob(place.as_bytes())).collect();
    for (place, blob) in places.iter().zip(&blobs) {
        agent.file(place, &blob.to_string());
    }
    agent.file("terminal-sessions/pts-1", "/a\n/agent/far/session.jsonl\n");
    agent.file("terminal-sessions/pts-2", "/a\n/agent/far/deleted.jsonl\n");
    agent.file("terminal-sessions/pts-3", "nonsense");
    let mut all = options(true);
    all.also = vec!["/agent/given".into(), "/agent/one/file.jsonl".into()];
    let report = gc_blobs(&*agent.storage, &agent.dirs, &all).unwrap();
    assert_eq!(report, GcReport::default());
    assert_eq!(found(&agent.gc(true).unwrap()), BTreeSet::from([blobs[10], blobs[11], blobs[14]]));

    // Links are followed, also those in a circle.
    agent.disk.symlink(Path::new("/agent/given"), Path::new("/agent/sessions/link")).unwrap();
    agent.disk.symlink(Path::new("/agent/sessions"), Path::new("/agent/sessions/--a--/up")).unwrap();
    agent.disk.symlink(Path::new("../../one/file.jsonl"), Path::new("/agent/sessions/--a--/l.jsonl")).unwrap();
    assert_eq!(agent.gc(true).unwrap(), GcReport::default());
}

#[test]
fn with_xdg_directories_the_older_place_is_searched_too() {
    let mut agent = Agent::new();
    agent.dirs.sessions = "/xdg/sessions".into();
    let blob = agent.blob(b"x");
    agent.file("sessions/--a--/s.jsonl", &blob.to_string());
    agent.storage.ensure_dir(&agent.dirs.sessions).unwrap();
    assert_eq!(agent.gc(true).unwrap(), GcReport::default());
}

#[test]
fn what_cannot_be_read_keeps_everything() {
    let refuses = |agent: &Agent, path: &str| {
        let error = agent.gc(false).unwrap_err();
        assert_eq!(error.path(), Some(Path::new(path)), "{error}");
        assert!(error.to_string().contains(path));
        assert_eq!(agent.left().len(), 1);
    };
    let agent = Agent::new();
    agent.blob(b"old");
    agent.file("sessions/--a--/s.jsonl", "");
    let secret = agent.file("sessions/--a--/s/0.log", "");
    agent.disk.set_mode(&secret, 0).unwrap();
    refuses(&agent, "/agent/sessions/--a--/s/0.log");
    agent.disk.set_mode(&secret, 0o600).unwrap();
    agent.disk.set_mode(secret.parent().unwrap(), 0).unwrap();
    refuses(&agent, "/agent/sessions/--a--/s");
    agent.disk.set_mode(secret.parent().unwrap(), 0o700).unwrap();
    let dangling = Path::new("/agent/sessions/--a--/usb.jsonl");
    agent.disk.symlink(Path::new("/mnt/usb/s.jsonl"), dangling).unwrap();
    refuses(&agent, "/agent/sessions/--a--/usb.jsonl");
    agent.storage.unlink(dangling).unwrap();
    let mut missing = options(false);
    missing.also.push("/mnt/usb".into());
    assert_eq!(gc_blobs(&*agent.storage, &agent.dirs, &missing).unwrap_err().code(), "NotFound");
    agent.storage.rename(Path::new("/agent/sessions"), Path::new("/agent/away")).unwrap().unwrap();
    refuses(&agent, "/agent/sessions");
    agent.storage.rename(Path::new("/agent/away"), Path::new("/agent/sessions")).unwrap().unwrap();
    assert_eq!(agent.gc(false).unwrap().deleted, 1);
    assert_eq!(agent.gc(false).unwrap(), GcReport::default(), "no blobs, nothing to search");
}

#[test]
fn whatever_call_fails_no_mentioned_blob_goes() {
    let agent = Agent::new();
    let kept: BTreeSet<_> = (0..3u8).map(|n| agent.blob(&[n])).collect();
    let gone: Vec<_> = (3..6u8).map(|n| agent.blob(&[n])).collect();
    let text: String = kept.iter().map(BlobRef::to_string).collect();
    agent.file("sessions/--a--/s/x.jsonl", &text);
    agent.file("terminal-sessions/pts-1", "/a\n/agent/sessions/--a--/s/x.jsonl\n");
    let faulty = agent.storage.disk();
    faulty.forget();
    agent.gc(true).unwrap();
    let calls = faulty.count() + 3 * gone.len() as u64;
    for number in 1..=calls {
        for once in [true, false] {
            faulty.forget();
            if once {
                faulty.fail_once(number, Fault::Io)
            } else {
                faulty.fail_from(number, Fault::Io)
            }
            let result = agent.gc(false);
            let failed = !faulty.failures().is_empty();
            faulty.heal();
            let left = agent.left();
            assert!(left.is_superset(&kept), "call {number}");
            match result {
                Err(_) => assert_eq!(left.len(), 6, "call {number}"),
                // Without an identity a directory is only followed more carefully.
                Ok(report) => assert!(
                    !failed || !report.failed.is_empty() || faulty.failures().iter().all(|call| call.op == "metadata"),
                    "call {number}: {:?}",
                    faulty.failures()
                ),
            }
            for n in 3..6u8 {
                agent.blob(&[n]);
            }
        }
    }
    assert_eq!(agent.gc(false).unwrap().deleted, 3);
}

/// A disk that does something when the first file with sessions was opened.
struct Meddling {
    disk: MemoryDisk,
    on_open: Mutex<Option<Meddle>>,
}

type Meddle = Box<dyn FnOnce(&MemoryDisk, &Path) + Send>;

impl Disk for Meddling {
    type File = <MemoryDisk as Disk>::File;

    fn open(&self, path: &Path, access: xcsh_session::storage::Access) -> io::Result<Self::File> {
        let file = self.disk.open(path, access);
        if path.starts_with("/agent/sessions")
            && let Some(meddle) = self.on_open.lock().unwrap().take()
        {
            meddle(&self.disk, path);
        }
        file
    }
    fn create_new(&self, path: &Path) -> io::Result<Self::File> {
        self.disk.create_new(path)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir(dir)
    }
    fn metadata(&self, path: &Path) -> io::Result<DiskStat> {
        self.disk.metadata(path)
    }
    fn read_link(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        self.disk.read_link(path)
    }
    fn read_dir(&self, dir: &Path) -> io::Result<Vec<xcsh_session::storage::DiskEntry>> {
        self.disk.read_dir(dir)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }
    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.remove_dir(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }
}

impl Agent {
    /// Looks for blobs while `meddle` changes something as soon as the first file, which it is given, was opened.
    fn gc_meddled(&self, dry_run: bool, meddle: impl FnOnce(&MemoryDisk, &Path) + Send + 'static) -> GcReport {
        let on_open = Mutex::new(Some(Box::new(meddle) as Meddle));
        let storage = DiskSessionStorage::on(Meddling { disk: self.disk.clone(), on_open });
        gc_blobs(&storage, &self.dirs, &options(dry_run)).unwrap()
    }
}

#[test]
fn a_session_that_moves_during_the_search_is_found() {
    for over_the_first in [true, false] {
        let agent = Agent::new();
        let blobs = ["a", "b"].map(|name| agent.blob(name.as_bytes()));
        let other = agent.blob(b"other");
        let paths = ["a", "b"].map(|name| PathBuf::from(format!("/agent/sessions/--{name}--/s.jsonl")));
        for (path, blob) in paths.iter().zip(&blobs) {
            agent.file(path, &blob.to_string());
        }
        agent.storage.ensure_dir(Path::new("/agent/sessions/--c--")).unwrap();
        let report = agent.gc_meddled(true, move |disk, opened| {
            let second = paths.iter().find(|path| *path != opened).unwrap();
            let target = if over_the_first { opened } else { Path::new("/agent/sessions/--c--/s.jsonl") };
            disk.rename(second, target).unwrap();
        });
        assert_eq!(found(&report), BTreeSet::from([other]), "over the first: {over_the_first}");
    }
}

#[test]
fn a_blob_that_is_put_during_the_search_stays() {
    let agent = Agent::new();
    let blob = agent.blob(b"x");
    agent.file("sessions/--a--/s.jsonl", "");
    let path = agent.store().path(&blob);
    let report = agent.gc_meddled(false, move |disk, _| disk.set_modified(&path, now_ns()).unwrap());
    assert_eq!((found(&report), report.deleted, report.kept_young), (BTreeSet::from([blob]), 0, 1));
    assert_eq!(agent.left(), BTreeSet::from([blob]));
}

#[test]
fn works_on_files() {
    let dir = tempfile::tempdir().unwrap();
    let dirs = AgentDirs::at_in(dir.path(), &Environment::default());
    let storage: Arc<dyn SessionStorage> = Arc::new(DiskSessionStorage::on(RealDisk));
    let store = BlobStore::new(Arc::clone(&storage), dirs.blobs.clone());
    let [kept, gone, young] = [b"1", b"2", b"3"].map(|bytes| store.put(bytes).unwrap());
    for blob in [kept, gone] {
        let day_before = SystemTime::now() - Duration::from_secs(25 * 3600);
        std::fs::File::open(store.path(&blob)).unwrap().set_modified(day_before).unwrap();
    }
    storage.ensure_dir(&dirs.sessions.join("--a--")).unwrap();
    let filler = "x".repeat((256 << 10) - 30);
    storage.write_text(&dirs.sessions.join("--a--/s.jsonl"), format!("{filler}{kept}").as_bytes(), false).unwrap();
    std::os::unix::fs::symlink("..", dirs.sessions.join("--a--/up")).unwrap();
    let report = gc_blobs(&*storage, &dirs, &options(false)).unwrap();
    assert_eq!((found(&report), report.deleted, report.kept_young), (BTreeSet::from([gone, young]), 1, 1));
    assert!(store.has(&kept).unwrap() && store.has(&young).unwrap() && !store.has(&gone).unwrap());
    let nowhere = AgentDirs::at_in(dir.path().join("none"), &Environment::default());
    assert_eq!(gc_blobs(&*storage, &nowhere, &options(false)).unwrap(), GcReport::default(), "no blobs at all");
}

/// How a blob is mentioned, or is not quite.
#[derive(Debug, Clone, Copy)]
enum Spelling {
    Reference,
    Bare,
    Upper,
    Escaped,
    /// Not a mention: one digit is missing.
    Short,
    /// Not a mention: another character in the middle.
    Broken,
}

impl Spelling {
    const ALL: [Spelling; 6] =
        [Spelling::Reference, Spelling::Bare, Spelling::Upper, Spelling::Escaped, Spelling::Short, Spelling::Broken];

    fn counts(self) -> bool {
        !matches!(self, Spelling::Short | Spelling::Broken)
    }

    fn of(self, blob: &BlobRef) -> String {
        let hex = blob.hex();
        match self {
            Spelling::Reference => format!(r#""data":"{blob}""#),
            Spelling::Bare => hex,
            Spelling::Upper => hex.to_uppercase(),
            Spelling::Escaped => hex.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
            Spelling::Short => format!("-{}-", &hex[1..]),
            Spelling::Broken => format!("{}-{}", &hex[..20], &hex[20..]),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn finds_exactly_the_blobs_that_no_file_mentions(
        count in 1..12u8,
        files in prop::collection::vec(
            (
                "(sessions|sessions/--a-b--|sessions/-x|sessions/-tmp-y/s)(/[a-c]){0,3}/[a-c]{1,2}(\\.jsonl|\\.jsonl\\.invalid-1|\\.log|\\.tmp)",
                prop::collection::vec((any::<prop::sample::Index>(), 0..6usize, prop_oneof![0..300usize, 260_000..263_000usize]), 0..4),
            ),
            0..8,
        ),
    ) {
        let agent = Agent::new();
        let blobs: Vec<_> = (0..count).map(|n| agent.blob(&[n])).collect();
        let mut contents = std::collections::BTreeMap::new();
        for (path, parts) in files {
            let mut text = String::new();
            let mut mentioned = BTreeSet::new();
            for (blob, spelling, filler) in parts {
                let (blob, spelling) = (&blobs[blob.index(blobs.len())], Spelling::ALL[spelling]);
                text.push_str(&"~".repeat(filler));
                text.push_str(&spelling.of(blob));
                if spelling.counts() {
                    mentioned.insert(*blob);
                }
            }
            // What follows must not make a mention of what is not one.
            text.push('~');
            agent.file(&path, &text);
            contents.insert(path, mentioned);
        }
        let mentioned: BTreeSet<_> = contents.into_values().flatten().collect();
        let expected: BTreeSet<_> = blobs.iter().copied().filter(|blob| !mentioned.contains(blob)).collect();
        let report = agent.gc(true).unwrap();
        prop_assert_eq!(&found(&report), &expected);
        let report = agent.gc(false).unwrap();
        prop_assert_eq!(report.deleted, expected.len() as u64);
        prop_assert_eq!(agent.left(), mentioned);
    }
}
