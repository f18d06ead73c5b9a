//! What the core logs, kept until JavaScript fetches it.
//!
//! Nothing calls JavaScript from here: a logger that throws is a matter of the side that calls it.

use log::{Level, LevelFilter, Log, Metadata, Record};
use napi_derive::napi;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Messages that are kept while nobody fetches them; then the oldest go.
const KEPT: usize = 256;

struct Kept {
    any: AtomicBool,
    messages: Mutex<VecDeque<String>>,
}

static KEPT_MESSAGES: Kept = Kept { any: AtomicBool::new(false), messages: Mutex::new(VecDeque::new()) };

impl Log for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn && metadata.target().starts_with("xcsh_session")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = if record.level() == Level::Error { "error" } else { "warn" };
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() == KEPT {
            messages.pop_front();
        }
        messages.push_back(format!("{level} {}", record.args()));
        self.any.store(true, Ordering::Release);
    }

    fn flush(&self) {}
}

/// Starts keeping messages.
#[napi]
pub fn keep_log() {
    if log::set_logger(&KEPT_MESSAGES).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

/// The messages since the last call, each `<level> <text>`.
#[napi]
pub fn take_log() -> Option<Vec<String>> {
    if !KEPT_MESSAGES.any.swap(false, Ordering::AcqRel) {
        return None;
    }
    Some(KEPT_MESSAGES.messages.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect())
}
