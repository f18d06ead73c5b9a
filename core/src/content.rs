//! Everything one session file holds, as the library keeps it: the header, an index over the entries, and where each
//! line is. Bodies stay in the file (or in memory, while they are not in the file as they are) until they are read.

use crate::error::{Error, Result};
use crate::header::{Header, TitleRecord, TitleSource, Version};
use crate::ids;
use crate::index::{EntryNo, Index, NO_TIME, NewSlot, Place, Slot};
use crate::json::{Malformed, Raw};
use crate::load::{self, Batch, Found, FoundEntry, What};
use crate::migrate::{self, Links};
use crate::read_at::{OnDemand, TextSource, fill};
use crate::record::{EntryKind, Envelope, RecordType, Role};
use crate::storage::{FileStat, ReadAt, SessionStorage};
use crate::time;
use crate::usage::Usage;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where everything of a content stands: see [`Content::snapshot`].
pub(crate) struct Snapshot {
    path: PathBuf,
    header: Header,
    titles: Vec<TitleRecord>,
    places: Vec<(Place, u32)>,
    extras: Vec<Extra>,
    recovered: Vec<EntryNo>,
    source: Option<Arc<dyn ReadAt>>,
    file: (u64, u32, bool),
    form: (EntryNo, Version),
}

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

/// What loading a file came to.
pub(crate) enum Loaded {
    Session(Box<Content>),
    /// No bytes, or none that are not blank.
    Blank,
    /// Bytes, but the first record is no header: its line, and what it is instead.
    NotASession {
        line: u32,
        reason: String,
    },
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
    memory: Vec<Option<Vec<u8>>>,
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
            free: Vec::new(),
            headers: Vec::new(),
            old_form: 0,
            file_version: Version::Current,
        }
    }

    /// Reads the first `len` bytes of a file.
    pub(crate) fn load(path: &Path, source: Arc<dyn ReadAt>, len: u64) -> Result<Loaded> {
        let mut loading = Loading::default();
        load::scan(&*source, 0..len, |batch| loading.batch(path, batch)).map_err(Error::io_at("read", path))?;
        Ok(loading.finish(Some(source), len))
    }

    /// Like `load`, for a text that is wholly in memory.
    pub(crate) fn load_text(path: &Path, text: Vec<u8>) -> Loaded {
        let mut loading = Loading::default();
        loading.batch(path, load::scan_text(&text));
        let len = text.len() as u64;
        loading.finish(Some(Arc::new(TextSource(text))), len)
    }

    fn add_batch(&mut self, batch: &Batch, found: &[Found]) {
        for found in found {
            let line = self.lines + found.line + 1;
            match &found.what {
                What::Entry(entry) | What::Title(entry, _) => {
                    let number = self.add_found(batch, found, entry, line);
                    if found.recovered {
                        self.recovered.push(number);
                    }
                }
                What::Session(_) => {
                    self.headers.push(self.index.len() as EntryNo);
                    self.add_extra(found, line, None);
                }
                What::Malformed(reason) => self.add_extra(found, line, Some(reason)),
            }
        }
        batch.usage.iter().for_each(|&usage| self.usage += usage);
        self.lines += batch.lines;
        self.ends_with_newline = batch.lines == 0 && self.ends_with_newline || batch.ends_with_newline;
    }

    /// Takes in what stands between the known end of the file and `len`. An entry that is in memory and waits to be
    /// written, and now is found there, was written after all.
    pub(crate) fn add_tail(&mut self, source: Arc<dyn ReadAt>, len: u64) -> Result<()> {
        let torn = self.torn_line();
        let from = torn.unwrap_or(self.end);
        let mut batches = Vec::new();
        load::scan(&*source, from..len, |batch| batches.push(batch)).map_err(Error::io_at("read", &self.path))?;
        self.source = Some(source);
        if torn.is_some() {
            self.extras.pop();
        }
        if !self.ends_with_newline {
            // The first line of the tail is the last one that was known.
            self.lines -= 1;
        }
        for batch in batches {
            self.add_batch(&batch, &batch.found);
        }
        self.end = len;
        if self.is_migrating() {
            self.old_form = self.index.len() as EntryNo;
        }
        Ok(())
    }

    /// Where a torn last line begins. It may have been completed since, so that it is looked at again.
    fn torn_line(&self) -> Option<u64> {
        let last = self.extras.last().filter(|_| !self.ends_with_newline);
        last.filter(|torn| torn.line == self.lines && torn.after.is_some()).map(|torn| torn.offset)
    }

    /// Whether the file of `len` bytes that the content was read from still begins with what is known of it, as far
    /// as its last line tells, and reading on at its end is enough. Others may have cut it short and let it grow
    /// again, or have written it anew in place.
    pub(crate) fn goes_on_in(&self, source: &dyn ReadAt, len: u64) -> Result<bool> {
        let on_last_line = self.index.entries().rev().map(|entry| self.index.slot(entry).line);
        let pieces = on_last_line.skip_while(|&line| line == 0).take_while(|&line| line == self.lines).count()
            + self.extras.iter().rev().take_while(|extra| extra.line == self.lines).count();
        if len < self.end || (!self.ends_with_newline && pieces > 1) {
            return Ok(false);
        }
        let mut last = [b'\n'];
        if self.ends_with_newline && self.end > 0 {
            let filled = fill(source, &mut last, self.end - 1).map_err(Error::io_at("read", &self.path))?;
            if filled == 0 || last != *b"\n" {
                return Ok(false);
            }
        }
        self.last_in_file.map_or(Ok(true), |entry| self.is_intact(entry))
    }

    /// Whether the entry's line is still where it was in the file; true for one in memory.
    pub(crate) fn is_intact(&self, entry: EntryNo) -> Result<bool> {
        let slot = *self.index.slot(entry);
        let Place::File { offset, len } = slot.place else { return Ok(true) };
        let mut line = vec![0; len as usize];
        match self.read(&mut line, len as usize, offset, slot.line) {
            Err(Error::Vanished { .. }) => return Ok(false),
            read => read?,
        }
        let Ok(envelope) = Envelope::of_line(&line) else { return Ok(false) };
        // Ids of the first version are not in the file.
        let made = self.file_version == Version::V1 && self.has_old_form(entry);
        Ok(made || envelope.id.and_then(Raw::as_str).as_deref() == self.index.id(entry))
    }

    /// Whether the entry is on a last line that has no end yet, and may be a part of something longer.
    pub(crate) fn is_piece(&self, entry: EntryNo) -> bool {
        !self.ends_with_newline && self.index.slot(entry).line == self.lines
    }

    /// Reads a title record that leads the file again. Whether there is another one in its place.
    pub(crate) fn adopt_title(&mut self) -> Result<bool> {
        let (Some(title), Some(_)) = (self.titles.first(), &self.source) else { return Ok(false) };
        let mut line = vec![0; title.line().len() + 1];
        let len = line.len();
        if self.read(&mut line, len, 0, 1).is_err() || line.pop() != Some(b'\n') {
            return Ok(false);
        }
        let is_title = Envelope::of_line(&line).is_ok_and(|envelope| envelope.record == RecordType::Title);
        if !is_title || line == title.line() {
            return Ok(false);
        }
        self.titles[0] = TitleRecord::new(line);
        Ok(true)
    }

    fn add_found(&mut self, batch: &Batch, found: &Found, entry: &FoundEntry, line: u32) -> EntryNo {
        let place = Place::File { offset: found.offset, len: found.len as u32 };
        let FoundEntry { kind, role, time, .. } = *entry;
        let (id, parent) = (batch.id(entry), batch.parent(entry));
        if let Some(own) = id.and_then(|id| self.index.by_id(id)).filter(|&own| self.is_same(own, entry, parent)) {
            match self.in_memory(own) {
                Some(whole) if whole.len() as u64 != found.len => self.shortened_in_file(own, line),
                _ => self.moved_to_file(own, found.offset, found.len as u32, line),
            }
            return own;
        }
        let number = match self.file_version {
            Version::V1 => {
                let number = self.add_without_links(place, line, time, kind, role);
                self.index.slot_mut(number).has_links = entry.has_links;
                number
            }
            _ => self.index.push(&NewSlot { place, id, parent, line, time, kind, role }),
        };
        self.last_in_file = Some(number);
        if let Some((target, label)) = batch.label(entry) {
            self.index.set_label(target, label);
        }
        number
    }

    /// Whether an entry that is not in the file yet is the one that was found there: written by a call that failed
    /// all the same, or behind the bytes of a writer that takes no lock. Another writer's entry with the same id
    /// would also have to have the same parent and the same millisecond.
    fn is_same(&self, own: EntryNo, found: &FoundEntry, parent: Option<&str>) -> bool {
        let slot = self.index.slot(own);
        let same = (slot.kind, slot.time) == (found.kind, found.time) && self.index.parent_id(own) == parent;
        same && self.is_waiting(own)
    }

    /// Whether an entry is in memory and nothing of it in the file.
    fn is_waiting(&self, entry: EntryNo) -> bool {
        let slot = self.index.slot(entry);
        matches!((slot.place, slot.line), (Place::Memory(_), 0))
    }

    fn add_without_links(&mut self, place: Place, line: u32, time: i64, kind: EntryKind, role: Role) -> EntryNo {
        let number = self.index.len() as EntryNo;
        let id = ids::derived_entry_id(&self.header.id(), u64::from(number), |id| self.index.is_taken(id));
        let parent = number.checked_sub(1).and_then(|previous| self.index.id(previous)).map(str::to_owned);
        self.index.push(&NewSlot { place, id: Some(&id), parent: parent.as_deref(), line, time, kind, role })
    }

    fn add_extra(&mut self, found: &Found, line: u32, reason: Option<&'static str>) {
        // Entries that wait to be written come behind it.
        let after = self.index.entries().rev().find(|&entry| !self.is_waiting(entry)).map_or(0, |entry| entry + 1);
        self.extras.push(Extra { after: Some(after), offset: found.offset, len: found.len, line, reason });
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
            parent: parent.as_deref(),
            time: time_of(&envelope),
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

    /// What changes when the content is written to another file.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            path: self.path.clone(),
            header: self.header.clone(),
            titles: self.titles.clone(),
            places: self
                .index
                .entries()
                .map(|entry| (self.index.slot(entry).place, self.index.slot(entry).line))
                .collect(),
            extras: self.extras.clone(),
            recovered: self.recovered.clone(),
            source: self.source.clone(),
            file: (self.end, self.lines, self.ends_with_newline),
            form: (self.old_form, self.file_version),
        }
    }

    /// Goes back to what a snapshot holds. Everything in it must have been in its file, or be in memory still.
    pub(crate) fn restore(&mut self, snapshot: Snapshot) {
        for (entry, (place, line)) in self.index.entries().zip(snapshot.places) {
            let slot = self.index.slot_mut(entry);
            (slot.place, slot.line) = (place, line);
        }
        (self.path, self.header, self.titles) = (snapshot.path, snapshot.header, snapshot.titles);
        (self.extras, self.recovered, self.source) = (snapshot.extras, snapshot.recovered, snapshot.source);
        (self.end, self.lines, self.ends_with_newline) = snapshot.file;
        (self.old_form, self.file_version) = snapshot.form;
    }

    fn keep(&mut self, line: Vec<u8>) -> Place {
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
        match self.index.slot(entry).place {
            Place::Memory(number) => self.memory[number as usize].as_deref(),
            Place::File { .. } => None,
        }
    }

    fn forget(&mut self, entry: EntryNo) {
        if let Place::Memory(number) = self.index.slot(entry).place {
            self.memory[number as usize] = None;
            self.free.push(number);
        }
    }

    /// Puts other lines in the places of entries, checking them, and changes the index with them: all of them or,
    /// after an error, none. Errors: `InvalidJson`, and those of reading.
    pub(crate) fn change(&mut self, changed: &BTreeMap<EntryNo, Vec<u8>>) -> Result<()> {
        // The changed entries alone, as they will be, in the same order.
        let mut new = Content::new(self.path.clone(), self.header.clone());
        let mut before = Usage::default();
        let mut same_links = true;
        let mut lines = self.lines(64 << 10);
        for (&entry, line) in changed {
            let number = new.push_line(line.clone())?;
            let usage = Envelope::of_line(&lines.get(entry)?).ok().and_then(|envelope| envelope.usage);
            before += usage.unwrap_or_default();
            same_links &= new.index.id(number) == self.index.id(entry);
            same_links &= new.index.parent_id(number) == self.index.parent_id(entry);
            let kinds = [new.index.slot(number).kind, self.index.slot(entry).kind];
            same_links &= !kinds.contains(&EntryKind::Label);
        }
        if !same_links {
            self.index = self.reindexed(changed, &new)?;
        }
        for (&entry, number) in changed.keys().zip(new.index.entries()) {
            let Slot { kind, role, time, .. } = *new.index.slot(number);
            let slot = self.index.slot_mut(entry);
            (slot.kind, slot.role, slot.time) = (kind, role, time);
            self.replace_line(entry, new.in_memory(number).unwrap_or_default().to_vec());
        }
        if before != new.usage {
            self.usage = self.counted_usage()?;
        }
        Ok(())
    }

    /// The index as it is with the ids, parents and labels of changed entries, which `new` holds.
    /// The sums, counted anew: subtracting what an entry no longer says would not give the same floating-point sums.
    fn counted_usage(&self) -> Result<Usage> {
        let mut usage = Usage::default();
        let mut lines = self.lines(256 << 10);
        for entry in self.index.entries() {
            if matches!(self.index.slot(entry).role, Role::Assistant | Role::ToolResult) {
                let line = lines.get(entry)?;
                usage += Envelope::of_line(&line).ok().and_then(|envelope| envelope.usage).unwrap_or_default();
            }
        }
        Ok(usage)
    }

    fn reindexed(&self, changed: &BTreeMap<EntryNo, Vec<u8>>, new: &Content) -> Result<Index> {
        let mut index = Index::default();
        let mut lines = self.lines(64 << 10);
        let mut changed = changed.keys().zip(new.index.entries()).peekable();
        for entry in self.index.entries() {
            let Slot { place, line, time, kind, role, .. } = *self.index.slot(entry);
            let number = changed.next_if(|(changed, _)| **changed == entry).map(|(_, number)| number);
            let (source, at) = number.map_or((self, entry), |number| (new, number));
            let (id, parent) = (source.index.id(at), source.index.parent_id(at));
            index.push(&NewSlot { place, id, parent, line, time, kind, role });
            if source.index.slot(at).kind == EntryKind::Label {
                let line =
                    if number.is_some() { new.in_memory(at).unwrap_or_default().into() } else { lines.get(at)? };
                let text = |name| Raw::new(&line).get(name).and_then(Raw::as_str);
                if let Some(target) = text("targetId") {
                    index.set_label(&target, text("label").as_deref());
                }
            }
        }
        Ok(index)
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

    /// Reads lines one by one; `ahead` bytes are read at once where lines follow each other.
    pub(crate) fn lines(&self, ahead: usize) -> Lines<'_> {
        Lines { content: self, ahead: ahead as u64, window: Vec::new(), start: 0, behind: 0, credit: 0 }
    }

    /// One line, as the current version has it.
    pub(crate) fn line(&self, entry: EntryNo) -> Result<Vec<u8>> {
        Ok(self.lines(0).get(entry)?.into_owned())
    }

    /// Bytes of the file that are no entry.
    pub(crate) fn extra(&self, extra: &Extra) -> Result<Vec<u8>> {
        let mut bytes = vec![0; extra.len as usize];
        self.read(&mut bytes, extra.len as usize, extra.offset, extra.line)?;
        Ok(bytes)
    }

    /// Fills `buf`, of which `least` bytes must be there.
    fn read(&self, buf: &mut Vec<u8>, least: usize, offset: u64, line: u32) -> Result<()> {
        let vanished = || Error::Vanished { path: self.path.clone(), line: line.into() };
        let source = self.source.as_ref().ok_or_else(vanished)?;
        let filled = fill(&**source, buf, offset).map_err(Error::io_at("read", &self.path))?;
        buf.truncate(filled);
        if filled >= least { Ok(()) } else { Err(vanished()) }
    }

    fn migrate<'l>(&self, entry: EntryNo, line: Cow<'l, [u8]>) -> Cow<'l, [u8]> {
        let slot = self.index.slot(entry);
        let by_index = self.file_version == Version::V1;
        if !by_index && slot.role != Role::Hook {
            return line;
        }
        let links = Links { id: self.index.id(entry).unwrap_or_default(), parent: self.index.parent_id(entry) };
        if !slot.has_links && slot.kind != EntryKind::Compaction && slot.role != Role::Hook {
            return Cow::Owned(migrate::append_links(&line, &links));
        }
        let id_of_record = |record: f64| self.index.id(self.entry_of_record(record)?);
        Cow::Owned(migrate::entry(&line, by_index.then_some(&links), id_of_record))
    }

    /// The entry that is record number `record` of the file, the header being 0 and further headers counting too.
    fn entry_of_record(&self, record: f64) -> Option<EntryNo> {
        if record < 1.0 || record.fract() != 0.0 || record > (self.index.len() + self.headers.len()) as f64 {
            return None;
        }
        let record = record as usize;
        // Further header number `i` is record number `headers[i] + i + 1`, which rises with `i`.
        let (mut before, mut behind) = (0, self.headers.len());
        while before < behind {
            let middle = (before + behind) / 2;
            match (self.headers[middle] as usize + middle + 1).cmp(&record) {
                std::cmp::Ordering::Less => before = middle + 1,
                std::cmp::Ordering::Equal => return None,
                std::cmp::Ordering::Greater => behind = middle,
            }
        }
        let entry = record - 1 - before;
        (entry < self.index.len()).then_some(entry as EntryNo)
    }
}

fn time_of(envelope: &Envelope<'_>) -> i64 {
    let time = envelope.timestamp.and_then(Raw::as_str).and_then(|text| time::parse(&text));
    time.unwrap_or(NO_TIME)
}

/// The envelope of an entry whose line is given.
pub(crate) struct NewEntry<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) parent: Option<&'a str>,
    pub(crate) time: i64,
    pub(crate) kind: EntryKind,
    pub(crate) role: Role,
    pub(crate) usage: Option<Usage>,
    pub(crate) label: Option<(&'a str, Option<&'a str>)>,
}

/// Reads lines, several with one call where they stand close together in the file.
///
/// What is read ahead is bounded by what lines in a row have used so far, less the gaps between them, so that no order
/// of lines makes it read much more than those lines have.
pub(crate) struct Lines<'a> {
    content: &'a Content,
    /// The most that is read ahead.
    ahead: u64,
    window: Vec<u8>,
    /// Where the window begins.
    start: u64,
    /// Where the line that was last asked for ends.
    behind: u64,
    credit: u64,
}

impl Lines<'_> {
    /// The line of an entry, as the current version has it.
    pub(crate) fn get(&mut self, entry: EntryNo) -> Result<Cow<'_, [u8]>> {
        let slot = *self.content.index.slot(entry);
        let content = self.content;
        match slot.place {
            Place::Memory(number) => Ok(Cow::Borrowed(content.memory[number as usize].as_deref().unwrap_or_default())),
            Place::File { offset, len } => {
                let line = self.read_line(offset, len, slot.line)?;
                if entry < content.old_form { Ok(content.migrate(entry, Cow::Borrowed(line))) } else { Ok(line.into()) }
            }
        }
    }

    fn read_line(&mut self, offset: u64, len: u32, line: u32) -> Result<&[u8]> {
        let end = offset + u64::from(len);
        let gap = offset.checked_sub(self.behind);
        self.credit = gap.map_or(0, |gap| self.credit.saturating_sub(gap));
        if offset < self.start || end > self.start + self.window.len() as u64 {
            let rest = self.content.end.saturating_sub(end);
            let ahead = self.credit.min(self.ahead).min(rest);
            self.window.resize(len as usize + ahead as usize, 0);
            self.start = offset;
            let read = self.content.read(&mut self.window, len as usize, offset, line);
            read.inspect_err(|_| self.window.clear())?;
        }
        self.credit = (self.credit + u64::from(len)).min(self.ahead);
        self.behind = end;
        let at = (offset - self.start) as usize;
        Ok(&self.window[at..at + len as usize])
    }
}

/// A file that is being loaded: the header is looked for first.
#[derive(Default)]
struct Loading {
    content: Option<Content>,
    titles: Vec<TitleRecord>,
    before: Vec<Extra>,
    lines: u32,
    refused: Option<(u32, String)>,
}

impl Loading {
    fn batch(&mut self, path: &Path, mut batch: Batch) {
        let mut first = 0;
        while self.content.is_none() && self.refused.is_none() && first < batch.found.len() {
            let found = &mut batch.found[first];
            first += 1;
            let line = self.lines + found.line + 1;
            let Found { offset, len, .. } = *found;
            match &mut found.what {
                What::Malformed(reason) => {
                    self.before.push(Extra { after: None, offset, len, line, reason: Some(reason) });
                }
                What::Title(_, bytes) => self.titles.push(TitleRecord::new(std::mem::take(bytes))),
                What::Session(bytes) => match Header::read(std::mem::take(bytes)) {
                    Some(header) => self.begin(path, header),
                    None => self.refuse(line, "the header has no string \"id\""),
                },
                What::Entry(_) => self.refuse(line, "the first record is not of type \"session\""),
            }
        }
        match &mut self.content {
            Some(content) => content.add_batch(&batch, &batch.found[first..]),
            None => self.lines += batch.lines,
        }
    }

    fn begin(&mut self, path: &Path, header: Header) {
        let mut content = Content::new(path.to_owned(), header);
        content.file_version = content.header.version();
        content.titles = std::mem::take(&mut self.titles);
        content.extras = std::mem::take(&mut self.before);
        content.lines = self.lines;
        self.content = Some(content);
    }

    fn refuse(&mut self, line: u32, reason: &str) {
        self.refused = Some((line, reason.to_owned()));
    }

    fn finish(self, source: Option<Arc<dyn ReadAt>>, len: u64) -> Loaded {
        if let Some(mut content) = self.content {
            content.source = source;
            content.end = len;
            if content.is_migrating() {
                content.old_form = content.index.len() as EntryNo;
                content.header.set_current_version();
            }
            content.index.shrink();
            return Loaded::Session(Box::new(content));
        }
        match (self.refused, self.before.first()) {
            (Some((line, reason)), _) => Loaded::NotASession { line, reason },
            (None, Some(extra)) => {
                let reason = extra.reason.unwrap_or_default();
                Loaded::NotASession { line: extra.line, reason: format!("no header; {reason}") }
            }
            (None, None) if !self.titles.is_empty() => {
                Loaded::NotASession { line: 1, reason: "a title record without a header".to_owned() }
            }
            (None, None) => Loaded::Blank,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::FileStat;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Counts the bytes that are read.
    struct Counting(TextSource, AtomicU64);

    impl ReadAt for Counting {
        fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
            let read = self.0.read_at(buf, offset)?;
            self.1.fetch_add(read as u64, Ordering::Relaxed);
            Ok(read)
        }
        fn stat(&self) -> std::io::Result<FileStat> {
            self.0.stat()
        }
    }

    #[test]
    fn reading_ahead_never_reads_much_more_than_there_is() {
        let header = r#"{"type":"session","version":3,"id":"s"}"#.to_owned() + "\n";
        let text = header + &"{\"type\":\"x\",\"pad\":\"0123456789\"}\n".repeat(20_000);
        let len = text.len() as u64;
        let source = Arc::new(Counting(TextSource(text.into_bytes()), AtomicU64::new(0)));
        let Ok(Loaded::Session(content)) = Content::load(Path::new(""), source.clone(), len) else { panic!() };
        let entries = || content.index.entries();
        let cost = |order: Vec<EntryNo>| {
            source.1.store(0, Ordering::Relaxed);
            let mut lines = content.lines(4096);
            order.into_iter().for_each(|entry| assert!(lines.get(entry).unwrap().starts_with(b"{")));
            source.1.load(Ordering::Relaxed)
        };
        for step in [1, 3, 300] {
            assert!(cost(entries().step_by(step).collect()) <= 2 * len, "forward by {step}");
            assert!(cost(entries().rev().step_by(step).collect()) <= 2 * len, "backward by {step}");
        }
        let swapped = entries().map(|entry| entry ^ 1).collect();
        assert!(cost(swapped) <= 4 * len, "back and forth");
        let ends: Vec<_> = entries().flat_map(|entry| [entry / 2, 19_999 - entry / 2]).collect();
        assert!(cost(ends) <= 4 * len, "from both ends");
    }
}
