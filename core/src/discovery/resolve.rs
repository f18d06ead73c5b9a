//! The session that an argument on a command line names.

use std::path::{Path, PathBuf};

use super::files::newest_first;
use super::head::{Head, Want};
use super::list::{all_places, files_of};
use super::scope::{Scope, real_path};
use super::{RecentSessionInfo, Unreadable};
use crate::dirs::{AgentDirs, session_id_of};
use crate::parallel::on_all_cores;
use crate::storage::{FileInfo, SessionStorage};
use crate::{Error, Result};

/// What [`resolve_resumable_session`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved {
    /// The session; of several that match the most recently changed one.
    pub session: RecentSessionInfo,
    /// The files of the others that match, newest first.
    pub others: Vec<PathBuf>,
    /// Whether it was found only by looking into the directories of all working directories.
    pub global: bool,
    /// What could not be looked at and so may have been meant.
    pub unreadable: Vec<Unreadable>,
}

/// The session that `arg` names (SPEC section 11): by the beginning of its id, of its file's name, or of the id in its
/// file's name, upper and lower case being the same. Sessions of `cwd` come first (in `dir`, or in all directories
/// that can hold them), then those of every working directory. Of several the newest, and the others are in the
/// result; `None` where there is none. Only the beginnings of files are read.
///
/// Errors: `InvalidArgument` for an empty argument, `Io` where the directory with all sessions cannot be listed.
pub fn resolve_resumable_session(
    storage: &dyn SessionStorage,
    dirs: &AgentDirs,
    arg: &str,
    cwd: &Path,
    dir: Option<&Path>,
) -> Result<Option<Resolved>> {
    let wanted = arg.trim().to_lowercase();
    if wanted.is_empty() {
        return Err(Error::InvalidArgument("which session? Give the beginning of its id or file name".to_owned()));
    }
    let scope = Scope::new(dirs, cwd, dir, &real_path);
    let mut unreadable = Vec::new();
    let local =
        matching(storage, &scope.places, &wanted, |path, head| scope.holds(path, &head.header), &mut unreadable);
    if !local.is_empty() {
        return resolved(storage, local, false, unreadable);
    }
    unreadable.clear();
    let places = all_places(storage, dirs, &mut unreadable)?;
    let anywhere = matching(storage, &places, &wanted, |_, _| true, &mut unreadable);
    resolved(storage, anywhere, true, unreadable)
}

/// The files that match, newest first.
fn matching(
    storage: &dyn SessionStorage,
    places: &[PathBuf],
    wanted: &str,
    holds: impl Fn(&Path, &Head) -> bool + Sync,
    unreadable: &mut Vec<Unreadable>,
) -> Vec<FileInfo> {
    let mut files = files_of(storage, places, unreadable);
    files.sort_by(newest_first);
    let matches = |file: &FileInfo| {
        let head = Head::read(storage, &file.path, Want::Header)?;
        Ok(holds(&file.path, &head) && (names(&file.path, wanted) || starts(&head.header.id(), wanted)))
    };
    let results: Vec<Result<bool>> = on_all_cores(&files, || (), |(), file| matches(file));
    let fits = |(file, result): (FileInfo, Result<bool>)| match result {
        Ok(fits) => fits.then_some(file),
        Err(Error::NotFound { .. }) => None,
        Err(error) => {
            unreadable.push(Unreadable::new(file.path, &error));
            None
        }
    };
    files.into_iter().zip(results).filter_map(fits).collect()
}

fn names(path: &Path, wanted: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    starts(&name, wanted) || session_id_of(&name).is_some_and(|id| starts(id, wanted))
}

fn starts(text: &str, wanted: &str) -> bool {
    text.to_lowercase().starts_with(wanted)
}

fn resolved(
    storage: &dyn SessionStorage,
    files: Vec<FileInfo>,
    global: bool,
    unreadable: Vec<Unreadable>,
) -> Result<Option<Resolved>> {
    let mut files = files.into_iter();
    let Some(file) = files.next() else { return Ok(None) };
    let session = RecentSessionInfo::new(&file, Head::read(storage, &file.path, Want::Prompt)?);
    Ok(Some(Resolved { session, others: files.map(|file| file.path).collect(), global, unreadable }))
}
