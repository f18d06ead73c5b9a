//! The file system of the operating system.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use super::disk::{Access, Disk, DiskEntry, DiskFile, DiskStat, Kind};
use super::lease::Leased;

/// The file system of the operating system. Elsewhere than on Unix there are no modes, directories are not synced
/// and a replaced content is told by its time of creation.
#[derive(Debug, Default, Clone, Copy)]
pub struct RealDisk;

/// An open file of a [`RealDisk`].
#[derive(Debug)]
pub struct RealFile {
    lock: Arc<Leased>,
    #[cfg(not(unix))]
    position: std::sync::Mutex<()>,
}

impl RealFile {
    fn new(file: File) -> Self {
        RealFile {
            lock: Leased::new(file),
            #[cfg(not(unix))]
            position: std::sync::Mutex::new(()),
        }
    }

    fn file(&self) -> &File {
        &self.lock.file
    }
}

impl Disk for RealDisk {
    type File = RealFile;

    fn open(&self, path: &Path, access: Access) -> io::Result<RealFile> {
        // Opening a pipe would wait for its other end.
        let kind = kind(fs::metadata(path)?.file_type());
        if kind == Kind::Dir {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if kind != Kind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = OpenOptions::new().read(true).append(access == Access::Append).open(path)?;
        Ok(RealFile::new(file))
    }

    fn create_new(&self, path: &Path) -> io::Result<RealFile> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(RealFile::new(options.open(path)?))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        #[allow(unused_mut, reason = "only Unix has modes")]
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<DiskStat> {
        fs::metadata(path).map(|metadata| stat(&metadata))
    }

    fn read_link(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        match fs::read_link(path) {
            Ok(target) => Ok(Some(target)),
            // InvalidInput: there is something that is no link.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => Ok(None),
            // Windows has a code of its own for that.
            Err(error) if cfg!(windows) && error.raw_os_error() == Some(4390) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read_dir(&self, dir: &Path) -> io::Result<Vec<DiskEntry>> {
        let entry = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            Ok(DiskEntry { name: entry.file_name(), kind: kind(entry.file_type()?) })
        };
        fs::read_dir(dir)?.map(entry).collect()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    #[cfg(unix)]
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        // A directory that may not be read cannot be synced, and some file systems refuse it altogether.
        match File::open(dir) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            file => match file?.sync_all() {
                Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
                result => result,
            },
        }
    }

    #[cfg(not(unix))]
    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for RealFile {
    #[cfg(unix)]
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self.file(), buf, offset)
    }

    #[cfg(not(unix))]
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        use std::io::{Read, Seek, SeekFrom};
        let _alone = self.position.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.file().seek(SeekFrom::Start(offset))?;
        self.file().read(buf)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file().set_len(len)
    }

    fn stat(&self) -> io::Result<DiskStat> {
        self.file().metadata().map(|metadata| stat(&metadata))
    }

    fn fsync(&self) -> io::Result<()> {
        self.file().sync_all()
    }

    fn copy_access(&self, other: &RealFile) -> io::Result<()> {
        let theirs = other.file().metadata()?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let ours = self.file().metadata()?;
            if (ours.uid(), ours.gid()) != (theirs.uid(), theirs.gid()) {
                // Only root may give a file away. Before the mode is set: it clears bits of the mode.
                let _ = std::os::unix::fs::fchown(self.file(), Some(theirs.uid()), Some(theirs.gid()));
            }
            if ours.mode() == theirs.mode() {
                return Ok(());
            }
        }
        self.file().set_permissions(theirs.permissions())
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.lock.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                static WARN: Once = Once::new();
                WARN.call_once(|| log::warn!("this file system has no locks: do not write a session from two places"));
                Ok(true)
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        self.lock.unlock()
    }

    fn resume_lock(&self) -> bool {
        self.lock.resume()
    }

    fn shared_with_others(&self) {
        self.lock.shared_with_others();
    }

    fn appended_to(&self) -> io::Result<Option<u64>> {
        // An append leaves the position behind its last byte.
        self.file().stream_position().map(Some)
    }

    #[cfg(target_os = "linux")]
    fn look(&self) -> io::Result<(u64, u64)> {
        use rustix::fs::{AtFlags, StatxFlags, statx};
        // Not the times: asking for them makes the kernel take down the next write's with all digits, which costs
        // more than the write of a short line.
        let found = statx(self.file(), c"", AtFlags::EMPTY_PATH, StatxFlags::SIZE | StatxFlags::NLINK)?;
        Ok((found.stx_size, found.stx_nlink.into()))
    }
}

fn kind(of: fs::FileType) -> Kind {
    match of {
        _ if of.is_file() => Kind::File,
        _ if of.is_dir() => Kind::Dir,
        _ if of.is_symlink() => Kind::Link,
        _ => Kind::Other,
    }
}

#[cfg(unix)]
fn stat(metadata: &fs::Metadata) -> DiskStat {
    use std::os::unix::fs::MetadataExt;
    DiskStat {
        kind: kind(metadata.file_type()),
        len: metadata.len(),
        modified_ns: metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()),
        id: super::FileId(metadata.dev(), metadata.ino()),
        links: metadata.nlink(),
        mode: metadata.mode() & 0o7777,
    }
}

#[cfg(not(unix))]
fn stat(metadata: &fs::Metadata) -> DiskStat {
    let ns = |time: io::Result<std::time::SystemTime>| {
        let since = time.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        since.map_or(0, |since| since.as_nanos().min(i64::MAX as u128) as i64)
    };
    DiskStat {
        kind: kind(metadata.file_type()),
        len: metadata.len(),
        modified_ns: ns(metadata.modified()),
        id: super::FileId(0, ns(metadata.created()) as u64),
        links: 1,
        mode: 0,
    }
}
