//! The tree of a session's entries (SPEC section 6), flat: no recursion on depth anywhere.

use crate::index::{EntryNo, Index};

const NONE: u32 = u32::MAX;

/// The tree: roots in file order, children by timestamp, oldest first, ties in file order. Every entry is in it
/// exactly once. Entries are numbered in file order, from 0.
pub struct Tree {
    roots: Vec<EntryNo>,
    /// `children[first[e]..first[e + 1]]` are the children of entry `e`.
    first: Vec<u32>,
    children: Vec<EntryNo>,
}

impl Tree {
    pub(crate) fn of(index: &Index) -> Tree {
        let (parents, _) = parents(index);
        let mut roots = Vec::new();
        let mut first = vec![0u32; index.len() + 1];
        for entry in index.entries() {
            match parents[entry as usize] {
                NONE => roots.push(entry),
                parent => first[parent as usize + 1] += 1,
            }
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut children = vec![0; index.len() - roots.len()];
        for entry in index.entries() {
            if let Some(place) = next.get_mut(parents[entry as usize] as usize) {
                children[*place as usize] = entry;
                *place += 1;
            }
        }
        for pair in first.windows(2) {
            children[pair[0] as usize..pair[1] as usize].sort_by_key(|&entry| index.slot(entry).time);
        }
        Tree { roots, first, children }
    }

    /// The roots: entries without a parent, orphans, and of each cycle the entry that comes first in the file.
    pub fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// The children of an entry; none for a number that no entry has.
    pub fn children(&self, entry: u32) -> &[u32] {
        match (self.first.get(entry as usize), self.first.get(entry as usize + 1)) {
            (Some(&from), Some(&to)) => &self.children[from as usize..to as usize],
            _ => &[],
        }
    }

    /// Every entry before its children, with its depth (roots have 0).
    pub fn depth_first(&self) -> impl Iterator<Item = (u32, usize)> {
        let mut stack: Vec<_> = self.roots.iter().rev().map(|&root| (root, 0)).collect();
        std::iter::from_fn(move || {
            let (entry, depth) = stack.pop()?;
            stack.extend(self.children(entry).iter().rev().map(|&child| (child, depth + 1)));
            Some((entry, depth))
        })
    }
}

/// The parent of each entry in the tree, and of each cycle the entry that comes first in the file, which has none.
pub(crate) fn parents(index: &Index) -> (Vec<u32>, Vec<EntryNo>) {
    let mut parents: Vec<u32> = index.entries().map(|entry| index.parent(entry).unwrap_or(NONE)).collect();
    let mut walked_in = vec![NONE; index.len()];
    let mut cycles = Vec::new();
    for start in index.entries() {
        let mut at = start;
        while at != NONE && walked_in[at as usize] == NONE {
            walked_in[at as usize] = start;
            at = parents[at as usize];
        }
        if at != NONE && walked_in[at as usize] == start {
            let mut first = at;
            let mut next = parents[at as usize];
            while next != at {
                first = first.min(next);
                next = parents[next as usize];
            }
            parents[first as usize] = NONE;
            cycles.push(first);
        }
    }
    cycles.sort_unstable();
    (parents, cycles)
}
