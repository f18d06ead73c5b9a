//! [`SessionStorage`] over any [`Disk`]: whole files, names and listings.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Access, Disk, DiskEntry, DiskFile, DiskStat, Kind};
use super::shared::{Shared, parent};
use super::temp::Temp;
use super::writer::FileWriter;
use super::{DirItem, DirItemKind, FileInfo, FileStat, ReadAt, RealDisk, SessionStorage, SessionStorageWriter};
use crate::parallel::on_all_cores;

/// Sessions as files on a [`Disk`].
pub struct DiskSessionStorage<D: Disk = RealDisk> {
    shared: Arc<Shared<D>>,
}

impl<D: Disk + Default> DiskSessionStorage<D> {
    /// On the disk's default: the real one, or an empty one in memory.
    pub fn new() -> Self {
        Self::on(D::default())
    }
}

impl<D: Disk + Default> Default for DiskSessionStorage<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D: Disk> DiskSessionStorage<D> {
    /// On the given disk.
    pub fn on(disk: D) -> Self {
        DiskSessionStorage { shared: Arc::new(Shared::new(disk)) }
    }

    /// The disk.
    pub fn disk(&self) -> &D {
        &self.shared.disk
    }

    fn open(&self, path: &Path) -> io::Result<Reader<D::File>> {
        Ok(Reader(Arc::new(self.disk().open(path, Access::Read)?)))
    }

    /// The names in a directory with what they stand for, links followed; none in a missing one.
    fn names(&self, dir: &Path) -> io::Result<Vec<(PathBuf, Kind)>> {
        let entries = match self.disk().read_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::with_capacity(entries.len());
        for entry in entries {
            let path = dir.join(&entry.name);
            let kind = match entry.kind {
                Kind::Link => self.present(&path)?.map_or(Kind::Other, |stat| stat.kind),
                kind => kind,
            };
            names.push((path, kind));
        }
        Ok(names)
    }

    /// What is at the path, if anything is.
    fn present(&self, path: &Path) -> io::Result<Option<DiskStat>> {
        match self.disk().metadata(path) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl<D: Disk> SessionStorage for DiskSessionStorage<D> {
    fn ensure_dir(&self, dir: &Path) -> io::Result<()> {
        let mut missing = Vec::new();
        let mut next = dir;
        loop {
            match self.disk().metadata(next) {
                Ok(stat) if stat.kind == Kind::Dir => break,
                Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Err(error) if parent(next) == next => return Err(error),
                Err(_) => missing.push(next),
            }
            next = parent(next);
        }
        for dir in missing.into_iter().rev() {
            self.shared.owe_sync(parent(dir));
            match self.disk().create_dir(dir) {
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => result?,
            }
        }
        self.shared.sync_owed(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.present(path)?.is_some())
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.shared.follow(path)
    }

    fn stat(&self, path: &Path) -> io::Result<FileStat> {
        Ok(self.disk().metadata(path)?.file())
    }

    fn list_files(&self, dir: &Path) -> io::Result<Vec<FileInfo>> {
        let names = self.names(dir)?;
        let mut files = Vec::with_capacity(names.len());
        for (path, kind) in names {
            if kind != Kind::File {
                continue;
            }
            if let Some(stat) = self.present(&path)? {
                files.push(FileInfo { path, len: stat.len, modified_ns: stat.modified_ns });
            }
        }
        Ok(files)
    }

    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let names = self.names(dir)?;
        Ok(names.into_iter().filter(|(_, kind)| *kind == Kind::Dir).map(|(path, _)| path).collect())
    }

    fn list_dir(&self, dir: &Path) -> io::Result<Vec<DirItem>> {
        let entries = match self.disk().read_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let item = |entry: &DiskEntry| {
            let path = dir.join(&entry.name);
            let kind = match entry.kind {
                Kind::Dir => Ok(DirItemKind::Dir),
                Kind::Other => Ok(DirItemKind::Other),
                Kind::File | Kind::Link => match self.disk().metadata(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound && entry.kind == Kind::File => return None,
                    stat => stat.map(item_kind),
                },
            };
            Some(DirItem { path, kind })
        };
        // Looking at thousands of files takes longer than reading the beginnings of the newest.
        Ok(on_all_cores(&entries, || (), |(), entry| item(entry)).into_iter().flatten().collect())
    }

    fn read_text(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_up_to(&self.open(path)?, u64::MAX)
    }

    fn read_text_prefix(&self, path: &Path, max: usize) -> io::Result<Vec<u8>> {
        read_up_to(&self.open(path)?, max as u64)
    }

    fn write_text(&self, path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
        self.shared.clear_debris();
        let target = self.shared.follow(path)?;
        let temp = Temp::beside(&target, &self.shared)?;
        match self.disk().open(&target, Access::Read) {
            Ok(old) => temp.file.copy_access(&old)?,
            // An old file that may not even be read has no mode worth keeping.
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {}
            Err(error) => return Err(error),
        }
        temp.fill(&mut |out| out.write_all(bytes))?;
        if durable {
            temp.file.fsync()?;
        }
        drop(temp.become_target(&target)?);
        if durable {
            self.shared.sync_dir(parent(&target))?;
        }
        Ok(())
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.disk().open(path, Access::Read)?.fsync()?;
        let target = self.shared.follow(path)?;
        self.shared.sync_owed(parent(&target))?;
        self.shared.sync_dir(parent(&target))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<io::Result<()>> {
        let (old_dir, new_dir) = (parent(from), parent(to));
        self.shared.owe_sync(new_dir);
        self.shared.owe_sync(old_dir);
        self.disk().rename(from, to)?;
        // The new name first: between the two the file has both names, never none.
        let mut synced = self.shared.sync_dir(new_dir);
        if old_dir != new_dir {
            synced = synced.and(self.shared.sync_dir(old_dir));
        }
        Ok(synced)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.disk().remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.shared.sync_dir(dir)
    }

    fn remove_dir_all(&self, dir: &Path) -> io::Result<()> {
        remove_tree(self.disk(), dir)
    }

    fn open_reader(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(self.open(path)?))
    }

    fn open_writer(&self, path: &Path) -> io::Result<Box<dyn SessionStorageWriter>> {
        Ok(Box::new(FileWriter::new(Arc::clone(&self.shared), path.to_path_buf())))
    }
}

fn item_kind(stat: DiskStat) -> DirItemKind {
    match stat.kind {
        Kind::File => DirItemKind::File { len: stat.len, modified_ns: stat.modified_ns },
        Kind::Dir => DirItemKind::Dir,
        Kind::Link | Kind::Other => DirItemKind::Other,
    }
}

/// An open file as the content of a session.
pub(super) struct Reader<F>(pub(super) Arc<F>);

impl<F: DiskFile> ReadAt for Reader<F> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn stat(&self) -> io::Result<FileStat> {
        Ok(self.0.stat()?.file())
    }
}

/// The content up to `max` bytes, in a buffer of its size.
fn read_up_to(file: &dyn ReadAt, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        // A file that grows meanwhile is read to its new end, and one that shrinks to that.
        let known = file.stat()?.len.min(max);
        let wanted = usize::try_from(known).map_err(|_| io::ErrorKind::FileTooLarge)?;
        if bytes.len() >= wanted {
            return Ok(bytes);
        }
        let mut done = bytes.len();
        bytes.try_reserve_exact(wanted - done).map_err(|_| io::ErrorKind::OutOfMemory)?;
        bytes.resize(wanted, 0);
        while done < wanted {
            match file.read_at(&mut bytes[done..], done as u64) {
                Ok(0) => {
                    bytes.truncate(done);
                    return Ok(bytes);
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Removes a directory with a list of what is left to do instead of recursion: no depth of it can exhaust the stack.
fn remove_tree<D: Disk>(disk: &D, root: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    if disk.read_link(root)?.is_some() {
        return gone(disk.remove_file(root));
    }
    let mut open = vec![(root.to_path_buf(), false)];
    while let Some((dir, emptied)) = open.pop() {
        if emptied {
            gone(disk.remove_dir(&dir))?;
            continue;
        }
        let entries = match disk.read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        open.push((dir.clone(), true));
        for entry in entries {
            let path = dir.join(&entry.name);
            match entry.kind {
                Kind::Dir => open.push((path, false)),
                _ => gone(disk.remove_file(&path))?,
            }
        }
    }
    Ok(())
}
