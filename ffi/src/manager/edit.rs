//! Changes to what is there. Each writes the file anew.

use super::info::{XCSH_TITLE_AUTO, XCSH_TITLE_USER};
use super::{XcshManager, manager};
use crate::error::XcshError;
use crate::input::{choice, field, items, text};
use crate::output::optional_out;
use crate::status::XcshStatus;
use crate::string::XcshStr;
use session::TitleSource;
use std::ffi::c_char;

/// A line for an entry.
#[repr(C)]
pub struct XcshEntryLine {
    /// The entry's number: its place in the session, from 0.
    pub number: u32,
    /// The JSON of the whole entry.
    pub line: XcshStr,
}

/// Sets the title. Control characters and runs of white space in it become one space, the ends are trimmed. `source` is
/// XCSH_TITLE_AUTO or XCSH_TITLE_USER. `taken` may be NULL; else it tells whether the title was taken: an empty one is not,
/// and one of XCSH_TITLE_AUTO never replaces a user's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_set_session_name(
    manager: Option<&XcshManager>,
    name: *const c_char,
    name_len: usize,
    source: u32,
    taken: *mut bool,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let taken = optional_out(taken);
        let name = text(name, name_len, "name")?;
        let sources = [(XCSH_TITLE_AUTO, TitleSource::Auto), (XCSH_TITLE_USER, TitleSource::User)];
        let source = choice(&sources, source, "XCSH_TITLE_AUTO or XCSH_TITLE_USER")?;
        taken.set(self::manager(manager)?.set_session_name(name, source)?);
        Ok(())
    })
}

/// Puts the `count` lines at `lines` in the places of the entries with their numbers. One that cannot be taken refuses all:
/// XCSH_ENTRY_NOT_FOUND, XCSH_INVALID_JSON. With `count` 0 the file is written anew as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_rewrite_entries(
    manager: Option<&XcshManager>,
    lines: *const XcshEntryLine,
    count: usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let mut changed = Vec::new();
        for line in items(lines, count, "lines")? {
            changed.push((line.number, field(line.line, "a line")?));
        }
        self::manager(manager)?.rewrite_entries(&changed)?;
        Ok(())
    })
}

/// Puts another line, the JSON of a whole entry, in the place of the entry that an id finds. Errors: XCSH_ENTRY_NOT_FOUND,
/// XCSH_INVALID_JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_replace_entry(
    manager: Option<&XcshManager>,
    entry_id: *const c_char,
    entry_id_len: usize,
    line: *const c_char,
    line_len: usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let (entry_id, line) = (text(entry_id, entry_id_len, "entry_id")?, text(line, line_len, "line")?);
        self::manager(manager)?.replace_entry(entry_id, line)?;
        Ok(())
    })
}
