//! Moving the leaf.

use super::append::flag;
use super::{XcshManager, manager};
use crate::error::XcshError;
use crate::input::{optional, text};
use crate::output::optional_out;
use crate::status::XcshStatus;
use crate::string::XcshString;
use std::ffi::c_char;

/// Moves the leaf to an entry: the next append follows it. Error: XCSH_ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_branch(
    manager: Option<&XcshManager>,
    entry_id: *const c_char,
    entry_id_len: usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let entry_id = text(entry_id, entry_id_len, "entry_id")?;
        self::manager(manager)?.branch(entry_id)?;
        Ok(())
    })
}

/// Sets the leaf to none: the next append is a new root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_reset_leaf(
    manager: Option<&XcshManager>,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        self::manager(manager)?.reset_leaf();
        Ok(())
    })
}

/// Moves the leaf to an entry, or to none (NULL with length 0), and appends a summary of the path that is left. `details`
/// is JSON; NULL with length 0: none. `from_extension` is XCSH_ABSENT, XCSH_FALSE or XCSH_TRUE. `id` may be NULL, as for
/// appends. Errors: XCSH_ENTRY_NOT_FOUND, and those of xcsh_manager_append_message().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_branch_with_summary(
    manager: Option<&XcshManager>,
    entry_id: *const c_char,
    entry_id_len: usize,
    summary: *const c_char,
    summary_len: usize,
    details: *const c_char,
    details_len: usize,
    from_extension: u32,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let from = optional(entry_id, entry_id_len, "entry_id")?;
        let summary = text(summary, summary_len, "summary")?;
        let details = optional(details, details_len, "details")?;
        let from_extension = flag(from_extension, "from_extension")?;
        let made = self::manager(manager)?.branch_with_summary(from, summary, details, from_extension)?;
        id.give(XcshString::new(made));
        Ok(())
    })
}
