//! The session manager: one session that is being written, in memory and on its way to the file.
//!
//! One lock guards the state. It is held while an append writes, and not while a flush waits for the disk.

mod append;
mod artifacts;
mod edit;
mod open;
mod options;
mod state;
mod switch;

pub use append::{Compaction, CustomMessage};
pub use artifacts::delete_session_with_artifacts;
pub use options::{ManagerOptions, OnInvalid, Profile};
pub use state::SessionState;
pub use switch::Forked;

use crate::blob::BlobStore;
use crate::error::{Error, Result};
use crate::index::EntryNo;
use crate::journal::{Journal, Memory};
use crate::session::{ReadOptions, Session};
use crate::storage::{FileStat, SessionStorage};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use switch::Untidy;

/// A session that can be appended to. Usable from several threads at once.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # use std::sync::Arc;
/// use xcsh_session::{Leaf, ManagerOptions, SessionManager, dirs::AgentDirs, storage::FileSessionStorage};
/// let options = ManagerOptions::at(AgentDirs::at(dir.path()), Arc::new(FileSessionStorage::new()));
/// let session = SessionManager::create("/srv/pi", options)?;
/// session.append_message(r#"{"role":"user","content":"hi","timestamp":1}"#)?;
/// session.append_message(r#"{"role":"assistant","content":[],"provider":"p","model":"m"}"#)?;
/// session.flush()?;
/// let context = session.read(|session| session.context(Leaf::Last))?;
/// assert_eq!(context.models, [("default".to_owned(), "p/m".to_owned())]);
/// # Ok(()) }
/// ```
pub struct SessionManager {
    options: ManagerOptions,
    blobs: Arc<BlobStore>,
    inner: Mutex<Inner>,
}

/// What kept the last operation from bringing everything to the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistError {
    /// The stable code of the cause.
    pub code: &'static str,
    /// The whole text.
    pub message: String,
}

struct Inner {
    session: Session,
    journal: Journal,
    cwd: PathBuf,
    session_dir: PathBuf,
    /// Whether there is a file at all.
    persistent: bool,
    /// The file is not to be made yet: there is no assistant message.
    deferred: bool,
    closed: bool,
    /// What the file was that a closed session has let go of.
    released: Option<FileStat>,
    /// Artifact ids below this one were given out.
    next_artifact: u64,
    lock_wait: Duration,
    unsupported: bool,
    error: Option<PersistError>,
    /// Counts up when entries get other numbers, or another session takes this one's place.
    renumbered: u64,
    /// Counts up when another session takes this one's place.
    switched: u64,
    /// Where the bytes of a file went that was no session.
    moved_aside: Option<PathBuf>,
    /// What a failed switch left that could not be taken back at once.
    untidy: Vec<Untidy>,
}

impl SessionManager {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic between two steps leaves memory that is whole: every step that can fail comes before the change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_options(&self) -> ReadOptions {
        ReadOptions { model_resolution: self.options.model_resolution, blobs: Some(Arc::clone(&self.blobs)) }
    }

    /// Looks at the session: everything that [`Session`] answers. No append happens meanwhile, so `look` must not call
    /// this manager: it would wait for itself.
    pub fn read<R>(&self, look: impl FnOnce(&Session) -> R) -> R {
        self.read_numbered(|_, session| look(session))
    }

    /// [`SessionManager::read`] together with the [`SessionManager::numbering`] that the numbers in it belong to.
    pub fn read_numbered<R>(&self, look: impl FnOnce(u64, &Session) -> R) -> R {
        let mut inner = self.lock();
        self.hold_again(&mut inner);
        let seen = look(inner.renumbered, &inner.session);
        inner.let_go(&self.options.storage);
        seen
    }

    /// A closed session holds no file, so for a look at it the file is opened again; where another one of the same
    /// session is in its place, that counts.
    fn hold_again(&self, inner: &mut Inner) {
        let Some(known) = inner.released else { return };
        let reader = self.options.storage.open_reader(&inner.session.content.path);
        match reader.and_then(|reader| Ok((reader.stat()?, reader))) {
            Ok((found, reader)) if found == known => inner.session.content.set_source(Some(reader)),
            Ok(_) => {
                if let Err(error) = self.refresh_read_only(inner) {
                    log::debug!("a closed session was replaced: {error}");
                }
            }
            // Reading an entry gives the error.
            Err(_) => {}
        }
    }

    /// Counts up when entries got other numbers: another session was opened in this manager, or the file was replaced
    /// by another program. Entry numbers hold as long as this stays the same.
    pub fn numbering(&self) -> u64 {
        self.lock().renumbered
    }

    /// The options the manager was made with.
    pub fn options(&self) -> &ManagerOptions {
        &self.options
    }

    /// The blob store.
    pub fn blobs(&self) -> &Arc<BlobStore> {
        &self.blobs
    }

    /// The session id.
    pub fn session_id(&self) -> String {
        self.read(|session| session.header().id())
    }

    /// The session's file; `None` in memory. A new session's file is not there before its first assistant message.
    pub fn session_file(&self) -> Option<PathBuf> {
        let inner = self.lock();
        inner.persistent.then(|| inner.session.content.path.clone())
    }

    /// The directory the session's file is in.
    pub fn session_dir(&self) -> PathBuf {
        self.lock().session_dir.clone()
    }

    /// The working directory.
    pub fn cwd(&self) -> PathBuf {
        self.lock().cwd.clone()
    }

    /// The title.
    pub fn session_name(&self) -> Option<String> {
        self.read(Session::title)
    }

    /// The id of the leaf; `None` after [`SessionManager::reset_leaf`], and in an empty session.
    pub fn leaf_id(&self) -> Option<String> {
        self.read(Session::leaf_id)
    }

    /// Whether the session is written to a file.
    pub fn is_persisted(&self) -> bool {
        self.lock().persistent
    }

    /// Where the bytes went of a file that was no session when it was opened.
    pub fn moved_aside(&self) -> Option<PathBuf> {
        self.lock().moved_aside.clone()
    }

    /// What keeps memory and file apart; `None` while all is well (P5).
    pub fn persist_error(&self) -> Option<PersistError> {
        self.lock().error.clone()
    }

    /// Moves the leaf to an entry. Error: `EntryNotFound`.
    pub fn branch(&self, id: &str) -> Result<()> {
        let mut inner = self.lock();
        inner.session.leaf = Some(inner.find(id)?);
        Ok(())
    }

    /// Sets the leaf to none: the next append is a new root.
    pub fn reset_leaf(&self) {
        self.lock().session.leaf = None;
    }

    /// Takes in what others appended since and returns their numbers, in file order; the leaf stays (P6). Where the
    /// file was replaced, see [`SessionManager::numbering`].
    pub fn refresh(&self) -> Result<Vec<u32>> {
        let mut inner = self.lock();
        if !inner.persistent || !inner.journal.has_file() {
            return Ok(Vec::new());
        }
        let (numbering, known) = (inner.renumbered, inner.session.len() as u32);
        if self.options.read_only || inner.unsupported || inner.closed {
            let refreshed = self.refresh_read_only(&mut inner);
            inner.let_go(&self.options.storage);
            refreshed?;
        } else {
            let (journal, mut memory) = inner.parts();
            journal.refresh(&mut memory, self.options.lock_wait)?;
        }
        let all = inner.session.len() as u32;
        Ok(if inner.renumbered == numbering { (known..all).collect() } else { (0..all).collect() })
    }

    /// Makes the session's file now, assistant message or not.
    pub fn ensure_on_disk(&self) -> Result<()> {
        let mut inner = self.lock();
        self.check_writable(&inner)?;
        inner.deferred = false;
        inner.settle()
    }

    /// Everything acknowledged so far survives a power loss when this returns (P2). Appends go on meanwhile. Nothing
    /// to do for a session whose file is not to be there yet.
    pub fn flush(&self) -> Result<()> {
        let (switched, written, job) = {
            let mut inner = self.lock();
            if inner.closed {
                return Err(Error::Closed);
            }
            if self.options.read_only || inner.unsupported || !inner.persistent || inner.deferred {
                return Ok(());
            }
            inner.settle_or_look()?;
            let Some((written, job)) = inner.journal.sync_job() else { return Ok(()) };
            (inner.switched, written, job)
        };
        let result = job();
        let mut inner = self.lock();
        let current = inner.switched == switched;
        if current {
            inner.journal.synced(written, &result);
        }
        result.map_err(|source| {
            let error = Error::Io { op: "flush", path: inner.session.content.path.clone(), source };
            if current { inner.failed(error, None) } else { error }
        })
    }

    /// Writes what is missing, also after an error (P5). What [`SessionManager::persist_error`] shows is gone when
    /// this returns without one.
    pub fn recover(&self) -> Result<()> {
        self.flush()
    }

    /// Flushes and lets go of the file; later writes fail with `Closed`. Reading goes on, opening the file when it has
    /// to; where another program has replaced it, the new one is read. After an error the session stays open, so that
    /// closing can be tried again.
    pub fn close(&self) -> Result<()> {
        let left = self.leave();
        let (mut inner, result) = match left {
            Ok(inner) => (inner, Ok(())),
            Err(error) => (self.lock(), Err(error)),
        };
        inner.journal.close();
        if result.is_ok() && !inner.closed {
            inner.closed = true;
            inner.released = inner.session.content.source().and_then(|source| source.stat().ok());
            inner.let_go(&self.options.storage);
        }
        result
    }

    fn check_writable(&self, inner: &Inner) -> Result<()> {
        let path = || inner.session.content.path.clone();
        if inner.closed {
            return Err(Error::Closed);
        }
        if inner.unsupported {
            return Err(Error::UnsupportedVersion { path: path(), version: inner.session.header().version_text() });
        }
        if self.options.read_only {
            return Err(Error::ReadOnly { path: path() });
        }
        Ok(())
    }
}

impl Inner {
    fn find(&self, id: &str) -> Result<EntryNo> {
        self.session.content.index.by_id(id).ok_or_else(|| Error::EntryNotFound { id: id.to_owned() })
    }

    /// A closed session holds no file open.
    fn let_go(&mut self, storage: &Arc<dyn SessionStorage>) {
        if let Some(known) = self.released {
            self.session.content.let_go_of_source(storage, known);
        }
    }

    fn parts(&mut self) -> (&mut Journal, Memory<'_>) {
        let Inner { session: Session { content, leaf, .. }, journal, renumbered, .. } = self;
        (journal, Memory { content, leaf, renumbered })
    }

    /// Brings everything to the file. The error is recorded, and logged when it is the first.
    fn settle(&mut self) -> Result<()> {
        self.settle_entry(None, self.lock_wait)
    }

    /// Like `settle`; where nothing waits to be written it only looks at the file, and another writer's lock is no
    /// reason to wait.
    fn settle_or_look(&mut self) -> Result<()> {
        if self.journal.is_behind() || self.error.is_some() {
            return self.settle();
        }
        let (journal, mut memory) = self.parts();
        match journal.persist(&mut memory, Duration::ZERO) {
            Ok(()) | Err(Error::Locked { .. }) => Ok(()),
            Err(error) => Err(self.failed(error, None)),
        }
    }

    fn settle_entry(&mut self, entry_id: Option<&str>, wait: Duration) -> Result<()> {
        if !self.persistent || self.deferred {
            return Ok(());
        }
        let (journal, mut memory) = self.parts();
        match journal.persist(&mut memory, wait) {
            Ok(()) => {
                self.error = None;
                Ok(())
            }
            Err(error) => Err(self.failed(error, entry_id)),
        }
    }

    /// Records an error and gives it the form in which callers see it.
    fn failed(&mut self, source: Error, entry_id: Option<&str>) -> Error {
        let path = self.session.content.path.clone();
        let error = Error::Persist { path, entry_id: entry_id.map(str::to_owned), source: Box::new(source) };
        if self.error.is_none() {
            log::error!("{error}");
        }
        self.error = Some(PersistError { code: error.code(), message: error.to_string() });
        error
    }
}

impl Drop for SessionManager {
    /// What could not be written or taken back so far is tried once more; nothing waits for a lock.
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        if inner.persistent && !inner.deferred && !inner.closed && inner.journal.is_behind() && !self.options.read_only
        {
            let _ = inner.settle_entry(None, Duration::ZERO);
        }
        inner.tidy(&*self.options.storage, None);
    }
}

/// The file name of a session that begins now.
fn new_file(dir: &Path, timestamp: &str, id: &str) -> PathBuf {
    dir.join(crate::dirs::session_file_name(timestamp, id))
}
