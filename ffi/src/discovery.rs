//! Finding sessions, as JSON. Nothing that is found is worth a handle: it is shown, and one of it is opened by path.

use crate::error::XcshError;
use crate::input::{handle, optional, text};
use crate::options::XcshOptions;
use crate::output::out;
use crate::status::XcshStatus;
use crate::string::XcshString;
use serde_json::{Value, json};
use session::discovery::{self, ListOptions, Listing, RecentSessionInfo, SessionInfo, Unreadable};
use std::ffi::c_char;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn path_json(path: &Path) -> Value {
    json!(path.to_string_lossy())
}

pub(crate) fn milliseconds(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(1_000_000)
}

pub(crate) fn unreadable_json(unreadable: &[Unreadable]) -> Value {
    let one = |left: &Unreadable| json!({"path": path_json(&left.path), "code": left.code, "reason": left.reason});
    unreadable.iter().map(one).collect()
}

fn recent_json(session: &RecentSessionInfo, now_ms: i64) -> Value {
    json!({
        "path": path_json(&session.path),
        "id": session.id,
        "name": session.name(),
        "timeAgo": session.time_ago(now_ms),
        "cwd": session.cwd,
        "title": session.title,
        "firstPrompt": session.first_prompt,
        "parentSession": session.parent_session,
        "createdMs": session.created_ms,
        "modifiedMs": milliseconds(session.modified_ns),
        "size": session.size,
    })
}

fn session_json(session: &SessionInfo) -> Value {
    json!({
        "path": path_json(&session.path),
        "id": session.id,
        "cwd": session.cwd,
        "title": session.title,
        "parentSessionPath": session.parent_session_path,
        "createdMs": session.created_ms,
        "modifiedMs": milliseconds(session.modified_ns),
        "messageCount": session.message_count,
        "firstMessage": session.first_message,
        "allMessagesText": session.all_messages_text,
        "size": session.size,
    })
}

fn listing_json(listing: &Listing) -> XcshString {
    let sessions: Value = listing.sessions.iter().map(session_json).collect();
    XcshString::new(json!({"sessions": sessions, "unreadable": unreadable_json(&listing.unreadable)}).to_string())
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The `limit` most recently changed sessions of a directory, newest first; only the beginnings of files are read. A JSON
/// object: `sessions` is a list of objects with path, id, name (at most 40 characters), timeAgo ("5m ago"), cwd, title,
/// firstPrompt, parentSession, createdMs, modifiedMs (milliseconds since 1970) and size (bytes), null where there is
/// nothing; `unreadable` lists what was left out: path, code and reason. In paths in JSON, what is not UTF-8 is replaced by
/// U+FFFD. Free `json` with xcsh_string_free(). Error: XCSH_IO where the directory cannot be listed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_recent_sessions(
    options: Option<&XcshOptions>,
    dir: *const c_char,
    dir_len: usize,
    limit: usize,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        let dir = Path::new(text(dir, dir_len, "dir")?);
        let options = handle(options, "options")?.get();
        let found = discovery::get_recent_sessions(&*options.storage, dir, limit)?;
        let now = now_ms();
        let sessions: Value = found.sessions.iter().map(|session| recent_json(session, now)).collect();
        let all = json!({"sessions": sessions, "unreadable": unreadable_json(&found.unreadable)});
        json.give(XcshString::new(all.to_string()));
        Ok(())
    })
}

/// The most recently changed session of a directory; NULL where there is none. Free `path` with xcsh_string_free(). Error:
/// XCSH_IO where the directory cannot be listed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_most_recent_session(
    options: Option<&XcshOptions>,
    dir: *const c_char,
    dir_len: usize,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = out(path, "path")?;
        let dir = Path::new(text(dir, dir_len, "dir")?);
        let options = handle(options, "options")?.get();
        let found = discovery::find_most_recent_session(&*options.storage, dir)?;
        path.give_some(found.map(|found| XcshString::path(&found)).transpose()?);
        Ok(())
    })
}

/// The sessions of a working directory, newest first, from `dir`, or (NULL with length 0) from the directory that the
/// options name, or from all that can hold them. A JSON object: `sessions` is a list of objects with path, id, cwd, title,
/// parentSessionPath, createdMs, modifiedMs (milliseconds since 1970), messageCount, firstMessage, allMessagesText (null
/// where `with_texts` is 0) and size (bytes); `unreadable` as for xcsh_recent_sessions(). Files are read whole. Free `json`
/// with xcsh_string_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_list_sessions(
    options: Option<&XcshOptions>,
    cwd: *const c_char,
    cwd_len: usize,
    dir: *const c_char,
    dir_len: usize,
    with_texts: i32,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        let cwd = Path::new(text(cwd, cwd_len, "cwd")?);
        let dir = optional(dir, dir_len, "dir")?.map(PathBuf::from);
        let options = handle(options, "options")?.get();
        let dir = dir.or(options.session_dir);
        let with_texts = ListOptions { with_texts: with_texts != 0 };
        let listing = discovery::list(&*options.storage, &options.dirs, cwd, dir.as_deref(), &with_texts)?;
        json.give(listing_json(&listing));
        Ok(())
    })
}

/// The sessions of all working directories, as xcsh_list_sessions() gives them. Error: XCSH_IO where the directory of all
/// sessions cannot be listed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_list_all_sessions(
    options: Option<&XcshOptions>,
    with_texts: i32,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        let options = handle(options, "options")?.get();
        let with_texts = ListOptions { with_texts: with_texts != 0 };
        json.give(listing_json(&discovery::list_all(&*options.storage, &options.dirs, &with_texts)?));
        Ok(())
    })
}

/// The session that `argument` names, by the beginning of its id or of its file's name; sessions of the working directory
/// come first (in `dir`, or, NULL with length 0, wherever they can be), then all others; of several the newest. A JSON
/// object: `session` as in xcsh_recent_sessions(), `others` (the paths of others that match), `global` (whether it was found
/// outside of the working directory's sessions) and `unreadable`. NULL where there is none. Free `json` with
/// xcsh_string_free(). Error: XCSH_INVALID_ARGUMENT for an empty argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_resolve_session(
    options: Option<&XcshOptions>,
    argument: *const c_char,
    argument_len: usize,
    cwd: *const c_char,
    cwd_len: usize,
    dir: *const c_char,
    dir_len: usize,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        let argument = text(argument, argument_len, "argument")?;
        let cwd = Path::new(text(cwd, cwd_len, "cwd")?);
        let dir = optional(dir, dir_len, "dir")?.map(PathBuf::from);
        let options = handle(options, "options")?.get();
        let dir = dir.or(options.session_dir);
        let found =
            discovery::resolve_resumable_session(&*options.storage, &options.dirs, argument, cwd, dir.as_deref())?;
        let found = found.map(|found| {
            json!({
                "session": recent_json(&found.session, now_ms()),
                "others": found.others.iter().map(|path| path_json(path)).collect::<Value>(),
                "global": found.global,
                "unreadable": unreadable_json(&found.unreadable),
            })
        });
        json.give_some(found.map(|found| XcshString::new(found.to_string())));
        Ok(())
    })
}
