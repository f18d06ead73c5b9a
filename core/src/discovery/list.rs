//! Lists of sessions with all that a picker shows of them.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use super::Unreadable;
use super::files::session_files;
use super::scan::scan;
use super::scope::{Scope, real_path};
use crate::dirs::AgentDirs;
use crate::header::Header;
use crate::parallel::on_all_cores;
use crate::storage::{DirItemKind, FileInfo, SessionStorage};
use crate::{Error, Result, time};

/// What a list holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Fill [`SessionInfo::all_messages_text`], which takes about as much memory as the files are long.
    pub with_texts: bool,
}

/// A session of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The session file.
    pub path: PathBuf,
    /// The id in the header.
    pub id: String,
    /// The working directory that the header names; empty where it names none.
    pub cwd: String,
    /// The title: of a title record before the header, else the header's, else the last compaction's shortSummary.
    pub title: Option<String>,
    /// `parentSession` of the header: an id or a path.
    pub parent_session_path: Option<String>,
    /// When the session began, in milliseconds since 1970: the header's timestamp, else the time of the last change.
    pub created_ms: i64,
    /// When the file was last changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Number of `message` entries. Lines that show no sign of damage at their ends are not checked for damage within;
    /// opening the session does that.
    pub message_count: u64,
    /// Text of the first user message that has any, cut at 64 KiB; `(no messages)` where there is none.
    pub first_message: String,
    /// The texts of all user and assistant messages, spaces between, if they were asked for.
    pub all_messages_text: Option<String>,
    /// Length of the file in bytes when it was listed.
    pub size: u64,
}

/// What [`list`] and [`list_all`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The sessions, newest first; of two with the same time the one whose path sorts last.
    pub sessions: Vec<SessionInfo>,
    /// What was left out, by path.
    pub unreadable: Vec<Unreadable>,
}

/// The sessions of a working directory, in `dir` or in all directories that can hold them (SPEC section 11). A session
/// whose header names another working directory that shares the directory's name is not among them.
///
/// Files are read whole, on all cores, each through one buffer of 256 KiB (8 MiB while a line is that long; of a longer
/// line only the beginning is looked at). Nothing is an error: what cannot be read is in the report.
pub fn list(
    storage: &dyn SessionStorage,
    dirs: &AgentDirs,
    cwd: &Path,
    dir: Option<&Path>,
    options: &ListOptions,
) -> Result<Listing> {
    let scope = Scope::new(dirs, cwd, dir, &real_path);
    Ok(list_places(storage, &scope.places, options, |path, header| scope.holds(path, header), Vec::new()))
}

/// The sessions of all working directories: [`list`] over every directory below [`AgentDirs::sessions`], which may be
/// missing. Error: that one cannot be listed.
pub fn list_all(storage: &dyn SessionStorage, dirs: &AgentDirs, options: &ListOptions) -> Result<Listing> {
    let mut unreadable = Vec::new();
    let places = all_places(storage, dirs, &mut unreadable)?;
    Ok(list_places(storage, &places, options, |_, _| true, unreadable))
}

/// Every directory that holds the sessions of some working directory.
pub(super) fn all_places(
    storage: &dyn SessionStorage,
    dirs: &AgentDirs,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Vec<PathBuf>> {
    let root = &dirs.sessions;
    let mut places = Vec::new();
    for item in storage.list_dir(root).map_err(Error::io_at("list", root))? {
        match item.kind {
            Ok(DirItemKind::Dir) => places.push(item.path),
            Ok(DirItemKind::File { .. } | DirItemKind::Other) => {}
            Err(error) => {
                let error = Error::io_at("look at", &item.path)(error);
                unreadable.push(Unreadable::new(item.path, &error));
            }
        }
    }
    Ok(places)
}

/// The session files of several directories; a directory that cannot be listed goes to the report.
pub(super) fn files_of(
    storage: &dyn SessionStorage,
    places: &[PathBuf],
    unreadable: &mut Vec<Unreadable>,
) -> Vec<FileInfo> {
    let mut files = Vec::new();
    for place in places {
        match session_files(storage, place, unreadable) {
            Ok(found) => files.extend(found),
            Err(error) => unreadable.push(Unreadable::new(place.clone(), &error)),
        }
    }
    files
}

fn list_places(
    storage: &dyn SessionStorage,
    places: &[PathBuf],
    options: &ListOptions,
    holds: impl Fn(&Path, &Header) -> bool + Sync,
    unreadable: Vec<Unreadable>,
) -> Listing {
    let mut listing = Listing { sessions: Vec::new(), unreadable };
    let mut files = files_of(storage, places, &mut listing.unreadable);
    // The largest first, so that no core is left with one of them at the end.
    files.sort_by_key(|file| Reverse(file.len));
    let results = on_all_cores(&files, Vec::new, |buffer, file| info(storage, file, options, &holds, buffer));
    for (file, result) in files.iter().zip(results) {
        match result {
            Ok(session) => listing.sessions.extend(session),
            // It went away after it was listed.
            Err(Error::NotFound { .. }) => {}
            Err(error) => listing.unreadable.push(Unreadable::new(file.path.clone(), &error)),
        }
    }
    listing.sessions.sort_by(|a, b| (b.modified_ns, &b.path).cmp(&(a.modified_ns, &a.path)));
    listing.unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    listing
}

/// `None` for a session of another working directory.
fn info(
    storage: &dyn SessionStorage,
    file: &FileInfo,
    options: &ListOptions,
    holds: impl Fn(&Path, &Header) -> bool,
    buffer: &mut Vec<u8>,
) -> Result<Option<SessionInfo>> {
    let (header, found) = scan(storage, file, options.with_texts, buffer)?;
    if !holds(&file.path, &header) {
        return Ok(None);
    }
    let created = header.timestamp().and_then(|text| time::parse(&text));
    Ok(Some(SessionInfo {
        path: file.path.clone(),
        id: header.id(),
        cwd: header.cwd().unwrap_or_default(),
        title: found.title.or(found.short_summary),
        parent_session_path: header.parent_session(),
        created_ms: created.unwrap_or(file.modified_ns.div_euclid(1_000_000)),
        modified_ns: file.modified_ns,
        message_count: found.messages,
        first_message: found.first_message.unwrap_or_else(|| "(no messages)".to_owned()),
        all_messages_text: options.with_texts.then_some(found.texts),
        size: file.len,
    }))
}
