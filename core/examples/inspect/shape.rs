//! The shape of a tree: what hangs on each entry, and which child continues the line it is on.

use xcsh_session::{EntryKind, Session, Tree};

const NONE: u32 = u32::MAX;

/// What a part of the tree holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holds {
    pub(crate) entries: u32,
    /// Entries that nothing follows.
    pub(crate) ends: u32,
    pub(crate) labels: u32,
}

impl std::ops::AddAssign for Holds {
    fn add_assign(&mut self, other: Holds) {
        self.entries += other.entries;
        self.ends += other.ends;
        self.labels += other.labels;
    }
}

impl std::ops::Sub for Holds {
    type Output = Holds;

    fn sub(self, other: Holds) -> Holds {
        Holds {
            entries: self.entries - other.entries,
            ends: self.ends - other.ends,
            labels: self.labels - other.labels,
        }
    }
}

pub(crate) struct Shape {
    tree: Tree,
    /// By entry, of the entry and everything below it.
    holds: Vec<Holds>,
    has_leaf: Vec<bool>,
    main: Vec<u32>,
    leaf: Option<u32>,
    labelled: Vec<bool>,
    /// Entries at which the conversation turns.
    turns: Vec<bool>,
}

impl Shape {
    pub(crate) fn of(session: &Session, leaf: Option<&str>) -> Shape {
        let entries = 0..session.len() as u32;
        let label = |entry| session.id_of(entry).is_some_and(|id| session.label(id).is_some());
        let turn = |entry| matches!(session.kind_of(entry), Some(EntryKind::Compaction | EntryKind::BranchSummary));
        let mut shape = Shape {
            tree: session.tree(),
            holds: vec![Holds::default(); session.len()],
            has_leaf: vec![false; session.len()],
            main: vec![NONE; session.len()],
            leaf: leaf.and_then(|id| session.number_of(id)),
            labelled: entries.clone().map(label).collect(),
            turns: entries.map(turn).collect(),
        };
        shape.measure();
        shape
    }

    fn measure(&mut self) {
        let order: Vec<u32> = self.tree.depth_first().map(|(entry, _)| entry).collect();
        for &entry in order.iter().rev() {
            let at = entry as usize;
            let children = self.tree.children(entry);
            let mut holds =
                Holds { entries: 1, ends: u32::from(children.is_empty()), labels: self.labelled[at].into() };
            for &child in children {
                holds += self.holds[child as usize];
                self.has_leaf[at] |= self.has_leaf[child as usize];
            }
            self.has_leaf[at] |= self.leaf == Some(entry);
            // The child with the leaf, else the one with most below it: any other child has at most half of the
            // entries, so that a walk down the tree leaves the line it is on only log2(entries) times.
            let rank = |&&child: &&u32| (self.has_leaf[child as usize], self.holds[child as usize].entries);
            self.main[at] = children.iter().max_by_key(rank).copied().unwrap_or(NONE);
            self.holds[at] = holds;
        }
    }

    pub(crate) fn holds(&self, entry: u32) -> Holds {
        self.holds[entry as usize]
    }

    /// Whether the leaf is the entry or below it.
    pub(crate) fn has_leaf(&self, entry: u32) -> bool {
        self.has_leaf[entry as usize]
    }

    pub(crate) fn roots(&self) -> &[u32] {
        self.tree.roots()
    }

    /// The line that an entry begins: it, the child that continues it, and so on to the end.
    pub(crate) fn line(&self, start: u32) -> Vec<u32> {
        let main = |entry: &u32| Some(self.main[*entry as usize]).filter(|&child| child != NONE);
        std::iter::successors(Some(start), main).collect()
    }

    /// The children that do not continue the line.
    pub(crate) fn sides(&self, entry: u32) -> Vec<u32> {
        let main = self.main[entry as usize];
        self.tree.children(entry).iter().copied().filter(|&child| child != main).collect()
    }

    pub(crate) fn branches(&self, entry: u32) -> bool {
        self.tree.children(entry).len() > 1
    }

    pub(crate) fn is_leaf(&self, entry: u32) -> bool {
        self.leaf == Some(entry)
    }

    pub(crate) fn is_labelled(&self, entry: u32) -> bool {
        self.labelled[entry as usize]
    }

    pub(crate) fn turns(&self, entry: u32) -> bool {
        self.turns[entry as usize]
    }
}
