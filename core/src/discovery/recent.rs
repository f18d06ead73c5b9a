//! Recent sessions, and the most recent one, from the beginnings of their files.

use std::path::{Path, PathBuf};

use super::Unreadable;
use super::files::{newest_first, session_files};
use super::head::{Head, Want};
use super::name;
use super::scope::{Scope, real_path};
use crate::dirs::AgentDirs;
use crate::parallel::on_all_cores;
use crate::storage::{FileInfo, SessionStorage};
use crate::{Error, Result, time};

/// A session as its file's beginning shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecentSessionInfo {
    /// The session file.
    pub path: PathBuf,
    /// The id in the header.
    pub id: String,
    /// The working directory that the header names.
    pub cwd: Option<String>,
    /// The title: of a title record before the header, else the header's.
    pub title: Option<String>,
    /// Text of the first user message, looked for in the first 256 KiB; a longer one is cut off there.
    pub first_prompt: Option<String>,
    /// `parentSession` of the header: an id or a path.
    pub parent_session: Option<String>,
    /// When the session began, in milliseconds since 1970: the header's timestamp, `None` where that is no time.
    pub created_ms: Option<i64>,
    /// When the file was last changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Length of the file in bytes.
    pub size: u64,
}

impl RecentSessionInfo {
    pub(super) fn new(file: &FileInfo, head: Head) -> Self {
        let Head { header, title, first_prompt } = head;
        RecentSessionInfo {
            path: file.path.clone(),
            id: header.id(),
            cwd: header.cwd(),
            title,
            first_prompt,
            parent_session: header.parent_session(),
            created_ms: header.timestamp().and_then(|text| time::parse(&text)),
            modified_ns: file.modified_ns,
            size: file.len,
        }
    }

    /// [`RecentSessionInfo::full_name`] in at most 40 characters; `…` stands for what was cut.
    pub fn name(&self) -> String {
        name::shortened(&self.full_name())
    }

    /// What to call the session: its title, else the first prompt, else the id, else the file's name; of that the
    /// first line, control characters as spaces.
    pub fn full_name(&self) -> String {
        let known = [self.title.as_deref(), self.first_prompt.as_deref(), Some(&self.id)];
        let file_name = || self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        known.into_iter().flatten().find_map(name::first_line).unwrap_or_else(file_name)
    }

    /// How long ago the file was changed, for a `now_ms` in milliseconds since 1970: `just now`, `5m ago`, `3h ago`,
    /// `2d ago`, and from a week on the date (UTC).
    pub fn time_ago(&self, now_ms: i64) -> String {
        name::time_ago(self.modified_ns.div_euclid(1_000_000), now_ms)
    }
}

/// What [`get_recent_sessions`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recent {
    /// The sessions, newest first.
    pub sessions: Vec<RecentSessionInfo>,
    /// What was left out.
    pub unreadable: Vec<Unreadable>,
}

/// The `limit` most recently changed sessions of a directory (SPEC section 11). Reads 4,096 bytes of each and, where
/// the first prompt is not complete in them, up to 256 KiB; older files are not opened. Sessions of all working
/// directories that share the directory are in it. A missing directory has none. Error: the directory cannot be
/// listed.
pub fn get_recent_sessions(storage: &dyn SessionStorage, dir: &Path, limit: usize) -> Result<Recent> {
    let mut recent = Recent::default();
    let mut files = session_files(storage, dir, &mut recent.unreadable)?;
    files.sort_by(newest_first);
    let mut rest = &files[..];
    while recent.sessions.len() < limit && !rest.is_empty() {
        let (next, after) = rest.split_at(rest.len().min(limit - recent.sessions.len()));
        rest = after;
        let heads = on_all_cores(next, || (), |(), file| Head::read(storage, &file.path, Want::Prompt));
        for (file, head) in next.iter().zip(heads) {
            match head {
                Ok(head) => recent.sessions.push(RecentSessionInfo::new(file, head)),
                // It went away after it was listed.
                Err(Error::NotFound { .. }) => {}
                Err(error) => recent.unreadable.push(Unreadable::new(file.path.clone(), &error)),
            }
        }
    }
    Ok(recent)
}

/// The most recently changed session of a directory; of several with the same time the one whose name sorts last.
/// Files without a session header and unreadable ones are passed over. `None` where there is no session. Error: the
/// directory cannot be listed.
pub fn find_most_recent_session(storage: &dyn SessionStorage, dir: &Path) -> Result<Option<PathBuf>> {
    Ok(newest(storage, session_files(storage, dir, &mut Vec::new())?, |_, _| true))
}

/// The most recently changed session of a working directory, for continuing it: [`find_most_recent_session`] over
/// all directories that can hold its sessions (also under its real path, where links lead to it), or in
/// `explicit_dir` only. Sessions whose header names another working directory that shares the directory's name are
/// passed over. Error: a directory cannot be listed.
pub fn most_recent_for_cwd(
    storage: &dyn SessionStorage,
    dirs: &AgentDirs,
    cwd: &Path,
    explicit_dir: Option<&Path>,
) -> Result<Option<PathBuf>> {
    let scope = Scope::new(dirs, cwd, explicit_dir, &real_path);
    let mut files = Vec::new();
    for place in &scope.places {
        files.extend(session_files(storage, place, &mut Vec::new())?);
    }
    Ok(newest(storage, files, |path, head| scope.holds(path, &head.header)))
}

fn newest(
    storage: &dyn SessionStorage,
    mut files: Vec<FileInfo>,
    fits: impl Fn(&Path, &Head) -> bool,
) -> Option<PathBuf> {
    files.sort_by(newest_first);
    let fits = |path: &Path| match Head::read(storage, path, Want::Header) {
        Ok(head) => fits(path, &head),
        Err(error) => {
            log::debug!("passed over: {error}");
            false
        }
    };
    files.into_iter().map(|file| file.path).find(|path| fits(path))
}

/// Whether there is a file at the path that begins with a session header.
pub(crate) fn is_session(storage: &dyn SessionStorage, path: &Path) -> bool {
    Head::read(storage, path, Want::Header).is_ok()
}
