//! Snapshots: made without leaving a trace.

use super::XcshSession;
use crate::border;
use crate::error::XcshError;
use crate::input::{handle, items, text};
use crate::options::{XcshOptions, read_options};
use crate::output::out;
use crate::status::XcshStatus;
use session::Session;
use std::ffi::c_char;
use std::path::Path;

/// Reads a session file as it is now. Nothing is changed by that: no migration is written, no lock taken. Of a file that is
/// being written, the complete lines are seen. Older versions read as if they had been migrated. Errors:
/// XCSH_NOT_FOUND, XCSH_NOT_A_SESSION, XCSH_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_read(
    options: Option<&XcshOptions>,
    path: *const c_char,
    path_len: usize,
    session: *mut *mut XcshSession,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let session = out(session, "session")?;
        let options = handle(options, "options")?.get();
        let path = Path::new(text(path, path_len, "path")?);
        session.give(XcshSession::file(Session::read_from(&*options.storage, path, read_options(&options))?));
        Ok(())
    })
}

/// Reads a session from its `content_len` bytes, of which a copy is kept. `path` stands in errors. Error:
/// XCSH_NOT_A_SESSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_parse(
    options: Option<&XcshOptions>,
    content: *const u8,
    content_len: usize,
    path: *const c_char,
    path_len: usize,
    session: *mut *mut XcshSession,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let session = out(session, "session")?;
        let options = handle(options, "options")?.get();
        let (content, path) = (items(content, content_len, "content")?, text(path, path_len, "path")?);
        session.give(XcshSession::file(Session::parse(content, path, read_options(&options))?));
        Ok(())
    })
}

/// Frees a session. NULL does nothing. Iterations and contexts that came from it stay usable.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_session_free(session: Option<Box<XcshSession>>) {
    border::free(session);
}
