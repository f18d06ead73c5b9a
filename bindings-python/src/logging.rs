//! What the library logs, as records of `logging.getLogger("xcsh_session")`.
//!
//! The library logs while it holds locks and from threads of its own. A handler may do anything, also call this
//! package again. So records wait in a queue and are delivered when a call into this module is over, when no lock is
//! held.

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// More records than this wait only where something goes wrong over and over: the oldest are given up.
const QUEUED: usize = 1000;

struct Queue {
    records: Mutex<VecDeque<(u8, String)>>,
    filled: AtomicBool,
}

static QUEUE: Queue = Queue { records: Mutex::new(VecDeque::new()), filled: AtomicBool::new(false) };
static EMIT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

impl Log for Queue {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Debug && metadata.target().starts_with("xcsh_session")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = match record.level() {
            Level::Error => 40,
            Level::Warn => 30,
            Level::Info => 20,
            Level::Debug | Level::Trace => 10,
        };
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() == QUEUED {
            records.pop_front();
        }
        records.push_back((level, record.args().to_string()));
        self.filled.store(true, Ordering::Release);
    }

    fn flush(&self) {}
}

/// Makes the queue the destination of the `log` crate.
pub(crate) fn install() {
    if log::set_logger(&QUEUE).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}

/// Hands the waiting records to Python. What a handler raises is reported as unraisable: the call it comes after has
/// its own result.
pub(crate) fn deliver(py: Python<'_>) {
    if !QUEUE.filled.swap(false, Ordering::Acquire) {
        return;
    }
    let records = std::mem::take(&mut *QUEUE.records.lock().unwrap_or_else(PoisonError::into_inner));
    let emit = EMIT.get_or_try_init(py, || Ok(py.import("xcsh_session._logging")?.getattr("emit")?.unbind()));
    for record in records {
        if let Err(error) =
            emit.as_ref().map_err(|error: &PyErr| error.clone_ref(py)).and_then(|emit| emit.call1(py, record))
        {
            error.write_unraisable(py, None);
        }
    }
}

/// Delivers what background threads logged since the last call.
#[pyfunction]
pub(crate) fn deliver_logs(py: Python<'_>) {
    deliver(py);
}
