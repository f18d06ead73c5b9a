//! The steps that a file system offers, one method each, so that a test can count them and fail any of them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::{FileId, FileStat};

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading, and writing at the end.
    Append,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link (only in listings: everything else follows links).
    Link,
    /// Anything else (pipe, socket, device).
    Other,
}

/// What is known about a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskStat {
    /// What it is.
    pub kind: Kind,
    /// Length in bytes.
    pub len: u64,
    /// Time of the last change, in nanoseconds since 1970-01-01T00:00:00Z.
    pub modified_ns: i64,
    /// Which content this is.
    pub id: FileId,
    /// How many names it has: 0 once it was removed or another file was renamed over it. Always 1 where that cannot
    /// be told.
    pub links: u64,
    /// The permission bits (`0o600`). 0 where there are none.
    pub mode: u32,
}

impl DiskStat {
    /// The part of it that a store without files has as well.
    pub fn file(&self) -> FileStat {
        FileStat { len: self.len, modified_ns: self.modified_ns, id: self.id }
    }
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskEntry {
    /// The name, without the directory.
    pub name: OsString,
    /// What it stands for, links not followed.
    pub kind: Kind,
}

/// A file system, in steps. No step does a second thing, retries or cleans up: protocols are made of them in
/// [`super::DiskSessionStorage`].
pub trait Disk: Send + Sync + 'static {
    /// An open file.
    type File: DiskFile;

    /// Opens an existing regular file, links followed. Anything that is no regular file is an error and is not
    /// waited for.
    fn open(&self, path: &Path, access: Access) -> io::Result<Self::File>;

    /// Makes an empty file, mode 0600, and opens it for [`Access::Append`]. `AlreadyExists` where the name is taken,
    /// also by a link.
    fn create_new(&self, path: &Path) -> io::Result<Self::File>;

    /// Makes one directory, mode 0700.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;

    /// What is at the path, links followed.
    fn metadata(&self, path: &Path) -> io::Result<DiskStat>;

    /// Where a symbolic link points to, as it is written there; `None` if the path is no link or nothing at all.
    fn read_link(&self, path: &Path) -> io::Result<Option<PathBuf>>;

    /// The names in a directory, without `.` and `..`.
    fn read_dir(&self, dir: &Path) -> io::Result<Vec<DiskEntry>>;

    /// Gives a file or directory another name, replacing a file that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes the name of a file or link.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable. Does nothing where directories cannot be synced.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// An open file. Closing it (dropping the last reference) releases its lock.
pub trait DiskFile: Send + Sync + 'static {
    /// Reads up to `buf.len()` bytes from byte `offset` on; 0 at or after the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at the end of the file, wherever that is now, in one system call, and returns how many bytes it took.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file off at `len` bytes.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// What the file is now.
    fn stat(&self) -> io::Result<DiskStat>;

    /// Makes the content durable.
    fn fsync(&self) -> io::Result<()>;

    /// Gives the file the permission bits of `other` and, as far as that is allowed, its owner and group.
    fn copy_access(&self, other: &Self) -> io::Result<()>;

    /// Takes the exclusive advisory lock on the content if nobody else has it. Two handles on one content exclude
    /// each other, in one process or in two. Returns whether the lock is held now.
    fn try_lock(&self) -> io::Result<bool>;

    /// Releases the lock. It may be kept for a moment, for [`DiskFile::resume_lock`].
    fn unlock(&self) -> io::Result<()>;

    /// Goes on with a lock that was kept since the last `unlock`, so that no other handle can have had it: returns
    /// whether it is held now.
    fn resume_lock(&self) -> bool {
        false
    }

    /// Others write to this content too: a lock that is kept after `unlock` would only make them wait.
    fn shared_with_others(&self) {}

    /// Length and number of names: a part of `stat`, cheaper where the system has a way.
    fn look(&self) -> io::Result<(u64, u64)> {
        self.stat().map(|stat| (stat.len, stat.links))
    }

    /// Where the last append through this handle ended; `None` where that cannot be told.
    fn appended_to(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }
}
