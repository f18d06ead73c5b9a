//! Prompt history through its public surface (SPEC section 12), against databases that plain SQL made.

mod faults;
mod processes;
mod queue;
mod schema;
mod search;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};

use rusqlite::Connection;
use tempfile::TempDir;
use xcsh_session::HistoryStorage;

/// The statements of the agent.
const AGENT_INSERT: &str = "INSERT INTO history(prompt, cwd) VALUES (?,?)";
const AGENT_RECENT: &str =
    "SELECT h.id,h.prompt,h.created_at,h.cwd FROM history h ORDER BY h.created_at DESC, h.id DESC LIMIT ?";
const AGENT_SEARCH: &str = "SELECT h.id,h.prompt,h.created_at,h.cwd FROM history h \
    JOIN history_fts f ON h.id=f.rowid WHERE history_fts MATCH ? ORDER BY h.created_at DESC, h.id DESC LIMIT ?";

struct Dir(TempDir);

impl Dir {
    fn new() -> Dir {
        Dir(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("history.db")
    }

    fn open(&self) -> HistoryStorage {
        HistoryStorage::open(self.path()).unwrap()
    }

    fn sql(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }
}

fn add_all(history: &HistoryStorage, prompts: &[&str]) {
    for prompt in prompts {
        history.add(prompt, None).unwrap();
    }
    history.flush().unwrap();
}

/// The prompts, newest first.
fn recent(history: &HistoryStorage) -> Vec<String> {
    history.get_recent(1000).unwrap().into_iter().map(|entry| entry.prompt).collect()
}

fn found(history: &HistoryStorage, text: &str) -> Vec<String> {
    history.search(text, 1000).unwrap().into_iter().map(|entry| entry.prompt).collect()
}

fn text(conn: &Connection, sql: &str) -> String {
    conn.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0))
        .map(|value| match value {
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Integer(number) => number.to_string(),
            other => format!("{other:?}"),
        })
        .unwrap()
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn side(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Everything logged at "warn" and above by this process.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Capture;

impl log::Log for Capture {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }
    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            LOGGED.lock().unwrap().push(record.args().to_string());
        }
    }
    fn flush(&self) {}
}

fn capture_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Capture).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
    });
}

/// How many log lines about this database contain the text.
fn logged(path: &Path, text: &str) -> usize {
    let path = path.display().to_string();
    LOGGED.lock().unwrap().iter().filter(|line| line.contains(&path) && line.contains(text)).count()
}
