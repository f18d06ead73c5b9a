//! From one session to another: new ones, forks, branches as sessions of their own, moves.

use super::append::Appended;
use super::open::{Opened, absolute, has_assistant};
use super::{Inner, SessionManager, new_file};
use crate::artifacts;
use crate::content::Content;
use crate::error::{Error, Result};
use crate::header::{Header, NewHeader};
use crate::ids;
use crate::index::{EntryNo, Place};
use crate::journal::HeaderEdit;
use crate::json::{ObjectEdit, quoted};
use crate::record::EntryKind;
use crate::session::Session;
use crate::storage::{FileId, SessionStorage};
use crate::time;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forked {
    /// The session that was left; it stays as it was.
    pub old_file: PathBuf,
    /// The session that goes on.
    pub new_file: PathBuf,
}

impl SessionManager {
    /// Begins a new session in the same working directory and returns its file, which is made with the first assistant
    /// message. What the old session still had to write is written first; after an error the old session stays.
    pub fn new_session(&self, parent_session: Option<&str>) -> Result<Option<PathBuf>> {
        let mut inner = self.leave()?;
        if self.options.read_only {
            return Err(Error::ReadOnly { path: inner.session_dir.clone() });
        }
        let opened = self.fresh(&inner.session_dir, &inner.cwd, parent_session);
        inner.take(opened);
        drop(inner);
        self.leave_breadcrumb();
        Ok(self.session_file())
    }

    /// Goes on in a copy of the session: same entries, new id and file, parentSession the old id. `None` in memory.
    /// After an error the old session stays.
    pub fn fork(&self) -> Result<Option<Forked>> {
        if !self.is_persisted() {
            return Ok(None);
        }
        let mut inner = self.leave()?;
        self.check_writable(&inner)?;
        let (dir, cwd) = (inner.session_dir.clone(), inner.cwd.clone());
        let old_file = inner.session.content.path.clone();
        let parent = inner.session.header().id();
        let before = inner.session.content.snapshot();
        self.rename_content(&mut inner.session.content, &dir, &cwd, &parent);
        let new_file = inner.session.content.path.clone();
        let mut journal = self.journal();
        if inner.deferred {
            inner.session.content.index.entries().for_each(|entry| journal.add(entry));
        }
        let old_journal = std::mem::replace(&mut inner.journal, journal);
        inner.switched += 1;
        if let Err(error) = inner.settle() {
            let made = inner.made();
            inner.session.content.restore(before);
            (inner.journal, inner.error) = (old_journal, None);
            inner.tidy(&*self.options.storage, made);
            return Err(error);
        }
        drop(inner);
        self.leave_breadcrumb();
        Ok(Some(Forked { old_file, new_file }))
    }

    /// Goes on in a new session that holds the path from the root to an entry only; labels of entries on the path are
    /// written anew at its end. parentSession is the old file's path. Returns the new file, `None` in memory. After an
    /// error the old session stays. Error: `EntryNotFound`.
    pub fn create_branched_session(&self, leaf: &str) -> Result<Option<PathBuf>> {
        self.lock().find(leaf)?;
        let mut inner = self.leave()?;
        self.check_writable(&inner)?;
        let leaf = inner.find(leaf)?;
        let old_file = inner.session.content.path.to_string_lossy().into_owned();
        let persistent = inner.persistent;
        let (id, timestamp) = (ids::snowflake(), time::format(time::now()));
        let header = Header::new(&NewHeader {
            id: &id,
            timestamp: &timestamp,
            cwd: &inner.cwd.to_string_lossy(),
            parent_session: persistent.then_some(&old_file),
            ..NewHeader::default()
        });
        let path = if persistent { new_file(&inner.session_dir, &timestamp, &id) } else { PathBuf::new() };
        let content = path_only(&inner.session.content, leaf, Content::new(path.clone(), header))?;
        let labels: Vec<(String, String)> = content
            .index
            .entries()
            .filter_map(|entry| {
                let label = inner.session.content.index.label(content.index.id(entry)?)?;
                Some((content.index.id(entry)?.to_owned(), label.to_owned()))
            })
            .collect();
        let deferred = !has_assistant(&content, content.index.entries());
        let session = Session::of_content(content, self.read_options());
        let opened = Opened { session, journal: self.journal(), deferred, unsupported: false, moved_aside: None };
        let left = inner.take(opened);
        for (target, label) in labels {
            let (_, entry) = inner.push(Appended::label(&target, &label));
            inner.session.leaf = Some(entry);
        }
        if let Err(error) = inner.settle() {
            let made = inner.made();
            inner.go_back(left);
            inner.tidy(&*self.options.storage, made);
            return Err(error);
        }
        drop(inner);
        self.leave_breadcrumb();
        Ok(persistent.then_some(path))
    }

    /// Moves the session to another working directory: file and artifacts go to its directory, the header's cwd
    /// changes. After an error everything is where it was, as far as it can be brought back.
    pub fn move_to(&self, cwd: impl AsRef<Path>) -> Result<()> {
        let cwd = absolute(cwd.as_ref());
        let mut inner = loop {
            let mut inner = self.leave()?;
            self.check_writable(&inner)?;
            if inner.cwd == cwd {
                return Ok(());
            }
            if !inner.persistent || inner.deferred {
                break inner;
            }
            // Until the old file is gone nobody else appends to it.
            let (journal, mut memory) = inner.parts();
            journal.hold(&mut memory, self.options.lock_wait)?;
            if !journal.is_behind() {
                break inner;
            }
            journal.release();
        };
        let text = cwd.to_string_lossy().into_owned();
        let dir = if inner.persistent { self.options.dir_for(&cwd) } else { PathBuf::new() };
        let persistent = inner.persistent;
        let in_file = persistent && !inner.deferred;
        let content = &mut inner.session.content;
        if !in_file {
            let path = content.path.file_name().map(|name| dir.join(name)).unwrap_or_default();
            if persistent {
                let (from, to) = (artifacts::artifacts_dir(&content.path), artifacts::artifacts_dir(&path));
                let storage = &self.options.storage;
                if storage.exists(&from).map_err(Error::io_at("look for", &from))? {
                    storage.ensure_dir(&dir).map_err(Error::io_at("create", &dir))?;
                    storage.rename(&from, &to).and_then(|synced| synced).map_err(Error::io_at("move", &from))?;
                }
            }
            HeaderEdit::Cwd(text).apply(content);
            content.path = path;
            (inner.cwd, inner.session_dir) = (cwd, dir);
            return Ok(());
        }
        let old_path = content.path.clone();
        let new_path = dir.join(old_path.file_name().unwrap_or_default());
        if new_path == old_path {
            (inner.cwd, inner.session_dir) = (cwd, dir);
            let (journal, memory) = inner.parts();
            journal.edit_header(memory.content, HeaderEdit::Cwd(text));
            return inner.settle();
        }
        let before = content.snapshot();
        HeaderEdit::Cwd(text).apply(content);
        content.path = new_path.clone();
        let old_journal = std::mem::replace(&mut inner.journal, self.journal());
        inner.switched += 1;
        let moved = self.refuse_existing(&new_path).and_then(|()| inner.settle());
        let moved = moved.and_then(|()| self.remove_old(&mut inner, &old_path, &new_path));
        if let Err(error) = moved {
            // The old file is still there and whole.
            let made = inner.made();
            inner.session.content.restore(before);
            (inner.journal, inner.error) = (old_journal, None);
            inner.journal.release();
            inner.tidy(&*self.options.storage, made);
            return Err(error);
        }
        (inner.cwd, inner.session_dir) = (cwd, dir);
        drop(inner);
        self.leave_breadcrumb();
        Ok(())
    }

    /// The last steps of a move, once the new file is there and durable. After an error artifacts are where they were.
    fn remove_old(&self, inner: &mut Inner, old: &Path, new: &Path) -> Result<()> {
        let storage = &self.options.storage;
        let (from, to) = (artifacts::artifacts_dir(old), artifacts::artifacts_dir(new));
        let mut synced = Ok(());
        let has_artifacts = storage.exists(&from).map_err(Error::io_at("look for", &from))?;
        if has_artifacts {
            synced = storage.rename(&from, &to).map_err(Error::io_at("move", &from))?;
        }
        let removed = synced.map_err(Error::io_at("move", &from)).and_then(|()| match storage.unlink(old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io_at("remove", old)(error)),
            _ => Ok(()),
        });
        if removed.is_err() && has_artifacts {
            inner.tidy(&**storage, Some(Untidy::Renamed { from, to }));
        } else if removed.is_ok()
            && let Some(dir) = old.parent()
            && let Err(error) = storage.sync_dir(dir)
        {
            // The move is done; only a power loss could bring the old file back beside the new one.
            log::warn!("{} may come back after a power loss: {error}", old.display());
        }
        removed
    }

    fn refuse_existing(&self, path: &Path) -> Result<()> {
        match self.options.storage.stat(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Ok(stat) if stat.len == 0 => Ok(()),
            Ok(_) => Err(Error::InvalidArgument(format!("{} is already there", path.display()))),
            Err(error) => Err(Error::io_at("look for", path)(error)),
        }
    }
}

/// What a switch that failed has done.
#[derive(Debug)]
pub(super) enum Untidy {
    /// Made the file of a session that did not come to be. It goes only as long as nobody else has made use of it.
    Made { path: PathBuf, id: FileId, len: u64 },
    /// Renamed a directory.
    Renamed { from: PathBuf, to: PathBuf },
}

impl Untidy {
    fn take_back(&self, storage: &dyn SessionStorage) -> io::Result<()> {
        match self {
            Untidy::Made { path, id, len } => match storage.stat(path) {
                Ok(stat) if stat.id == *id && stat.len == *len => storage.unlink(path),
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            Untidy::Renamed { from, to } => {
                if storage.exists(to)? && !storage.exists(from)? {
                    // Not made durable: the next sync below the directory does that.
                    let _ = storage.rename(to, from)?;
                }
                Ok(())
            }
        }
    }
}

impl Inner {
    /// Takes back what a switch that failed has done, now or, where that fails too, before the next one.
    pub(super) fn tidy(&mut self, storage: &dyn SessionStorage, new: Option<Untidy>) {
        self.untidy.extend(new);
        self.untidy.retain(|untidy| {
            let Err(error) = untidy.take_back(storage) else { return false };
            log::warn!("{untidy:?} is left over: {error}");
            true
        });
    }

    /// The file that the journal has made, or replaced an empty one with.
    pub(super) fn made(&self) -> Option<Untidy> {
        let content = &self.session.content;
        let id = self.journal.known()?;
        Some(Untidy::Made { path: content.path.clone(), id, len: content.end })
    }
}

/// The entries from the root to `leaf` without label entries; an entry behind a label entry follows what the label
/// entry followed.
fn path_only(old: &Content, leaf: EntryNo, mut new: Content) -> Result<Content> {
    let mut path = old.index.path(leaf);
    path.reverse();
    new.set_source(old.source().map(Arc::clone));
    let mut parent: Option<String> = None;
    for entry in path {
        let slot = *old.index.slot(entry);
        if slot.kind == EntryKind::Label {
            continue;
        }
        let id = old.index.id(entry).map(str::to_owned);
        let linked = old.index.parent_id(entry) == parent.as_deref();
        if linked && matches!(slot.place, Place::File { .. }) && !old.has_old_form(entry) {
            let line = old.line(entry)?;
            new.push_in_file(slot, line)?;
        } else {
            let mut line = old.line(entry)?;
            if !linked {
                let mut edit = ObjectEdit::new(&line);
                edit.set("parentId", parent.as_deref().map_or(b"null".to_vec(), quoted));
                line = edit.apply();
            }
            new.push_line(line)?;
        }
        parent = id;
    }
    Ok(new)
}
