//! Loading: the header is looked for first, then what a batch found becomes entries and extras.

use super::{Content, Extra};
use crate::error::{Error, Result};
use crate::header::{Header, TitleRecord, Version};
use crate::ids;
use crate::index::{EntryNo, NewSlot, Parent, Place};
use crate::load::{self as loading, Batch, Found, FoundEntry, What};
use crate::read_at::TextSource;
use crate::record::{EntryKind, Role};
use crate::storage::ReadAt;
use std::path::Path;
use std::sync::Arc;

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

impl Content {
    /// Reads the first `len` bytes of a file.
    pub(crate) fn load(path: &Path, source: Arc<dyn ReadAt>, len: u64) -> Result<Loaded> {
        let mut loading = Loading::default();
        loading::scan(&*source, 0..len, |batch| loading.batch(path, batch)).map_err(Error::io_at("read", path))?;
        Ok(loading.finish(Some(source), len))
    }

    /// Like `load`, for a text that is wholly in memory.
    pub(crate) fn load_text(path: &Path, text: Vec<u8>) -> Loaded {
        let mut loading = Loading::default();
        loading.batch(path, loading::scan_text(&text));
        let len = text.len() as u64;
        loading.finish(Some(Arc::new(TextSource(text))), len)
    }

    pub(super) fn add_batch(&mut self, batch: &Batch, found: &[Found]) {
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

    fn add_found(&mut self, batch: &Batch, found: &Found, entry: &FoundEntry, line: u32) -> EntryNo {
        let place = Place::File { offset: found.offset, len: found.len as u32 };
        let FoundEntry { kind, role, time, .. } = *entry;
        let (id, parent) = (batch.id(entry), batch.parent(entry));
        let waiting = id.filter(|_| !self.memory.is_empty()).and_then(|id| self.index.by_id(id));
        if let Some(own) = waiting.filter(|&own| self.is_same(own, entry, parent)) {
            match self.is_in_file(own, found) {
                true => self.moved_to_file(own, found.offset, found.len as u32, line),
                false => self.shortened_in_file(own, line),
            }
            return own;
        }
        let number = match self.file_version {
            Version::V1 => {
                let number = self.add_without_links(place, line, time, kind, role);
                self.index.slot_mut(number).has_links = entry.has_links;
                number
            }
            _ => self.index.push(&NewSlot { place, id, parent: parent.into(), line, time, kind, role }),
        };
        self.last_in_file = Some(number);
        if let Some((target, label)) = batch.label(entry) {
            self.index.set_label(target, label);
        }
        number
    }

    /// Whether the line in memory is the one that was found, and not a longer or a newer one.
    fn is_in_file(&self, own: EntryNo, found: &Found) -> bool {
        let Some(line) = self.in_memory(own).filter(|line| line.len() as u64 == found.len) else { return false };
        let mut bytes = vec![0; line.len()];
        self.read(&mut bytes, line.len(), found.offset, 0).is_ok() && bytes == line
    }

    fn add_without_links(&mut self, place: Place, line: u32, time: i64, kind: EntryKind, role: Role) -> EntryNo {
        let number = self.index.len() as EntryNo;
        let id = ids::derived_entry_id(&self.header.id(), u64::from(number), |id| self.index.is_taken(id));
        let parent = number.checked_sub(1).map_or(Parent::None, Parent::Entry);
        self.index.push(&NewSlot { place, id: Some(&id), parent, line, time, kind, role })
    }

    fn add_extra(&mut self, found: &Found, line: u32, reason: Option<&'static str>) {
        // Entries that wait to be written come behind it.
        let after = self.index.entries().rev().find(|&entry| !self.is_waiting(entry)).map_or(0, |entry| entry + 1);
        self.extras.push(Extra { after: Some(after), offset: found.offset, len: found.len, line, reason });
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
