//! What reading a session costs. `cargo bench -p xcsh-session --bench session` prints first the goals of the contract
//! (SPEC section 15), each against what was measured in this very run, then the timings one by one. `-- --table`
//! stops after the goals; a name picks timings.
//!
//! The files are made once, from a seed, and kept under the target directory.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use xcsh_session::{Leaf, Session};
use xcsh_session_testdata::{SessionSpec, chain, session};

const READ_AND_REPORT: &str = "--read-and-report";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, path] = &arguments[..]
        && flag == READ_AND_REPORT
    {
        return read_and_report(Path::new(path));
    }
    if !arguments.iter().any(|argument| argument == "--test" || argument == "--list") {
        table();
    }
    if !arguments.iter().any(|argument| argument == "--table") {
        divan::main();
    }
}

/// A generated file; an incomplete one never has the final name.
fn file(name: &str, make: impl FnOnce(&mut BufWriter<File>)) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sessions");
    let path = dir.join(name);
    if !path.exists() {
        std::fs::create_dir_all(&dir).unwrap();
        let part = dir.join(format!("{name}.{}", std::process::id()));
        let mut out = BufWriter::new(File::create(&part).unwrap());
        make(&mut out);
        out.into_inner().unwrap().sync_all().unwrap();
        std::fs::rename(part, &path).unwrap();
    }
    path
}

fn real(entries: usize) -> PathBuf {
    file(&format!("real-{entries}.jsonl"), |out| {
        session(&SessionSpec { entries, ..SessionSpec::default() }, out).unwrap();
    })
}

fn chained(entries: usize) -> PathBuf {
    file(&format!("chain-{entries}.jsonl"), |out| {
        chain(entries, 1, out).unwrap();
    })
}

fn open(path: &Path) -> Session {
    Session::read(path).unwrap()
}

/// What a store does that parses every line into a tree of values.
fn parse_every_line(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let values: Vec<serde_json::Value> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    values.len()
}

/// Context and the JSON of its messages.
fn context(session: &Session) -> usize {
    let plan = session.context(Leaf::Last).unwrap();
    session.messages(&plan).unwrap().iter().map(String::len).sum()
}

fn children_of_all(session: &Session) -> usize {
    (0..session.len() as u32).map(|entry| session.children(session.id_of(entry).unwrap()).len()).sum()
}

/// The median of several runs.
fn median<T>(runs: usize, mut work: impl FnMut() -> T) -> Duration {
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            let result = black_box(work());
            let time = start.elapsed();
            drop(result);
            time
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

struct Row {
    work: &'static str,
    measured: String,
    goal: String,
    met: bool,
}

fn within(work: &'static str, time: Duration, goal: f64) -> Row {
    let measured = format!("{:.2} ms", millis(time));
    Row { work, measured, goal: format!("<= {goal} ms"), met: millis(time) <= goal }
}

fn ratio(work: &'static str, time: Duration, other: Duration, goal: f64) -> Row {
    let times = time.as_secs_f64() / other.as_secs_f64();
    let measured = format!("1/{:.1} of {:.0} ms", 1.0 / times, millis(other));
    Row { work, measured, goal: format!("<= 1/{goal:.0}"), met: times * goal <= 1.0 }
}

fn table() {
    let (ten, hundred, links) = (real(10_000), real(100_000), chained(100_000));
    let mut rows = Vec::new();

    let opened = median(15, || open(&ten));
    let parsed = median(5, || parse_every_line(&ten));
    rows.push(ratio("open 49 MB, 10k entries, against parsing each line", opened, parsed, 4.0));
    rows.push(ratio("the same, as fast as it is wanted", opened, parsed, 8.0));
    rows.push(within("open 49 MB, 10k entries", opened, 26.0));
    rows.push(within("open 485 MB, 100k entries", median(5, || open(&hundred)), 270.0));

    let session = open(&hundred);
    rows.push(within("context after a late compaction, 100k entries", median(15, || context(&session)), 5.0));
    drop(session);

    let session = open(&ten);
    rows.push(within("get_children of every entry, 10k", median(15, || children_of_all(&session)), 10.0));

    let session = open(&links);
    rows.push(within("chain of 100k: tree", median(9, || session.tree()), 20.0));
    rows.push(within("chain of 100k: branch", median(9, || session.branch(None).unwrap()), 5.0));
    rows.push(within("chain of 100k: context plan", median(9, || session.context(Leaf::Last).unwrap()), 10.0));

    match growth(&hundred) {
        Some(bytes) => rows.push(Row {
            work: "resident memory that opening 485 MB adds",
            measured: format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
            goal: "<= 64 MiB".to_owned(),
            met: bytes <= 64 << 20,
        }),
        None => println!("resident memory: not measured, /proc/self/status is not there"),
    }
    for Row { work, measured, goal, met } in rows {
        println!("{} {work:52} {measured:>20}   {goal}", if met { "ok  " } else { "MISS" });
    }
}

/// How much the resident memory of a fresh process rises at its highest over what it was before it opened a file.
fn growth(path: &Path) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).arg(READ_AND_REPORT).arg(path).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn read_and_report(path: &Path) {
    let (Some(before), session) = (resident("VmRSS:"), open(path)) else { return };
    if let Some(most) = resident("VmHWM:") {
        println!("{}", most.saturating_sub(before));
    }
    drop(session);
}

/// A figure of /proc/self/status, in bytes.
fn resident(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

#[divan::bench(args = [1_000, 10_000, 100_000], max_time = 3)]
fn open_real(bencher: divan::Bencher<'_, '_>, entries: usize) {
    let path = real(entries);
    let bytes = std::fs::metadata(&path).unwrap().len();
    bencher.counter(divan::counter::BytesCount::new(bytes)).bench_local(|| open(&path));
}

/// The floor: the same bytes through a buffer that stays in the cache, nothing done with them.
#[divan::bench(args = [10_000], max_time = 2)]
fn stream_only(bencher: divan::Bencher<'_, '_>, entries: usize) {
    let path = real(entries);
    let mut buffer = vec![0; 256 << 10];
    bencher.bench_local(|| {
        let mut file = File::open(&path).unwrap();
        while file.read(&mut buffer).unwrap() > 0 {}
    });
}

#[divan::bench(args = [10_000], max_time = 2)]
fn check_lines_only(bencher: divan::Bencher<'_, '_>, entries: usize) {
    let bytes = std::fs::read(real(entries)).unwrap();
    let count = divan::counter::BytesCount::new(bytes.len());
    bencher.counter(count).bench_local(|| {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            xcsh_session::json::check(line).unwrap();
        }
    });
}

#[divan::bench(max_time = 2)]
fn context_late(bencher: divan::Bencher<'_, '_>) {
    let session = open(&real(100_000));
    bencher.bench_local(|| context(&session));
}

#[divan::bench(max_time = 2)]
fn children_10k(bencher: divan::Bencher<'_, '_>) {
    let session = open(&real(10_000));
    bencher.bench_local(|| children_of_all(&session));
}

#[divan::bench(max_time = 2)]
fn chain_tree(bencher: divan::Bencher<'_, '_>) {
    let session = open(&chained(100_000));
    bencher.bench_local(|| session.tree());
}

#[divan::bench(max_time = 2)]
fn chain_branch(bencher: divan::Bencher<'_, '_>) {
    let session = open(&chained(100_000));
    bencher.bench_local(|| session.branch(None).unwrap());
}

#[divan::bench(max_time = 2)]
fn chain_context(bencher: divan::Bencher<'_, '_>) {
    let session = open(&chained(100_000));
    bencher.bench_local(|| context(&session));
}

/// The check works on a line's bytes only; reading them is part of what opening costs.
#[divan::bench(max_time = 2)]
fn entries_10k(bencher: divan::Bencher<'_, '_>) {
    let session = open(&real(10_000));
    bencher.bench_local(|| session.entries().map(|entry| entry.unwrap().line().len()).sum::<usize>());
}
