//! The prompt history.

use crate::border;
use crate::error::{Failure, XcshError};
use crate::input::{handle, optional, text};
use crate::output::out;
use crate::status::XcshStatus;
use crate::string::XcshString;
use session::{HistoryEntry, HistoryStorage};
use std::ffi::c_char;

/// The prompt history, an SQLite database. Free it with xcsh_history_free(). Usable from several threads; several processes
/// can have the same database open. Not to be used across fork(): open a new one in the child. A program that opens the
/// same file with an SQLite of its own breaks the locks of both.
pub struct XcshHistory(HistoryStorage);

fn history(history: Option<&XcshHistory>) -> Result<&HistoryStorage, Failure> {
    handle(history, "history").map(|history| &history.0)
}

fn json(entries: &[HistoryEntry]) -> Result<XcshString, Failure> {
    serde_json::to_vec(entries).map(XcshString::new).map_err(|error| Failure::other(error.to_string()))
}

/// Opens the history at a path (that of the options is xcsh_options_dir() of XCSH_DIR_HISTORY_DB); missing directories and
/// the file are made, and databases of older forms brought up to date. Free `history` with xcsh_history_free(). Errors:
/// XCSH_HISTORY where the file is something else (it is left as it is), is locked or cannot be opened; XCSH_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_history_open(
    path: *const c_char,
    path_len: usize,
    history: *mut *mut XcshHistory,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let history = out(history, "history")?;
        history.give(XcshHistory(HistoryStorage::open(text(path, path_len, "path")?)?));
        Ok(())
    })
}

/// Adds a prompt. White space around it is removed; an empty one, and one that equals the last, are ignored. `cwd` is the
/// working directory it was typed in; NULL with length 0: none. Returns at once; a thread of the library writes. Errors:
/// XCSH_CLOSED; XCSH_HISTORY where too much waits to be written already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_history_add(
    history: Option<&XcshHistory>,
    prompt: *const c_char,
    prompt_len: usize,
    cwd: *const c_char,
    cwd_len: usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let (prompt, cwd) = (text(prompt, prompt_len, "prompt")?, optional(cwd, cwd_len, "cwd")?);
        self::history(history)?.add(prompt, cwd)?;
        Ok(())
    })
}

/// The newest prompts, at most `limit` and at most 1000, newest first: a JSON array of objects with id, prompt, created_at
/// (seconds since 1970) and cwd (a string or null). Free `json` with xcsh_string_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_history_recent(
    history: Option<&XcshHistory>,
    limit: usize,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        json.give(self::json(&self::history(history)?.get_recent(limit)?)?);
        Ok(())
    })
}

/// The newest prompts that match every word of `query`, as xcsh_history_recent() gives them. No query is an error; one
/// without words matches nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_history_search(
    history: Option<&XcshHistory>,
    query: *const c_char,
    query_len: usize,
    limit: usize,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        let query = text(query, query_len, "query")?;
        json.give(self::json(&self::history(history)?.search(query, limit)?)?);
        Ok(())
    })
}

/// Waits until everything that was added is in the database. Error: XCSH_HISTORY; what could not be written is kept and
/// tried again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_history_flush(history: Option<&XcshHistory>, err: *mut *mut XcshError) -> XcshStatus {
    border!(err, {
        self::history(history)?.flush()?;
        Ok(())
    })
}

/// Writes what waits and closes the database; everything after that fails with XCSH_CLOSED, but closing again does nothing.
/// After an error the history stays open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_history_close(history: Option<&XcshHistory>, err: *mut *mut XcshError) -> XcshStatus {
    border!(err, {
        self::history(history)?.close()?;
        Ok(())
    })
}

/// Frees a history. NULL does nothing. What waits to be written is tried once more.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_history_free(history: Option<Box<XcshHistory>>) {
    border::free(history);
}
