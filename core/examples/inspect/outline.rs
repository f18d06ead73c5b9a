//! Which entries of a tree are drawn where, and what is folded: in as much detail as fits.
//!
//! A line of the conversation stays in its column however long it is; side branches are indented, before the line
//! goes on.

use crate::shape::{Holds, Shape};

/// Rows that are read at a glance.
const ROWS: usize = 120;

pub(crate) enum Row {
    Entry {
        lead: String,
        entry: u32,
    },
    Fold {
        lead: String,
        hidden: Holds,
        what: Folded,
    },
    /// Between roots.
    Blank,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folded {
    /// A stretch of a line, with what branches off it.
    Stretch,
    Branches(usize),
    Roots(usize),
}

/// How much is shown.
struct Detail {
    /// Plain entries beside one that is shown for a reason.
    edge: usize,
    /// Entries of one line that are shown for a reason. Each column to the right shows a quarter as many.
    stops: usize,
    /// Branches from one entry.
    branches: usize,
    /// Columns.
    depth: usize,
}

const DETAILS: [Detail; 6] = [
    Detail { edge: 4, stops: usize::MAX, branches: usize::MAX, depth: usize::MAX },
    Detail { edge: 1, stops: 60, branches: 8, depth: 4 },
    Detail { edge: 1, stops: 30, branches: 4, depth: 3 },
    Detail { edge: 1, stops: 16, branches: 2, depth: 2 },
    Detail { edge: 0, stops: 12, branches: 3, depth: 1 },
    Detail { edge: 0, stops: 12, branches: 2, depth: 0 },
];

/// The last detail is taken whatever it needs: it shows a bounded number of entries of a bounded number of lines.
pub(crate) fn rows(shape: &Shape) -> Vec<Row> {
    let (last, others) = DETAILS.split_last().expect("there are details");
    let draw = |detail, most| {
        let mut outline = Outline { shape, detail, most, rows: Vec::new() };
        outline.roots().map(|()| outline.rows)
    };
    let fitting = others.iter().find_map(|detail| draw(detail, ROWS));
    fitting.or_else(|| draw(last, usize::MAX)).unwrap_or_default()
}

struct Outline<'a> {
    shape: &'a Shape,
    detail: &'a Detail,
    most: usize,
    rows: Vec<Row>,
}

/// Where these functions return `None`, there is no room.
impl Outline<'_> {
    fn push(&mut self, row: Row) -> Option<()> {
        self.rows.push(row);
        (self.rows.len() <= self.most).then_some(())
    }

    fn roots(&mut self) -> Option<()> {
        let (shown, hidden) = self.choose(self.shape.roots());
        for (i, &root) in shown.iter().enumerate() {
            if i > 0 {
                self.push(Row::Blank)?;
            }
            self.line(root, "", "", 0)?;
        }
        let folded = self.shape.roots().len() - shown.len();
        if folded > 0 {
            self.push(Row::Blank)?;
            self.push(Row::Fold { lead: String::new(), hidden, what: Folded::Roots(folded) })?;
        }
        Some(())
    }

    /// As many of these entries as are to be shown, the most telling ones, in the order they have; and what the
    /// others hold.
    fn choose(&self, from: &[u32]) -> (Vec<u32>, Holds) {
        let mut hidden = Holds::default();
        // Folding a single one saves no row.
        if from.len() <= self.detail.branches.saturating_add(1) {
            return (from.to_vec(), hidden);
        }
        let shape = self.shape;
        let mut ranked: Vec<usize> = (0..from.len()).collect();
        ranked.sort_by_key(|&i| {
            let holds = shape.holds(from[i]);
            std::cmp::Reverse((shape.has_leaf(from[i]), holds.labels > 0, holds.entries))
        });
        let (shown, others) = ranked.split_at_mut(self.detail.branches);
        others.iter().for_each(|&i| hidden += shape.holds(from[i]));
        shown.sort_unstable();
        (shown.iter().map(|&i| from[i]).collect(), hidden)
    }

    /// Recurses once for each column, of which there are at most log2(entries) + 2.
    fn line(&mut self, start: u32, first_lead: &str, lead: &str, depth: usize) -> Option<()> {
        let line = self.shape.line(start);
        let shown = self.shown(&line, depth);
        let mut at = 0;
        while at < line.len() {
            let entry = line[at];
            let lead_here = if at == 0 { first_lead } else { lead }.to_owned();
            if shown[at] {
                self.push(Row::Entry { lead: lead_here, entry })?;
                self.sides(entry, lead, depth)?;
                at += 1;
            } else {
                at += shown[at..].iter().take_while(|shown| !**shown).count();
                let after = line.get(at).map(|&entry| self.shape.holds(entry)).unwrap_or_default();
                let hidden = self.shape.holds(entry) - after;
                self.push(Row::Fold { lead: lead_here, hidden, what: Folded::Stretch })?;
            }
        }
        Some(())
    }

    fn sides(&mut self, entry: u32, lead: &str, depth: usize) -> Option<()> {
        let sides = self.shape.sides(entry);
        if sides.is_empty() {
            return Some(());
        }
        let (shown, mut hidden) = self.choose(&sides);
        let mut folded = sides.len() - shown.len();
        if depth >= self.detail.depth {
            hidden = Holds::default();
            sides.iter().for_each(|&side| hidden += self.shape.holds(side));
            folded = sides.len();
        } else {
            for side in shown {
                self.line(side, &format!("{lead}├─"), &format!("{lead}│ "), depth + 1)?;
            }
        }
        if folded > 0 {
            self.push(Row::Fold { lead: format!("{lead}├─"), hidden, what: Folded::Branches(folded) })?;
        }
        Some(())
    }

    /// Which entries of a line are shown: its ends, the leaf, and what tells something, if there is room, from both
    /// ends of the line; then their neighbours.
    fn shown(&self, line: &[u32], depth: usize) -> Vec<bool> {
        let shape = self.shape;
        let stops_here = (self.detail.stops >> (2 * depth).min(63)).max(2);
        let last = line.len() - 1;
        let tells = |&i: &usize| {
            let entry = line[i];
            shape.is_labelled(entry) || shape.branches(entry) || shape.turns(entry)
        };
        let mut stops: Vec<usize> = (1..last).filter(tells).collect();
        if stops.len() > stops_here {
            let labelled = |i: &&usize| shape.is_labelled(line[**i]);
            let labelled: Vec<usize> = stops.iter().rev().filter(labelled).take(stops_here / 2).copied().collect();
            let rest = stops_here - labelled.len();
            stops.drain(rest / 2..stops.len() - rest.div_ceil(2));
            stops.extend(labelled);
        }
        stops.extend((0..line.len()).filter(|&i| shape.is_leaf(line[i])));
        stops.extend([0, last]);
        stops.sort_unstable();
        stops.dedup();
        let mut shown = vec![false; line.len()];
        for pair in stops.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let edge = self.detail.edge;
            // Folding fewer than three entries saves next to nothing.
            if to - from - 1 < 2 * edge + 3 && !(from + 1..to).any(|i| shape.branches(line[i])) {
                shown[from..to].fill(true);
            } else {
                (from + 1..to).take(edge).for_each(|i| shown[i] = !shape.branches(line[i]));
                (from + 1..to).rev().take(edge).for_each(|i| shown[i] = !shape.branches(line[i]));
            }
        }
        stops.into_iter().for_each(|i| shown[i] = true);
        shown
    }
}
