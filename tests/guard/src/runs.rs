//! What is counted. Each run does all that is not its subject outside of `counted`; results are dropped outside too,
//! unless dropping them belongs to the work.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use xcsh_session::dirs::{AgentDirs, Environment, Layout};
use xcsh_session::discovery::{ListOptions, get_recent_sessions, list};
use xcsh_session::storage::FileSessionStorage;
use xcsh_session::{HistoryStorage, Leaf, ManagerOptions, ReadOptions, Session, SessionManager, TitleSource};
use xcsh_session_testdata::{SessionSpec, chain, directory, images, session, v1_session};

use crate::{clock, counted};

type Run = fn(&Path, &Path);

pub(crate) const ALL: &[(&str, Run)] = &[
    ("open", open),
    ("open-short-entries", open_short_entries),
    ("open-images", open_images),
    ("entries", entries),
    ("context", context),
    ("tree", tree),
    ("children", children),
    ("append", append),
    ("append-now-and-then", append_now_and_then),
    ("append-images", append_images),
    ("read-images", read_images),
    ("create", create),
    ("rename", rename),
    ("migrate", migrate),
    ("list", list_sessions),
    ("recent", recent_sessions),
    ("history-search", history_search),
];

const CWD: &str = "/srv/pi";
const PROMPTS: usize = 2_000;

pub(crate) fn prepare(data: &Path) {
    let real = SessionSpec { entries: 1_000, ..SessionSpec::default() };
    write(data.join("real.jsonl"), |out| drop(session(&real, out).unwrap()));
    write(data.join("v1.jsonl"), |out| drop(v1_session(&real, out).unwrap()));
    write(data.join("short.jsonl"), |out| drop(chain(20_000, 1, out).unwrap()));
    write(data.join("images.jsonl"), |out| drop(images(20, 60_000, 1, out).unwrap()));
    directory(&sessions(&dirs(data)), 40, CWD, 1).unwrap();
    clock::start(Duration::from_secs(1_760_000_000));
    let history = HistoryStorage::open(data.join("history.db")).unwrap();
    for number in 0..PROMPTS {
        history.add(&prompt(number), Some(CWD)).unwrap();
        clock::pass(Duration::from_secs(300));
        // The index looks as the transactions were; without this, how many prompts one holds is chance.
        history.flush().unwrap();
    }
    history.close().unwrap();
}

fn write(path: PathBuf, fill: impl FnOnce(&mut dyn Write)) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    fill(&mut out);
    out.flush().unwrap();
}

fn prompt(number: usize) -> String {
    let rare = if number % 100 == 7 { " quokka" } else { "" };
    format!("prompt {number}: please run test {} of module {}{rare}", number % 37, number % 11)
}

fn dirs(dir: &Path) -> AgentDirs {
    AgentDirs::at_in(dir, &Environment::default())
}

fn sessions(dirs: &AgentDirs) -> PathBuf {
    dirs.session_dir(Path::new(CWD), Layout::Document)
}

fn options(scratch: &Path) -> ManagerOptions {
    ManagerOptions::at(dirs(scratch), Arc::new(FileSessionStorage::new()))
}

fn message(number: usize) -> String {
    let text = format!("message {number:06} {}", "lorem ipsum dolor sit amet, consectetur\\n".repeat(49));
    format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"timestamp":1760000000000}}"#)
}

/// Time as the run makes it. It begins a minute after `scratch` was made, so that what the run itself writes is never
/// from the future.
fn steady_clock(scratch: &Path) {
    let made = fs::metadata(scratch).unwrap().modified().unwrap();
    clock::start(made.duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(60));
}

fn read(data: &Path, name: &str) -> Session {
    Session::read(data.join(name)).unwrap()
}

fn open(data: &Path, _: &Path) {
    let session = counted(|| read(data, "real.jsonl"));
    assert_eq!(session.len(), 1_000);
}

/// What an entry costs beside its bytes.
fn open_short_entries(data: &Path, _: &Path) {
    let session = counted(|| read(data, "short.jsonl"));
    assert_eq!(session.len(), 20_000);
}

/// What a byte costs beside the entries.
fn open_images(data: &Path, _: &Path) {
    let session = counted(|| read(data, "images.jsonl"));
    assert_eq!(session.len(), 40);
}

fn entries(data: &Path, _: &Path) {
    let session = read(data, "real.jsonl");
    let bytes: usize = counted(|| session.entries().map(|entry| entry.unwrap().line().len()).sum());
    assert!(bytes > 4_000_000);
}

fn context(data: &Path, _: &Path) {
    let session = read(data, "real.jsonl");
    let messages = counted(|| session.messages(&session.context(Leaf::Last).unwrap()).unwrap());
    assert!(messages.len() > 50);
}

fn tree(data: &Path, _: &Path) {
    let session = read(data, "short.jsonl");
    black_box(counted(|| session.tree()));
}

fn children(data: &Path, _: &Path) {
    let session = read(data, "short.jsonl");
    let of = |entry| session.children(session.id_of(entry).unwrap()).len();
    let all: usize = counted(|| (0..session.len() as u32).map(of).sum());
    assert_eq!(all, session.len() - 1);
}

fn started(scratch: &Path) -> SessionManager {
    steady_clock(scratch);
    let manager = SessionManager::create(CWD, options(scratch)).unwrap();
    manager.ensure_on_disk().unwrap();
    (0..100).for_each(|number| drop(manager.append_message(&message(number)).unwrap()));
    manager
}

/// In one burst, long enough that a kept lock is given back and taken again.
fn append(_: &Path, scratch: &Path) {
    let manager = started(scratch);
    let messages: Vec<String> = (0..3_000).map(message).collect();
    counted(|| messages.iter().for_each(|message| drop(manager.append_message(message).unwrap())));
    assert_eq!(manager.read(Session::len), 3_100);
}

fn append_now_and_then(_: &Path, scratch: &Path) {
    let manager = started(scratch);
    let messages: Vec<String> = (0..50).map(message).collect();
    for message in &messages {
        clock::pass(Duration::from_secs(2));
        counted(|| manager.append_message(message).unwrap());
    }
    assert_eq!(manager.read(Session::len), 150);
}

fn append_images(data: &Path, scratch: &Path) {
    let from = read(data, "images.jsonl");
    let messages = from.messages(&from.context(Leaf::Last).unwrap()).unwrap();
    let manager = started(scratch);
    counted(|| messages.iter().for_each(|message| drop(manager.append_message(message).unwrap())));
    assert_eq!(fs::read_dir(manager.blobs().dir()).unwrap().count(), 20);
}

fn read_images(data: &Path, scratch: &Path) {
    steady_clock(scratch);
    let file = scratch.join("images.jsonl");
    fs::copy(data.join("images.jsonl"), &file).unwrap();
    let manager = SessionManager::open(&file, options(scratch)).unwrap();
    manager.set_session_name("moves the images out", TitleSource::User).unwrap();
    manager.close().unwrap();
    let storage = FileSessionStorage::new();
    let options = ReadOptions { blobs: Some(options(scratch).blob_store()), ..ReadOptions::default() };
    let session = Session::read_from(&storage, &file, options).unwrap();
    let bytes: usize = counted(|| session.resolved_lines_from(0).map(|line| line.unwrap().len()).sum());
    assert!(bytes > 20 * 80_000);
}

/// From nothing to a session on disk.
fn create(_: &Path, scratch: &Path) {
    steady_clock(scratch);
    let options = options(scratch);
    for _ in 0..20 {
        let manager = counted(|| {
            let manager = SessionManager::create(CWD, options.clone()).unwrap();
            manager.append_message(r#"{"role":"user","content":"Hello"}"#).unwrap();
            manager.append_message(r#"{"role":"assistant","content":[{"type":"text","text":"Hello"}]}"#).unwrap();
            manager
        });
        assert!(manager.session_file().unwrap().exists());
    }
}

fn rename(data: &Path, scratch: &Path) {
    steady_clock(scratch);
    let file = scratch.join("real.jsonl");
    fs::copy(data.join("real.jsonl"), &file).unwrap();
    let manager = SessionManager::open(&file, options(scratch)).unwrap();
    assert!(counted(|| manager.set_session_name("Another name", TitleSource::User).unwrap()));
}

/// Opened, migrated, written anew.
fn migrate(data: &Path, scratch: &Path) {
    steady_clock(scratch);
    let file = scratch.join("v1.jsonl");
    fs::copy(data.join("v1.jsonl"), &file).unwrap();
    let manager = counted(|| SessionManager::open(&file, options(scratch)).unwrap());
    assert_eq!(manager.read(Session::len), 1_000);
}

fn list_sessions(data: &Path, _: &Path) {
    let (storage, dirs) = (FileSessionStorage::new(), dirs(data));
    let listing = counted(|| list(&storage, &dirs, Path::new(CWD), None, &ListOptions::default()).unwrap());
    assert_eq!((listing.sessions.len(), listing.unreadable.len()), (40, 0));
}

fn recent_sessions(data: &Path, _: &Path) {
    let (storage, dir) = (FileSessionStorage::new(), sessions(&dirs(data)));
    let recent = counted(|| get_recent_sessions(&storage, &dir, 40).unwrap());
    assert_eq!(recent.sessions.len(), 40);
}

fn history_search(data: &Path, _: &Path) {
    let history = HistoryStorage::open(data.join("history.db")).unwrap();
    counted(|| {
        assert_eq!(history.search("quokka", 50).unwrap().len(), 20);
        assert_eq!(history.search("please module 7", 50).unwrap().len(), 50);
        assert_eq!(history.get_recent(50).unwrap().len(), 50);
    });
}
