//! Temporary files: the names they have, how they are made and filled, and which of them may go.
//!
//! A temporary file stands beside its target as `<target>.<pid>-<number>.tmp` and is locked by its maker for as long
//! as it is one. The kernel drops that lock with the process, so an unlocked temporary file is nobody's.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::disk::{Access, Disk, DiskFile, Kind};
use super::shared::{Shared, parent};

const SUFFIX: &str = ".tmp";
const BUFFER: usize = 256 * 1024;

/// Attempts to find a name that is not taken. A name is taken only where a process with the same number died and
/// left it.
const NAMES: usize = 100;

/// Whether the file name is one that temporary files of this library have (`<name>.<pid>-<number>.tmp`).
pub fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| target_name(name).is_some())
}

/// The name of the file that a temporary file was to become.
fn target_name(name: &OsStr) -> Option<&str> {
    let (target, number) = name.to_str()?.strip_suffix(SUFFIX)?.rsplit_once('.')?;
    let (pid, number) = number.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(pid) && digits(number) && !target.is_empty()).then_some(target)
}

fn name_for(target: &Path) -> io::Result<PathBuf> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut name: OsString = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.into();
    name.push(format!(".{}-{}{SUFFIX}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
    Ok(target.with_file_name(name))
}

/// A temporary file that is removed unless it becomes its target.
pub(super) struct Temp<'a, D: Disk> {
    shared: &'a Shared<D>,
    path: Option<PathBuf>,
    pub(super) file: Arc<D::File>,
}

impl<'a, D: Disk> Temp<'a, D> {
    /// Makes an empty one beside `target` and locks it.
    pub(super) fn beside(target: &Path, shared: &'a Shared<D>) -> io::Result<Self> {
        for _ in 0..NAMES {
            let path = name_for(target)?;
            let file = match shared.disk.create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                file => Arc::new(file?),
            };
            let temp = Temp { shared, path: Some(path), file };
            return if temp.file.try_lock()? { Ok(temp) } else { Err(io::ErrorKind::WouldBlock.into()) };
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a temporary file"))
    }

    /// Appends what `write` writes, in large pieces.
    pub(super) fn fill(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(BUFFER, Appender(&*self.file));
        let result = write(&mut out).and_then(|()| out.flush());
        if result.is_err() {
            // Dropped in its parts: a buffered writer that is dropped whole writes what it still has.
            let _ = out.into_parts();
        }
        result
    }

    /// Renames it over `target`. It stays open, and locked.
    pub(super) fn become_target(mut self, target: &Path) -> io::Result<Arc<D::File>> {
        if let Some(path) = &self.path {
            self.shared.owe_sync(parent(target));
            self.shared.disk.rename(path, target)?;
            self.path = None;
        }
        Ok(Arc::clone(&self.file))
    }
}

impl<D: Disk> Drop for Temp<'_, D> {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            self.shared.discard(path);
        }
    }
}

/// `io::Write` on the end of a file.
struct Appender<'a, F>(&'a F);

impl<F: DiskFile> Write for Appender<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes the temporary files of `target` that dead processes left. What cannot be removed stays for the next time.
pub(super) fn sweep<D: Disk>(target: &Path, shared: &Shared<D>) {
    let Some(file_name) = target.file_name().and_then(OsStr::to_str) else { return };
    let dir = parent(target);
    for entry in shared.disk.read_dir(dir).unwrap_or_default() {
        if entry.kind == Kind::File && target_name(&entry.name) == Some(file_name) {
            let path = dir.join(&entry.name);
            let abandoned = shared.disk.open(&path, Access::Append).and_then(|temp| temp.try_lock());
            if abandoned.is_ok_and(|abandoned| abandoned) {
                shared.discard(path);
            }
        }
    }
}
