//! Making, opening and freeing managers.

use super::XcshManager;
use crate::border;
use crate::error::XcshError;
use crate::input::{handle, text};
use crate::options::XcshOptions;
use crate::output::out;
use crate::status::XcshStatus;
use session::SessionManager;
use std::ffi::c_char;
use std::sync::Arc;

/// Makes a new session of a working directory. Its file is made with the first assistant message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_create(
    options: Option<&XcshOptions>,
    cwd: *const c_char,
    cwd_len: usize,
    manager: *mut *mut XcshManager,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let manager = out(manager, "manager")?;
        let options = handle(options, "options")?.get();
        let made = SessionManager::create(text(cwd, cwd_len, "cwd")?, options)?;
        manager.give(XcshManager(Arc::new(made)));
        Ok(())
    })
}

/// Makes a session that is never written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_in_memory(
    options: Option<&XcshOptions>,
    cwd: *const c_char,
    cwd_len: usize,
    manager: *mut *mut XcshManager,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let manager = out(manager, "manager")?;
        let options = handle(options, "options")?.get();
        let made = SessionManager::in_memory(text(cwd, cwd_len, "cwd")?, options);
        manager.give(XcshManager(Arc::new(made)));
        Ok(())
    })
}

/// Opens a session file. A missing or empty file becomes a new session at this path. A file that is no session is moved
/// aside first (xcsh_manager_moved_aside() tells where to) or refused, as the options say. A session of an older
/// version is migrated; one of a newer version can be read, not changed. Errors: XCSH_NOT_A_SESSION, XCSH_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_open(
    options: Option<&XcshOptions>,
    path: *const c_char,
    path_len: usize,
    manager: *mut *mut XcshManager,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let manager = out(manager, "manager")?;
        let options = handle(options, "options")?.get();
        let made = SessionManager::open(text(path, path_len, "path")?, options)?;
        manager.give(XcshManager(Arc::new(made)));
        Ok(())
    })
}

/// Opens the session that this terminal had last in the working directory, else the newest of the working directory, else
/// makes a new one. Errors: those of xcsh_manager_open().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_continue_recent(
    options: Option<&XcshOptions>,
    cwd: *const c_char,
    cwd_len: usize,
    manager: *mut *mut XcshManager,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let manager = out(manager, "manager")?;
        let options = handle(options, "options")?.get();
        let made = SessionManager::continue_recent(text(cwd, cwd_len, "cwd")?, options)?;
        manager.give(XcshManager(Arc::new(made)));
        Ok(())
    })
}

/// Makes a new session of a working directory with the entries of another session's file, which stays as it is. Errors:
/// XCSH_NOT_FOUND, XCSH_NOT_A_SESSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_fork_from(
    options: Option<&XcshOptions>,
    source: *const c_char,
    source_len: usize,
    cwd: *const c_char,
    cwd_len: usize,
    manager: *mut *mut XcshManager,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let manager = out(manager, "manager")?;
        let options = handle(options, "options")?.get();
        let (source, cwd) = (text(source, source_len, "source")?, text(cwd, cwd_len, "cwd")?);
        manager.give(XcshManager(Arc::new(SessionManager::fork_from(source, cwd, options)?)));
        Ok(())
    })
}

/// Frees a manager. NULL does nothing. What could not be written so far is tried once more, without waiting for a lock;
/// call xcsh_manager_close() before to flush and to hear of errors. Views and iterations of the manager stay usable, and
/// the session goes away with the last of them.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_manager_free(manager: Option<Box<XcshManager>>) {
    border::free(manager);
}
