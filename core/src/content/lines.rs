//! Reading lines back: from memory or from the file, as the current version has them.

use super::{Content, Extra};
use crate::error::{Error, Result};
use crate::header::Version;
use crate::index::{EntryNo, Place};
use crate::migrate::{self, Links};
use crate::read_at::fill;
use crate::record::{EntryKind, Role};
use std::borrow::Cow;

impl Content {
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
    pub(super) fn read(&self, buf: &mut Vec<u8>, least: usize, offset: u64, line: u32) -> Result<()> {
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
            Place::Memory(_) => Ok(Cow::Borrowed(content.in_memory(entry).unwrap_or_default())),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Loaded;
    use crate::read_at::TextSource;
    use crate::storage::{FileStat, ReadAt};
    use std::path::Path;
    use std::sync::Arc;
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
