//! A whole session file for a list: streamed through one buffer, only what a list shows kept.

use std::path::Path;

use super::cut::CutLine;
use super::head::{message_text, prompt_of};
use super::quick;
use crate::glued::{self, Part};
use crate::header::{Header, TitleRecord};
use crate::json::Raw;
use crate::record::{EntryKind, Envelope, RecordType, Role};
use crate::storage::{FileInfo, SessionStorage};
use crate::{Error, Result};

/// Bytes that are read at once.
const STEP: usize = 256 << 10;

/// Of a longer line only so many bytes are looked at.
const LONGEST_LINE: usize = 8 << 20;

/// The longest first message that is kept, in bytes.
const LONGEST_FIRST: usize = 64 << 10;

/// What a list shows of a file.
#[derive(Default)]
pub(super) struct Scanned {
    pub(super) title: Option<String>,
    pub(super) short_summary: Option<String>,
    pub(super) messages: u64,
    pub(super) first_message: Option<String>,
    /// Texts of user and assistant messages, spaces between; empty unless asked for.
    pub(super) texts: String,
}

/// A file that is being scanned.
struct Scan {
    header: Option<Header>,
    found: Scanned,
    with_texts: bool,
    lines: u64,
    /// Line and reason of the first damage before the header.
    damage: Option<(u64, &'static str)>,
    /// The first record is no header; nothing else matters.
    refused: Option<(u64, &'static str)>,
}

/// Reads a file through `buffer`, which is kept from file to file. Errors: `NotFound`, `Io`, `NotASession`.
pub(super) fn scan(
    storage: &dyn SessionStorage,
    file: &FileInfo,
    with_texts: bool,
    buffer: &mut Vec<u8>,
) -> Result<(Header, Scanned)> {
    let path = &file.path;
    let reader = storage.open_reader(path).map_err(Error::io_at("open", path))?;
    let mut read = |buf: &mut [u8], offset: u64| loop {
        match reader.read_at(buf, offset) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result.map_err(Error::io_at("read", path)),
        }
    };
    let mut scan = Scan::new(with_texts);
    buffer.resize(buffer.len().max(STEP), 0);
    let (mut offset, mut have) = (0, 0);
    while scan.refused.is_none() {
        let count = read(&mut buffer[have..], offset)?;
        let room = buffer.len() - have;
        offset += count as u64;
        let searched = have;
        have += count;
        if count == 0 {
            scan.line(&buffer[..have]);
            break;
        }
        let start = scan.lines(&buffer[..have], searched);
        buffer.copy_within(start..have, 0);
        have -= start;
        // A read that came back short at the length that the listing gave has met the end.
        if count < room && offset >= file.len {
            scan.line(&buffer[..have]);
            break;
        }
        if have == buffer.len() && have < LONGEST_LINE {
            buffer.resize(2 * have, 0);
        } else if have == buffer.len() {
            let cut = CutLine::read(buffer);
            offset = scan.skip_line(cut, offset, buffer, &mut read)?;
            have = 0;
        }
    }
    buffer.truncate(STEP);
    buffer.shrink_to(STEP);
    scan.finish(path)
}

impl Scan {
    fn new(with_texts: bool) -> Self {
        Scan { header: None, found: Scanned::default(), with_texts, lines: 0, damage: None, refused: None }
    }

    /// Takes the complete lines of `text`, in which nothing before `searched` is a line end; returns where they end.
    fn lines(&mut self, text: &[u8], searched: usize) -> usize {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &text[searched..]) {
            self.ended_line(&text[start..searched + end]);
            start = searched + end + 1;
        }
        start
    }

    /// Takes a line that its line end was found for. Most need no check.
    fn ended_line(&mut self, line: &[u8]) {
        let look = if self.header.is_some() { quick::look(line) } else { None };
        match look.as_ref().map(|look| (look.kind, look.message())) {
            None | Some((EntryKind::Compaction, _) | (EntryKind::Message, None)) => return self.line(line),
            Some((EntryKind::Message, Some((role, message)))) => {
                self.message(Role::of(role.as_bytes()), || Some(message));
            }
            Some(_) => {}
        }
        self.lines += 1;
    }

    fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        let line = if self.lines == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if self.refused.is_some() || line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match Envelope::of_line(line) {
            Ok(envelope) => self.record(line, &envelope),
            Err(fault) => {
                for part in glued::take_apart(line, fault) {
                    match part {
                        Part::Record { envelope, .. } => self.record(&line[envelope.span.clone()], &envelope),
                        Part::Rest { reason, .. } => self.damaged(reason),
                    }
                }
            }
        }
    }

    fn damaged(&mut self, reason: &'static str) {
        if self.header.is_none() {
            self.damage.get_or_insert((self.lines, reason));
        }
    }

    /// `record` is one JSON object.
    fn record(&mut self, record: &[u8], envelope: &Envelope<'_>) {
        match (envelope.record, &self.header) {
            (RecordType::Title, None) => {
                let title = || TitleRecord::new(record.to_vec()).title();
                self.found.title = self.found.title.take().or_else(title);
            }
            (RecordType::Session, None) => match Header::read(record.to_vec()) {
                Some(header) => self.header = Some(header),
                None => self.refused = Some((self.lines, "the header has no string \"id\"")),
            },
            (RecordType::Entry(_), None) => self.refuse_first(),
            (RecordType::Entry(EntryKind::Message), Some(_)) => {
                self.message(envelope.role, || Raw::new(record).get("message"));
            }
            (RecordType::Entry(EntryKind::Compaction), Some(_)) => {
                let summary = Raw::new(record).get("shortSummary").and_then(Raw::as_str);
                if let Some(summary) = summary.filter(|summary| !summary.is_empty()) {
                    self.found.short_summary = Some(bounded(summary.into_owned()));
                }
            }
            _ => {}
        }
    }

    fn refuse_first(&mut self) {
        self.refused = Some((self.lines, "the first record is not of type \"session\""));
    }

    fn message<'a>(&mut self, role: Role, message: impl FnOnce() -> Option<Raw<'a>>) {
        self.found.messages += 1;
        let may_be_first = self.found.first_message.is_none() && role == Role::Other;
        let may_have_text = self.with_texts && matches!(role, Role::Assistant | Role::Other);
        if !may_be_first && !may_have_text {
            return;
        }
        let Some(message) = message() else { return };
        let prompt = if role == Role::Other { prompt_of(message) } else { None };
        if self.with_texts {
            match &prompt {
                Some(prompt) => self.add_text(prompt),
                None if role == Role::Assistant => self.add_text(&message_text(message)),
                None => {}
            }
        }
        if may_be_first {
            self.found.first_message = prompt.map(bounded);
        }
    }

    fn add_text(&mut self, text: &str) {
        if !text.is_empty() {
            if !self.found.texts.is_empty() {
                self.found.texts.push(' ');
            }
            self.found.texts.push_str(text);
        }
    }

    /// Steps over the rest of a line that is too long to be held, of which `cut` is the beginning; returns the offset
    /// of the next line. The line counts as what its beginning says if it ends as an object does.
    fn skip_line(
        &mut self,
        cut: CutLine,
        mut offset: u64,
        buffer: &mut [u8],
        read: &mut dyn FnMut(&mut [u8], u64) -> Result<usize>,
    ) -> Result<u64> {
        self.lines += 1;
        let mut last = None;
        loop {
            let count = read(buffer, offset)?;
            let end = memchr::memchr(b'\n', &buffer[..count]);
            last = buffer[..end.unwrap_or(count)].trim_ascii_end().last().copied().or(last);
            offset += end.map_or(count, |end| end + 1) as u64;
            if end.is_some() || count == 0 {
                break;
            }
        }
        let kind = cut.kind.as_deref().filter(|_| last == Some(b'}')).map(EntryKind::of);
        match kind {
            None => self.damaged("longer than 8 MiB"),
            Some(_) if self.header.is_none() => self.refuse_first(),
            Some(EntryKind::Message) => {
                self.found.messages += 1;
                let is_prompt = cut.role.as_deref() == Some("user");
                let is_text = is_prompt || cut.role.as_deref() == Some("assistant");
                let text = cut.text.unwrap_or_default();
                if self.with_texts && is_text {
                    self.add_text(&text);
                }
                if is_prompt && self.found.first_message.is_none() && !text.trim().is_empty() {
                    self.found.first_message = Some(bounded(text));
                }
            }
            Some(_) => {}
        }
        Ok(offset)
    }

    fn finish(mut self, path: &Path) -> Result<(Header, Scanned)> {
        if let Some(header) = self.header.take() {
            self.found.title = self.found.title.take().or_else(|| header.title());
            return Ok((header, self.found));
        }
        let (line, reason) = self.refused.or(self.damage).unwrap_or((1, "no header"));
        Err(Error::NotASession { path: path.to_owned(), line, reason: reason.to_owned() })
    }
}

/// Cut at 64 KiB, `…` for the rest, so that a list stays small whatever its files hold.
fn bounded(mut text: String) -> String {
    if text.len() > LONGEST_FIRST {
        let end = (0..=LONGEST_FIRST).rfind(|&end| text.is_char_boundary(end));
        text.truncate(end.unwrap_or(0));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}
