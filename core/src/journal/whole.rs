//! Writing a session's whole content: for a new file, and in place of an older content.

use super::{Done, Form, Journal};
use crate::blob::BlobStore;
use crate::content::{Content, Extra, Lines};
use crate::error::{Error, Result};
use crate::glued::NUL_BYTES;
use crate::index::{EntryNo, Place};
use crate::limits;
use crate::read_at::fill;
use std::io::{self, Write};
use std::ops::Range;

/// Bytes that are copied at once.
const COPY: usize = 256 << 10;

/// Where everything stands in the content that was written.
#[derive(Default)]
struct Layout {
    /// Of each entry: offset, length, line, and whether the line is shortened.
    entries: Vec<(u64, u32, u32, bool)>,
    /// Of each extra that was kept: offset and line.
    extras: Vec<Option<(u64, u32)>>,
    end: u64,
    lines: u32,
}

impl Journal {
    /// Makes the session's file, everything held in it.
    pub(super) fn create(&mut self, content: &mut Content) -> Result<Done> {
        if content.source().is_some() {
            // Bodies that are in another file are copied in constant memory.
            return self.write_whole(content);
        }
        let mut bytes = Vec::new();
        let layout = write_all(content, &self.blobs, &|entry| self.form(entry), &mut bytes)?;
        let made = self.writer.as_mut().expect("begin made it").create(&bytes);
        match made {
            Ok(stat) => {
                self.written += 1;
                self.settle(content, layout, stat.id);
                Ok(Done::Yes)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Done::Disturbed),
            Err(error) => Err(Error::io_at("create", &content.path)(error)),
        }
    }

    /// Puts the whole content in place of what is at the path, in one durable step (P3).
    pub(super) fn write_whole(&mut self, content: &mut Content) -> Result<Done> {
        let mut outcome = None;
        let (blobs, writer) = (&self.blobs, self.writer.as_mut().expect("begin made it"));
        let form = |entry| form_of(&self.pending, entry);
        let replaced = writer.replace(&mut |out| {
            let written = write_all(content, blobs, &form, out);
            let failed = written.is_err();
            outcome = Some(written);
            if failed { Err(io::Error::other("the content could not be put together")) } else { Ok(()) }
        });
        match (replaced, outcome) {
            (_, Some(Err(error))) => Err(error),
            (Ok(replaced), Some(Ok(layout))) => {
                self.written += 1;
                if replaced.synced.is_ok() {
                    self.synced = self.written;
                }
                self.settle(content, layout, replaced.stat.id);
                self.rewrite = replaced.synced.is_err();
                replaced.synced.map(|()| Done::Yes).map_err(self.io("make durable", content))
            }
            (Err(error), _) if is_disturbed(&error) => Ok(Done::Disturbed),
            (Err(error), _) => Err(self.io("rewrite", content)(error)),
            (Ok(_), None) => Err(self.io("rewrite", content)(io::Error::other("the storage wrote nothing"))),
        }
    }

    fn form(&self, entry: EntryNo) -> Option<&Form> {
        form_of(&self.pending, entry)
    }

    /// The file holds everything now, as `layout` says.
    fn settle(&mut self, content: &mut Content, layout: Layout, id: crate::storage::FileId) {
        for (entry, &(offset, len, line, short)) in content.index.entries().zip(&layout.entries) {
            if short {
                content.shortened_in_file(entry, line);
            } else {
                content.moved_to_file(entry, offset, len, line);
            }
        }
        let mut places = layout.extras.iter();
        content.extras.retain_mut(|extra| match places.next() {
            Some(Some((offset, line))) => {
                (extra.offset, extra.line) = (*offset, *line);
                true
            }
            _ => false,
        });
        content.recovered.clear();
        content.migrated();
        (content.end, content.lines, content.ends_with_newline) = (layout.end, layout.lines, true);
        content.set_source(self.writer.as_ref().and_then(|writer| writer.reader()));
        self.set_known(id);
        self.pending.clear();
        self.changed.clear();
        self.header_edits.clear();
        (self.rewrite, self.migrate_later) = (false, false);
    }
}

/// Another content is at the path now.
fn is_disturbed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StaleNetworkFileHandle | io::ErrorKind::AlreadyExists)
}

fn form_of(pending: &std::collections::VecDeque<super::Pending>, entry: EntryNo) -> Option<&Form> {
    // Pending entries are in rising order.
    let at = pending.binary_search_by_key(&entry, |pending| pending.entry).ok()?;
    Some(&pending[at].form)
}

/// Writes the content in file order: what stands before the header, the header, then the entries with what stands
/// between them. Stretches of the old file that stay as they are are copied as stretches.
fn write_all<'f>(
    content: &Content,
    blobs: &BlobStore,
    form: &dyn Fn(EntryNo) -> Option<&'f Form>,
    out: &mut dyn Write,
) -> Result<Layout> {
    let mut writer = Whole {
        content,
        lines: content.lines(COPY),
        blobs,
        out,
        run: 0..0,
        run_line: 0,
        layout: Layout::default(),
        buffer: Vec::new(),
    };
    let mut extras = content.extras.iter().peekable();
    for title in &content.titles {
        writer.line(title.line())?;
    }
    while let Some(extra) = extras.next_if(|extra| extra.after.is_none()) {
        writer.extra(extra)?;
    }
    writer.line(content.header.line())?;
    for entry in content.index.entries() {
        while let Some(extra) = extras.next_if(|extra| extra.after <= Some(entry)) {
            writer.extra(extra)?;
        }
        writer.entry(entry, form(entry))?;
    }
    for extra in extras {
        writer.extra(extra)?;
    }
    writer.end_run()?;
    Ok(writer.layout)
}

struct Whole<'a> {
    content: &'a Content,
    lines: Lines<'a>,
    blobs: &'a BlobStore,
    out: &'a mut dyn Write,
    /// A stretch of the old file that is still to be copied, up to a line's end, and the line it ends with.
    run: Range<u64>,
    run_line: u32,
    layout: Layout,
    buffer: Vec<u8>,
}

impl Whole<'_> {
    fn io(&self, source: io::Error) -> Error {
        Error::io_at("write", &self.content.path)(source)
    }

    /// Counts a line of `len` bytes and returns its offset and number.
    fn place(&mut self, len: u64) -> (u64, u32) {
        let offset = self.layout.end;
        self.layout.end += len + 1;
        self.layout.lines += 1;
        (offset, self.layout.lines)
    }

    fn line(&mut self, line: &[u8]) -> Result<(u64, u32)> {
        self.end_run()?;
        write_line(self.out, line).map_err(|error| self.io(error))?;
        Ok(self.place(line.len() as u64))
    }

    fn extra(&mut self, extra: &Extra) -> Result<()> {
        let place = match extra.reason {
            Some(NUL_BYTES) => None,
            _ => {
                let bytes = self.content.extra(extra)?;
                Some(self.line(&bytes)?)
            }
        };
        self.layout.extras.push(place);
        Ok(())
    }

    fn entry(&mut self, entry: EntryNo, form: Option<&Form>) -> Result<()> {
        let slot = *self.content.index.slot(entry);
        let (place, len, short) = match (slot.place, form) {
            (Place::File { offset, len }, _) if !self.content.has_old_form(entry) => {
                self.copy(offset, len, slot.line)?;
                (self.place(len.into()), len, false)
            }
            (Place::File { .. }, _) => {
                self.end_run()?;
                let line = self.lines.get(entry)?;
                let len = line.len() as u32;
                write_line(self.out, &line).map_err(Error::io_at("write", &self.content.path))?;
                (self.place(len.into()), len, false)
            }
            (Place::Memory(_), Some(Form::Short(line))) => (self.line(line)?, line.len() as u32, true),
            (Place::Memory(_), form) => {
                let line = self.content.in_memory(entry).unwrap_or_default();
                let short = match form {
                    Some(Form::AsItIs) => None,
                    _ => limits::persist_form(line, &mut |bytes| Ok(self.blobs.put(bytes)?.hex()))?,
                };
                let is_short = short.is_some();
                let line = short.as_deref().unwrap_or(line);
                (self.line(line)?, line.len() as u32, is_short)
            }
        };
        self.layout.entries.push((place.0, len, place.1, short));
        Ok(())
    }

    /// Adds a line to the run, if it follows the run's last line in the old file; else begins a new one.
    fn copy(&mut self, offset: u64, len: u32, line: u32) -> Result<()> {
        let follows = !self.run.is_empty() && offset == self.run.end + 1 && line == self.run_line + 1;
        if !follows {
            self.end_run()?;
            self.run.start = offset;
        }
        self.run.end = offset + u64::from(len);
        self.run_line = line;
        Ok(())
    }

    fn end_run(&mut self) -> Result<()> {
        let Range { mut start, end } = std::mem::take(&mut self.run);
        if start == end {
            return Ok(());
        }
        let vanished = || Error::Vanished { path: self.content.path.clone(), line: self.run_line.into() };
        let source = self.content.source().ok_or_else(vanished)?;
        while start < end {
            self.buffer.resize((end - start).min(COPY as u64) as usize, 0);
            let filled = fill(&**source, &mut self.buffer, start).map_err(Error::io_at("read", &self.content.path))?;
            if filled < self.buffer.len() {
                return Err(vanished());
            }
            self.out.write_all(&self.buffer).map_err(|error| self.io(error))?;
            start += filled as u64;
        }
        self.out.write_all(b"\n").map_err(|error| self.io(error))
    }
}

fn write_line(out: &mut dyn Write, line: &[u8]) -> io::Result<()> {
    out.write_all(line)?;
    out.write_all(b"\n")
}
