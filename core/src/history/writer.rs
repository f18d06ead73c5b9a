//! The queue of prompts that are not in the database yet, and the one thread that empties it.
//!
//! Invariants: prompts leave the queue only after the transaction that holds them has committed; they are written in the
//! order of their adding; the queue's lock is never held while SQLite works, so `add` never waits for a disk.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, ToSql, Transaction, TransactionBehavior, params_from_iter};

use super::database::Database;
use super::fault::Fault;
use super::{MAX_QUEUED_BYTES, schema};
use crate::{Error, Result};

/// A transaction holds at most so many prompts, so that other processes get the lock in between.
const MAX_BATCH: usize = 4096;
/// And about so many bytes.
const MAX_BATCH_BYTES: usize = 8 << 20;
/// A statement with a trigger opens a savepoint, and FTS5 writes its pending terms out at each savepoint. Several rows
/// in one statement share that cost.
const ROWS_PER_STATEMENT: usize = 512;
/// After a failure, the queue is tried again after this time even if nobody adds or flushes.
const RETRY: Duration = Duration::from_secs(30);
/// What a queued prompt takes beside its text, about.
const OVERHEAD: usize = 96;

/// One prompt on its way.
struct Pending {
    prompt: String,
    cwd: Option<String>,
    created_at: i64,
}

impl Pending {
    fn bytes(&self) -> usize {
        self.prompt.len() + self.cwd.as_ref().map_or(0, String::len) + OVERHEAD
    }
}

#[derive(Default)]
struct State {
    queue: VecDeque<Pending>,
    /// Bytes of the queue and of the batch being written.
    bytes: usize,
    /// Prompts ever queued, and of those, prompts that need no more work.
    added: u64,
    settled: u64,
    /// Transactions ever begun.
    attempts: u64,
    /// The number of the last attempt that failed and why; `None` after one that succeeded.
    failure: Option<(u64, String)>,
    /// Somebody wants an attempt although the last one failed.
    asked: bool,
    closing: bool,
    /// The thread has ended; nothing will be written any more.
    ended: bool,
}

struct Shared {
    path: PathBuf,
    state: Mutex<State>,
    /// Wakes the thread.
    work: Condvar,
    /// Wakes those who wait for it.
    done: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The public half: it queues and waits.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Without a database the thread tries to open one at each attempt.
    pub(super) fn start(path: &Path, database: Option<Database>) -> Result<Writer> {
        let shared =
            Arc::new(Shared { path: path.into(), state: Mutex::default(), work: Condvar::new(), done: Condvar::new() });
        let worker = Worker { shared: Arc::clone(&shared), database };
        let thread = thread::Builder::new()
            .name("prompt-history".into())
            .spawn(move || worker.run())
            .map_err(|source| Error::Io { op: "start the writer thread of", path: path.into(), source })?;
        Ok(Writer { shared, thread: Mutex::new(Some(thread)) })
    }

    /// `prompt` is trimmed and not empty.
    pub(super) fn add(&self, prompt: &str, cwd: Option<&str>) -> Result<()> {
        let created_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        let mut state = self.shared.state();
        if state.closing {
            return Err(Error::Closed);
        }
        if state.ended {
            return Err(self.ended());
        }
        if state.queue.back().is_some_and(|last| last.prompt == prompt) {
            return Ok(());
        }
        let size = prompt.len() + cwd.map_or(0, str::len) + OVERHEAD;
        if state.bytes + size > MAX_QUEUED_BYTES {
            let waiting = state.added - state.settled;
            let why = state.failure.as_ref().map_or("they are being written", |(_, reason)| reason);
            return Err(Error::History {
                path: self.shared.path.clone(),
                reason: format!("the prompt was not kept: {waiting} prompts already wait for the database ({why})"),
            });
        }
        state.bytes += size;
        state.added += 1;
        state.queue.push_back(Pending { prompt: prompt.into(), cwd: cwd.map(Into::into), created_at });
        state.asked = true;
        drop(state);
        self.shared.work.notify_one();
        Ok(())
    }

    /// Waits until everything that was added before is in the database, or until one attempt that began after this
    /// call has failed.
    pub(super) fn flush(&self) -> Result<()> {
        let mut state = self.shared.state();
        let (goal, before) = (state.added, state.attempts);
        if state.settled < goal {
            state.asked = true;
            self.shared.work.notify_one();
        }
        while state.settled < goal {
            if let Some((attempt, reason)) = &state.failure
                && *attempt > before
            {
                let waiting = state.added - state.settled;
                return Err(Error::History {
                    path: self.shared.path.clone(),
                    reason: format!("{waiting} prompts are not written yet, they are kept and tried again: {reason}"),
                });
            }
            if state.ended {
                return Err(self.ended());
            }
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Flushes, then refuses further prompts and ends the thread. After an error everything is as before.
    pub(super) fn close(&self) -> Result<()> {
        loop {
            self.flush()?;
            let mut state = self.shared.state();
            if state.settled == state.added {
                state.closing = true;
                break;
            }
        }
        self.stop();
        Ok(())
    }

    /// Ends the thread, after one last attempt if anything is queued, and closes its connection.
    pub(super) fn stop(&self) {
        let mut state = self.shared.state();
        state.closing = true;
        state.asked = true;
        drop(state);
        self.shared.work.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            log::error!("prompt history {}: the writer thread panicked", self.shared.path.display());
        }
        let state = self.shared.state();
        if state.added > state.settled {
            log::error!(
                "prompt history {}: {} prompts were never written",
                self.shared.path.display(),
                state.added - state.settled
            );
        }
    }

    fn ended(&self) -> Error {
        Error::History {
            path: self.shared.path.clone(),
            reason: "the writer thread has ended; open the history again".into(),
        }
    }
}

/// The half on the thread.
struct Worker {
    shared: Arc<Shared>,
    database: Option<Database>,
}

/// However the thread ends, those who wait for it must learn so.
struct EndNotice(Arc<Shared>);

impl Drop for EndNotice {
    fn drop(&mut self) {
        self.0.state().ended = true;
        self.0.done.notify_all();
    }
}

impl Worker {
    fn run(mut self) {
        let _notice = EndNotice(Arc::clone(&self.shared));
        while let Some((attempt, batch)) = self.next_batch() {
            let outcome = self.attempt(&batch);
            self.settle(attempt, batch, outcome);
        }
    }

    /// Waits for something to write. `None` when closing and there is nothing left that an attempt was not asked for.
    fn next_batch(&self) -> Option<(u64, Vec<Pending>)> {
        let mut state = self.shared.state();
        loop {
            if state.queue.is_empty() {
                if state.closing {
                    return None;
                }
                state = self.shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else if state.failure.is_none() || state.asked {
                break;
            } else if state.closing {
                return None;
            } else {
                let (next, waited) =
                    self.shared.work.wait_timeout(state, RETRY).unwrap_or_else(PoisonError::into_inner);
                state = next;
                state.asked |= waited.timed_out();
            }
        }
        state.asked = false;
        state.attempts += 1;
        let mut bytes = 0;
        let fits = state.queue.iter().take(MAX_BATCH).take_while(|pending| {
            bytes += pending.bytes();
            bytes <= MAX_BATCH_BYTES
        });
        let count = fits.count().max(1);
        Some((state.attempts, state.queue.drain(..count).collect()))
    }

    fn settle(&mut self, attempt: u64, batch: Vec<Pending>, outcome: Result<(), Fault>) {
        let mut state = self.shared.state();
        match outcome {
            Ok(()) => {
                state.settled += batch.len() as u64;
                state.bytes -= batch.iter().map(Pending::bytes).sum::<usize>();
                if state.failure.take().is_some() {
                    log::info!("prompt history {}: written again", self.shared.path.display());
                }
            }
            Err(fault) => {
                let reason = fault.reason();
                if state.failure.is_none() {
                    log::warn!("prompt history {}: {reason}; prompts are kept", self.shared.path.display());
                }
                state.failure = Some((attempt, reason));
                for pending in batch.into_iter().rev() {
                    state.queue.push_front(pending);
                }
            }
        }
        drop(state);
        self.shared.done.notify_all();
    }

    /// One transaction, on a connection to the file that is at the path now.
    fn attempt(&mut self, batch: &[Pending]) -> Result<(), Fault> {
        if self.database.as_ref().is_some_and(|database| !database.is_current()) {
            self.database = None;
        }
        let database = match &mut self.database {
            Some(database) => database,
            none => none.insert(Database::open_writable(&self.shared.path)?),
        };
        let outcome = match write(&database.conn, batch) {
            // The trigger writes to the full-text index, so a damaged index refuses prompts.
            Err(fault) if fault.is_damage() && schema::repair(&database.conn)? => write(&database.conn, batch),
            outcome => outcome,
        };
        if outcome.as_ref().is_err_and(|fault| !fault.is_contention() && !fault.is_full()) {
            self.database = None;
        }
        outcome
    }
}

/// Inserts all prompts but those that equal the one before. What is before is read under the write lock: no other
/// process can put a prompt between the comparison and the insertion.
fn write(conn: &Connection, batch: &[Pending]) -> Result<(), Fault> {
    let tx = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    let last: Option<Vec<u8>> = tx
        .query_row("SELECT CAST(prompt AS BLOB) FROM history ORDER BY id DESC LIMIT 1", [], |row| row.get(0))
        .optional()?;
    let mut last = last.as_deref().unwrap_or_default();
    let mut fresh: Vec<&Pending> = Vec::with_capacity(batch.len());
    for pending in batch {
        if last != pending.prompt.as_bytes() {
            last = pending.prompt.as_bytes();
            fresh.push(pending);
        }
    }
    for rows in fresh.chunks(ROWS_PER_STATEMENT) {
        let mut sql = String::from("INSERT INTO history(prompt, created_at, cwd) VALUES (?,?,?)");
        sql.push_str(&",(?,?,?)".repeat(rows.len() - 1));
        let values = rows.iter().flat_map(|row| [&row.prompt as &dyn ToSql, &row.created_at, &row.cwd]);
        tx.prepare(&sql)?.execute(params_from_iter(values))?;
    }
    Ok(tx.commit()?)
}
