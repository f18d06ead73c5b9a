//! The index over a session's entries: ids, parent links, children, labels. Bodies are elsewhere.
//!
//! A parent link names an *id*, not an entry: ids are interned as nodes, and a node knows the last entry in the file
//! that has the id. So duplicate ids, parents that come later in the file and parents that appear long after their
//! children all cost nothing extra, and no link ever has to be moved.

use crate::record::{EntryKind, Role};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// The place of an entry in file order.
pub(crate) type EntryNo = u32;
type NodeNo = u32;
const NONE: u32 = u32::MAX;

/// Timestamp of an entry whose `timestamp` cannot be read; sorts before all others.
pub(crate) const NO_TIME: i64 = i64::MIN;

/// Where an entry's line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the session's file.
    File { offset: u64, len: u32 },
    /// In memory, under this number.
    Memory(u32),
}

/// One entry, without its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) place: Place,
    id: NodeNo,
    parent: NodeNo,
    next_sibling: EntryNo,
    /// The nearest landmark on the way to the root, the entry included.
    landmark: EntryNo,
    /// Line in the file, from 1; 0 while it is not in the file.
    pub(crate) line: u32,
    pub(crate) time: i64,
    pub(crate) kind: EntryKind,
    pub(crate) role: Role,
    /// The line in the file has members that version 1 did not have.
    pub(crate) has_links: bool,
}

#[derive(Clone, Copy)]
struct Node {
    text: u64,
    len: u32,
    /// The last entry with this id.
    entry: EntryNo,
    first_child: EntryNo,
    last_child: EntryNo,
}

impl Node {
    fn text(self, arena: &str) -> &str {
        let start = self.text as usize;
        &arena[start..start + self.len as usize]
    }
}

/// The kinds that a context depends on wherever they stand on its path. Paths are long, and hold few of these.
fn is_landmark(kind: EntryKind) -> bool {
    use EntryKind::{
        Compaction, ContextChange, McpToolSelection, ModeChange, ModelChange, ServiceTierChange, ThinkingLevelChange,
        TtsrInjection,
    };
    matches!(
        kind,
        Compaction
            | ContextChange
            | McpToolSelection
            | ModeChange
            | ModelChange
            | ServiceTierChange
            | ThinkingLevelChange
            | TtsrInjection
    )
}

/// What is known of an entry that is to be added.
pub(crate) struct NewSlot<'a> {
    pub(crate) place: Place,
    pub(crate) id: Option<&'a str>,
    pub(crate) parent: Parent<'a>,
    pub(crate) line: u32,
    pub(crate) time: i64,
    pub(crate) kind: EntryKind,
    pub(crate) role: Role,
}

/// What an entry follows.
#[derive(Clone, Copy)]
pub(crate) enum Parent<'a> {
    None,
    /// Whatever has or will have this id.
    Id(&'a str),
    /// The id of an entry.
    Entry(EntryNo),
}

impl<'a> From<Option<&'a str>> for Parent<'a> {
    fn from(id: Option<&'a str>) -> Self {
        id.map_or(Parent::None, Parent::Id)
    }
}

/// A table looks at both ends of a hash.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[derive(Default)]
pub(crate) struct Index {
    slots: Vec<Slot>,
    nodes: Vec<Node>,
    text: String,
    /// Nodes under the lower half of their id's hash, so that growing and most comparisons need no look at the id.
    table: HashTable<(u32, NodeNo)>,
    hasher: RandomState,
    labels: HashMap<NodeNo, Box<str>>,
    /// Some entry's parent is not the one that it had when it was added, or not before it; or a kind was changed. Then
    /// the landmarks that the slots name are not to be relied on.
    irregular: bool,
}

impl Index {
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn slot(&self, entry: EntryNo) -> &Slot {
        &self.slots[entry as usize]
    }

    pub(crate) fn slot_mut(&mut self, entry: EntryNo) -> &mut Slot {
        &mut self.slots[entry as usize]
    }

    /// Gives an entry another envelope; its id and its links stay.
    pub(crate) fn set_kind(&mut self, entry: EntryNo, kind: EntryKind, role: Role, time: i64) {
        let slot = &mut self.slots[entry as usize];
        self.irregular |= slot.kind != kind;
        (slot.kind, slot.role, slot.time) = (kind, role, time);
    }

    pub(crate) fn entries(&self) -> std::ops::Range<EntryNo> {
        0..self.slots.len() as EntryNo
    }

    fn node_text(&self, node: NodeNo) -> &str {
        self.nodes[node as usize].text(&self.text)
    }

    fn find(&self, id: &str) -> Option<NodeNo> {
        let hash = self.hash(id);
        let found = |&(other, node): &(u32, NodeNo)| other == hash && self.node_text(node) == id;
        self.table.find(spread(hash), found).map(|&(_, node)| node)
    }

    fn hash(&self, id: &str) -> u32 {
        self.hasher.hash_one(id) as u32
    }

    fn intern(&mut self, id: &str) -> NodeNo {
        let hash = self.hash(id);
        let node = self.nodes.len() as NodeNo;
        let Index { nodes, text, table, .. } = self;
        let known = |&(other, node): &(u32, NodeNo)| other == hash && nodes[node as usize].text(text) == id;
        match table.entry(spread(hash), known, |&(other, _)| spread(other)) {
            Entry::Occupied(known) => return known.get().1,
            Entry::Vacant(place) => place.insert((hash, node)),
        };
        let start = text.len() as u64;
        text.push_str(id);
        nodes.push(Node { text: start, len: id.len() as u32, entry: NONE, first_child: NONE, last_child: NONE });
        node
    }

    /// The node of a parent's id: mostly that of the entry before.
    fn parent_node(&mut self, id: &str) -> NodeNo {
        match self.slots.last() {
            Some(last) if last.id != NONE && self.node_text(last.id) == id => last.id,
            _ => self.intern(id),
        }
    }

    pub(crate) fn push(&mut self, new: &NewSlot<'_>) -> EntryNo {
        let entry = self.slots.len() as EntryNo;
        let id = new.id.map_or(NONE, |id| self.intern(id));
        let parent = match new.parent {
            Parent::None => NONE,
            Parent::Id(id) => self.parent_node(id),
            Parent::Entry(entry) => self.slot(entry).id,
        };
        let landmark = match self.node_entry(parent) {
            _ if is_landmark(new.kind) => entry,
            Some(before) => self.slots[before as usize].landmark,
            None => NONE,
        };
        if let Some(node) = self.nodes.get_mut(id as usize) {
            // Its children had another parent so far, or none; or it is its own.
            self.irregular |= node.first_child != NONE || id == parent;
            node.entry = entry;
        }
        if let Some(node) = self.nodes.get_mut(parent as usize) {
            match node.last_child {
                NONE => node.first_child = entry,
                last => self.slots[last as usize].next_sibling = entry,
            }
            node.last_child = entry;
        }
        let NewSlot { place, line, time, kind, role, .. } = *new;
        self.slots.push(Slot {
            place,
            id,
            parent,
            next_sibling: NONE,
            landmark,
            line,
            time,
            kind,
            role,
            has_links: true,
        });
        entry
    }

    /// Gives back memory that growing took in reserve.
    pub(crate) fn shrink(&mut self) {
        self.slots.shrink_to_fit();
        self.nodes.shrink_to_fit();
        self.text.shrink_to_fit();
    }

    pub(crate) fn id(&self, entry: EntryNo) -> Option<&str> {
        let node = self.slot(entry).id;
        (node != NONE).then(|| self.node_text(node))
    }

    /// The id that the entry's `parentId` names, whether or not an entry has it.
    pub(crate) fn parent_id(&self, entry: EntryNo) -> Option<&str> {
        let node = self.slot(entry).parent;
        (node != NONE).then(|| self.node_text(node))
    }

    pub(crate) fn parent(&self, entry: EntryNo) -> Option<EntryNo> {
        self.node_entry(self.slot(entry).parent)
    }

    fn node_entry(&self, node: NodeNo) -> Option<EntryNo> {
        self.nodes.get(node as usize).map(|node| node.entry).filter(|&entry| entry != NONE)
    }

    /// The last entry in the file that has this id.
    pub(crate) fn by_id(&self, id: &str) -> Option<EntryNo> {
        self.node_entry(self.find(id)?)
    }

    /// Whether an entry has the id or something names it; a fresh id must be neither.
    pub(crate) fn is_taken(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    /// Entries whose `parentId` is this id, in file order.
    pub(crate) fn children(&self, id: &str) -> impl Iterator<Item = EntryNo> {
        let first = self.find(id).map_or(NONE, |node| self.nodes[node as usize].first_child);
        let known = |entry: EntryNo| (entry != NONE).then_some(entry);
        std::iter::successors(known(first), move |&entry| known(self.slot(entry).next_sibling))
    }

    /// The path from `from` to its root, leaf first. Stops at the first entry that it would meet twice.
    pub(crate) fn ancestors(&self, from: EntryNo) -> impl Iterator<Item = EntryNo> {
        let mut seen = vec![0u64; self.slots.len().div_ceil(64)];
        let mut fresh = move |entry: EntryNo| {
            let (word, bit) = (&mut seen[entry as usize / 64], 1 << (entry % 64));
            let fresh = *word & bit == 0;
            *word |= bit;
            fresh
        };
        fresh(from);
        std::iter::successors(Some(from), move |&entry| self.parent(entry).filter(|&parent| fresh(parent)))
    }

    /// The landmarks among [`Index::ancestors`]: what stands between them is not looked at.
    pub(crate) fn landmarks(&self, from: EntryNo) -> impl Iterator<Item = EntryNo> {
        let known = |entry: EntryNo| Some(self.slot(entry).landmark).filter(|&landmark| landmark != NONE);
        let hops = (!self.irregular)
            .then(|| std::iter::successors(known(from), move |&entry| self.parent(entry).and_then(known)));
        let steps = self.irregular.then(|| self.ancestors(from));
        let steps = steps.into_iter().flatten().filter(|&entry| is_landmark(self.slot(entry).kind));
        hops.into_iter().flatten().chain(steps)
    }

    /// [`Index::ancestors`] in a list.
    pub(crate) fn path(&self, from: EntryNo) -> Vec<EntryNo> {
        self.ancestors(from).collect()
    }

    /// The last entry in the file that has an id: the leaf after loading.
    pub(crate) fn last_with_id(&self) -> Option<EntryNo> {
        self.entries().rev().find(|&entry| self.slot(entry).id != NONE)
    }

    /// The last label entry for a target wins; without text it clears.
    pub(crate) fn set_label(&mut self, target: &str, label: Option<&str>) {
        let node = self.intern(target);
        match label.filter(|label| !label.is_empty()) {
            Some(label) => self.labels.insert(node, label.into()),
            None => self.labels.remove(&node),
        };
    }

    pub(crate) fn label(&self, id: &str) -> Option<&str> {
        self.labels.get(&self.find(id)?).map(AsRef::as_ref)
    }

    /// All labels, by the order in which their targets were first named.
    pub(crate) fn labels(&self) -> Vec<(&str, &str)> {
        let mut nodes: Vec<_> = self.labels.iter().collect();
        nodes.sort_unstable_by_key(|(node, _)| **node);
        nodes.into_iter().map(|(&node, label)| (self.node_text(node), &**label)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn push(index: &mut Index, id: u8, parent: u8, kind: EntryKind) {
        let (id, parent) = (format!("id{id}"), format!("id{parent}"));
        let place = Place::Memory(0);
        let (id, parent) = (Some(&*id), Some(&*parent));
        index.push(&NewSlot { place, id, parent: parent.into(), line: 0, time: 0, kind, role: Role::None });
    }

    fn agrees(index: &Index) -> bool {
        let seen = |entry: &EntryNo| is_landmark(index.slot(*entry).kind);
        index.entries().all(|from| index.landmarks(from).eq(index.ancestors(from).filter(seen)))
    }

    fn kind() -> impl Strategy<Value = EntryKind> {
        prop::sample::select(vec![EntryKind::Message, EntryKind::Other, EntryKind::Compaction, EntryKind::ModelChange])
    }

    proptest! {
        #[test]
        fn landmarks_are_those_among_the_ancestors(
            entries in prop::collection::vec((0..12u8, 0..14u8, kind()), 0..16),
            changed in prop::option::of((0..16usize, kind())),
        ) {
            let mut index = Index::default();
            for (id, parent, kind) in entries {
                push(&mut index, id, parent, kind);
                prop_assert!(agrees(&index));
            }
            if let Some((entry, kind)) = changed.filter(|(entry, _)| *entry < index.len()) {
                index.set_kind(entry as EntryNo, kind, Role::None, 0);
                prop_assert!(agrees(&index));
            }
        }

        #[test]
        fn a_tree_that_was_written_in_order_is_regular(parents in prop::collection::vec((0..200u8, kind()), 0..40)) {
            let mut index = Index::default();
            for (entry, (parent, kind)) in parents.into_iter().enumerate() {
                let parent = if entry == 0 { 255 } else { parent % entry as u8 };
                push(&mut index, entry as u8, parent, kind);
            }
            prop_assert!(!index.irregular && agrees(&index));
        }
    }
}
