//! Prompt history against plain SQL in the same run: batching against single inserts, the full-text index against a
//! scan. Prints times, ratios and the memory that queries took; fails if a bound of the contract is missed.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use xcsh_session::HistoryStorage;

const ADDS: usize = 10_000;
const PROMPTS: usize = 100_000;
const ROUNDS: usize = 5;
/// KiB that queries over 100,000 prompts (20 MB) may add to the process, for results of at most 1,000.
const MEMORY_BOUND: u64 = 8192;

/// Prompts of a few to some thirty words; one in ten thousand has a rare word.
fn prompt(n: usize) -> String {
    const WORDS: [&str; 24] = [
        "fix",
        "the",
        "parser",
        "and",
        "run",
        "tests",
        "in",
        "module",
        "please",
        "refactor",
        "error",
        "handling",
        "of",
        "session",
        "storage",
        "add",
        "documentation",
        "for",
        "public",
        "functions",
        "src/main.rs",
        "multi-agent",
        "why",
        "build",
    ];
    let mut text = format!("prompt {n}:");
    let mut state = n as u64 + 1;
    for _ in 0..4 + n % 30 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(' ');
        text.push_str(WORDS[(state >> 33) as usize % WORDS.len()]);
    }
    if n % 10_000 == 77 {
        text.push_str(" quokka");
    }
    text
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn rounds(mut work: impl FnMut()) -> Duration {
    median((0..ROUNDS).map(|_| time(&mut work)).collect())
}

/// A line of /proc/self/status, in KiB; 0 where there is no such file.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn single_inserts(path: &Path, prompts: &[String]) -> Duration {
    // The schema is the library's, so that both sides keep the same index.
    drop(HistoryStorage::open(path).unwrap());
    let conn = Connection::open(path).unwrap();
    conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL").unwrap();
    let mut insert = conn.prepare("INSERT INTO history(prompt, cwd) VALUES (?,?)").unwrap();
    time(|| {
        for prompt in prompts {
            insert.execute(params![prompt, "/work"]).unwrap();
        }
    })
}

fn adds(path: &Path, prompts: &[String]) -> (Duration, Duration, Duration) {
    let history = HistoryStorage::open(path).unwrap();
    let mut each = Vec::with_capacity(prompts.len());
    let total = time(|| {
        for prompt in prompts {
            each.push(time(|| history.add(prompt, Some("/work")).unwrap()));
        }
        history.flush().unwrap();
    });
    each.sort();
    (total, each[each.len() / 2], each[each.len() * 999 / 1000])
}

fn line(what: &str, time: Duration) {
    println!("{what:<62} {:>11.4} ms", time.as_secs_f64() * 1e3);
}

fn main() -> ExitCode {
    let dir = tempfile::tempdir().unwrap();
    let mut missed = false;
    let mut ratio = |what: &str, mine: Duration, other: Duration, bound: f64| {
        let ratio = other.as_secs_f64() / mine.as_secs_f64();
        let verdict = if ratio >= bound { "" } else { "  MISSED" };
        missed |= ratio < bound;
        println!("{what:<62} {ratio:>10.1} times faster (at least {bound}){verdict}");
    };

    let prompts: Vec<String> = (0..ADDS).map(prompt).collect();
    let mut singles = Vec::new();
    let mut batched = Vec::new();
    for round in 0..ROUNDS {
        singles.push(single_inserts(&dir.path().join(format!("single{round}.db")), &prompts));
        batched.push(adds(&dir.path().join(format!("batched{round}.db")), &prompts));
    }
    let single = median(singles);
    let total = median(batched.iter().map(|times| times.0).collect());
    line("10,000 single autocommit inserts, WAL", single);
    line("10,000 adds and a flush", total);
    line("  one add, median", median(batched.iter().map(|times| times.1).collect()));
    line("  one add, 99.9th percentile", median(batched.iter().map(|times| times.2).collect()));
    ratio("adds against single inserts", total, single, 5.0);

    let path = dir.path().join("large.db");
    drop(HistoryStorage::open(&path).unwrap());
    let mut conn = Connection::open(&path).unwrap();
    let tx = conn.transaction().unwrap();
    for n in 0..PROMPTS {
        // Some minutes apart, as prompts are.
        let at = 1_700_000_000 + n as i64 * 300;
        tx.execute("INSERT INTO history(prompt, created_at, cwd) VALUES (?,?,?)", params![prompt(n), at, "/work"])
            .unwrap();
    }
    tx.commit().unwrap();
    println!();
    line("open, 100,000 prompts", rounds(|| drop(black_box(HistoryStorage::open(&path).unwrap()))));
    let history = HistoryStorage::open(&path).unwrap();
    let scan = rounds(|| {
        let sql = "SELECT id, prompt, created_at, cwd FROM history WHERE prompt LIKE '%quokka%'
                   ORDER BY created_at DESC, id DESC LIMIT 50";
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(1)).unwrap();
        assert_eq!(black_box(rows.collect::<Result<Vec<_>, _>>().unwrap()).len(), 10);
    });
    let search = |text: &str, limit: usize, expected: usize| {
        rounds(|| assert_eq!(black_box(history.search(text, limit).unwrap()).len(), expected))
    };
    let rare = search("quokka", 50, 10);
    line("LIKE scan for a rare word, 100,000 prompts", scan);
    line("search for a rare word", rare);
    ratio("search against LIKE scan", rare, scan, 50.0);
    println!();
    let before = (memory("VmRSS:"), memory("VmHWM:"));
    line("search for a rare word and a common one", search("quokka prompt", 50, 10));
    line("search for a word of most prompts, limit 50", search("prompt", 50, 50));
    line("search for a word of most prompts, limit 1000", search("prompt", 1000, 1000));
    line("search for a word with punctuation, limit 50", search("multi-agent", 50, 50));
    line("search for a substring that is nowhere", search("漢字", 50, 0));
    line("search for two letters that are nowhere", search("qx", 50, 0));
    line("100 newest", rounds(|| assert_eq!(history.get_recent(100).unwrap().len(), 100)));
    let after = (memory("VmRSS:"), memory("VmHWM:"));
    let (grown, peak) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    println!("memory that these queries took: {grown} KiB, at the peak {peak} KiB (at most {MEMORY_BOUND})");
    if missed || peak > MEMORY_BOUND { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
