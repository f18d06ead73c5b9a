//! Bringing what is in memory to the session's file (SPEC section 8): appends, rewrites, and what goes wrong.
//!
//! Invariants:
//! - What waits is kept: `pending` names the entries that are not in the file, `rewrite` says that the file as a whole
//!   is not what it should be. Both are cleared only by a write that succeeded.
//! - Every write happens under the file's lock, and only after the journal has seen what the file holds: what others
//!   wrote is taken in first (`foreign`), so that no write can drop it.
//! - An append never changes bytes that are there; a rewrite (`whole`) replaces the content in one step.

mod foreign;
mod whole;

pub(crate) use foreign::move_aside;

use crate::blob::BlobStore;
use crate::content::Content;
use crate::error::{Error, Result};
use crate::header::TitleSource;
use crate::index::EntryNo;
use crate::limits;
use crate::storage::{FileId, FileStat, SessionStorage, SessionStorageWriter, SyncJob};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Attempts at a write that others keep disturbing by putting new contents at the path.
const ATTEMPTS: usize = 16;

/// An entry that is not in the file yet.
struct Pending {
    entry: EntryNo,
    form: Form,
}

/// How an entry goes to the file.
enum Form {
    /// Not looked at, or its images could not be stored.
    Unknown,
    AsItIs,
    /// With size limits applied and images moved out.
    Short(Vec<u8>),
}

/// A change of the header that is not in the file yet.
#[derive(Clone)]
pub(crate) enum HeaderEdit {
    Title { title: String, source: TitleSource, now: String },
    Cwd(String),
}

impl HeaderEdit {
    pub(crate) fn apply(&self, content: &mut Content) {
        match self {
            // A user may have given a title meanwhile.
            HeaderEdit::Title { source: TitleSource::Auto, .. }
                if content.title_source() == Some(TitleSource::User) => {}
            HeaderEdit::Title { title, source, now } => {
                content.header.edit(&[("title", Some(title)), ("titleSource", Some(source.name()))]);
                for record in &mut content.titles {
                    record.set(title, *source, now);
                }
            }
            HeaderEdit::Cwd(cwd) => content.header.edit(&[("cwd", Some(cwd))]),
        }
    }
}

/// What memory holds of a session, as far as the journal changes it.
pub(crate) struct Memory<'a> {
    pub(crate) content: &'a mut Content,
    pub(crate) leaf: &'a mut Option<EntryNo>,
    /// Counts up when entries get other numbers.
    pub(crate) renumbered: &'a mut u64,
}

pub(crate) struct Journal {
    storage: Arc<dyn SessionStorage>,
    blobs: Arc<BlobStore>,
    writer: Option<Box<dyn SessionStorageWriter>>,
    /// The content at the path as it was last seen, up to `Content::end`.
    known: Option<FileId>,
    has_file: bool,
    pending: VecDeque<Pending>,
    /// No pending entry before this one has an unknown form.
    unknown_from: usize,
    rewrite: bool,
    /// The file is of an older version, and is to be rewritten together with the next write.
    migrate_later: bool,
    /// Entries whose lines in memory are to replace those in the file.
    changed: Vec<EntryNo>,
    header_edits: Vec<HeaderEdit>,
    /// Writes so far, and how many of them are known to survive a power loss.
    written: u64,
    synced: u64,
}

impl Journal {
    /// For a session whose file is not there yet.
    pub(crate) fn new(storage: Arc<dyn SessionStorage>, blobs: Arc<BlobStore>) -> Journal {
        Journal {
            storage,
            blobs,
            writer: None,
            known: None,
            has_file: false,
            pending: VecDeque::new(),
            unknown_from: 0,
            rewrite: false,
            migrate_later: false,
            changed: Vec::new(),
            header_edits: Vec::new(),
            written: 0,
            synced: 0,
        }
    }

    /// The file holds what was loaded from this content.
    pub(crate) fn set_known(&mut self, id: FileId) {
        self.known = Some(id);
        self.has_file = true;
    }

    pub(crate) fn known(&self) -> Option<FileId> {
        self.known
    }

    /// Whether the session's file has been seen or made.
    pub(crate) fn has_file(&self) -> bool {
        self.has_file
    }

    pub(crate) fn add(&mut self, entry: EntryNo) {
        self.unknown_from = self.unknown_from.min(self.pending.len());
        self.pending.push_back(Pending { entry, form: Form::Unknown });
    }

    /// The file as a whole has to be written at the next occasion.
    pub(crate) fn need_rewrite(&mut self) {
        self.rewrite = true;
    }

    /// The file as a whole has to be written as soon as anything else has.
    pub(crate) fn migrate_later(&mut self) {
        self.migrate_later = true;
    }

    /// Entries got other lines, in memory.
    pub(crate) fn change(&mut self, entries: impl IntoIterator<Item = EntryNo>) {
        for entry in entries {
            if let Ok(at) = self.pending.binary_search_by_key(&entry, |pending| pending.entry) {
                self.pending[at].form = Form::Unknown;
                self.unknown_from = self.unknown_from.min(at);
            }
            self.changed.push(entry);
        }
        self.rewrite = true;
    }

    pub(crate) fn edit_header(&mut self, content: &mut Content, edit: HeaderEdit) {
        edit.apply(content);
        self.header_edits.push(edit);
        self.rewrite |= self.has_file;
    }

    /// Pending entries that were found in the file do not wait any more.
    fn forget_written(&mut self, content: &Content) {
        self.pending.retain(|pending| content.index.slot(pending.entry).line == 0);
        self.unknown_from = 0;
    }

    /// Whether something in memory is not in the file.
    pub(crate) fn is_behind(&self) -> bool {
        self.rewrite || !self.pending.is_empty()
    }

    /// Takes in what others wrote, then writes what is missing. After an error all that is missing still is known to
    /// be, and the next call goes on. Waits for another writer's lock for at most `wait`.
    pub(crate) fn persist(&mut self, memory: &mut Memory<'_>, wait: Duration) -> Result<()> {
        self.prepare(memory.content)?;
        for _ in 0..ATTEMPTS {
            let found = self.begin(memory.content, wait)?;
            let done = self.write(memory, found);
            self.writer().end();
            match done {
                Ok(Done::Yes) => return Ok(()),
                Ok(Done::Disturbed) => {}
                Err(error) => return Err(error),
            }
        }
        Err(self.io("write", memory.content)(io::Error::other("others keep replacing the file")))
    }

    /// Takes in what others wrote, without writing.
    pub(crate) fn refresh(&mut self, memory: &mut Memory<'_>, wait: Duration) -> Result<()> {
        let found = self.begin(memory.content, wait)?;
        let seen = match found {
            Some(stat) if self.is_news(memory.content, &stat) => self.take_in(memory, stat).map(drop),
            _ => Ok(()),
        };
        self.writer().end();
        seen
    }

    /// Takes in what others wrote and keeps the lock until [`Journal::release`], so that nobody writes meanwhile.
    pub(crate) fn hold(&mut self, memory: &mut Memory<'_>, wait: Duration) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let taken_in = match self.begin(memory.content, wait)? {
                Some(stat) if self.is_news(memory.content, &stat) => self.take_in(memory, stat),
                _ => Ok(Done::Yes),
            };
            match taken_in {
                Ok(Done::Yes) => return Ok(()),
                Ok(Done::Disturbed) => {}
                Err(error) => {
                    self.writer().end();
                    return Err(error);
                }
            }
        }
        Err(self.io("lock", memory.content)(io::Error::other("others keep replacing the file")))
    }

    pub(crate) fn release(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.end();
        }
    }

    /// What has to run, without any lock held, to make everything written so far durable; `None` where it is.
    pub(crate) fn sync_job(&self) -> Option<(u64, SyncJob)> {
        let job = self.writer.as_ref().filter(|_| self.synced < self.written)?.fsync()?;
        Some((self.written, job))
    }

    /// What came of a [`Journal::sync_job`] that was taken when `written` writes had been made. After a failed fsync
    /// the kernel may have dropped what it could not store, so that only a complete rewrite counts.
    pub(crate) fn synced(&mut self, written: u64, result: &io::Result<()>) {
        match result {
            Ok(()) => self.synced = self.synced.max(written),
            Err(_) => self.rewrite = true,
        }
    }

    /// Lets go of the file. What is pending stays so.
    pub(crate) fn close(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.close();
        }
    }

    fn writer(&mut self) -> &mut dyn SessionStorageWriter {
        &mut **self.writer.as_mut().expect("begin made it")
    }

    fn io(&self, op: &'static str, content: &Content) -> impl FnOnce(io::Error) -> Error + use<> {
        let path: PathBuf = content.path.clone();
        move |source| Error::Io { op, path, source }
    }

    fn begin(&mut self, content: &Content, wait: Duration) -> Result<Option<FileStat>> {
        if self.writer.is_none() {
            let writer = self.storage.open_writer(&content.path).map_err(self.io("open", content))?;
            self.writer = Some(writer);
        }
        self.writer().begin(wait).map_err(|error| lock_error(error, &content.path, wait))
    }

    /// Decides how each pending entry goes to the file, and stores its images: before the lock is taken, since that
    /// may last, and before the line that names them is written.
    fn prepare(&mut self, content: &Content) -> Result<()> {
        let blobs = &self.blobs;
        let unknown = self.unknown_from.min(self.pending.len());
        for pending in self.pending.range_mut(unknown..) {
            if let Form::Unknown = pending.form {
                let line = content.in_memory(pending.entry).unwrap_or_default();
                let short = limits::persist_form(line, &mut |bytes| Ok(blobs.put(bytes)?.hex()))?;
                pending.form = short.map_or(Form::AsItIs, Form::Short);
            }
        }
        self.unknown_from = self.pending.len();
        Ok(())
    }

    fn is_news(&self, content: &Content, stat: &FileStat) -> bool {
        self.known != Some(stat.id) || content.end != stat.len
    }

    fn write(&mut self, memory: &mut Memory<'_>, found: Option<FileStat>) -> Result<Done> {
        let stat = match found {
            None => {
                if let Some(dir) = memory.content.path.parent() {
                    self.storage.ensure_dir(dir).map_err(Error::io_at("create", dir))?;
                }
                return if self.has_file { self.write_whole(memory.content) } else { self.create(memory.content) };
            }
            Some(stat) => stat,
        };
        if self.is_news(memory.content, &stat)
            && let Done::Disturbed = self.take_in(memory, stat)?
        {
            return Ok(Done::Disturbed);
        }
        self.prepare(memory.content)?;
        if !self.rewrite && (self.pending.is_empty() || !self.migrate_later) {
            return self.append(memory.content);
        }
        self.adopt_title(memory.content)?;
        let appendable = !self.is_news(memory.content, &stat) && !memory.content.is_migrating();
        let done = self.write_whole(memory.content);
        if done.is_err() && appendable {
            // What can be written is: a process that ends before the rewrite works out loses no entry.
            let _ = self.append(memory.content);
        }
        done
    }

    /// Relatives of the agent overwrite a title record in place, which leaves no other trace.
    fn adopt_title(&mut self, content: &mut Content) -> Result<()> {
        if content.adopt_title()? {
            self.header_edits.iter().for_each(|edit| edit.apply(content));
        }
        Ok(())
    }

    /// One write for each pending entry. A line that another writer left torn is ended first.
    fn append(&mut self, content: &mut Content) -> Result<Done> {
        while let Some(Pending { entry, form }) = self.pending.front() {
            let entry = *entry;
            let short = matches!(form, Form::Short(_));
            let lead: &[u8] = if content.ends_with_newline { b"" } else { b"\n" };
            let put_together = match form {
                Form::Short(line) => Some([lead, line, b"\n"].concat()),
                _ if lead.is_empty() => None,
                _ => Some([lead, content.ended_line(entry).unwrap_or_default()].concat()),
            };
            let bytes = put_together.as_deref().or_else(|| content.ended_line(entry)).unwrap_or_default();
            let (len, line_len) = (bytes.len(), bytes.len() - lead.len() - 1);
            let writer = self.writer.as_mut().expect("begin made it");
            let offset = writer.write_line(bytes).map_err(Error::io_at("append to", &content.path))?;
            self.written += 1;
            if offset != content.end {
                // Somebody who takes no lock was faster: the entry is found behind what they wrote, at the next look.
                return Ok(Done::Disturbed);
            }
            content.end = offset + len as u64;
            content.lines += 1;
            content.ends_with_newline = true;
            if short {
                content.shortened_in_file(entry, content.lines);
            } else {
                content.moved_to_file(entry, offset + lead.len() as u64, line_len as u32, content.lines);
            }
            self.pending.pop_front();
            self.unknown_from = self.unknown_from.saturating_sub(1);
        }
        Ok(Done::Yes)
    }
}

/// What `SessionStorageWriter::begin` said, as an error of this library.
pub(crate) fn lock_error(error: io::Error, path: &Path, wait: Duration) -> Error {
    match error.kind() {
        io::ErrorKind::TimedOut => Error::Locked { path: path.to_owned(), waited_ms: wait.as_millis() as u64 },
        _ => Error::Io { op: "write to", path: path.to_owned(), source: error },
    }
}

/// Whether an attempt to write came through.
enum Done {
    Yes,
    /// Something else is at the path now: look again.
    Disturbed,
}
