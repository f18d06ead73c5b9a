//! What others appended behind the known end of the file, and whether what is known is still there.

use super::Content;
use crate::error::{Error, Result};
use crate::header::{TitleRecord, Version};
use crate::index::{EntryNo, Place};
use crate::json::Raw;
use crate::load::{self as loading, FoundEntry};
use crate::read_at::fill;
use crate::record::{Envelope, RecordType};
use crate::storage::ReadAt;
use std::sync::Arc;

impl Content {
    /// Takes in what stands between the known end of the file and `len`. An entry that is in memory and waits to be
    /// written, and now is found there, was written after all.
    pub(crate) fn add_tail(&mut self, source: Arc<dyn ReadAt>, len: u64) -> Result<()> {
        let torn = self.torn_line();
        let from = torn.unwrap_or(self.end);
        let mut batches = Vec::new();
        loading::scan(&*source, from..len, |batch| batches.push(batch)).map_err(Error::io_at("read", &self.path))?;
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

    /// Whether an entry that is not in the file yet is the one that was found there: written by a call that failed
    /// all the same, or behind the bytes of a writer that takes no lock. Another writer's entry with the same id
    /// would also have to have the same parent and the same millisecond.
    pub(super) fn is_same(&self, own: EntryNo, found: &FoundEntry, parent: Option<&str>) -> bool {
        let slot = self.index.slot(own);
        let same = (slot.kind, slot.time) == (found.kind, found.time) && self.index.parent_id(own) == parent;
        same && self.is_waiting(own)
    }

    /// Whether an entry is in memory and nothing of it in the file.
    pub(super) fn is_waiting(&self, entry: EntryNo) -> bool {
        let slot = self.index.slot(entry);
        matches!((slot.place, slot.line), (Place::Memory(_), 0))
    }
}
