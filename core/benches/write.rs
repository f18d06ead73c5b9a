//! Writing against the plain way, in one run: appends against a bare loop of `write` calls of the same lines, a
//! rename and a migration against copying the file and fsync. Ratios are what counts; times depend on the machine.
//!
//! `cargo bench -p xcsh-session --bench write [-- appends|rewrites]`

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xcsh_session::dirs::AgentDirs;
use xcsh_session::storage::FileSessionStorage;
use xcsh_session::{ManagerOptions, SessionManager, TitleSource};
use xcsh_session_testdata::SessionSpec;

const APPENDS: usize = 10_000;
const ROUNDS: usize = 7;

fn options(dir: &Path) -> ManagerOptions {
    ManagerOptions::at(AgentDirs::at(dir), Arc::new(FileSessionStorage::new()))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

fn row(what: &str, ours: Duration, plain_name: &str, plain: Duration, goal: &str) {
    let ratio = ours.as_secs_f64() / plain.as_secs_f64();
    println!("{what:<34} {ours:>10.2?}   {plain_name:<22} {plain:>10.2?}   ratio {ratio:>5.2}   goal {goal}");
}

fn message(i: usize) -> String {
    let text = format!("message {i} {}", "lorem ipsum dolor sit amet, consectetur\\n".repeat(49));
    format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"timestamp":1760000000000}}"#)
}

fn appends() {
    let messages: Vec<String> = (0..APPENDS).map(message).collect();
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let dir = tempfile::tempdir().unwrap();
        let session = SessionManager::create("/srv/pi", options(dir.path())).unwrap();
        session.ensure_on_disk().unwrap();
        let append = || messages.iter().for_each(|message| drop(session.append_message(message).unwrap()));
        ours.push(timed(append).0);
        session.flush().unwrap();
        let written = std::fs::read(session.session_file().unwrap()).unwrap();
        let lines: Vec<&[u8]> = written.split_inclusive(|&byte| byte == b'\n').skip(1).collect();
        let mut file = OpenOptions::new().append(true).create(true).open(dir.path().join("plain")).unwrap();
        plain.push(timed(|| lines.iter().for_each(|line| file.write_all(line).unwrap())).0);
        file.sync_all().unwrap();
    }
    let (ours, plain) = (median(ours), median(plain));
    row("10,000 appends of 2 KB", ours, "bare write loop", plain, "<= 1.25");
    println!("{:<34} {:>10.0} a second", "", APPENDS as f64 / ours.as_secs_f64());
}

fn copied(from: &Path, to: &Path) -> Duration {
    timed(|| {
        let mut out = File::create(to).unwrap();
        std::io::copy(&mut File::open(from).unwrap(), &mut out).unwrap();
        out.sync_all().unwrap();
    })
    .0
}

fn rewrites() {
    let dir = tempfile::tempdir().unwrap();
    let spec = SessionSpec { entries: 10_000, ..SessionSpec::default() };
    let (path, copy) = (dir.path().join("s.jsonl"), dir.path().join("copy"));
    xcsh_session_testdata::session(&spec, &mut File::create(&path).unwrap()).unwrap();
    let session = SessionManager::open(&path, options(dir.path())).unwrap();
    let (mut rename, mut plain) = (Vec::new(), Vec::new());
    for i in 0..ROUNDS {
        plain.push(copied(&path, &copy));
        rename.push(timed(|| session.set_session_name(&format!("title {i}"), TitleSource::User).unwrap()).0);
    }
    row("rename, 10,000 entries", median(rename), "copy and fsync", median(plain), "<= 2");

    let (mut migrate, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        xcsh_session_testdata::v1_session(&spec, &mut File::create(&path).unwrap()).unwrap();
        plain.push(copied(&path, &copy));
        migrate.push(timed(|| drop(SessionManager::open(&path, options(dir.path())).unwrap())).0);
    }
    row("open of v1, migrated and rewritten", median(migrate), "copy and fsync", median(plain), "<= 2");
}

fn main() {
    // Cargo adds `--bench`; any other argument names what to run.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|arg| arg == name);
    if runs("appends") {
        appends();
    }
    if runs("rewrites") {
        rewrites();
    }
}
