//! Failures, and the error object that C sees of them.

use crate::border;
use crate::status::{self, XCSH_INVALID_ARGUMENT, XCSH_INVALID_UTF8, XCSH_NULL_POINTER, XCSH_PANIC, XCSH_RENUMBERED};
use crate::status::{XCSH_OTHER, XcshStatus};
use crate::string::{Terminated, XcshStr};
use session::Error;

/// What went wrong. Every function that takes `XcshError **err` sets it: to NULL on success, else to an error that
/// you own; free it with xcsh_error_free(). `err` itself may be NULL: then there is only the status.
pub struct XcshError {
    status: XcshStatus,
    code: Terminated,
    message: Terminated,
    path: Option<Terminated>,
    line: u64,
    entry_id: Option<Terminated>,
    os: i32,
}

/// What a body returns when it did not succeed.
pub(crate) struct Failure {
    pub(crate) status: XcshStatus,
    code: &'static str,
    message: String,
    path: Option<String>,
    line: u64,
    entry_id: Option<String>,
    os: i32,
}

impl Failure {
    fn new(status: XcshStatus, message: String) -> Failure {
        let code = status::name(status).and_then(|name| name.to_str().ok()).unwrap_or("Other");
        Failure { status, code, message, path: None, line: 0, entry_id: None, os: 0 }
    }

    pub(crate) fn null(what: &str) -> Failure {
        Failure::new(XCSH_NULL_POINTER, format!("{what} must not be NULL"))
    }

    pub(crate) fn utf8(what: &str, bytes: &[u8]) -> Failure {
        let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        Failure::new(XCSH_INVALID_UTF8, format!("{what} is not valid UTF-8 at byte {valid}"))
    }

    pub(crate) fn argument(message: String) -> Failure {
        Failure::new(XCSH_INVALID_ARGUMENT, message)
    }

    pub(crate) fn renumbered() -> Failure {
        let text = "entries have other numbers since this iteration began; begin a new one";
        Failure::new(XCSH_RENUMBERED, text.to_owned())
    }

    pub(crate) fn panic(text: &str) -> Failure {
        Failure::new(XCSH_PANIC, format!("the library panicked, which is a bug: {text}"))
    }

    pub(crate) fn other(message: String) -> Failure {
        Failure::new(XCSH_OTHER, message)
    }

    /// An error that is kept as code and text only.
    pub(crate) fn of_code(code: &'static str, message: String) -> Failure {
        Failure { code, ..Failure::new(status::of_code(code), message) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            path: error.path().map(|path| path.to_string_lossy().into_owned()),
            line: error.line().unwrap_or(0),
            entry_id: error.entry_id().map(str::to_owned),
            os: error.io().and_then(std::io::Error::raw_os_error).unwrap_or(0),
            ..Failure::of_code(error.code(), error.to_string())
        }
    }
}

impl XcshError {
    pub(crate) fn new(failure: Failure) -> XcshError {
        let Failure { status, code, message, path, line, entry_id, os } = failure;
        // Whatever an argument brought into it, the whole text is to be seen as a C string.
        let text = |text: String| Terminated::new(text.replace('\0', "\u{fffd}"));
        let (path, entry_id) = (path.map(text), entry_id.map(text));
        XcshError { status, code: Terminated::new(code), message: text(message), path, line, entry_id, os }
    }
}

fn view(text: Option<&Terminated>) -> XcshStr {
    text.map_or(XcshStr::NONE, Terminated::view)
}

/// The status that the function returned; XCSH_OK for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_error_status(error: Option<&XcshError>) -> XcshStatus {
    error.map_or(status::XCSH_OK, |error| error.status)
}

/// The stable name of the kind of error, such as "NotFound"; the same in every language that the library serves. This
/// and the other texts of an error have a NUL behind them and none in them, so they are C strings too; they are borrowed
/// until the error is freed. `data` is NULL for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_error_code(error: Option<&XcshError>) -> XcshStr {
    view(error.map(|error| &error.code))
}

/// What happened, to which file, and, where there is something to do about it, what to do. One line of English.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_error_message(error: Option<&XcshError>) -> XcshStr {
    view(error.map(|error| &error.message))
}

/// The file or directory that the error is about; `data` is NULL where there is none. What is not UTF-8 in it is
/// replaced by U+FFFD.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_error_path(error: Option<&XcshError>) -> XcshStr {
    view(error.and_then(|error| error.path.as_ref()))
}

/// The line of the file that the error is about, counted from 1; 0 where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_error_line(error: Option<&XcshError>) -> u64 {
    error.map_or(0, |error| error.line)
}

/// Of an append: the id of the entry, which is in memory although it could not be written yet. Do not append it again:
/// the next operation tries to write it. `data` is NULL where nothing was appended.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_error_entry_id(error: Option<&XcshError>) -> XcshStr {
    view(error.and_then(|error| error.entry_id.as_ref()))
}

/// The error number of the operating system (errno) at the bottom of the error; 0 where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_error_os(error: Option<&XcshError>) -> i32 {
    error.map_or(0, |error| error.os)
}

/// Frees an error. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_error_free(error: Option<Box<XcshError>>) {
    border::free(error);
}
