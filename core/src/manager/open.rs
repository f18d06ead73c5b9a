//! Making and opening sessions.

use super::{Inner, ManagerOptions, OnInvalid, PersistError, SessionManager, new_file};
use crate::breadcrumb;
use crate::content::{Content, Loaded};
use crate::discovery;
use crate::error::{Error, Result};
use crate::header::{Header, NewHeader, Version};
use crate::ids;
use crate::index::EntryNo;
use crate::journal::{Journal, lock_error, move_aside};
use crate::record::Role;
use crate::session::{ReadOptions, Session};
use crate::storage::FileStat;
use crate::time;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Attempts at making a session where others make theirs.
const ATTEMPTS: usize = 16;

/// What [`SessionManager`] opens or makes.
pub(super) struct Opened {
    pub(super) session: Session,
    pub(super) journal: Journal,
    pub(super) deferred: bool,
    pub(super) unsupported: bool,
    pub(super) moved_aside: Option<PathBuf>,
}

/// A session whose place another one took.
pub(super) struct Left {
    opened: Opened,
    closed: bool,
    released: Option<FileStat>,
    next_artifact: u64,
    error: Option<PersistError>,
}

impl SessionManager {
    /// A new session in the directory of a working directory. Its file is made with the first assistant message.
    pub fn create(cwd: impl AsRef<Path>, options: ManagerOptions) -> Result<SessionManager> {
        let cwd = absolute(cwd.as_ref());
        may_write(&options, &options.dir_for(&cwd))?;
        let manager = SessionManager::shell(options, &cwd, true);
        {
            let mut inner = manager.lock();
            let opened = manager.fresh(&inner.session_dir, &cwd, None);
            inner.take(opened);
        }
        manager.leave_breadcrumb();
        Ok(manager)
    }

    /// A session that is never written.
    pub fn in_memory(cwd: impl AsRef<Path>, options: ManagerOptions) -> SessionManager {
        let cwd = absolute(cwd.as_ref());
        let manager = SessionManager::shell(options, &cwd, false);
        {
            let mut inner = manager.lock();
            let opened = manager.fresh(Path::new(""), &cwd, None);
            inner.take(opened);
        }
        manager
    }

    /// Opens a session file (SPEC section 4). A missing or empty file becomes a new session at this path; a file that
    /// is no session is moved aside first, or refused, as the options say. Errors: `NotASession`, `Io`.
    pub fn open(path: impl AsRef<Path>, options: ManagerOptions) -> Result<SessionManager> {
        let manager = SessionManager::shell(options, Path::new(""), true);
        manager.set_session_file(path)?;
        Ok(manager)
    }

    /// The session of this terminal's breadcrumb, else the newest of the working directory, else a new one.
    pub fn continue_recent(cwd: impl AsRef<Path>, options: ManagerOptions) -> Result<SessionManager> {
        let cwd = absolute(cwd.as_ref());
        let crumb = recorded(&options, &cwd);
        let found = match crumb {
            Some(path) => Some(path),
            None => {
                let dir = options.session_dir.as_deref();
                discovery::most_recent_for_cwd(&*options.storage, &options.dirs, &cwd, dir)?
            }
        };
        match found {
            Some(path) => SessionManager::open(path, options),
            None => SessionManager::create(cwd, options),
        }
    }

    /// A new session of a working directory with the entries of another session's file, which stays as it is; its
    /// parentSession is the other's id. Errors: `NotFound`, `NotASession`.
    pub fn fork_from(
        source: impl AsRef<Path>,
        cwd: impl AsRef<Path>,
        options: ManagerOptions,
    ) -> Result<SessionManager> {
        let cwd = absolute(cwd.as_ref());
        may_write(&options, source.as_ref())?;
        let source = Session::read_from(&*options.storage, source.as_ref(), ReadOptions::default())?;
        if source.content.header.version() == Version::Unsupported {
            let (path, version) = (source.path().to_owned(), source.file_version());
            return Err(Error::UnsupportedVersion { path, version });
        }
        let manager = SessionManager::shell(options, &cwd, true);
        {
            let mut inner = manager.lock();
            let mut content = source.content;
            let parent = content.header.id();
            manager.rename_content(&mut content, &inner.session_dir, &cwd, &parent);
            let journal = manager.journal();
            let session = Session::of_content(content, manager.read_options());
            inner.take(Opened { session, journal, deferred: false, unsupported: false, moved_aside: None });
            if let Err(error) = inner.settle() {
                let made = inner.made();
                inner.persistent = false;
                inner.tidy(&*manager.options.storage, made);
                return Err(error);
            }
        }
        manager.leave_breadcrumb();
        Ok(manager)
    }

    /// Switches to another session file, opening it as [`SessionManager::open`] does. What the old session still had
    /// to write is written first; after an error the old session stays.
    pub fn set_session_file(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = std::path::absolute(path.as_ref()).map_err(Error::io_at("open", path.as_ref()))?;
        drop(self.leave()?);
        let read_only = self.options.read_only;
        let mut moved_aside = None;
        let mut attempts = 0;
        let (mut inner, file) = loop {
            let opened = self.open_file(&path)?;
            let (file, unsupported) = (opened.journal.has_file(), opened.unsupported);
            moved_aside = opened.moved_aside.clone().or(moved_aside);
            let mut inner = self.leave()?;
            let left = inner.take(opened);
            if file || unsupported || read_only {
                break (inner, file);
            }
            let (journal, mut memory) = inner.parts();
            let made = journal.persist(&mut memory, self.options.lock_wait);
            let Err(error) = made else { break (inner, file) };
            // There is no file, so there is no session to switch to; or another writer made one here first.
            inner.go_back(left);
            attempts += 1;
            if attempts == ATTEMPTS || !matches!(error, Error::Replaced { .. }) {
                return Err(error);
            }
        };
        inner.moved_aside = moved_aside;
        if let Some(dir) = path.parent() {
            inner.session_dir = dir.to_owned();
        }
        inner.cwd = inner.session.header().cwd().map_or_else(|| inner.cwd.clone(), PathBuf::from);
        if read_only || inner.unsupported {
            return Ok(());
        }
        if file && inner.session.is_migrated() && self.options.migrate_at_once {
            inner.journal.need_rewrite();
            // A file that cannot be written still opens; the error stays recorded (SPEC section 5).
            let _ = inner.settle();
        } else if file && inner.session.is_migrated() {
            inner.journal.migrate_later();
        }
        drop(inner);
        self.leave_breadcrumb();
        Ok(())
    }

    /// A manager that has no session yet.
    fn shell(options: ManagerOptions, cwd: &Path, persistent: bool) -> SessionManager {
        let blobs = options.blob_store();
        let session_dir = if persistent { options.dir_for(cwd) } else { PathBuf::new() };
        let content = Content::new(PathBuf::new(), Header::new(&NewHeader::default()));
        let inner = Inner {
            session: Session::of_content(content, ReadOptions::default()),
            journal: Journal::new(Arc::clone(&options.storage), Arc::clone(&blobs)),
            cwd: cwd.to_owned(),
            session_dir,
            persistent: false,
            deferred: true,
            closed: false,
            released: None,
            next_artifact: 0,
            lock_wait: options.lock_wait,
            unsupported: false,
            error: None,
            renumbered: 0,
            switched: 0,
            moved_aside: None,
            untidy: Vec::new(),
        };
        let manager = SessionManager { options, blobs, inner: Mutex::new(inner) };
        manager.lock().persistent = persistent;
        manager
    }

    pub(super) fn journal(&self) -> Journal {
        Journal::new(Arc::clone(&self.options.storage), Arc::clone(&self.blobs))
    }

    /// A session without entries, in a directory, with a file name of its own.
    pub(super) fn fresh(&self, dir: &Path, cwd: &Path, parent_session: Option<&str>) -> Opened {
        let (id, timestamp) = (ids::snowflake(), time::format(time::now()));
        let file = if dir.as_os_str().is_empty() { PathBuf::new() } else { new_file(dir, &timestamp, &id) };
        let header = new_header(&id, &timestamp, cwd, parent_session);
        self.begin_at(file, header)
    }

    fn begin_at(&self, file: PathBuf, header: Header) -> Opened {
        let session = Session::of_content(Content::new(file, header), self.read_options());
        Opened { session, journal: self.journal(), deferred: true, unsupported: false, moved_aside: None }
    }

    fn open_file(&self, path: &Path) -> Result<Opened> {
        // A manager that writes nothing opens what is there, and nothing else.
        let leave_alone = self.options.read_only || !self.is_persisted();
        let reader = match self.options.storage.open_reader(path) {
            Ok(reader) => reader,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !leave_alone => {
                return Ok(self.init(path, None));
            }
            Err(error) => return Err(Error::io_at("open", path)(error)),
        };
        let stat = reader.stat().map_err(Error::io_at("open", path))?;
        let refuse = |line: u32, reason| Error::NotASession { path: path.to_owned(), line: line.into(), reason };
        match Content::load(path, reader, stat.len)? {
            Loaded::Session(content) => {
                let unsupported = content.header.version() == Version::Unsupported;
                let mut journal = self.journal();
                journal.set_known(stat.id);
                let session = Session::of_content(*content, self.read_options());
                Ok(Opened { session, journal, deferred: false, unsupported, moved_aside: None })
            }
            Loaded::Blank if leave_alone => Err(refuse(1, "the file is empty".to_owned())),
            Loaded::Blank => Ok(self.init(path, None)),
            Loaded::NotASession { line, reason } => {
                if leave_alone || self.options.on_invalid == OnInvalid::Refuse {
                    return Err(refuse(line, reason));
                }
                match self.move_invalid(path, &stat)? {
                    Some(aside) => Ok(self.init(path, Some(aside))),
                    None => self.open_file(path),
                }
            }
        }
    }

    /// Moves a file aside that is no session, under its lock. `None`: it is another file by now.
    fn move_invalid(&self, path: &Path, seen: &FileStat) -> Result<Option<PathBuf>> {
        let storage = &*self.options.storage;
        let mut writer = storage.open_writer(path).map_err(Error::io_at("open", path))?;
        let found =
            writer.begin(self.options.lock_wait).map_err(|error| lock_error(error, path, self.options.lock_wait))?;
        let same = found.is_some_and(|found| found.id == seen.id && found.len == seen.len);
        let aside = if same { move_aside(storage, path, seen.id)? } else { None };
        writer.end();
        Ok(aside)
    }

    /// A new session at exactly this path, the header to be written at once.
    fn init(&self, path: &Path, moved_aside: Option<PathBuf>) -> Opened {
        let cwd = match self.lock().cwd.clone() {
            cwd if cwd.as_os_str().is_empty() => std::env::current_dir().unwrap_or_default(),
            cwd => cwd,
        };
        let header = new_header(&ids::snowflake(), &time::format(time::now()), &cwd, None);
        Opened { moved_aside, deferred: false, ..self.begin_at(path.to_owned(), header) }
    }

    /// Makes a copy of a session: a new id and file, and the id it came from.
    pub(super) fn rename_content(&self, content: &mut Content, dir: &Path, cwd: &Path, parent: &str) {
        let (id, timestamp) = (ids::snowflake(), time::format(time::now()));
        let title = content.title();
        let source = content.titles.iter().find_map(|record| record.source()).or(content.header.title_source());
        content.header = Header::new(&NewHeader {
            id: &id,
            timestamp: &timestamp,
            cwd: &cwd.to_string_lossy(),
            title: title.as_deref(),
            title_source: source,
            parent_session: Some(parent),
            title_after_id: true,
        });
        content.titles.clear();
        content.path = new_file(dir, &timestamp, &id);
    }

    /// Refreshes a session that may only be read: no lock is taken.
    pub(super) fn refresh_read_only(&self, inner: &mut Inner) -> Result<()> {
        let path = inner.session.content.path.clone();
        let reader = self.options.storage.open_reader(&path).map_err(Error::io_at("open", &path))?;
        let stat = reader.stat().map_err(Error::io_at("open", &path))?;
        if inner.journal.known() == Some(stat.id) && inner.session.content.goes_on_in(&*reader, stat.len)? {
            inner.session.content.add_tail(reader, stat.len)?;
        } else {
            let leaf = inner.session.leaf_id();
            let session = Session::of(Content::load(&path, reader, stat.len)?, &path, self.read_options())?;
            let found = session.header().id();
            if found != inner.session.header().id() {
                return Err(Error::Replaced { path, found });
            }
            inner.session = session;
            inner.session.leaf = leaf.and_then(|id| inner.session.content.index.by_id(&id)).or(inner.session.leaf);
            inner.journal.set_known(stat.id);
            inner.renumbered += 1;
        }
        inner.released = inner.closed.then_some(stat);
        Ok(())
    }

    /// What the session still has to write is written and durable, so that another can take its place: until the
    /// guard is dropped nothing can be appended.
    pub(super) fn leave(&self) -> Result<MutexGuard<'_, Inner>> {
        loop {
            match self.flush() {
                Err(Error::Closed) | Ok(()) => {}
                Err(error) => return Err(error),
            }
            let mut inner = self.lock();
            let nothing_to_write = inner.deferred || !inner.persistent || inner.closed || self.options.read_only;
            if nothing_to_write || !inner.journal.is_behind() {
                inner.tidy(&*self.options.storage, None);
                return Ok(inner);
            }
        }
    }

    /// Notes which session this terminal is in; best effort (SPEC section 1).
    pub(super) fn leave_breadcrumb(&self) {
        let (cwd, file) = (self.cwd(), self.session_file());
        let (Some(terminal), Some(file)) = (&self.options.terminal, file) else { return };
        let Some(text) = breadcrumb::format(&cwd, &file) else { return };
        let storage = &self.options.storage;
        let crumb = terminal.file(&self.options.dirs);
        let written = storage
            .ensure_dir(&self.options.dirs.terminal_sessions)
            .and_then(|()| storage.write_text(&crumb, text.as_bytes(), false));
        if let Err(error) = written {
            log::debug!("no breadcrumb in {}: {error}", crumb.display());
        }
    }
}

impl Inner {
    /// Puts another session in the place of this one, which is returned.
    pub(super) fn take(&mut self, opened: Opened) -> Left {
        let Opened { session, journal, deferred, unsupported, moved_aside } = opened;
        self.renumbered += 1;
        self.switched += 1;
        let opened = Opened {
            session: std::mem::replace(&mut self.session, session),
            journal: std::mem::replace(&mut self.journal, journal),
            deferred: std::mem::replace(&mut self.deferred, deferred),
            unsupported: std::mem::replace(&mut self.unsupported, unsupported),
            moved_aside: std::mem::replace(&mut self.moved_aside, moved_aside),
        };
        Left {
            opened,
            closed: std::mem::replace(&mut self.closed, false),
            released: self.released.take(),
            next_artifact: std::mem::replace(&mut self.next_artifact, 0),
            error: self.error.take(),
        }
    }

    /// The session that was left takes its place again, as it was.
    pub(super) fn go_back(&mut self, left: Left) {
        self.take(left.opened);
        (self.closed, self.next_artifact, self.error) = (left.closed, left.next_artifact, left.error);
        self.released = left.released;
    }
}

fn may_write(options: &ManagerOptions, path: &Path) -> Result<()> {
    if options.read_only { Err(Error::ReadOnly { path: path.to_owned() }) } else { Ok(()) }
}

/// A working directory as it stands in headers.
pub(super) fn absolute(cwd: &Path) -> PathBuf {
    crate::dirs::normalize(&std::path::absolute(cwd).unwrap_or_else(|_| cwd.to_owned()))
}

fn new_header(id: &str, timestamp: &str, cwd: &Path, parent_session: Option<&str>) -> Header {
    let cwd = &cwd.to_string_lossy();
    Header::new(&NewHeader { id, timestamp, cwd, parent_session, ..NewHeader::default() })
}

/// The session that this terminal was in, if it was in this working directory and the file is still there.
fn recorded(options: &ManagerOptions, cwd: &Path) -> Option<PathBuf> {
    let file = options.terminal.as_ref()?.file(&options.dirs);
    let text = options.storage.read_text_prefix(&file, 64 << 10).ok()?;
    let crumb = breadcrumb::parse(std::str::from_utf8(&text).ok()?)?;
    // What is no session is not this terminal's, whatever the breadcrumb says: it is not to be moved aside.
    let there = crumb.is_for(cwd) && discovery::is_session(&*options.storage, &crumb.session_file);
    there.then_some(crumb.session_file)
}

/// Whether a path of entries has an assistant message, so that its session is written.
pub(super) fn has_assistant(content: &Content, path: impl IntoIterator<Item = EntryNo>) -> bool {
    path.into_iter().any(|entry| content.index.slot(entry).role == Role::Assistant)
}
