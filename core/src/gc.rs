//! Collecting blobs that no session mentions any more (SPEC section 9).
//!
//! What must never happen is that a blob goes that a session needs. So every doubt keeps the blobs:
//!
//! - Every file below the session directories is searched, whatever its name and depth: sessions of all layouts,
//!   `.invalid-*` and temporary files, sessions of sub-agents in artifact directories, and the artifacts themselves.
//! - The text of a hash anywhere counts as a mention, in either case, also where digits are spelled as JSON escapes.
//! - Whatever cannot be read, a link to nothing included, ends the collection before anything is deleted. So does a
//!   missing session directory: blobs without sessions look like a file system that is not mounted.
//! - A file that is gone when its turn comes was perhaps moved to where the search had been already: everything is
//!   searched again. So are, until there are none, files that appeared meanwhile.
//! - Young blobs stay, since an entry that is about to be written may name them; putting a blob that is there makes
//!   it young again, and its age is looked at once more right before it is deleted.

mod mentions;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mentions::Mentions;

use crate::artifacts::artifacts_dir;
use crate::blob::BlobRef;
use crate::breadcrumb;
use crate::dirs::AgentDirs;
use crate::discovery::Unreadable;
use crate::parallel::on_all_cores;
use crate::storage::{DirItemKind, FileId, SessionStorage};
use crate::{Error, Result};

/// Directories inside of each other; more are taken for links in a circle.
const MAX_DEPTH: usize = 64;

/// How often the search is repeated because files moved or appeared.
const ROUNDS: usize = 16;

/// How blobs are collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcOptions {
    /// Only look, delete nothing. The default.
    pub dry_run: bool,
    /// Blobs changed within this time are kept; 24 hours by default. Less than 13 hours is safe only while no agent
    /// runs: a blob that is younger than 12 hours is not made young again when it is needed anew.
    pub min_age: Duration,
    /// Files and directories with sessions outside of the agent's directories, such as directories that were given
    /// explicitly for new sessions. Sessions that a breadcrumb points to are known without.
    pub also: Vec<PathBuf>,
}

impl Default for GcOptions {
    fn default() -> Self {
        GcOptions { dry_run: true, min_age: Duration::from_secs(24 * 3600), also: Vec::new() }
    }
}

/// A blob that nothing mentions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreferencedBlob {
    /// Its name.
    pub blob: BlobRef,
    /// Its length in bytes.
    pub len: u64,
    /// When it was last put, in nanoseconds since 1970.
    pub modified_ns: i64,
}

/// What [`gc_blobs`] found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GcReport {
    /// The blobs that nothing mentions, young ones included, by name.
    pub unreferenced: Vec<UnreferencedBlob>,
    /// How many of them were deleted; in a dry run none.
    pub deleted: u64,
    /// How many of them are too young to be deleted.
    pub kept_young: u64,
    /// Bytes of those that were deleted, or in a dry run would be.
    pub bytes: u64,
    /// Those that the storage refused to delete.
    pub failed: Vec<Unreadable>,
}

/// Finds the blobs of `dirs.blobs` that no file with sessions mentions and, unless it is a dry run, deletes those
/// older than `min_age`. Files are searched on all cores in constant memory.
///
/// Errors: anything that must be searched and cannot be (`Io` or `NotFound`, naming it), and files that keep moving
/// while they are searched; nothing was deleted then.
pub fn gc_blobs(storage: &dyn SessionStorage, dirs: &AgentDirs, options: &GcOptions) -> Result<GcReport> {
    // Before the search: a blob that is put later is no candidate.
    let blobs = blobs_in(storage, &dirs.blobs)?;
    if blobs.is_empty() {
        return Ok(GcReport::default());
    }
    let mentions = Mentions::of(blobs.iter().map(|found| &found.blob));
    search(storage, dirs, options, &mentions)?;
    let blobs = blobs.into_iter().enumerate();
    let unreferenced = blobs.filter(|(index, _)| !mentions.has(*index)).map(|(_, found)| found).collect();
    let mut report = GcReport { unreferenced, ..GcReport::default() };
    for found in &report.unreferenced {
        match collect(storage, &dirs.blobs.join(found.blob.hex()), found, options) {
            Ok(Fate::Gone) => {}
            Ok(Fate::Young) => report.kept_young += 1,
            Ok(Fate::Old) => report.bytes += found.len,
            Ok(Fate::Deleted) => {
                report.bytes += found.len;
                report.deleted += 1;
            }
            Err(error) => {
                let path = dirs.blobs.join(found.blob.hex());
                report.failed.push(Unreadable::new(path, &error));
            }
        }
    }
    Ok(report)
}

enum Fate {
    /// Somebody else deleted it.
    Gone,
    Young,
    /// It would be deleted if this were no dry run.
    Old,
    Deleted,
}

fn collect(storage: &dyn SessionStorage, path: &Path, found: &UnreferencedBlob, options: &GcOptions) -> Result<Fate> {
    if options.dry_run {
        return Ok(if is_old(found.modified_ns, options.min_age) { Fate::Old } else { Fate::Young });
    }
    let result = storage.stat(path).and_then(|stat| {
        if !is_old(stat.modified_ns, options.min_age) {
            return Ok(Fate::Young);
        }
        storage.unlink(path).map(|()| Fate::Deleted)
    });
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Fate::Gone),
        result => result.map_err(Error::io_at("delete", path)),
    }
}

/// Whether a time in nanoseconds since 1970 is at least `age` ago. One in the future is not.
fn is_old(modified_ns: i64, age: Duration) -> bool {
    let modified = UNIX_EPOCH + Duration::from_nanos(modified_ns.max(0).unsigned_abs());
    SystemTime::now().duration_since(modified).is_ok_and(|passed| passed >= age)
}

/// The blobs in a directory, by name. Other files there are none of ours to delete.
fn blobs_in(storage: &dyn SessionStorage, dir: &Path) -> Result<Vec<UnreferencedBlob>> {
    let mut blobs = Vec::new();
    for item in storage.list_dir(dir).map_err(Error::io_at("list", dir))? {
        let name = item.path.file_name().and_then(|name| name.to_str());
        if let Some(blob) = name.and_then(BlobRef::from_hex)
            && let Ok(DirItemKind::File { len, modified_ns }) = item.kind
        {
            blobs.push(UnreferencedBlob { blob, len, modified_ns });
        }
    }
    blobs.sort_by_key(|found| found.blob);
    Ok(blobs)
}

/// What is to be searched: directories with all that is in them, and files.
#[derive(Default)]
struct Roots {
    dirs: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

fn roots(storage: &dyn SessionStorage, dirs: &AgentDirs, options: &GcOptions) -> Result<Roots> {
    let mut roots = Roots::default();
    let exists = |path: &Path| storage.exists(path).map_err(Error::io_at("look for", path));
    if !exists(&dirs.sessions)? {
        return Err(Error::NotFound { path: dirs.sessions.clone() });
    }
    roots.dirs.push(dirs.sessions.clone());
    // Where sessions lay before they had a directory of their own by XDG.
    let older = dirs.agent.join("sessions");
    if older != dirs.sessions && exists(&older)? {
        roots.dirs.push(older);
    }
    for path in &options.also {
        if !exists(path)? {
            return Err(Error::NotFound { path: path.clone() });
        }
        // A file cannot be listed, a directory not be opened.
        match storage.list_dir(path) {
            Ok(_) => roots.dirs.push(path.clone()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => roots.files.push(path.clone()),
            Err(error) => return Err(Error::io_at("list", path)(error)),
        }
    }
    for crumb in storage.list_files(&dirs.terminal_sessions).map_err(Error::io_at("list", &dirs.terminal_sessions))? {
        let text = match storage.read_text(&crumb.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            text => text.map_err(Error::io_at("read", &crumb.path))?,
        };
        let Some(crumb) = breadcrumb::parse(&String::from_utf8_lossy(&text)) else { continue };
        if exists(&crumb.session_file)? {
            let artifacts = artifacts_dir(&crumb.session_file);
            roots.files.push(crumb.session_file);
            if exists(&artifacts)? {
                roots.dirs.push(artifacts);
            }
        }
    }
    Ok(roots)
}

/// Searches everything until nothing new turns up.
fn search(storage: &dyn SessionStorage, dirs: &AgentDirs, options: &GcOptions, mentions: &Mentions) -> Result<()> {
    let mut searched = HashSet::new();
    for _ in 0..ROUNDS {
        let Roots { dirs: below, mut files } = roots(storage, dirs, options)?;
        for dir in &below {
            files_below(storage, dir, &mut files)?;
        }
        files.retain(|path| !searched.contains(path));
        if files.is_empty() {
            return Ok(());
        }
        let read = |buffer: &mut Vec<u8>, path: &PathBuf| {
            let reader = storage.open_reader(path).map_err(Error::io_at("open", path))?;
            mentions.read(&*reader, buffer).map_err(Error::io_at("read", path))
        };
        let mut gone = false;
        for result in on_all_cores(&files, Vec::new, read) {
            match result {
                Err(Error::NotFound { .. }) => gone = true,
                result => result?,
            }
        }
        if gone {
            searched.clear();
        } else {
            searched.extend(files);
        }
    }
    let source = io::Error::other("files keep moving while they are searched; try again when the agents are idle");
    Err(Error::Io { op: "search", path: dirs.sessions.clone(), source })
}

/// A directory on the way down from a root.
struct Level {
    id: Option<FileId>,
    above: Option<Rc<Level>>,
    depth: usize,
}

/// Every file below a directory. A link to a directory above it leads to nothing new and is not followed.
fn files_below(storage: &dyn SessionStorage, root: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut open = vec![(root.to_path_buf(), None)];
    while let Some((dir, above)) = open.pop() {
        let above: Option<Rc<Level>> = above;
        // Elsewhere two directories can have the same identity.
        let id = if cfg!(unix) { storage.stat(&dir).ok().map(|stat| stat.id) } else { None };
        let mut chain = std::iter::successors(above.as_deref(), |level| level.above.as_deref());
        if id.is_some() && chain.any(|level| level.id == id) {
            continue;
        }
        let depth = above.as_ref().map_or(0, |level| level.depth + 1);
        if depth > MAX_DEPTH {
            let source = io::Error::other("directories are nested too deep; is there a link that leads in a circle?");
            return Err(Error::Io { op: "search", path: dir, source });
        }
        let level = Rc::new(Level { id, above, depth });
        for item in storage.list_dir(&dir).map_err(Error::io_at("list", &dir))? {
            match item.kind.map_err(Error::io_at("look at", &item.path))? {
                DirItemKind::File { .. } => files.push(item.path),
                DirItemKind::Dir => open.push((item.path, Some(Rc::clone(&level)))),
                DirItemKind::Other => {}
            }
        }
    }
    Ok(())
}
