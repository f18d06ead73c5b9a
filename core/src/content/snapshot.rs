//! Where everything stands, to come back to when writing to another file fails.

use super::{Content, Extra};
use crate::header::{Header, TitleRecord, Version};
use crate::index::{EntryNo, Place};
use crate::storage::ReadAt;
use std::path::PathBuf;
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

impl Content {
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
}
