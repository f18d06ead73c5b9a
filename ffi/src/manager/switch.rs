//! From one session to another. What the old session still had to write is written first; after an error it stays.

use super::{XcshManager, manager};
use crate::error::XcshError;
use crate::input::{optional, text};
use crate::output::optional_out;
use crate::status::XcshStatus;
use crate::string::XcshString;
use std::ffi::c_char;

/// Begins a new session in the same working directory. `parent_session` is the id or path of the one it comes from; NULL
/// with length 0: none. `path` may be NULL; else it is set to the new file, or to NULL in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_new_session(
    manager: Option<&XcshManager>,
    parent_session: *const c_char,
    parent_session_len: usize,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = optional_out(path);
        let parent = optional(parent_session, parent_session_len, "parent_session")?;
        let file = self::manager(manager)?.new_session(parent)?;
        path.give_some(file.map(|file| XcshString::path(&file)).transpose()?);
        Ok(())
    })
}

/// Goes to the session in another file, opening it as xcsh_manager_open() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_set_session_file(
    manager: Option<&XcshManager>,
    path: *const c_char,
    path_len: usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = text(path, path_len, "path")?;
        self::manager(manager)?.set_session_file(path)?;
        Ok(())
    })
}

/// Goes on in a copy of the session, which has the same entries, a new id and a new file. `old_path` and `new_path` may be
/// NULL; else they are set to the file that was left, which stays as it is, and to the new one. In memory nothing happens
/// and both are NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_fork(
    manager: Option<&XcshManager>,
    old_path: *mut *mut XcshString,
    new_path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let (old_path, new_path) = (optional_out(old_path), optional_out(new_path));
        if let Some(forked) = self::manager(manager)?.fork()? {
            let (old, new) = (XcshString::path(&forked.old_file)?, XcshString::path(&forked.new_file)?);
            old_path.give(old);
            new_path.give(new);
        }
        Ok(())
    })
}

/// Goes on in a new session that holds the path from the root to an entry only, with the labels of the entries on it.
/// `path` may be NULL; else it is set to the new file, or to NULL in memory. Error: XCSH_ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_create_branched_session(
    manager: Option<&XcshManager>,
    entry_id: *const c_char,
    entry_id_len: usize,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = optional_out(path);
        let entry_id = text(entry_id, entry_id_len, "entry_id")?;
        let file = self::manager(manager)?.create_branched_session(entry_id)?;
        path.give_some(file.map(|file| XcshString::path(&file)).transpose()?);
        Ok(())
    })
}

/// Moves the session to another working directory: its file and its artifacts go to the directory of that one. After an
/// error everything is where it was, as far as it can be brought back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_move_to(
    manager: Option<&XcshManager>,
    cwd: *const c_char,
    cwd_len: usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let cwd = text(cwd, cwd_len, "cwd")?;
        self::manager(manager)?.move_to(cwd)?;
        Ok(())
    })
}
