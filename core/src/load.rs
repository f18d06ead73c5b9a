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
use crate::usage::Usage;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard};

/// Bytes of a chunk: it and what is found in it stay in a core's own cache. More than a byte order mark has, so that
/// the first line begins in the first chunk.
const CHUNK: u64 = 256 << 10;

/// Starting threads costs more than a file this small gains.
const SMALL: u64 = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line longer than this is malformed: its length would not fit the index.
const MAX_LINE: usize = u32::MAX as usize;

/// What one stretch of the file holds.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) found: Vec<Found>,
    /// Ids and label texts that `found` points into.
    text: String,
    /// Of the entries found, one by one: the sum of fractions depends on the order, and must not on the chunks.
    pub(crate) usage: Vec<Usage>,
    /// Lines that began here.
    pub(crate) lines: u32,
    /// Whether the last line ends with `\n`.
    pub(crate) ends_with_newline: bool,
}

/// A stretch of `Batch::text`.
type Text = Range<usize>;

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
    /// A record of type `session`, with its bytes.
    Session(Vec<u8>),
    /// A record of type `title`, with its bytes: an entry, where it does not lead the file.
    Title(FoundEntry, Vec<u8>),
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
        let start = self.text.len();
        self.text.push_str(&text);
        Some(start..self.text.len())
    }

    fn text(&self, text: &Option<Text>) -> Option<&str> {
        text.clone().map(|text| &self.text[text])
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

    /// Adds the lines of `text` that begin at `at` or behind it and have a `\n` at their end. `text` begins at `offset`
    /// of the file. Returns where the rest begins.
    fn whole_lines(&mut self, text: &[u8], mut at: usize, offset: u64) -> usize {
        let whole = memchr::memrchr(b'\n', text).map_or(0, |last| last + 1);
        while at < whole {
            let end = match Envelope::of_next_line(text, at) {
                Some((envelope, end)) if end - at <= MAX_LINE => {
                    self.record(text, at..end, &envelope, offset, self.lines, false);
                    self.lines += 1;
                    end
                }
                _ => {
                    let end = memchr::memchr(b'\n', &text[at..]).map_or(whole, |end| at + end);
                    self.line(&text[at..end], offset + at as u64);
                    end
                }
            };
            self.ends_with_newline = true;
            at = end + 1;
        }
        at
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
            RecordType::Title => What::Title(self.entry(EntryKind::Other, envelope), bytes()),
            RecordType::Entry(kind) => What::Entry(self.entry(kind, envelope)),
        };
        let (offset, len) = (offset + span.start as u64, span.len() as u64);
        self.found.push(Found { offset, len, line: number, recovered, what });
    }

    fn entry(&mut self, kind: EntryKind, envelope: &Envelope<'_>) -> FoundEntry {
        self.usage.extend(envelope.usage);
        let label = match kind {
            EntryKind::Label => self.intern(envelope.target).map(|target| (target, self.intern(envelope.label))),
            _ => None,
        };
        FoundEntry {
            kind,
            role: envelope.role,
            time: envelope.time().unwrap_or(NO_TIME),
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
    let first = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let rest = batch.whole_lines(text, first, 0);
    if rest < text.len() {
        batch.line(&text[rest..], rest as u64);
        batch.ends_with_newline = false;
    }
    batch
}

/// Streams what stands in `range` of a file, which must begin at the beginning of a line, in order into `sink`.
pub(crate) fn scan(source: &dyn ReadAt, range: Range<u64>, sink: impl FnMut(Batch)) -> io::Result<()> {
    let threads = match range.end - range.start {
        ..SMALL => 1,
        _ => std::thread::available_parallelism().map_or(1, usize::from).min(8),
    };
    scan_with(&Chunks { source, range, size: CHUNK }, threads, sink)
}

fn scan_with(of: &Chunks<'_>, threads: usize, mut sink: impl FnMut(Batch)) -> io::Result<()> {
    let chunks = (of.range.end - of.range.start).div_ceil(of.size);
    let threads = threads.min(chunks as usize);
    if threads <= 1 {
        let mut buffer = Vec::new();
        return (0..chunks).try_for_each(|chunk| of.scan(chunk, &mut buffer).map(&mut sink));
    }
    // Wide enough that one thread that has to wait for its turn on a busy machine does not hold up the others.
    let window = 16 * threads as u64;
    let queue = Queue { state: Mutex::default(), changed: Condvar::new(), chunks, window };
    std::thread::scope(|scope| {
        // This thread is one of them: it scans while there is nothing to hand on.
        for _ in 1..threads {
            scope.spawn(|| queue.work(|chunk, buffer| of.scan(chunk, buffer)));
        }
        let _stop = StopOnDrop(&queue);
        let mut buffer = Vec::new();
        (0..chunks).try_for_each(|chunk| queue.take(chunk, |own| of.scan(own, &mut buffer)).map(&mut sink))
    })
}

/// Chunks in the making: numbers handed out in order, results taken in order, a bounded number between.
struct Queue {
    state: Mutex<QueueState>,
    /// A chunk was done that the taker waits for, or one was taken that workers wait for.
    changed: Condvar,
    chunks: u64,
    window: u64,
}

#[derive(Default)]
struct QueueState {
    next: u64,
    taken: u64,
    stopped: bool,
    waiting: usize,
    done: BTreeMap<u64, io::Result<Batch>>,
}

impl Queue {
    fn work(&self, scan: impl Fn(u64, &mut Vec<u8>) -> io::Result<Batch>) {
        let mut buffer = Vec::new();
        while let Some(chunk) = self.claim() {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scan(chunk, &mut buffer)))
                .unwrap_or_else(|_| Err(io::Error::other("a loading thread panicked")));
            let mut state = self.lock();
            state.done.insert(chunk, result);
            self.wake(&state);
        }
    }

    fn claim(&self) -> Option<u64> {
        let full = |state: &mut QueueState| !state.stopped && state.next >= state.taken + self.window;
        let mut state = self.wait_while(self.lock(), full);
        let chunk = state.next;
        state.next += 1;
        (!state.stopped && chunk < self.chunks).then_some(chunk)
    }

    /// The result of a chunk; as long as it is missing, others are scanned.
    fn take(&self, chunk: u64, mut scan: impl FnMut(u64) -> io::Result<Batch>) -> io::Result<Batch> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.done.remove(&chunk) {
                state.taken = chunk + 1;
                self.wake(&state);
                return result;
            }
            let own = state.next;
            if own < self.chunks && own < state.taken + self.window {
                state.next += 1;
                drop(state);
                let result = scan(own);
                state = self.lock();
                state.done.insert(own, result);
            } else {
                state = self.wait_while(state, |state| !state.done.contains_key(&chunk));
            }
        }
    }

    fn wait_while<'a>(
        &self,
        mut state: MutexGuard<'a, QueueState>,
        condition: impl FnMut(&mut QueueState) -> bool,
    ) -> MutexGuard<'a, QueueState> {
        state.waiting += 1;
        let mut state = self.changed.wait_while(state, condition).unwrap_or_else(|poison| poison.into_inner());
        state.waiting -= 1;
        state
    }

    fn wake(&self, state: &QueueState) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
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

/// A stretch of a file, cut at fixed offsets.
struct Chunks<'a> {
    source: &'a dyn ReadAt,
    range: Range<u64>,
    size: u64,
}

impl Chunks<'_> {
    /// Scans the lines that begin in one chunk.
    fn scan(&self, chunk: u64, buffer: &mut Vec<u8>) -> io::Result<Batch> {
        let start = self.range.start + chunk * self.size;
        let end = (start + self.size).min(self.range.end);
        // The byte before the chunk tells whether a line begins with it.
        let from = if chunk == 0 { start } else { start - 1 };
        buffer.resize((end - from) as usize, 0);
        let filled = fill(self.source, buffer, from)?;
        buffer.truncate(filled);
        let mut batch = Batch::default();
        let first = match chunk {
            0 if start == 0 && buffer.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.len(),
            0 => 0,
            _ => match memchr::memchr(b'\n', buffer) {
                Some(end) => end + 1,
                None => return Ok(batch),
            },
        };
        let last = batch.whole_lines(buffer, first, from);
        if last < buffer.len() {
            let end = self.read_on(buffer, from)?;
            batch.ends_with_newline = end < buffer.len();
            batch.line(&buffer[last..end], from + last as u64);
        }
        // One long line must not keep its buffer for the rest of the file.
        buffer.truncate(self.size as usize + 1);
        buffer.shrink_to(2 * self.size as usize);
        Ok(batch)
    }

    /// Reads on until the last line in `buffer`, which begins at offset `from` of the file, is complete; returns where
    /// the line ends: at a `\n`, or at the end of the buffer where the file ends.
    fn read_on(&self, buffer: &mut Vec<u8>, from: u64) -> io::Result<usize> {
        let mut step = self.size.div_ceil(32);
        loop {
            let have = buffer.len();
            let at = from + have as u64;
            let want = step.min(self.range.end.saturating_sub(at)) as usize;
            buffer.resize(have + want, 0);
            let filled = fill(self.source, &mut buffer[have..], at)?;
            buffer.truncate(have + filled);
            if let Some(end) = memchr::memchr(b'\n', &buffer[have..]) {
                buffer.truncate(have + end + 1);
                return Ok(have + end);
            }
            if filled < want || want == 0 {
                return Ok(buffer.len());
            }
            step = (step * 2).min(256 * self.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_at::TextSource;
    use crate::storage::FileStat;
    use proptest::prelude::*;

    /// Everything that is known of a file, lines counted through.
    fn summary(batches: Vec<Batch>) -> (Vec<String>, Vec<Usage>, u32, bool) {
        let (mut line, mut all, mut usage, mut whole) = (0, Vec::new(), Vec::new(), true);
        for batch in batches {
            for Found { offset, len, line: of_batch, recovered, what } in &batch.found {
                let entry = |entry: &FoundEntry| {
                    let FoundEntry { kind, role, time, .. } = *entry;
                    let (id, parent, label) = (batch.id(entry), batch.parent(entry), batch.label(entry));
                    format!("{kind:?} {role:?} {time} {id:?} {parent:?} {label:?}")
                };
                let what = match what {
                    What::Entry(found) => entry(found),
                    What::Session(bytes) => format!("session {}", bytes.escape_ascii()),
                    What::Title(found, bytes) => format!("title {} {}", entry(found), bytes.escape_ascii()),
                    What::Malformed(reason) => format!("malformed {reason}"),
                };
                all.push(format!("{offset}+{len} line {} {recovered} {what}", line + of_batch));
            }
            line += batch.lines;
            usage.extend(batch.usage);
            whole = if batch.lines == 0 { whole } else { batch.ends_with_newline };
        }
        (all, usage, line, whole)
    }

    fn chunked(text: &[u8], size: u64, threads: usize) -> (Vec<String>, Vec<Usage>, u32, bool) {
        let mut batches = Vec::new();
        let source = TextSource(text.to_vec());
        let chunks = Chunks { source: &source, range: 0..text.len() as u64, size };
        scan_with(&chunks, threads, |batch| batches.push(batch)).unwrap();
        summary(batches)
    }

    /// Every line cut out first and looked at by itself.
    fn line_by_line(text: &[u8]) -> (Vec<String>, Vec<Usage>, u32, bool) {
        let mut batch = Batch::default();
        let mut at = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        for line in text[at..].split_inclusive(|&byte| byte == b'\n') {
            batch.ends_with_newline = line.ends_with(b"\n");
            batch.line(line.strip_suffix(b"\n").unwrap_or(line), at as u64);
            at += line.len();
        }
        summary(vec![batch])
    }

    fn one_pass(text: &[u8]) -> (Vec<String>, Vec<Usage>, u32, bool) {
        let found = summary(vec![scan_text(text)]);
        assert!(found == line_by_line(text), "{}", text.escape_ascii());
        found
    }

    /// Stretches of lines, sound and not, with and without their ends.
    fn stretch() -> impl Strategy<Value = Vec<u8>> {
        let entry = (any::<u8>(), any::<u8>(), 0..300usize).prop_map(|(id, parent, pad)| {
            let pad = "p\u{e9}\\n".repeat(pad / 4);
            format!(
                r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:00.{id:03}Z","message":{{"role":"assistant","usage":{{"input":{id},"cost":{{"total":0.{parent}}}}},"pad":"{pad}"}}}}"#
            )
            .into_bytes()
        });
        let label = r#"{"type":"label","id":"l","targetId":"7","label":"x"}"#;
        let fixed = prop::sample::select(vec![
            b"\n".to_vec(),
            b"\n".to_vec(),
            b"\r\n".to_vec(),
            b"\n\n".to_vec(),
            b" \t\n".to_vec(),
            b"\0\0\0".to_vec(),
            BYTE_ORDER_MARK.to_vec(),
            b"\xff".to_vec(),
            b"{\"type\":\"mess".to_vec(),
            b"}".to_vec(),
            "\u{2028}\u{85}".into(),
            br#"{"type":"session","id":"s","version":3}"#.to_vec(),
            br#"{"type":"title","title":"t","id":"t","parentId":"9"}"#.to_vec(),
            br#"{"type":"x"}"#.to_vec(),
            label.into(),
        ]);
        prop_oneof![3 => entry, 3 => fixed, 1 => prop::collection::vec(any::<u8>(), 0..20)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]
        #[test]
        fn chunks_and_threads_find_what_one_pass_finds(
            stretches in prop::collection::vec(stretch(), 0..40),
            size in prop_oneof![4..40u64, 40..3000u64],
            threads in 1..5usize,
        ) {
            let text = stretches.concat();
            prop_assert_eq!(chunked(&text, size, threads), one_pass(&text));
        }
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
            assert!(chunked(&text, CHUNK, 4) == one_pass(&text), "shift {shift}");
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
