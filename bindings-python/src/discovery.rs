//! Finding sessions, and collecting blobs that none of them mentions.

use crate::dirs::AgentDirs;
use crate::error::invalid;
use crate::run;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::Duration;
use xcsh_session::discovery::{
    self, ListOptions, Listing, RecentSessionInfo, Resolved, SessionInfo, Unreadable as CoreUnreadable,
};
use xcsh_session::gc::{self, GcOptions, GcReport};
use xcsh_session::storage::FileSessionStorage;

/// Something that was left out of a result.
#[derive(IntoPyObject)]
struct Unreadable {
    path: PathBuf,
    code: &'static str,
    reason: String,
}

impl From<CoreUnreadable> for Unreadable {
    fn from(left_out: CoreUnreadable) -> Unreadable {
        Unreadable { path: left_out.path, code: left_out.code, reason: left_out.reason }
    }
}

fn report(unreadable: Vec<CoreUnreadable>) -> Vec<Unreadable> {
    unreadable.into_iter().map(Unreadable::from).collect()
}

/// A session of a list.
#[derive(IntoPyObject)]
struct Info {
    path: PathBuf,
    id: String,
    cwd: String,
    title: Option<String>,
    parent_session_path: Option<String>,
    created_ms: i64,
    modified_ns: i64,
    message_count: u64,
    first_message: String,
    all_messages_text: Option<String>,
    size: u64,
}

impl From<SessionInfo> for Info {
    fn from(info: SessionInfo) -> Info {
        Info {
            path: info.path,
            id: info.id,
            cwd: info.cwd,
            title: info.title,
            parent_session_path: info.parent_session_path,
            created_ms: info.created_ms,
            modified_ns: info.modified_ns,
            message_count: info.message_count,
            first_message: info.first_message,
            all_messages_text: info.all_messages_text,
            size: info.size,
        }
    }
}

/// A session as its file's beginning shows it.
#[derive(IntoPyObject)]
struct Recent {
    path: PathBuf,
    id: String,
    name: String,
    full_name: String,
    time_ago: String,
    cwd: Option<String>,
    title: Option<String>,
    first_prompt: Option<String>,
    parent_session: Option<String>,
    created_ms: Option<i64>,
    modified_ns: i64,
    size: u64,
}

impl Recent {
    fn new(info: RecentSessionInfo, now_ms: i64) -> Recent {
        Recent {
            name: info.name(),
            full_name: info.full_name(),
            time_ago: info.time_ago(now_ms),
            path: info.path,
            id: info.id,
            cwd: info.cwd,
            title: info.title,
            first_prompt: info.first_prompt,
            parent_session: info.parent_session,
            created_ms: info.created_ms,
            modified_ns: info.modified_ns,
            size: info.size,
        }
    }
}

type Found<T> = (Vec<T>, Vec<Unreadable>);

fn found(listing: Listing) -> Found<Info> {
    (listing.sessions.into_iter().map(Info::from).collect(), report(listing.unreadable))
}

/// The sessions of a working directory.
#[pyfunction]
pub(crate) fn list_sessions(
    py: Python<'_>,
    dirs: &AgentDirs,
    cwd: PathBuf,
    dir: Option<PathBuf>,
    with_texts: bool,
) -> PyResult<impl for<'py> IntoPyObject<'py>> {
    let options = ListOptions { with_texts };
    run(py, || discovery::list(&FileSessionStorage::new(), &dirs.dirs, &cwd, dir.as_deref(), &options)).map(found)
}

/// The sessions of all working directories.
#[pyfunction]
pub(crate) fn list_all(
    py: Python<'_>,
    dirs: &AgentDirs,
    with_texts: bool,
) -> PyResult<impl for<'py> IntoPyObject<'py>> {
    let options = ListOptions { with_texts };
    run(py, || discovery::list_all(&FileSessionStorage::new(), &dirs.dirs, &options)).map(found)
}

/// The most recently changed sessions of a directory; how long ago that was follows from `now_ms`.
#[pyfunction]
pub(crate) fn recent_sessions(
    py: Python<'_>,
    dir: PathBuf,
    limit: usize,
    now_ms: i64,
) -> PyResult<impl for<'py> IntoPyObject<'py>> {
    let recent = run(py, || discovery::get_recent_sessions(&FileSessionStorage::new(), &dir, limit))?;
    let sessions: Vec<_> = recent.sessions.into_iter().map(|info| Recent::new(info, now_ms)).collect();
    Ok::<Found<Recent>, PyErr>((sessions, report(recent.unreadable)))
}

/// The most recently changed session of a directory.
#[pyfunction]
pub(crate) fn find_most_recent_session(py: Python<'_>, dir: PathBuf) -> PyResult<Option<PathBuf>> {
    run(py, || discovery::find_most_recent_session(&FileSessionStorage::new(), &dir))
}

/// The session that an argument names, the others it could mean, whether it is of another working directory, and
/// what could not be looked at.
#[pyfunction]
pub(crate) fn resolve_resumable_session(
    py: Python<'_>,
    dirs: &AgentDirs,
    arg: &str,
    cwd: PathBuf,
    dir: Option<PathBuf>,
    now_ms: i64,
) -> PyResult<impl for<'py> IntoPyObject<'py>> {
    let resolved = run(py, || {
        discovery::resolve_resumable_session(&FileSessionStorage::new(), &dirs.dirs, arg, &cwd, dir.as_deref())
    })?;
    let give =
        |found: Resolved| (Recent::new(found.session, now_ms), found.others, found.global, report(found.unreadable));
    Ok::<_, PyErr>(resolved.map(give))
}

/// A blob that nothing mentions.
#[derive(IntoPyObject)]
struct Unreferenced {
    hash: String,
    size: u64,
    modified_ns: i64,
}

/// What the collector found and did.
#[derive(IntoPyObject)]
struct Collected {
    unreferenced: Vec<Unreferenced>,
    deleted: u64,
    kept_young: u64,
    bytes: u64,
    failed: Vec<Unreadable>,
}

impl From<GcReport> for Collected {
    fn from(done: GcReport) -> Collected {
        let unreferenced = done.unreferenced.into_iter().map(|found| Unreferenced {
            hash: found.blob.hex(),
            size: found.len,
            modified_ns: found.modified_ns,
        });
        Collected {
            unreferenced: unreferenced.collect(),
            deleted: done.deleted,
            kept_young: done.kept_young,
            bytes: done.bytes,
            failed: report(done.failed),
        }
    }
}

/// Finds blobs that no session mentions and, unless it is a dry run, deletes those that are old enough.
#[pyfunction]
pub(crate) fn gc_blobs(
    py: Python<'_>,
    dirs: &AgentDirs,
    dry_run: bool,
    min_age: f64,
    also: Vec<PathBuf>,
) -> PyResult<impl for<'py> IntoPyObject<'py>> {
    let min_age = Duration::try_from_secs_f64(min_age)
        .map_err(|_| invalid(py, format!("min_age is {min_age}; it must be a time that is not negative")))?;
    let options = GcOptions { dry_run, min_age, also };
    run(py, || gc::gc_blobs(&FileSessionStorage::new(), &dirs.dirs, &options)).map(Collected::from)
}
