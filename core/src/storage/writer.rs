//! [`SessionStorageWriter`] over any [`Disk`]: the lock, the identity of the locked content, appends that can be
//! taken back, replacement by rename.
//!
//! The lock is on the content, not on the path, so whoever gets it must look whether the content is still the one at
//! the path: the holder from before may have put another there. A content that was replaced has no name left, which
//! one `fstat` shows; one that was moved away still has, so the path is looked at too, but not for every append.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::disk::{Access, Disk, DiskFile};
use super::file::Reader;
use super::lock::Patience;
use super::shared::{Shared, parent};
use super::temp::{Temp, sweep};
use super::{FileId, FileStat, ReadAt, Replaced, SessionStorageWriter, SyncJob};

/// For how long the path is believed to lead to the content that it led to.
const PATH_CHECK: Duration = Duration::from_millis(10);

/// How many times in a row a content may be found replaced before `begin` pauses.
const STALE_AT_ONCE: u32 = 16;

pub(super) struct FileWriter<D: Disk> {
    shared: Arc<Shared<D>>,
    path: PathBuf,
    state: State,
    content: Option<Content<D::File>>,
    path_checked: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between `end` and `begin`.
    Idle,
    /// `begin` found nothing.
    Absent,
    /// The lock on the content is held.
    Held,
}

struct Content<F> {
    file: Arc<F>,
    /// What `begin` last saw.
    seen: Option<FileStat>,
    /// Where the next append lands; unknown after a failed one that could not be cut off.
    len: Option<u64>,
    /// Whether a directory sync came after the content got its name.
    name_synced: Arc<AtomicBool>,
}

impl<F> Content<F> {
    fn new(file: Arc<F>, len: Option<u64>, name_synced: bool) -> Self {
        Content { file, seen: None, len, name_synced: Arc::new(AtomicBool::new(name_synced)) }
    }
}

impl<D: Disk> FileWriter<D> {
    pub(super) fn new(shared: Arc<Shared<D>>, path: PathBuf) -> Self {
        FileWriter { shared, path, state: State::Idle, content: None, path_checked: Instant::now() }
    }

    /// Whether the path leads to the content.
    fn in_place(&mut self, id: FileId) -> io::Result<bool> {
        self.path_checked = Instant::now();
        match self.shared.disk.metadata(&self.path) {
            Ok(stat) => Ok(stat.id == id),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The content under the lock that was kept since the last `end`, where it still has a name.
    fn resume(&mut self) -> Option<FileStat> {
        let content = self.content.as_mut()?;
        let seen = content.seen.filter(|_| content.file.resume_lock())?;
        self.state = State::Held;
        match content.file.look() {
            Ok((len, links)) if links > 0 => {
                content.len = Some(len);
                Some(FileStat { len, ..seen })
            }
            _ => {
                self.end();
                None
            }
        }
    }

    /// One attempt to lock the content at the path.
    fn attempt(&mut self) -> io::Result<Attempt> {
        let file = match &self.content {
            Some(content) => Arc::clone(&content.file),
            None => {
                self.path_checked = Instant::now();
                match self.shared.disk.open(&self.path, Access::Append) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Attempt::Absent),
                    file => {
                        let file = Arc::new(file?);
                        self.content = Some(Content::new(Arc::clone(&file), None, false));
                        file
                    }
                }
            }
        };
        let locked = file.try_lock()?;
        if locked {
            self.state = State::Held;
        }
        let stat = file.stat()?;
        // Also while another holds the lock: on a content that is no longer at the path nobody has to wait for it.
        if (stat.links == 0 || self.path_checked.elapsed() > PATH_CHECK) && !self.in_place(stat.id)? {
            self.close_content();
            return Ok(Attempt::Stale);
        }
        if let Some(content) = &mut self.content {
            if locked && content.len.is_some_and(|left| left != stat.len) {
                content.file.shared_with_others();
            }
            content.len = locked.then_some(stat.len);
            content.seen = locked.then(|| stat.file());
        }
        Ok(if locked { Attempt::Locked(stat.file()) } else { Attempt::Busy })
    }

    fn close_content(&mut self) {
        self.end();
        self.content = None;
    }

    /// Creates the content and locks it, in the state `Absent`. Another writer may open and lock the empty file
    /// before this one does: then it is the other's.
    fn create_locked(&mut self, target: &Path) -> io::Result<FileStat> {
        self.state = State::Idle;
        self.path_checked = Instant::now();
        let file = Arc::new(self.shared.disk.create_new(target)?);
        match file.try_lock() {
            Ok(true) => {}
            Ok(false) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) => {
                // Where locks fail nobody else has one.
                let _ = self.shared.disk.remove_file(target);
                return Err(error);
            }
        }
        self.state = State::Held;
        self.content = Some(Content::new(Arc::clone(&file), Some(0), false));
        match file.stat() {
            Ok(stat) if stat.len == 0 && stat.links > 0 => Ok(stat.file()),
            Ok(_) => {
                self.close_content();
                Err(io::ErrorKind::AlreadyExists.into())
            }
            Err(error) => {
                self.remove_created(target);
                Err(error)
            }
        }
    }

    /// Takes back what `create_locked` did. Under the lock, so that nobody's bytes can be in the file; emptied first,
    /// so that no part of a session stays if it cannot be removed.
    fn remove_created(&mut self, target: &Path) {
        if let Some(content) = &self.content {
            let _ = content.file.set_len(0);
            let _ = self.shared.disk.remove_file(target);
        }
        self.close_content();
    }

    /// P3 from the check of the target to the sync of the directory.
    fn replace_locked(
        &mut self,
        target: &Path,
        write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>,
    ) -> io::Result<Replaced> {
        let shared = Arc::clone(&self.shared);
        let content = self.content.as_ref().ok_or_else(not_begun)?;
        let (old, len) = (Arc::clone(&content.file), content.len);
        let id = old.stat()?.id;
        self.check_in_place(id)?;
        sweep(target, &shared);
        let temp = Temp::beside(target, &shared)?;
        temp.file.copy_access(&old)?;
        temp.fill(write)?;
        temp.file.fsync()?;
        let stat = temp.file.stat()?.file();
        // Again: writing may have taken long, and renaming over another content would lose it.
        self.check_in_place(id)?;
        if len.is_some() && len != Some(old.stat()?.len) {
            self.close_content();
            return Err(io::Error::new(io::ErrorKind::StaleNetworkFileHandle, "somebody without the lock wrote to it"));
        }
        let new = temp.become_target(target)?;
        self.end();
        let synced = shared.sync_dir(parent(target));
        self.content = Some(Content::new(new, Some(stat.len), synced.is_ok()));
        self.state = State::Held;
        Ok(Replaced { stat, synced })
    }

    fn check_in_place(&mut self, id: FileId) -> io::Result<()> {
        if self.in_place(id)? {
            return Ok(());
        }
        self.close_content();
        Err(replaced())
    }
}

/// What one attempt to lock came to.
enum Attempt {
    Locked(FileStat),
    Absent,
    /// Another writer holds the lock.
    Busy,
    /// The open content is no longer the one at the path.
    Stale,
}

impl<D: Disk> SessionStorageWriter for FileWriter<D> {
    fn begin(&mut self, wait: Duration) -> io::Result<Option<FileStat>> {
        self.end();
        if let Some(stat) = self.resume() {
            return Ok(Some(stat));
        }
        self.shared.clear_debris();
        let mut patience = Patience::new(wait);
        let mut stale = 0;
        loop {
            match self.attempt() {
                Ok(Attempt::Locked(stat)) => return Ok(Some(stat)),
                Ok(Attempt::Absent) => {
                    self.state = State::Absent;
                    return Ok(None);
                }
                Ok(Attempt::Busy) if !patience.pause() => return Err(io::ErrorKind::TimedOut.into()),
                Ok(Attempt::Busy) => {}
                // Somebody else has got on, so try again at once; but not for ever, if the system numbers files anew
                // each time it is asked.
                Ok(Attempt::Stale) => {
                    stale += 1;
                    if stale > STALE_AT_ONCE && !patience.pause() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => {
                    self.end();
                    return Err(error);
                }
            }
        }
    }

    fn create(&mut self, bytes: &[u8]) -> io::Result<FileStat> {
        if self.state != State::Absent {
            return Err(not_begun());
        }
        let target = self.shared.follow(&self.path)?;
        let stat = self.create_locked(&target)?;
        let Some(content) = &mut self.content else { return Err(not_begun()) };
        if let Err(error) = append_all(&*content.file, bytes) {
            self.remove_created(&target);
            return Err(error);
        }
        let len = bytes.len() as u64;
        content.len = Some(len);
        Ok(FileStat { len, ..stat })
    }

    fn write_line(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let held = self.state == State::Held;
        let content = self.content.as_mut().filter(|_| held).ok_or_else(not_begun)?;
        let start = match content.len {
            Some(len) => len,
            None => content.file.stat()?.len,
        };
        match append_all(&*content.file, bytes) {
            Ok(()) => {
                let len = bytes.len() as u64;
                let end = content.file.appended_to().ok().flatten().unwrap_or(start + len);
                content.len = Some(end);
                Ok(end - len)
            }
            Err(error) => {
                content.len = cut_back(&*content.file, start, bytes).ok().map(|()| start);
                Err(error)
            }
        }
    }

    fn replace(&mut self, write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) -> io::Result<Replaced> {
        let absent = match self.state {
            State::Idle => return Err(not_begun()),
            State::Absent => true,
            State::Held => false,
        };
        let target = self.shared.follow(&self.path)?;
        if absent {
            // An empty file holds the place and the lock: two writers that make the session at once meet there.
            self.create_locked(&target)?;
        }
        let result = self.replace_locked(&target, write);
        if absent && result.is_err() {
            self.remove_created(&target);
        }
        result
    }

    fn end(&mut self) {
        let held = std::mem::replace(&mut self.state, State::Idle) == State::Held;
        if held && self.content.as_ref().is_some_and(|content| content.file.unlock().is_err()) {
            // Closing releases the lock as well.
            self.content = None;
        }
    }

    fn reader(&self) -> Option<Arc<dyn ReadAt>> {
        let content = self.content.as_ref()?;
        Some(Arc::new(Reader(Arc::clone(&content.file))))
    }

    fn fsync(&self) -> Option<SyncJob> {
        let content = self.content.as_ref()?;
        let (file, name_synced) = (Arc::clone(&content.file), Arc::clone(&content.name_synced));
        let (shared, path) = (Arc::clone(&self.shared), self.path.clone());
        Some(Box::new(move || {
            file.fsync()?;
            shared.sync_owed(parent(&path))?;
            if !name_synced.load(Ordering::Acquire) {
                shared.sync_dir(parent(&shared.follow(&path)?))?;
                name_synced.store(true, Ordering::Release);
            }
            Ok(())
        }))
    }

    fn close(&mut self) {
        self.close_content();
        self.shared.clear_debris();
    }
}

impl<D: Disk> Drop for FileWriter<D> {
    fn drop(&mut self) {
        self.close();
    }
}

fn replaced() -> io::Error {
    io::Error::new(io::ErrorKind::StaleNetworkFileHandle, "another file was put in the session's place")
}

fn not_begun() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the session's lock is not held")
}

/// One write, and more only for what the system left of it: the second one then gives the reason.
fn append_all<F: DiskFile>(file: &F, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Cuts off what a failed append of `bytes` stored after `start`. Bytes of somebody who takes no locks are left.
fn cut_back<F: DiskFile>(file: &F, start: u64, bytes: &[u8]) -> io::Result<()> {
    const STEP: usize = 64 * 1024;
    let stored = file.stat()?.len.saturating_sub(start);
    let ours = usize::try_from(stored).ok().and_then(|stored| bytes.get(..stored));
    let Some(ours) = ours else { return Err(io::ErrorKind::InvalidData.into()) };
    let mut seen = vec![0; STEP.min(ours.len())];
    for (step, expected) in ours.chunks(STEP).enumerate() {
        let seen = &mut seen[..expected.len()];
        let mut done = 0;
        while done < seen.len() {
            match file.read_at(&mut seen[done..], start + (step * STEP + done) as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if seen != expected {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    if ours.is_empty() { Ok(()) } else { file.set_len(start) }
}
