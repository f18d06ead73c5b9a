//! What a session says as a whole, and about single entries.

use super::{XcshSession, source};
use crate::error::{Failure, XcshError};
use crate::input::text;
use crate::output::{Blank, out};
use crate::status::XcshStatus;
use crate::string::{XcshString, XcshStrings};
use std::collections::BTreeMap;
use std::ffi::c_char;

/// Sums over the messages of a session: tokens are counts, cost is in the currency that the providers reported. What a
/// message does not say counts 0.
#[repr(C)]
pub struct XcshUsage {
    /// Tokens sent and not cached.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens read from the provider's cache.
    pub cache_read: f64,
    /// Tokens written to the provider's cache.
    pub cache_write: f64,
    /// Premium requests, a fraction where a request counts in part.
    pub premium_requests: f64,
    /// Total cost.
    pub cost: f64,
}

impl Blank for XcshUsage {
    const BLANK: Self =
        XcshUsage { input: 0.0, output: 0.0, cache_read: 0.0, cache_write: 0.0, premium_requests: 0.0, cost: 0.0 };
}

fn json(value: &impl serde::Serialize) -> Result<XcshString, Failure> {
    serde_json::to_vec(value).map(XcshString::new).map_err(|error| Failure::other(error.to_string()))
}

/// The path of the session's file; empty in memory. Free it with xcsh_string_free(), as all strings that the functions of a
/// session give.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_path(
    session: Option<&XcshSession>,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = out(path, "path")?;
        path.give(source(session)?.look(|session| XcshString::path(session.path()))?);
        Ok(())
    })
}

/// The JSON of the header, as the current version has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_header_json(
    session: Option<&XcshSession>,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        json.give(source(session)?.look(|session| XcshString::new(session.header().json())));
        Ok(())
    })
}

/// The title; NULL where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_title(
    session: Option<&XcshSession>,
    title: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let title = out(title, "title")?;
        title.give_some(source(session)?.look(|session| session.title()).map(XcshString::new));
        Ok(())
    })
}

/// Whether the file is of an older version than what is shown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_is_migrated(
    session: Option<&XcshSession>,
    migrated: *mut bool,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let migrated = out(migrated, "migrated")?;
        migrated.set(source(session)?.look(|session| session.is_migrated()));
        Ok(())
    })
}

/// The number of entries. Entries are numbered from 0, in the order of the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_len(
    session: Option<&XcshSession>,
    len: *mut u32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let len = out(len, "len")?;
        len.set(source(session)?.look(|session| u32::try_from(session.len()).unwrap_or(u32::MAX)));
        Ok(())
    })
}

/// The id of the leaf; NULL where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_leaf_id(
    session: Option<&XcshSession>,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = out(id, "id")?;
        id.give_some(source(session)?.look(|session| session.leaf_id()).map(XcshString::new));
        Ok(())
    })
}

/// The number of the entry that an id finds: of several with the same id, the last in the file. Error:
/// XCSH_ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_number_of(
    session: Option<&XcshSession>,
    entry_id: *const c_char,
    entry_id_len: usize,
    number: *mut u32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let number = out(number, "number")?;
        let id = text(entry_id, entry_id_len, "entry_id")?;
        let found = source(session)?.look(|session| session.number_of(id));
        number.set(found.ok_or_else(|| session::Error::EntryNotFound { id: id.to_owned() })?);
        Ok(())
    })
}

/// The line of the entry with this number, exactly as it is; NULL where there is no such entry. To read many, see
/// xcsh_session_entries().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_line(
    session: Option<&XcshSession>,
    number: u32,
    line: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let line = out(line, "line")?;
        let entry = source(session)?.look(|session| session.entry_at(number))?;
        line.give_some(entry.map(|entry| XcshString::new(entry.into_line())));
        Ok(())
    })
}

/// The line of the entry with this number, images and image URLs that lie in the blob store put back into it; a blob that
/// is missing or damaged leaves its reference. NULL where there is no such entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_resolved_line(
    session: Option<&XcshSession>,
    number: u32,
    line: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let line = out(line, "line")?;
        let resolved = source(session)?.look(|session| session.resolved_line(number))?;
        line.give_some(resolved.map(XcshString::new));
        Ok(())
    })
}

/// The label of an entry; NULL where it has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_label(
    session: Option<&XcshSession>,
    entry_id: *const c_char,
    entry_id_len: usize,
    label: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let label = out(label, "label")?;
        let id = text(entry_id, entry_id_len, "entry_id")?;
        label.give_some(source(session)?.look(|session| session.label(id).map(XcshString::new)));
        Ok(())
    })
}

/// All labels: a JSON object from entry ids to labels.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_labels_json(
    session: Option<&XcshSession>,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        json.give(
            source(session)?.look(|session| self::json(&session.labels().into_iter().collect::<BTreeMap<_, _>>()))?,
        );
        Ok(())
    })
}

/// Token and cost sums over all entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_usage(
    session: Option<&XcshSession>,
    usage: *mut XcshUsage,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let usage = out(usage, "usage")?;
        let sums = source(session)?.look(|session| session.usage());
        usage.set(XcshUsage {
            input: sums.input,
            output: sums.output,
            cache_read: sums.cache_read,
            cache_write: sums.cache_write,
            premium_requests: sums.premium_requests,
            cost: sums.cost,
        });
        Ok(())
    })
}

/// What is not as it should be in the session: a JSON object with the lists malformedLines, recovered, orphans, cycles,
/// duplicateIds, withoutId, badBlobRefs, missingBlobs, damagedBlobs and danglingFirstKept. Line numbers count from 1. All
/// entries are read for this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_diagnostics_json(
    session: Option<&XcshSession>,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        let report = source(session)?.look(|session| session.diagnostics())?;
        json.give(self::json(&report)?);
        Ok(())
    })
}

/// The role of the last model_change from the leaf to its root, "default" where it names none; NULL where there is no
/// model_change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_last_model_change_role(
    session: Option<&XcshSession>,
    role: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let role = out(role, "role")?;
        let last = source(session)?.look(|session| session.last_model_change_role())?;
        role.give_some(last.map(XcshString::new));
        Ok(())
    })
}

/// The rules that were injected from the root to the leaf, without repeats. Free `rules` with xcsh_strings_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_injected_ttsr_rules(
    session: Option<&XcshSession>,
    rules: *mut *mut XcshStrings,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let rules = out(rules, "rules")?;
        let injected = source(session)?.look(|session| session.injected_ttsr_rules())?;
        rules.give(XcshStrings::new(injected));
        Ok(())
    })
}
