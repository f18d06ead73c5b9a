//! A disk in memory that knows what would survive a loss of power.
//!
//! The model: the bytes of a file survive as they were at its last `fsync`, the names in a directory as they were at
//! its last `sync_dir`. What was never synced may survive or not, so a crash can be looked at in several ways.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use xcsh_session::storage::{Access, Disk, DiskEntry, DiskFile, DiskStat, FileId, Kind, MemoryDisk, MemoryFile};

/// What a crash leaves of the things that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survives {
    /// Nothing.
    Synced,
    /// All names, and no unsynced byte: the file system wrote its own records first.
    Names,
    /// All names, and the first half of the bytes that were added to each file since its last sync.
    Halves,
}

impl Survives {
    pub const ALL: [Survives; 3] = [Survives::Synced, Survives::Names, Survives::Halves];
}

/// Called around each sync with its number, from 1 on, and whether it is done already.
pub type Hook = Box<dyn FnMut(&PowerLossDisk, u64, bool) + Send>;

/// The disk. Clones share it.
#[derive(Clone, Default)]
pub struct PowerLossDisk {
    disk: MemoryDisk,
    state: Arc<Mutex<State>>,
    hook: Arc<Mutex<Option<Hook>>>,
}

#[derive(Default)]
struct State {
    contents: HashMap<FileId, Vec<u8>>,
    dirs: HashMap<FileId, BTreeMap<OsString, Named>>,
    syncs: u64,
    stop_after: Option<u64>,
    stopped: bool,
}

#[derive(Clone)]
enum Named {
    File { id: FileId, mode: u32, now: Vec<u8> },
    Dir { id: FileId, mode: u32, path: PathBuf },
    Link(PathBuf),
}

pub struct PowerLossFile {
    file: MemoryFile,
    disk: PowerLossDisk,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn whole(file: &MemoryFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(file.stat()?.len).unwrap()];
    let count = file.read_at(&mut bytes, 0)?;
    bytes.truncate(count);
    Ok(bytes)
}

impl PowerLossDisk {
    pub fn new() -> Self {
        Self::default()
    }

    /// The disk as a process that goes on sees it.
    pub fn live(&self) -> &MemoryDisk {
        &self.disk
    }

    /// How many syncs (of files and directories) were done.
    pub fn syncs(&self) -> u64 {
        lock(&self.state).syncs
    }

    /// Stops the machine right after sync number `number` (0: at once): every later call fails.
    pub fn stop_after(&self, number: u64) {
        let mut state = lock(&self.state);
        state.stop_after = Some(number);
        state.stopped = state.syncs >= number;
    }

    /// Stops the machine: every later call fails.
    pub fn stop(&self) {
        lock(&self.state).stopped = true;
    }

    /// Whether the machine has stopped.
    pub fn stopped(&self) -> bool {
        lock(&self.state).stopped
    }

    /// Calls `hook` before and after each sync. It may look at the disk, crash it and stop it.
    pub fn on_sync(&self, hook: impl FnMut(&PowerLossDisk, u64, bool) + Send + 'static) {
        *lock(&self.hook) = Some(Box::new(hook));
    }

    /// A disk with what was synced.
    pub fn crash(&self) -> MemoryDisk {
        self.crash_as(Survives::Synced)
    }

    /// A disk with what was synced and with as much of the rest as `survives` says.
    pub fn crash_as(&self, survives: Survives) -> MemoryDisk {
        let after = MemoryDisk::new();
        let state = lock(&self.state);
        let root = self.disk.metadata(Path::new("/")).unwrap().id;
        let mut open = vec![(PathBuf::from("/"), PathBuf::from("/"), root)];
        let mut modes = Vec::new();
        while let Some((new, old, id)) = open.pop() {
            let names = match survives {
                Survives::Synced => state.dirs.get(&id).cloned().unwrap_or_default(),
                Survives::Names | Survives::Halves => self.names(&old, true).unwrap_or_default(),
            };
            for (name, named) in names {
                let path = new.join(&name);
                match named {
                    Named::Link(target) => after.symlink(&target, &path).unwrap(),
                    Named::Dir { id, mode, path: old } => {
                        after.create_dir(&path).unwrap();
                        modes.push((path.clone(), mode));
                        open.push((path, old, id));
                    }
                    Named::File { id, mode, now } => {
                        let mut bytes = state.contents.get(&id).cloned().unwrap_or_default();
                        if survives == Survives::Halves && now.starts_with(&bytes) {
                            let added = &now[bytes.len()..];
                            bytes.extend_from_slice(&added[..added.len() / 2]);
                        }
                        after.create_new(&path).unwrap().append(&bytes).unwrap();
                        modes.push((path, mode));
                    }
                }
            }
        }
        for (path, mode) in modes.into_iter().rev() {
            after.set_mode(&path, mode).unwrap();
        }
        after
    }

    /// The names in a directory now, with what the files hold if that is asked for.
    fn names(&self, dir: &Path, contents: bool) -> io::Result<BTreeMap<OsString, Named>> {
        let mut names = BTreeMap::new();
        for entry in self.disk.read_dir(dir)? {
            let path = dir.join(&entry.name);
            let named = match entry.kind {
                Kind::Link => Named::Link(self.disk.read_link(&path)?.unwrap_or_default()),
                Kind::Dir => {
                    let stat = self.disk.metadata(&path)?;
                    Named::Dir { id: stat.id, mode: stat.mode, path }
                }
                _ => {
                    let stat = self.disk.metadata(&path)?;
                    let now = if contents { whole(&self.disk.open(&path, Access::Read)?)? } else { Vec::new() };
                    Named::File { id: stat.id, mode: stat.mode, now }
                }
            };
            names.insert(entry.name, named);
        }
        Ok(names)
    }

    /// Refuses if the machine has stopped.
    fn running(&self) -> io::Result<()> {
        match lock(&self.state).stopped {
            true => Err(io::Error::from_raw_os_error(5)),
            false => Ok(()),
        }
    }

    fn synced(&self, sync: impl FnOnce(&mut State) -> io::Result<()>) -> io::Result<()> {
        self.running()?;
        let number = self.syncs() + 1;
        self.call_hook(number, false);
        self.running()?;
        {
            let mut state = lock(&self.state);
            sync(&mut state)?;
            state.syncs += 1;
            state.stopped |= state.stop_after.is_some_and(|last| state.syncs >= last);
        }
        self.call_hook(number, true);
        Ok(())
    }

    fn call_hook(&self, number: u64, done: bool) {
        // Taken out meanwhile, so that the hook may make calls that sync.
        let hook = lock(&self.hook).take();
        if let Some(mut hook) = hook {
            hook(self, number, done);
            lock(&self.hook).get_or_insert(hook);
        }
    }

    fn file(&self, file: MemoryFile) -> PowerLossFile {
        PowerLossFile { file, disk: self.clone() }
    }
}

impl Disk for PowerLossDisk {
    type File = PowerLossFile;

    fn open(&self, path: &Path, access: Access) -> io::Result<PowerLossFile> {
        self.running()?;
        Ok(self.file(self.disk.open(path, access)?))
    }

    fn create_new(&self, path: &Path) -> io::Result<PowerLossFile> {
        self.running()?;
        Ok(self.file(self.disk.create_new(path)?))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.running()?;
        self.disk.create_dir(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<DiskStat> {
        self.running()?;
        self.disk.metadata(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        self.running()?;
        self.disk.read_link(path)
    }

    fn read_dir(&self, dir: &Path) -> io::Result<Vec<DiskEntry>> {
        self.running()?;
        self.disk.read_dir(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.running()?;
        self.disk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.running()?;
        self.disk.remove_file(path)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.running()?;
        self.disk.remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.synced(|state| {
            state.dirs.insert(self.disk.metadata(dir)?.id, self.names(dir, false)?);
            Ok(())
        })
    }
}

impl DiskFile for PowerLossFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.running()?;
        self.file.read_at(buf, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.running()?;
        self.file.append(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.running()?;
        self.file.set_len(len)
    }

    fn stat(&self) -> io::Result<DiskStat> {
        self.disk.running()?;
        self.file.stat()
    }

    fn fsync(&self) -> io::Result<()> {
        self.disk.synced(|state| {
            state.contents.insert(self.file.stat()?.id, whole(&self.file)?);
            Ok(())
        })
    }

    fn copy_access(&self, other: &PowerLossFile) -> io::Result<()> {
        self.disk.running()?;
        self.file.copy_access(&other.file)
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.disk.running()?;
        self.file.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}
