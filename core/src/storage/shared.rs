//! What the storage and its writers share: the disk, directory syncs that are owed, temporary files that could not
//! be removed.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::disk::Disk;

/// As many links are followed one after another as Linux follows.
const MAX_LINKS: usize = 40;

pub(super) struct Shared<D> {
    pub(super) disk: D,
    owed: Mutex<Owed>,
    debris: Mutex<Vec<PathBuf>>,
    has_debris: AtomicBool,
}

/// Directories whose names changed and were not synced since. A number per change: a sync pays for the changes from
/// before it began, not for those made while it ran.
#[derive(Default)]
struct Owed {
    last: u64,
    dirs: HashMap<PathBuf, u64>,
}

impl<D: Disk> Shared<D> {
    pub(super) fn new(disk: D) -> Self {
        Shared { disk, owed: Mutex::default(), debris: Mutex::default(), has_debris: AtomicBool::new(false) }
    }

    /// Notes that names in `dir` changed.
    pub(super) fn owe_sync(&self, dir: &Path) {
        let mut owed = lock(&self.owed);
        owed.last += 1;
        let change = owed.last;
        owed.dirs.insert(dir.to_path_buf(), change);
    }

    /// Makes the names in `dir` durable; what failed is still owed.
    pub(super) fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let change = lock(&self.owed).dirs.get(dir).copied();
        self.disk.sync_dir(dir)?;
        let mut owed = lock(&self.owed);
        if change.is_some() && owed.dirs.get(dir).copied() == change {
            owed.dirs.remove(dir);
        }
        Ok(())
    }

    /// Does the owed syncs of `dir` and of the directories above it.
    pub(super) fn sync_owed(&self, dir: &Path) -> io::Result<()> {
        let above = |owed: &&PathBuf| dir.starts_with(owed) || (dir.is_relative() && owed.as_os_str() == ".");
        let owed: Vec<PathBuf> = lock(&self.owed).dirs.keys().filter(above).cloned().collect();
        for dir in owed {
            match self.sync_dir(&dir) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => drop(lock(&self.owed).dirs.remove(&dir)),
                result => result?,
            }
        }
        Ok(())
    }

    /// Removes a temporary file, now or, where that fails, later.
    pub(super) fn discard(&self, temp: PathBuf) {
        match self.disk.remove_file(&temp) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                lock(&self.debris).push(temp);
                self.has_debris.store(true, Ordering::Release);
            }
            _ => {}
        }
    }

    /// Removes what [`Shared::discard`] could not remove. One load where there is nothing.
    pub(super) fn clear_debris(&self) {
        if self.has_debris.swap(false, Ordering::AcqRel) {
            let debris = std::mem::take(&mut *lock(&self.debris));
            debris.into_iter().for_each(|temp| self.discard(temp));
        }
    }

    /// The path with symbolic links of its last part followed, also where the last one points to nothing.
    pub(super) fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        let mut path = path.to_path_buf();
        for _ in 0..MAX_LINKS {
            match self.disk.read_link(&path)? {
                Some(target) => path = parent(&path).join(target),
                None => return Ok(path),
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
    }
}

/// The directory that a path's last part is in.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if dir.as_os_str().is_empty() => Path::new("."),
        Some(dir) => dir,
        None => path,
    }
}

/// What a panic in another thread left is consistent: every guarded change here is a single call.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
