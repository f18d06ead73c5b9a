//! Everything one session file holds, as the library keeps it: the header, an index over the entries, and where each
//! line is. Bodies stay in the file (or in memory, while they are not in the file as they are) until they are read.

mod change;
mod lines;
mod load;
mod snapshot;
mod tail;

pub(crate) use lines::Lines;
pub(crate) use load::Loaded;

use crate::error::{Error, Result};
use crate::header::{Header, TitleRecord, TitleSource, Version};
use crate::index::{EntryNo, Index, NO_TIME, NewSlot, Parent, Place, Slot};
use crate::json::{Malformed, Raw};
use crate::read_at::OnDemand;
use crate::record::{EntryKind, Envelope, RecordType, Role};
use crate::storage::{FileStat, ReadAt, SessionStorage};
use crate::usage::Usage;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// No more memory than this is kept for the next line.
const MAX_SPARE: usize = 64 << 10;

/// Bytes in the file that are no entry and stay there.
#[derive(Clone)]
pub(crate) struct Extra {
    /// Entries before it; `None` where it stands before the header.
    pub(crate) after: Option<EntryNo>,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) line: u32,
    /// Why it is malformed; `None` for a further header.
    pub(crate) reason: Option<&'static str>,
}

pub(crate) struct Content {
    /// The session file; empty for a session that has none.
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    pub(crate) titles: Vec<TitleRecord>,
    pub(crate) index: Index,
    pub(crate) extras: Vec<Extra>,
    pub(crate) usage: Usage,
    /// Entries that were taken out of damaged lines.
    pub(crate) recovered: Vec<EntryNo>,
    /// What of the file is known: its length and lines up to there, and whether a `\n` is the last byte.
    pub(crate) end: u64,
    pub(crate) lines: u32,
    pub(crate) ends_with_newline: bool,
    /// The entry that was the last one to be found in the file or written to it.
    last_in_file: Option<EntryNo>,
    source: Option<Arc<dyn ReadAt>>,
    /// Lines, each with a `\n` behind it, as they are written.
    memory: Vec<Option<Vec<u8>>>,
    /// The memory of a line that went to the file, for the next one.
    spare: Vec<u8>,
    free: Vec<u32>,
    /// For each further header how many entries are before it.
    headers: Vec<EntryNo>,
    /// Entries below this number have in the file the form of an older version.
    old_form: EntryNo,
    pub(crate) file_version: Version,
}

impl Content {
    /// A session without entries and without a file.
    pub(crate) fn new(path: PathBuf, header: Header) -> Content {
        Content {
            path,
            header,
            titles: Vec::new(),
            index: Index::default(),
            extras: Vec::new(),
            usage: Usage::default(),
            recovered: Vec::new(),
            end: 0,
            lines: 0,
            ends_with_newline: true,
            last_in_file: None,
            source: None,
            memory: Vec::new(),
            spare: Vec::new(),
            free: Vec::new(),
            headers: Vec::new(),
            old_form: 0,
            file_version: Version::Current,
        }
    }

    /// Adds an entry whose line is in memory. `line` must be a checked record.
    pub(crate) fn push(&mut self, line: Vec<u8>, new: NewEntry<'_>) -> EntryNo {
        if let Some(usage) = new.usage {
            self.usage += usage;
        }
        let place = self.keep(line);
        let NewEntry { id, parent, time, kind, role, .. } = new;
        let entry = self.index.push(&NewSlot { place, id, parent, line: 0, time, kind, role });
        if let Some((target, label)) = new.label {
            self.index.set_label(target, label);
        }
        entry
    }

    /// Adds an entry whose whole line is given, checking it. Error: `InvalidJson`.
    pub(crate) fn push_line(&mut self, line: Vec<u8>) -> Result<EntryNo> {
        let invalid = |fault: Malformed| Error::InvalidJson {
            what: "entry".to_owned(),
            offset: fault.offset,
            reason: fault.reason.to_owned(),
        };
        let envelope = Envelope::of_line(&line).map_err(invalid)?;
        let kind = match envelope.record {
            RecordType::Entry(kind) => kind,
            // One that does not lead the file is an entry of unknown type.
            RecordType::Title => EntryKind::Other,
            RecordType::Session => return Err(Error::InvalidArgument("a session header is no entry".to_owned())),
        };
        let text = |raw: Option<Raw<'_>>| raw.and_then(Raw::as_str).map(Cow::into_owned);
        let (id, parent) = (text(envelope.id), text(envelope.parent));
        let label = text(envelope.target).filter(|_| kind == EntryKind::Label).zip(Some(text(envelope.label)));
        let new = NewEntry {
            id: id.as_deref(),
            parent: parent.as_deref().into(),
            time: envelope.time().unwrap_or(NO_TIME),
            kind,
            role: envelope.role,
            usage: envelope.usage,
            label: label.as_ref().map(|(target, label)| (&**target, label.as_deref())),
        };
        Ok(self.push(line, new))
    }

    /// Adds an entry of another content's file, which this content reads from too; `line` is its line.
    pub(crate) fn push_in_file(&mut self, slot: Slot, line: Vec<u8>) -> Result<()> {
        let entry = self.push_line(line)?;
        self.forget(entry);
        let added = self.index.slot_mut(entry);
        (added.place, added.line) = (slot.place, slot.line);
        Ok(())
    }

    /// Takes all lines into memory, as the current version has them: nothing is in a file then.
    pub(crate) fn hold_in_memory(&mut self) -> Result<()> {
        for entry in self.index.entries() {
            let line = self.line(entry)?;
            self.replace_line(entry, line);
            self.index.slot_mut(entry).line = 0;
        }
        self.migrated();
        self.source = None;
        (self.end, self.lines, self.ends_with_newline) = (0, 0, true);
        Ok(())
    }

    /// An empty buffer for a line that is to be added.
    pub(crate) fn spare_line(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    fn keep(&mut self, mut line: Vec<u8>) -> Place {
        line.push(b'\n');
        let line = Some(line);
        let number = match self.free.pop() {
            Some(number) => {
                self.memory[number as usize] = line;
                number
            }
            None => {
                self.memory.push(line);
                self.memory.len() as u32 - 1
            }
        };
        Place::Memory(number)
    }

    /// Puts another line in an entry's place, in memory.
    pub(crate) fn replace_line(&mut self, entry: EntryNo, line: Vec<u8>) {
        self.forget(entry);
        let place = self.keep(line);
        self.index.slot_mut(entry).place = place;
    }

    /// The line of an entry that is held in memory.
    pub(crate) fn in_memory(&self, entry: EntryNo) -> Option<&[u8]> {
        self.ended_line(entry)?.strip_suffix(b"\n")
    }

    /// The line of an entry that is held in memory, and a `\n`.
    pub(crate) fn ended_line(&self, entry: EntryNo) -> Option<&[u8]> {
        match self.index.slot(entry).place {
            Place::Memory(number) => self.memory[number as usize].as_deref(),
            Place::File { .. } => None,
        }
    }

    fn forget(&mut self, entry: EntryNo) {
        if let Place::Memory(number) = self.index.slot(entry).place {
            if let Some(mut line) = self.memory[number as usize].take().filter(|line| line.capacity() <= MAX_SPARE) {
                line.clear();
                self.spare = line;
            }
            self.free.push(number);
        }
    }

    /// The line is in the file now as it is in memory: from here on it is read from there.
    pub(crate) fn moved_to_file(&mut self, entry: EntryNo, offset: u64, len: u32, line: u32) {
        self.forget(entry);
        let slot = self.index.slot_mut(entry);
        slot.place = Place::File { offset, len };
        slot.line = line;
        self.last_in_file = Some(entry);
    }

    /// The line is in the file in a shortened form; what is whole stays in memory.
    pub(crate) fn shortened_in_file(&mut self, entry: EntryNo, line: u32) {
        self.index.slot_mut(entry).line = line;
        self.last_in_file = Some(entry);
    }

    /// The file that places in the file refer to.
    pub(crate) fn source(&self) -> Option<&Arc<dyn ReadAt>> {
        self.source.as_ref()
    }

    /// Holds no file open any more: what is read from now on opens the file that is `known`.
    pub(crate) fn let_go_of_source(&mut self, storage: &Arc<dyn SessionStorage>, known: FileStat) {
        let (storage, path) = (Arc::clone(storage), self.path.clone());
        self.source = Some(Arc::new(OnDemand { storage, path, known }));
    }

    pub(crate) fn set_source(&mut self, source: Option<Arc<dyn ReadAt>>) {
        self.source = source;
    }

    /// Whether entries have to be changed for the current version before they are written.
    pub(crate) fn is_migrating(&self) -> bool {
        self.file_version == Version::V1 || self.file_version == Version::V2
    }

    /// All entries are in the file in the current version's form.
    pub(crate) fn migrated(&mut self) {
        self.file_version = Version::Current;
        self.old_form = 0;
    }

    /// Whether the entry's bytes in the file are those of an older version.
    pub(crate) fn has_old_form(&self, entry: EntryNo) -> bool {
        entry < self.old_form && matches!(self.index.slot(entry).place, Place::File { .. })
    }

    /// The title: that of a title record before the header, else the header's.
    pub(crate) fn title(&self) -> Option<String> {
        self.titles.iter().find_map(TitleRecord::title).or_else(|| self.header.title())
    }

    /// Who chose the title.
    pub(crate) fn title_source(&self) -> Option<TitleSource> {
        let record = self.titles.iter().find(|record| record.title().is_some());
        record.map_or_else(|| self.header.title_source(), TitleRecord::source)
    }
}

/// The envelope of an entry whose line is given.
pub(crate) struct NewEntry<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) parent: Parent<'a>,
    pub(crate) time: i64,
    pub(crate) kind: EntryKind,
    pub(crate) role: Role,
    pub(crate) usage: Option<Usage>,
    pub(crate) label: Option<(&'a str, Option<&'a str>)>,
}
