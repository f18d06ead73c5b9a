//! Other lines in the places of entries.

use super::Content;
use crate::error::Result;
use crate::index::{EntryNo, Index, NewSlot, Slot};
use crate::json::Raw;
use crate::record::{EntryKind, Envelope, Role};
use crate::usage::Usage;
use std::collections::BTreeMap;

impl Content {
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
            self.index.set_kind(entry, kind, role, time);
            self.replace_line(entry, new.in_memory(number).unwrap_or_default().to_vec());
        }
        if before != new.usage {
            self.usage = self.counted_usage()?;
        }
        Ok(())
    }

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

    /// The index as it is with the ids, parents and labels of changed entries, which `new` holds.
    fn reindexed(&self, changed: &BTreeMap<EntryNo, Vec<u8>>, new: &Content) -> Result<Index> {
        let mut index = Index::default();
        let mut lines = self.lines(64 << 10);
        let mut changed = changed.keys().zip(new.index.entries()).peekable();
        for entry in self.index.entries() {
            let Slot { place, line, time, kind, role, .. } = *self.index.slot(entry);
            let number = changed.next_if(|(changed, _)| **changed == entry).map(|(_, number)| number);
            let (source, at) = number.map_or((self, entry), |number| (new, number));
            let (id, parent) = (source.index.id(at), source.index.parent_id(at));
            index.push(&NewSlot { place, id, parent: parent.into(), line, time, kind, role });
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
}
