//! Loading: streams a file through small buffers, checks every line and yields what is on them, in file order.
//!
//! The file is cut into chunks at fixed offsets; a line belongs to the chunk it begins in. Chunks are scanned by
//! several threads and handed on in order, so that the result depends on neither thread count nor timing. Memory is
//! bounded by a few chunks, and by the longest line.

use crate::glued::{self, Part};
use crate::index::NO_TIME;
use crate::json::Raw;
use crate::read_at::fill;
use crate::record::{EntryKind, Envelope, RecordType, Role};
use crate::storage::ReadAt;
use crate::time;
use crate::usage::Usage;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Condvar, Mutex};

/// Bytes of a chunk.
const CHUNK: u64 = 1 << 20;

/// A line longer than this is malformed: its length would not fit the index.
const MAX_LINE: usize = u32::MAX as usize;

/// What one stretch of the file holds.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) found: Vec<Found>,
    /// Ids and label texts that `found` points into.
    text: String,
    /// Sums over the entries found.
    pub(crate) usage: Usage,
    /// Lines that began here.
    pub(crate) lines: u32,
    /// Whether the last line ends with `\n`.
    pub(crate) ends_with_newline: bool,
}

/// A stretch of `Batch::text`.
type Text = Range<u32>;

/// A record, or bytes that are none.
pub(crate) struct Found {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    /// Line in the batch, from 0.
    pub(crate) line: u32,
    /// Taken out of a damaged line behind something else.
    pub(crate) recovered: bool,
    pub(crate) what: What,
}

pub(crate) enum What {
    Entry(FoundEntry),
    /// A record of type `session` or `title`, with its bytes.
    Session(Vec<u8>),
    Title(Vec<u8>),
    Malformed(&'static str),
}

pub(crate) struct FoundEntry {
    pub(crate) kind: EntryKind,
    pub(crate) role: Role,
    pub(crate) time: i64,
    /// Whether the line has members that version 1 did not have: `id` or `parentId`.
    pub(crate) has_links: bool,
    id: Option<Text>,
    parent: Option<Text>,
    /// Target and text of a label.
    label: Option<(Text, Option<Text>)>,
}

impl Batch {
    fn intern(&mut self, raw: Option<Raw<'_>>) -> Option<Text> {
        let text = raw?.as_str()?;
        let start = self.text.len() as u32;
        self.text.push_str(&text);
        Some(start..self.text.len() as u32)
    }

    fn text(&self, text: &Option<Text>) -> Option<&str> {
        text.clone().map(|text| &self.text[text.start as usize..text.end as usize])
    }

    pub(crate) fn id(&self, entry: &FoundEntry) -> Option<&str> {
        self.text(&entry.id)
    }

    pub(crate) fn parent(&self, entry: &FoundEntry) -> Option<&str> {
        self.text(&entry.parent)
    }

    /// Target and text of a label entry that has a target.
    pub(crate) fn label(&self, entry: &FoundEntry) -> Option<(&str, Option<&str>)> {
        let (target, label) = entry.label.as_ref()?;
        Some((self.text(&Some(target.clone()))?, self.text(label)))
    }

    /// Adds what is on `line`, which begins at `offset` of the file.
    fn line(&mut self, line: &[u8], offset: u64) {
        let number = self.lines;
        self.lines += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if line.len() > MAX_LINE {
            let what = What::Malformed("longer than 4 GiB");
            self.found.push(Found { offset, len: line.len() as u64, line: number, recovered: false, what });
            return;
        }
        match Envelope::of_line(line) {
            Ok(envelope) => self.record(line, 0..line.len(), &envelope, offset, number, false),
            Err(fault) => self.damaged(line, fault, offset, number),
        }
    }

    #[cold]
    fn damaged(&mut self, line: &[u8], fault: crate::json::Malformed, offset: u64, number: u32) {
        for part in glued::take_apart(line, fault) {
            match part {
                Part::Record { envelope, recovered } => {
                    self.record(line, envelope.span.clone(), &envelope, offset, number, recovered);
                }
                Part::Rest { span, reason } => {
                    let (offset, len) = (offset + span.start as u64, span.len() as u64);
                    let what = What::Malformed(reason);
                    self.found.push(Found { offset, len, line: number, recovered: false, what });
                }
            }
        }
    }

    fn record(
        &mut self,
        line: &[u8],
        span: Range<usize>,
        envelope: &Envelope<'_>,
        offset: u64,
        number: u32,
        recovered: bool,
    ) {
        let bytes = || line[span.clone()].to_vec();
        let what = match envelope.record {
            RecordType::Session => What::Session(bytes()),
            RecordType::Title => What::Title(bytes()),
            RecordType::Entry(kind) => What::Entry(self.entry(kind, envelope)),
        };
        let (offset, len) = (offset + span.start as u64, span.len() as u64);
        self.found.push(Found { offset, len, line: number, recovered, what });
    }

    fn entry(&mut self, kind: EntryKind, envelope: &Envelope<'_>) -> FoundEntry {
        if let Some(usage) = envelope.usage {
            self.usage += usage;
        }
        let label = match kind {
            EntryKind::Label => self.intern(envelope.target).map(|target| (target, self.intern(envelope.label))),
            _ => None,
        };
        let time = envelope.timestamp.and_then(Raw::as_str).and_then(|text| time::parse(&text));
        FoundEntry {
            kind,
            role: envelope.role,
            time: time.unwrap_or(NO_TIME),
            has_links: envelope.has_id || envelope.has_parent,
            id: self.intern(envelope.id),
            parent: self.intern(envelope.parent),
            label,
        }
    }
}

/// What a text held in memory holds; the whole of it.
pub(crate) fn scan_text(text: &[u8]) -> Batch {
    let mut batch = Batch::default();
    let mut at = 0;
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
        let line = &text[at..end];
        let skip = if at == 0 && line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        batch.line(&line[skip..], (at + skip) as u64);
        batch.ends_with_newline = end < text.len();
        at = end + 1;
    }
    batch
}

/// Streams what stands in `range` of a file, which must begin at the beginning of a line, in order into `sink`.
pub(crate) fn scan(source: &dyn ReadAt, range: Range<u64>, mut sink: impl FnMut(Batch)) -> io::Result<()> {
    let chunks = (range.end - range.start).div_ceil(CHUNK);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8).min(chunks as usize);
    if threads <= 1 {
        let mut buffer = Vec::new();
        for chunk in 0..chunks {
            sink(scan_chunk(source, &range, chunk, &mut buffer)?);
        }
        return Ok(());
    }
    let queue = Queue { state: Mutex::default(), changed: Condvar::new(), chunks, window: 2 * threads as u64 };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| queue.work(|chunk, buffer| scan_chunk(source, &range, chunk, buffer)));
        }
        let _stop = StopOnDrop(&queue);
        for chunk in 0..chunks {
            sink(queue.take(chunk)?);
        }
        Ok(())
    })
}

/// Chunks in the making: numbers handed out in order, results taken in order, a bounded number between.
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    chunks: u64,
    window: u64,
}

#[derive(Default)]
struct QueueState {
    next: u64,
    taken: u64,
    stopped: bool,
    done: BTreeMap<u64, io::Result<Batch>>,
}

impl Queue {
    fn work(&self, scan: impl Fn(u64, &mut Vec<u8>) -> io::Result<Batch>) {
        let mut buffer = Vec::new();
        while let Some(chunk) = self.claim() {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scan(chunk, &mut buffer)))
                .unwrap_or_else(|_| Err(io::Error::other("a loading thread panicked")));
            self.lock().done.insert(chunk, result);
            self.changed.notify_all();
        }
    }

    fn claim(&self) -> Option<u64> {
        let full = |state: &mut QueueState| !state.stopped && state.next >= state.taken + self.window;
        let mut state = self.changed.wait_while(self.lock(), full).unwrap_or_else(|poison| poison.into_inner());
        let chunk = state.next;
        state.next += 1;
        (!state.stopped && chunk < self.chunks).then_some(chunk)
    }

    fn take(&self, chunk: u64) -> io::Result<Batch> {
        let missing = |state: &mut QueueState| !state.done.contains_key(&chunk);
        let mut state = self.changed.wait_while(self.lock(), missing).unwrap_or_else(|poison| poison.into_inner());
        let result = state.done.remove(&chunk).expect("waited for it");
        state.taken = chunk + 1;
        self.changed.notify_all();
        result
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// Lets the workers go when the taker leaves early: on an error, or because the sink panicked.
struct StopOnDrop<'a>(&'a Queue);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.lock().stopped = true;
        self.0.changed.notify_all();
    }
}

/// Scans the lines that begin in one chunk.
fn scan_chunk(source: &dyn ReadAt, range: &Range<u64>, chunk: u64, buffer: &mut Vec<u8>) -> io::Result<Batch> {
    let start = range.start + chunk * CHUNK;
    let end = (start + CHUNK).min(range.end);
    // The byte before the chunk tells whether a line begins with it.
    let from = if chunk == 0 { start } else { start - 1 };
    buffer.resize((end - from) as usize, 0);
    let filled = fill(source, buffer, from)?;
    buffer.truncate(filled);
    let mut batch = Batch::default();
    let first = match chunk {
        0 if start == 0 && buffer.starts_with(b"\xef\xbb\xbf") => 3,
        0 => 0,
        _ => match memchr::memchr(b'\n', buffer) {
            Some(end) => end + 1,
            None => return Ok(batch),
        },
    };
    let mut at = first;
    while at < buffer.len() {
        let line_end = match memchr::memchr(b'\n', &buffer[at..]) {
            Some(end) => at + end,
            None => read_on(source, range.end, buffer, from)?,
        };
        batch.ends_with_newline = line_end < buffer.len();
        batch.line(&buffer[at..line_end], from + at as u64);
        at = line_end + 1;
    }
    // One long line must not keep its buffer for the rest of the file.
    buffer.truncate(CHUNK as usize + 1);
    buffer.shrink_to(2 * CHUNK as usize);
    Ok(batch)
}

/// Reads on until the last line in `buffer`, which begins at offset `from` of the file, is complete; returns where
/// the line ends: at a `\n`, or at the end of the buffer where the file ends.
fn read_on(source: &dyn ReadAt, file_end: u64, buffer: &mut Vec<u8>, from: u64) -> io::Result<usize> {
    let mut step = CHUNK / 16;
    loop {
        let have = buffer.len();
        let at = from + have as u64;
        let want = step.min(file_end.saturating_sub(at)) as usize;
        buffer.resize(have + want, 0);
        let filled = fill(source, &mut buffer[have..], at)?;
        buffer.truncate(have + filled);
        if let Some(end) = memchr::memchr(b'\n', &buffer[have..]) {
            buffer.truncate(have + end + 1);
            return Ok(have + end);
        }
        if filled < want || want == 0 {
            return Ok(buffer.len());
        }
        step = (step * 2).min(64 * CHUNK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_at::TextSource;
    use crate::storage::FileStat;

    /// Offsets, lengths, lines and kinds of everything found, lines counted through.
    fn summary(batches: Vec<Batch>) -> Vec<(u64, u64, u32, &'static str)> {
        let mut line = 0;
        let mut all = Vec::new();
        for batch in batches {
            for found in &batch.found {
                let kind = match &found.what {
                    What::Entry(_) => "entry",
                    What::Session(_) => "session",
                    What::Title(_) => "title",
                    What::Malformed(reason) => reason,
                };
                all.push((found.offset, found.len, line + found.line, kind));
            }
            line += batch.lines;
        }
        all
    }

    fn chunked(text: &[u8]) -> Vec<(u64, u64, u32, &'static str)> {
        let mut batches = Vec::new();
        scan(&TextSource(text.to_vec()), 0..text.len() as u64, |batch| batches.push(batch)).unwrap();
        summary(batches)
    }

    #[test]
    fn chunks_find_what_one_pass_finds_wherever_lines_end() {
        let entry = |size: usize| format!("{{\"type\":\"x\",\"pad\":\"{}\"}}\n", "p".repeat(size)).into_bytes();
        for shift in [0, 1, 2, 3, 40] {
            let mut text = b"\xef\xbb\xbf{\"type\":\"session\",\"id\":\"s\"}\n".to_vec();
            text.extend(entry(CHUNK as usize - text.len() - 21 - 2 + shift));
            text.extend(entry(5));
            text.extend(entry(3 * CHUNK as usize + 7));
            text.extend(b"\n \r\ntorn{\n");
            text.extend((0..9000).flat_map(|i| entry(i % 700)));
            text.extend(b"{\"type\":\"last\"}");
            assert_eq!(chunked(&text), summary(vec![scan_text(&text)]), "shift {shift}");
        }
    }

    #[test]
    fn an_error_of_the_source_ends_the_scan() {
        struct Failing;
        impl ReadAt for Failing {
            fn stat(&self) -> io::Result<FileStat> {
                Err(io::Error::other("gone"))
            }
            fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
                if offset > 5 * CHUNK {
                    Err(io::Error::other("gone"))
                } else {
                    buf.fill(b' ');
                    Ok(buf.len())
                }
            }
        }
        assert!(scan(&Failing, 0..20 * CHUNK, |_| {}).is_err());
    }
}
