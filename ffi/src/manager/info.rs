//! What a manager says about itself. What is in the session, its view says: xcsh_manager_view().

use super::{XcshManager, manager};
use crate::error::{Failure, XcshError};
use crate::output::out;
use crate::session::XcshSession;
use crate::status::XcshStatus;
use crate::string::XcshString;
use session::TitleSource;
use std::sync::Arc;

/// The session has no title, or its header does not say who chose it.
pub const XCSH_TITLE_UNKNOWN: u32 = 0;
/// The title was made up by the agent; it never replaces a user's.
pub const XCSH_TITLE_AUTO: u32 = 1;
/// The title was chosen by the user.
pub const XCSH_TITLE_USER: u32 = 2;

/// A view of the manager's session, for every function that reads one: always of the session and the leaf as they are at
/// the moment of the call. Free it with xcsh_session_free(); it can outlive the manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_view(
    manager: Option<&XcshManager>,
    session: *mut *mut XcshSession,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let session = out(session, "session")?;
        session.give(XcshSession::live(Arc::clone(self::manager(manager)?)));
        Ok(())
    })
}

/// The session id, 16 hex digits in sessions that this library made. Free `id` with xcsh_string_free(), as all strings
/// that the functions of a manager give.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_session_id(
    manager: Option<&XcshManager>,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = out(id, "id")?;
        id.give(XcshString::new(self::manager(manager)?.session_id()));
        Ok(())
    })
}

/// The session's file, which is not there before the first assistant message; NULL in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_session_file(
    manager: Option<&XcshManager>,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = out(path, "path")?;
        let file = self::manager(manager)?.session_file();
        path.give_some(file.map(|file| XcshString::path(&file)).transpose()?);
        Ok(())
    })
}

/// The directory of the session's file; empty in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_session_dir(
    manager: Option<&XcshManager>,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = out(path, "path")?;
        path.give(XcshString::path(&self::manager(manager)?.session_dir())?);
        Ok(())
    })
}

/// The working directory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_cwd(
    manager: Option<&XcshManager>,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = out(path, "path")?;
        path.give(XcshString::path(&self::manager(manager)?.cwd())?);
        Ok(())
    })
}

/// Who chose the title: one of XCSH_TITLE_.. The title itself is xcsh_session_title() of the view.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_title_source(
    manager: Option<&XcshManager>,
    source: *mut u32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let source = out(source, "source")?;
        source.set(match self::manager(manager)?.title_source() {
            None => XCSH_TITLE_UNKNOWN,
            Some(TitleSource::Auto) => XCSH_TITLE_AUTO,
            Some(TitleSource::User) => XCSH_TITLE_USER,
        });
        Ok(())
    })
}

/// Whether the session is written to a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_is_persisted(
    manager: Option<&XcshManager>,
    persisted: *mut bool,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let persisted = out(persisted, "persisted")?;
        persisted.set(self::manager(manager)?.is_persisted());
        Ok(())
    })
}

/// Where the bytes went of a file that was no session when it was opened; NULL where it was one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_moved_aside(
    manager: Option<&XcshManager>,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = out(path, "path")?;
        let aside = self::manager(manager)?.moved_aside();
        path.give_some(aside.map(|aside| XcshString::path(&aside)).transpose()?);
        Ok(())
    })
}

/// What keeps memory and file apart: NULL while all is well, else an error with status, code and message, to be freed with
/// xcsh_error_free(). See xcsh_manager_recover().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_persist_error(
    manager: Option<&XcshManager>,
    recorded: *mut *mut XcshError,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let recorded = out(recorded, "recorded")?;
        let error = self::manager(manager)?.persist_error();
        recorded.give_some(error.map(|error| XcshError::new(Failure::of_code(error.code, error.message))));
        Ok(())
    })
}

/// A count that goes up when entries get other numbers: when the manager goes to another session, or another program
/// replaces the file. Numbers of entries mean the same as long as it stays the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_numbering(
    manager: Option<&XcshManager>,
    numbering: *mut u64,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let numbering = out(numbering, "numbering")?;
        numbering.set(self::manager(manager)?.numbering());
        Ok(())
    })
}
