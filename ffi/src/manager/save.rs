//! Between memory and disk.

use super::{XcshManager, manager};
use crate::error::XcshError;
use crate::output::optional_out;
use crate::session::XcshEntries;
use crate::status::XcshStatus;
use std::sync::Arc;

/// Everything that was appended so far survives a power loss when this returns XCSH_OK. Appends of other threads go on
/// meanwhile. Nothing to do for a session whose file is not to be there yet. Errors: XCSH_CLOSED, XCSH_IO, XCSH_LOCKED,
/// XCSH_REPLACED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_flush(manager: Option<&XcshManager>, err: *mut *mut XcshError) -> XcshStatus {
    border!(err, {
        self::manager(manager)?.flush()?;
        Ok(())
    })
}

/// Writes what is missing after an error, and flushes. xcsh_manager_persist_error() gives NULL after XCSH_OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_recover(manager: Option<&XcshManager>, err: *mut *mut XcshError) -> XcshStatus {
    border!(err, {
        self::manager(manager)?.recover()?;
        Ok(())
    })
}

/// Flushes and lets go of the file. Later writes fail with XCSH_CLOSED; reading goes on; closing again does nothing. After
/// an error the session stays open, so that closing can be tried again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_close(manager: Option<&XcshManager>, err: *mut *mut XcshError) -> XcshStatus {
    border!(err, {
        self::manager(manager)?.close()?;
        Ok(())
    })
}

/// Makes the session's file now, assistant message or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_ensure_on_disk(
    manager: Option<&XcshManager>,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        self::manager(manager)?.ensure_on_disk()?;
        Ok(())
    })
}

/// Takes in what others appended to the file since; the leaf stays. `added` may be NULL; else it is set to an iteration over
/// the new entries (over all, where the file was replaced: see xcsh_manager_numbering()), to be freed with
/// xcsh_entries_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_refresh(
    manager: Option<&XcshManager>,
    added: *mut *mut XcshEntries,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let added = optional_out(added);
        let manager = self::manager(manager)?;
        let numbers = manager.refresh()?;
        added.give(XcshEntries::live(Arc::clone(manager), numbers));
        Ok(())
    })
}
