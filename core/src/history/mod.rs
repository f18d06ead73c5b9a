//! Prompt history: what the user typed, kept in SQLite for recall and search (SPEC section 12).
//!
//! The database is shared with the agent, which has the same schema, and with other processes:
//!
//! ```sql
//! history(id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL, created_at INTEGER NOT NULL, cwd TEXT)
//! idx_history_created_at ON history(created_at DESC)
//! history_fts USING fts5(prompt, content='history', content_rowid='id')  -- kept by the insert trigger history_ai
//! ```
//!
//! It runs in WAL mode with `synchronous = NORMAL` and a busy timeout of 5 s, or with a rollback journal where WAL is
//! refused. What [`HistoryStorage::flush`] has confirmed survives the end of the process; a power cut can take the last
//! transactions, never the file.

mod database;
mod fault;
mod query;
mod schema;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::{Error, Result};
use database::Database;
use fault::Fault;
use writer::Writer;

/// The most entries that one query returns.
pub const MAX_LIMIT: usize = 1000;

/// Prompts that wait for the database take at most this many bytes of memory. While it cannot be written (a disk that is
/// full for days), [`HistoryStorage::add`] refuses prompts beyond this bound, with an error; it never drops one that
/// it accepted.
pub const MAX_QUEUED_BYTES: usize = 64 << 20;

/// One prompt of the history.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct HistoryEntry {
    /// The row id: positive, ascending in the order of writing, never given twice.
    pub id: i64,
    /// The text, without white space around it.
    pub prompt: String,
    /// When it was added, in seconds since 1970-01-01T00:00:00Z.
    pub created_at: i64,
    /// The working directory it was typed in, if that was given.
    pub cwd: Option<String>,
}

/// A handle to the prompt history. It can be shared between threads; several handles and processes can have the same
/// database open.
///
/// Dropping the handle writes what is queued; [`close`](Self::close) does the same and tells whether it worked. A handle
/// must not be used across `fork`: open a new one in the child.
pub struct HistoryStorage {
    path: PathBuf,
    writer: Writer,
    reader: Mutex<Reader>,
}

/// The connection for queries, beside the writer's, so that queries do not wait for transactions.
enum Reader {
    /// To be opened by the next query.
    Idle,
    Open(Database),
    Closed,
}

impl HistoryStorage {
    /// Opens the history at `path`. A missing directory (mode 0700) and file (0600) are made; databases of the agent,
    /// of all its forms, are brought to today's schema with their rows and ids kept; a full-text index that misses
    /// prompts or is damaged is rebuilt from the table.
    ///
    /// Where the database cannot be written (read-only, full disk), it is opened for reading if that is possible;
    /// prompts are then queued and [`flush`](Self::flush) says why they are not written.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an empty path; [`Error::History`] if the file is not a database or has another
    /// program's `history` table (it is left as it is), is locked, or cannot be opened; [`Error::Io`] if the directory or
    /// the file cannot be created.
    pub fn open(path: impl AsRef<Path>) -> Result<HistoryStorage> {
        let path = path.as_ref();
        // Absolute, so that SQLite takes no path for a URI or for `:memory:`.
        let path = std::path::absolute(path)
            .map_err(|error| Error::InvalidArgument(format!("{:?} is no path for a history: {error}", path)))?;
        let (database, reader) = match Database::open_writable(&path) {
            Ok(database) => (Some(database), Reader::Idle),
            Err(fault @ Fault::Foreign(_)) => return Err(fault.at(&path)),
            Err(fault) => match Database::open_for_queries(&path) {
                Ok(reader) => {
                    log::warn!("prompt history {}: open for reading only: {}", path.display(), fault.reason());
                    (None, Reader::Open(reader))
                }
                Err(_) => return Err(fault.at(&path)),
            },
        };
        let writer = Writer::start(&path, database)?;
        Ok(HistoryStorage { path, writer, reader: Mutex::new(reader) })
    }

    /// The database file, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a prompt, typed now in `cwd`. White space around it is removed; an empty prompt, and one that equals the
    /// prompt written last, by whichever process, are ignored.
    ///
    /// Returns at once: a background thread writes. Queries see the prompt when it has been written; call
    /// [`flush`](Self::flush) to wait for that.
    ///
    /// # Errors
    /// [`Error::Closed`] after [`close`](Self::close). [`Error::History`] if the prompt would take the queue beyond
    /// [`MAX_QUEUED_BYTES`]: it is not kept then.
    pub fn add(&self, prompt: &str, cwd: Option<&str>) -> Result<()> {
        // JavaScript's trim, which the agent uses, takes the byte order mark as white space too.
        let prompt = prompt.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if prompt.is_empty() { Ok(()) } else { self.writer.add(prompt, cwd) }
    }

    /// The newest prompts, at most `limit` (clamped to [`MAX_LIMIT`]), newest first; within one second, the one written
    /// last comes first.
    ///
    /// # Errors
    /// [`Error::Closed`] after [`close`](Self::close); [`Error::History`] if the database cannot be read.
    pub fn get_recent(&self, limit: usize) -> Result<Vec<HistoryEntry>> {
        self.read(|database| query::recent(&database.conn, limit.min(MAX_LIMIT)))
    }

    /// The newest prompts that match every word of `text`, at most `limit` (clamped to [`MAX_LIMIT`]), newest first. No
    /// text is an error; one without words matches nothing.
    ///
    /// Words are what white space separates. A word of three or more letters and digits in an alphabetic script
    /// (Latin, Greek, Cyrillic) matches words that begin with it, with or without diacritics. Any other word (shorter,
    /// with punctuation, Chinese, Japanese, Korean, ...) matches wherever a prompt contains it. Case does not matter. Of
    /// more than 1,024 different words the first 1,024 count.
    ///
    /// # Errors
    /// [`Error::Closed`] after [`close`](Self::close); [`Error::History`] if the database cannot be read.
    pub fn search(&self, text: &str, limit: usize) -> Result<Vec<HistoryEntry>> {
        let limit = limit.min(MAX_LIMIT);
        self.read(|database| match query::search(&database.conn, text, limit, database.indexed) {
            Err(fault) if fault.is_damage() && database.indexed => {
                log::warn!("prompt history {}: rebuilding the index: {}", self.path.display(), fault.reason());
                // Whatever hinders the repair (a read-only file, a full disk), the table can still be scanned.
                database.indexed = schema::repair(&database.conn).unwrap_or(false);
                query::search(&database.conn, text, limit, database.indexed)
            }
            outcome => outcome,
        })
    }

    /// Waits until every prompt added before is in the database.
    ///
    /// # Errors
    /// [`Error::History`] if they could not be written; they stay queued and are tried again at the next `add`, `flush`
    /// or `close`, and after a while. The wait is bounded by the busy timeout and the time of writing.
    pub fn flush(&self) -> Result<()> {
        self.writer.flush()
    }

    /// Writes what is queued and closes the database. Closing again does nothing.
    ///
    /// # Errors
    /// Those of [`flush`](Self::flush); the handle stays open then, so that closing can be tried again. Dropping it gives
    /// the prompts up after one more attempt.
    pub fn close(&self) -> Result<()> {
        self.writer.close()?;
        *self.reader() = Reader::Closed;
        Ok(())
    }

    fn reader(&self) -> MutexGuard<'_, Reader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a query on a connection to the file that is at the path now. The connection is given up after an error.
    fn read<T>(&self, query: impl FnOnce(&mut Database) -> Result<Vec<T>, Fault>) -> Result<Vec<T>> {
        let mut reader = self.reader();
        let current = match std::mem::replace(&mut *reader, Reader::Idle) {
            Reader::Closed => {
                *reader = Reader::Closed;
                return Err(Error::Closed);
            }
            Reader::Open(database) if database.is_current() => Some(database),
            _ => None,
        };
        if current.is_none() && !self.path.exists() {
            return Ok(Vec::new());
        }
        let mut database = match current {
            Some(database) => database,
            None => Database::open_for_queries(&self.path).map_err(|fault| fault.at(&self.path))?,
        };
        let found = query(&mut database).map_err(|fault| fault.at(&self.path))?;
        if !database.single_use {
            *reader = Reader::Open(database);
        }
        Ok(found)
    }
}

impl Drop for HistoryStorage {
    fn drop(&mut self) {
        self.writer.stop();
    }
}

impl fmt::Debug for HistoryStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryStorage").field("path", &self.path).finish_non_exhaustive()
    }
}
