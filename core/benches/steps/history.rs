//! Prompt history, against plain SQL on the same schema.

use crate::case::{Case, Goal, timed};
use crate::data::Data;
use rusqlite::{Connection, params};
use std::path::Path;
use std::rc::Rc;
use xcsh_session::HistoryStorage;

const ADDS: usize = 10_000;
const PROMPTS: usize = 100_000;
/// Bytes that a query over 100,000 prompts (20 MB) may add to the process.
const QUERY_PEAK: u64 = 8 << 20;

pub(crate) fn history(data: &Data, what: &str) -> Case {
    if what == "add" { add(data) } else { search(data) }
}

/// Prompts of a few to some thirty words; one in ten thousand has a rare word.
fn prompt(number: usize) -> String {
    const WORDS: &str = "fix the parser and run tests in module please refactor error handling of session storage add \
                         documentation for public functions src/main.rs multi-agent why build";
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut text = format!("prompt {number}:");
    let mut state = number as u64 + 1;
    for _ in 0..4 + number % 30 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(' ');
        text.push_str(words[(state >> 33) as usize % words.len()]);
    }
    if number % 10_000 == 77 {
        text.push_str(" quokka");
    }
    text
}

/// A database with the library's schema, so that both sides keep the same indexes.
fn database(path: &Path) -> Connection {
    drop(HistoryStorage::open(path).expect("DATA can be written to"));
    let database = Connection::open(path).expect("it was made");
    database.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL").expect("SQLite takes it");
    database
}

fn add(data: &Data) -> Case {
    let prompts: Rc<[String]> = (0..ADDS).map(prompt).collect();
    let (scratch, theirs) = (Rc::clone(&data.scratch), Rc::clone(&prompts));
    let fresh = move || tempfile::tempdir_in(scratch.path()).expect("DATA can be written to");
    let plain_fresh = fresh.clone();
    let ours = move || {
        let dir = fresh();
        let history = HistoryStorage::open(dir.path().join("history.db")).expect("a new database");
        timed(|| {
            prompts.iter().for_each(|prompt| history.add(prompt, Some("/work")).expect("SQLite takes it"));
            history.flush().expect("SQLite takes it");
        })
    };
    let plain = move || {
        let dir = plain_fresh();
        let database = database(&dir.path().join("history.db"));
        let mut insert = database.prepare("INSERT INTO history(prompt, cwd) VALUES (?,?)").expect("a table of ours");
        timed(|| {
            for prompt in &*theirs {
                insert.execute(params![prompt, "/work"]).expect("SQLite takes it");
            }
        })
    };
    Case::new(format!("{ADDS} prompts added to the history, and a flush"), Box::new(ours))
        .plain("an insert for each, committed by itself", Box::new(plain))
        .rounds(5)
        .goal(Goal::TimesFaster(5.0))
}

fn search(data: &Data) -> Case {
    let (scratch, path) = (Rc::clone(&data.scratch), data.scratch.path().join("history.db"));
    let mut database = database(&path);
    let transaction = database.transaction().expect("nobody else is there");
    for number in 0..PROMPTS {
        let at = 1_700_000_000 + number as i64 * 300;
        let insert = "INSERT INTO history(prompt, created_at, cwd) VALUES (?,?,?)";
        transaction.execute(insert, params![prompt(number), at, "/work"]).expect("SQLite takes it");
    }
    transaction.commit().expect("SQLite takes it");
    let history = HistoryStorage::open(&path).expect("it was made");
    let ours = move || {
        let _kept = &scratch;
        timed(|| assert_eq!(history.search("quokka", 50).expect("it can be searched").len(), 10))
    };
    let plain = move || {
        let sql = "SELECT prompt FROM history WHERE prompt LIKE '%quokka%' ORDER BY created_at DESC, id DESC LIMIT 50";
        let mut statement = database.prepare(sql).expect("a table of ours");
        timed(|| statement.query_map([], |row| row.get::<_, String>(0)).expect("it can be read").count())
    };
    Case::new(format!("a rare word in {PROMPTS} prompts"), Box::new(ours))
        .plain("LIKE over all", Box::new(plain))
        .goal(Goal::TimesFaster(50.0))
        .peak_at_most(QUERY_PEAK)
}
