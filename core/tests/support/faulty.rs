//! A disk that counts its calls and fails the ones it is told to fail.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use xcsh_session::storage::{Access, Disk, DiskEntry, DiskFile, DiskStat};

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// "No space left on device".
    NoSpace,
    /// "Input/output error".
    Io,
    /// "Read-only file system".
    ReadOnly,
    /// An append stores the first half of its bytes and then fails with [`Fault::NoSpace`]; other calls fail at once.
    ShortWrite,
    /// An append stores all its bytes but the last `cut` ones and then fails with [`Fault::Io`]; other calls fail at
    /// once.
    Late { cut: usize },
}

impl Fault {
    pub const ALL: [Fault; 4] = [Fault::NoSpace, Fault::Io, Fault::ReadOnly, Fault::ShortWrite];

    pub fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Fault::NoSpace | Fault::ShortWrite => 28,
            Fault::Io | Fault::Late { .. } => 5,
            Fault::ReadOnly => 30,
        })
    }
}

/// One call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method ("open", "append", "rename" ...).
    pub op: &'static str,
    /// What it was about; of a rename the old path.
    pub path: PathBuf,
    /// Whether it was made to fail.
    pub failed: bool,
}

#[derive(Default)]
struct Plan {
    calls: Vec<Call>,
    from: Option<u64>,
    once: bool,
    fault: Option<Fault>,
    reads_too: bool,
    failing_ops: Vec<(&'static str, Fault)>,
    before: Option<(Which, Job)>,
}

type Job = Box<dyn FnOnce() + Send>;
type Which = Box<dyn Fn(&str, &Path) -> bool + Send>;

/// A disk over another one. Every call is numbered from 1 on; `unlock` and closing cannot fail, as in a real system,
/// and are not counted.
#[derive(Clone)]
pub struct FaultyDisk<D> {
    disk: D,
    plan: Arc<Mutex<Plan>>,
}

pub struct FaultyFile<F> {
    file: F,
    path: PathBuf,
    plan: Arc<Mutex<Plan>>,
}

fn lock(plan: &Mutex<Plan>) -> MutexGuard<'_, Plan> {
    plan.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Notes a call; `Some`: it is to fail.
fn note(all: &Mutex<Plan>, op: &'static str, path: &Path) -> Option<Fault> {
    let mut plan = lock(all);
    if let Some((_, job)) = plan.before.take_if(|(which, _)| which(op, path)) {
        // It makes calls of its own.
        drop(plan);
        job();
        return note(all, op, path);
    }
    let number = plan.calls.len() as u64 + 1;
    let fault = plan.fault.filter(|_| {
        let due = plan.from.is_some_and(|from| if plan.once { number == from } else { number >= from });
        due && (plan.reads_too || !READS.contains(&op))
    });
    let fault = fault.or(plan.failing_ops.iter().find(|(failing, _)| *failing == op).map(|(_, fault)| *fault));
    plan.calls.push(Call { op, path: path.to_path_buf(), failed: fault.is_some() });
    fault
}

/// Calls that change nothing: a full disk does not fail them.
const READS: &[&str] = &["open", "open_append", "metadata", "read_link", "read_dir", "read_at", "stat", "try_lock"];

fn check(plan: &Mutex<Plan>, op: &'static str, path: &Path) -> io::Result<()> {
    match note(plan, op, path) {
        Some(fault) => Err(fault.error()),
        None => Ok(()),
    }
}

impl<D> FaultyDisk<D> {
    pub fn new(disk: D) -> Self {
        FaultyDisk { disk, plan: Arc::default() }
    }

    /// The disk below, which never fails.
    pub fn inner(&self) -> &D {
        &self.disk
    }

    /// Fails call number `number` (counted from the last `forget`), reading ones too.
    pub fn fail_once(&self, number: u64, fault: Fault) {
        self.set(Some(number), true, Some(fault), true);
    }

    /// Fails call number `number` and all after it, reading ones too, until `heal`.
    pub fn fail_from(&self, number: u64, fault: Fault) {
        self.set(Some(number), false, Some(fault), true);
    }

    /// Fails call number `number` and all after it that change something, until `heal`.
    pub fn fail_writes_from(&self, number: u64, fault: Fault) {
        self.set(Some(number), false, Some(fault), false);
    }

    /// Fails all calls of this name, until `heal`.
    pub fn fail_op(&self, op: &'static str, fault: Fault) {
        lock(&self.plan).failing_ops.push((op, fault));
    }

    /// Fails nothing any more.
    pub fn heal(&self) {
        self.set(None, false, None, false);
        lock(&self.plan).failing_ops.clear();
    }

    /// Does `job` once, right before the next call of this name: what another process does in between.
    pub fn before(&self, op: &'static str, job: impl FnOnce() + Send + 'static) {
        self.when(move |next, _| next == op, job);
    }

    /// Does `job` once, right before the next call that `which` picks by its name and path.
    pub fn when(&self, which: impl Fn(&str, &Path) -> bool + Send + 'static, job: impl FnOnce() + Send + 'static) {
        lock(&self.plan).before = Some((Box::new(which), Box::new(job)));
    }

    /// How many calls were made since the last `forget`.
    pub fn count(&self) -> u64 {
        lock(&self.plan).calls.len() as u64
    }

    /// The calls made since the last `forget`; number 1 is the first.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.plan).calls.clone()
    }

    /// The names of these calls.
    pub fn ops(&self) -> Vec<&'static str> {
        lock(&self.plan).calls.iter().map(|call| call.op).collect()
    }

    /// The calls that were made to fail.
    pub fn failures(&self) -> Vec<Call> {
        lock(&self.plan).calls.iter().filter(|call| call.failed).cloned().collect()
    }

    /// Starts to count anew.
    pub fn forget(&self) {
        lock(&self.plan).calls.clear();
    }

    fn set(&self, from: Option<u64>, once: bool, fault: Option<Fault>, reads_too: bool) {
        let mut plan = lock(&self.plan);
        (plan.from, plan.once, plan.fault, plan.reads_too) = (from, once, fault, reads_too);
    }

    fn file<F>(&self, file: F, path: &Path) -> FaultyFile<F> {
        FaultyFile { file, path: path.to_path_buf(), plan: Arc::clone(&self.plan) }
    }
}

impl<D: Disk> Disk for FaultyDisk<D> {
    type File = FaultyFile<D::File>;

    fn open(&self, path: &Path, access: Access) -> io::Result<Self::File> {
        check(&self.plan, if access == Access::Read { "open" } else { "open_append" }, path)?;
        Ok(self.file(self.disk.open(path, access)?, path))
    }

    fn create_new(&self, path: &Path) -> io::Result<Self::File> {
        check(&self.plan, "create_new", path)?;
        Ok(self.file(self.disk.create_new(path)?, path))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        check(&self.plan, "create_dir", dir)?;
        self.disk.create_dir(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<DiskStat> {
        check(&self.plan, "metadata", path)?;
        self.disk.metadata(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        check(&self.plan, "read_link", path)?;
        self.disk.read_link(path)
    }

    fn read_dir(&self, dir: &Path) -> io::Result<Vec<DiskEntry>> {
        check(&self.plan, "read_dir", dir)?;
        self.disk.read_dir(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        check(&self.plan, "rename", from)?;
        self.disk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        check(&self.plan, "remove_file", path)?;
        self.disk.remove_file(path)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        check(&self.plan, "remove_dir", dir)?;
        self.disk.remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        check(&self.plan, "sync_dir", dir)?;
        self.disk.sync_dir(dir)
    }
}

impl<F: DiskFile> DiskFile for FaultyFile<F> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        check(&self.plan, "read_at", &self.path)?;
        self.file.read_at(buf, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        match note(&self.plan, "append", &self.path) {
            None => self.file.append(bytes),
            Some(fault) => {
                let stored = match fault {
                    Fault::ShortWrite => bytes.len() / 2,
                    Fault::Late { cut } => bytes.len() - cut,
                    _ => 0,
                };
                if stored > 0 {
                    self.file.append(&bytes[..stored])?;
                }
                Err(fault.error())
            }
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        check(&self.plan, "set_len", &self.path)?;
        self.file.set_len(len)
    }

    fn stat(&self) -> io::Result<DiskStat> {
        check(&self.plan, "stat", &self.path)?;
        self.file.stat()
    }

    fn fsync(&self) -> io::Result<()> {
        check(&self.plan, "fsync", &self.path)?;
        self.file.fsync()
    }

    fn copy_access(&self, other: &Self) -> io::Result<()> {
        check(&self.plan, "copy_access", &self.path)?;
        self.file.copy_access(&other.file)
    }

    fn try_lock(&self) -> io::Result<bool> {
        check(&self.plan, "try_lock", &self.path)?;
        self.file.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn resume_lock(&self) -> bool {
        self.file.resume_lock()
    }

    fn shared_with_others(&self) {
        self.file.shared_with_others();
    }

    fn look(&self) -> io::Result<(u64, u64)> {
        check(&self.plan, "look", &self.path)?;
        self.file.look()
    }

    fn appended_to(&self) -> io::Result<Option<u64>> {
        check(&self.plan, "appended_to", &self.path)?;
        self.file.appended_to()
    }
}
