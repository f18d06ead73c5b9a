//! Where sessions live: the operations the session manager needs, and nothing that only a file system has
//! (SPEC section 10). A store that keeps rows in a database can implement the traits as well as files do.
//!
//! - [`SessionStorage`]: whole contents, names, listings.
//! - [`SessionStorageWriter`]: one session's content under its lock: append, replace, make durable.
//! - [`ReadAt`]: one content that is being read.
//!
//! [`DiskSessionStorage`] implements them over any [`Disk`], the small steps (open, append, rename, fsync ...) that
//! a file system offers: [`FileSessionStorage`] over the real one, [`MemorySessionStorage`] over one in memory.

mod disk;
mod file;
mod lease;
mod lock;
mod memory;
mod real;
mod shared;
mod temp;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use disk::{Access, Disk, DiskEntry, DiskFile, DiskStat, Kind};
pub use file::DiskSessionStorage;
pub use memory::{MemoryDisk, MemoryFile};
pub use real::{RealDisk, RealFile};
pub use temp::is_temporary;

/// Sessions as files of the operating system.
pub type FileSessionStorage = DiskSessionStorage<RealDisk>;

/// Sessions in memory, with the same behaviour (names, locks, replaced contents) and no durability.
pub type MemorySessionStorage = DiskSessionStorage<MemoryDisk>;

/// The identity of one content: equal for two looks at the same content, different once the content at a path was
/// replaced by another. Reliable as long as a reader or writer of the older of the two is alive: a file system may
/// give the number of a file that nobody uses any more to a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId(pub u64, pub u64);

/// What is known about one content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// Length in bytes.
    pub len: u64,
    /// Time of the last change, in nanoseconds since 1970-01-01T00:00:00Z.
    pub modified_ns: i64,
    /// Which content this is.
    pub id: FileId,
}

/// One file of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// The listed directory with the file's name.
    pub path: PathBuf,
    /// Length in bytes.
    pub len: u64,
    /// Time of the last change, in nanoseconds since 1970-01-01T00:00:00Z.
    pub modified_ns: i64,
}

/// One name in a directory.
#[derive(Debug)]
pub struct DirItem {
    /// The listed directory with the name.
    pub path: PathBuf,
    /// What the name stands for, links followed. An error where that could not be found out, also of a link to
    /// nothing.
    pub kind: io::Result<DirItemKind>,
}

/// What a name in a directory stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirItemKind {
    /// A regular file.
    File {
        /// Length in bytes.
        len: u64,
        /// Time of the last change, in nanoseconds since 1970-01-01T00:00:00Z.
        modified_ns: i64,
    },
    /// A directory.
    Dir,
    /// Something that holds no bytes to read: a pipe, a socket, a device.
    Other,
}

/// A content that is open for reading. It stays the same content when another one takes its place at the path.
pub trait ReadAt: Send + Sync {
    /// Reads up to `buf.len()` bytes from byte `offset` on and returns how many; 0 at or after the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Length, time and identity now.
    fn stat(&self) -> io::Result<FileStat>;

    /// Fills `buf` from byte `offset` on. `UnexpectedEof` where the content ends before that.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buf.len() {
            match self.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A place that keeps sessions, blobs and breadcrumbs (SPEC section 10).
///
/// A missing file is `ErrorKind::NotFound` unless a method says otherwise.
pub trait SessionStorage: Send + Sync {
    /// Makes the directory and the missing ones above it, mode 0700, and makes their names durable. A directory that
    /// is there keeps its mode. After an error a repeated call does what is still missing.
    fn ensure_dir(&self, dir: &Path) -> io::Result<()>;

    /// Whether there is something at the path. A link to nothing counts as nothing.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// The path that a symbolic link at the path leads to in the end, whether or not anything is there; else the path.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    /// Length, time and identity of the file at the path, links followed.
    fn stat(&self, path: &Path) -> io::Result<FileStat>;

    /// The regular files of a directory, links followed, in no particular order. A missing directory has none. Files
    /// that go away meanwhile are left out.
    fn list_files(&self, dir: &Path) -> io::Result<Vec<FileInfo>>;

    /// The directories in a directory, links followed, in no particular order. A missing directory has none.
    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;

    /// Everything in a directory, in no particular order. Unlike with [`SessionStorage::list_files`], what cannot be
    /// looked at is in the list, with the error, and does not fail it. A missing directory has nothing in it; names
    /// that go away meanwhile are left out.
    fn list_dir(&self, dir: &Path) -> io::Result<Vec<DirItem>> {
        let file =
            |FileInfo { path, len, modified_ns }| DirItem { path, kind: Ok(DirItemKind::File { len, modified_ns }) };
        let dirs = self.list_dirs(dir)?.into_iter().map(|path| DirItem { path, kind: Ok(DirItemKind::Dir) });
        Ok(self.list_files(dir)?.into_iter().map(file).chain(dirs).collect())
    }

    /// The whole content.
    fn read_text(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The first `max` bytes of the content, fewer where it is shorter.
    fn read_text_prefix(&self, path: &Path, max: usize) -> io::Result<Vec<u8>>;

    /// Puts `bytes` at the path, in place of what is there, mode 0600 (an older file's mode is kept; a symbolic link
    /// stays and its target is replaced). All or nothing: no reader and no crash sees a part. With `durable` the
    /// content survives a power loss once this has returned. After an error the old or the new content is there,
    /// complete, and a repeated call is safe.
    fn write_text(&self, path: &Path, bytes: &[u8], durable: bool) -> io::Result<()>;

    /// Makes the content at the path and its name durable, whoever wrote it.
    fn sync(&self, path: &Path) -> io::Result<()>;

    /// Renames a file or directory; a file at `to` is replaced. The outer error: nothing was renamed. The inner one:
    /// it was, but its durability could not be had; [`SessionStorageWriter::fsync`] of a writer below the same
    /// directory tries again.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<io::Result<()>>;

    /// Removes a file (or a link, not its target). It may come back after a power loss, until
    /// [`SessionStorage::sync_dir`].
    fn unlink(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable, those that are gone too.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Removes a directory and all that is in it; links in it are removed, not followed. A missing one is fine.
    fn remove_dir_all(&self, dir: &Path) -> io::Result<()>;

    /// Opens a content for reading, links followed.
    fn open_reader(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>>;

    /// A writer for the path, where nothing has to be yet. Does not touch the path.
    fn open_writer(&self, path: &Path) -> io::Result<Box<dyn SessionStorageWriter>>;
}

/// What [`SessionStorageWriter::replace`] did.
#[derive(Debug)]
pub struct Replaced {
    /// The new content.
    pub stat: FileStat,
    /// An error where the new content is in place but its name may not survive a power loss yet. The next
    /// [`SessionStorageWriter::fsync`] tries that again.
    pub synced: io::Result<()>,
}

/// One session's content, for appending and replacing under its lock.
///
/// Every change goes `begin`, then any of `create`, `write_line`, `replace`, then `end`. Between `begin` and `end` no
/// other writer, of this process or another, changes the content. Writers never hold two locks that others could
/// wait for, so no two of them wait for each other. Dropping a writer closes it.
pub trait SessionStorageWriter: Send {
    /// Takes the lock on the content that is at the path now and says what it is (in a burst of appends `modified_ns`
    /// may be an older one). `None`: there is none, and nothing
    /// is locked. A lock that this writer still holds is released first.
    ///
    /// Errors: `TimedOut` when another writer held the lock for all of `wait` (zero: one attempt); `PermissionDenied`
    /// and `ReadOnlyFilesystem` for a content that may only be read; nothing is locked then.
    fn begin(&mut self, wait: Duration) -> io::Result<Option<FileStat>>;

    /// After `begin` returned `None`: makes the content from `bytes`, mode 0600, and keeps its lock.
    ///
    /// Errors: `AlreadyExists` when another writer was faster (call `begin` again); after any other error there is
    /// nothing at the path again, as far as that could be brought about.
    fn create(&mut self, bytes: &[u8]) -> io::Result<FileStat>;

    /// Appends `bytes` in one write and returns the offset of their first byte. Once it has returned, the bytes
    /// survive the end of this process (P1).
    ///
    /// Where a writer that takes no lock added bytes meanwhile, the offset is past the known end by as many.
    ///
    /// Errors: nothing was added: what a failed write stored is cut off again (P4). Where that fails too the next
    /// `begin` shows the longer length, and the torn bytes are at the end of the content.
    fn write_line(&mut self, bytes: &[u8]) -> io::Result<u64>;

    /// Puts what `write` writes in place of the whole content, all or nothing and durable (P3), and keeps the lock,
    /// now on the new content. The mode is kept; of a symbolic link the target is replaced. After `begin` returned
    /// `None` it makes the content, as `create` does, but whatever its size in constant memory and durable.
    ///
    /// Errors: the content from before is still there, complete. `StaleNetworkFileHandle`: another content was put
    /// at the path, or somebody who takes no locks added to this one, and is left alone; `AlreadyExists`: another
    /// writer made it first; call `begin` again. Errors of `write` are passed on.
    fn replace(&mut self, write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) -> io::Result<Replaced>;

    /// Releases the lock, if it is held.
    fn end(&mut self);

    /// The content that the last `begin`, `create` or `replace` saw, for reading. `None` where there was none.
    fn reader(&self) -> Option<Arc<dyn ReadAt>>;

    /// A job that makes the content of the last `begin`, `create` or `replace`, and its name, durable (P2): all that
    /// was written when the job starts. It needs neither the lock nor the writer, so appends can go on meanwhile.
    /// `None` where there is no content.
    fn fsync(&self) -> Option<SyncJob>;

    /// Releases the lock and the content. The writer can be used again, from `begin` on.
    fn close(&mut self);
}

/// What [`SessionStorageWriter::fsync`] gives.
pub type SyncJob = Box<dyn FnOnce() -> io::Result<()> + Send>;
