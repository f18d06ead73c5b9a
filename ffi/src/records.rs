//! Sessions as lists of JSON texts, the header first.

use crate::error::XcshError;
use crate::input::{handle, items, text, texts};
use crate::options::{XcshOptions, model_resolution};
use crate::output::out;
use crate::session::{XCSH_LEAF_ID, leaf};
use crate::status::XcshStatus;
use crate::string::{XcshStr, XcshString, XcshStrings};
use std::ffi::c_char;
use std::path::Path;

/// Header and entries of a session file, each exactly as it is in the file and not migrated. An empty list where the file
/// is missing or its first record is no session header. Free `records` with xcsh_strings_free(). Error: XCSH_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_load_entries(
    options: Option<&XcshOptions>,
    path: *const c_char,
    path_len: usize,
    records: *mut *mut XcshStrings,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let records = out(records, "records")?;
        let path = Path::new(text(path, path_len, "path")?);
        let storage = handle(options, "options")?.get().storage;
        records.give(XcshStrings::new(session::load_entries_from(&*storage, path)?));
        Ok(())
    })
}

/// Header and entries of the bytes of a session file. An empty list where the first record is no session header. Free
/// `records` with xcsh_strings_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_parse_entries(
    content: *const u8,
    content_len: usize,
    records: *mut *mut XcshStrings,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let records = out(records, "records")?;
        let content = items(content, content_len, "content")?;
        records.give(XcshStrings::new(session::parse_session_entries(content)));
        Ok(())
    })
}

/// The `count` records at `records`, header first, as the current version has them. `migrated` is set to NULL where they
/// are that already, or are no session; free it with xcsh_strings_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_migrate_entries(
    records: *const XcshStr,
    count: usize,
    migrated: *mut *mut XcshStrings,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let migrated = out(migrated, "migrated")?;
        let records = texts(records, count, "records")?;
        migrated.give_some(session::migrate_session_entries(&records)?.map(XcshStrings::new));
        Ok(())
    })
}

/// The JSON of the context that `count` entries, without a header, give for a leaf: see xcsh_session_context(), of which
/// this has the arguments, and xcsh_context_json(). XCSH_MODEL_DEFAULT means XCSH_MODEL_CHANGE. Free `json` with
/// xcsh_string_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_build_context(
    entries: *const XcshStr,
    count: usize,
    leaf: u32,
    entry_id: *const c_char,
    entry_id_len: usize,
    resolution: u32,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        let entries = texts(entries, count, "entries")?;
        let id = if leaf == XCSH_LEAF_ID { text(entry_id, entry_id_len, "entry_id")? } else { "" };
        let (leaf, resolution) = (self::leaf(leaf, id)?, model_resolution(resolution)?.unwrap_or_default());
        json.give(XcshString::new(session::build_session_context(&entries, leaf, resolution)?));
        Ok(())
    })
}
