//! The tree as a drawing.

use crate::outline::{self, Folded, Row};
use crate::shape::{Holds, Shape};
use crate::text::{WIDTH, columns, count, line, pad};
use crate::words;
use xcsh_session::{Result, Session};

const NAME: usize = 14;
const ID: usize = 16;
const LABEL: usize = 30;

pub(crate) fn show(out: &mut String, session: &Session, leaf: Option<&str>) -> Result<()> {
    let shape = Shape::of(session, leaf);
    let rows = outline::rows(&shape);
    if rows.is_empty() {
        out.push_str("  no entries\n");
    }
    let entries = rows.iter().filter_map(|row| match row {
        Row::Entry { entry, .. } => session.id_of(*entry),
        _ => None,
    });
    let id_columns = entries.map(|id| columns(&line(id, ID))).max().unwrap_or(0);
    for row in &rows {
        let drawn = match row {
            Row::Entry { lead, entry } => draw(session, &shape, lead, *entry, id_columns)?,
            Row::Fold { lead, hidden, what } => format!("  {lead}… {} …", fold(*hidden, *what)),
            Row::Blank => String::new(),
        };
        out.push_str(drawn.trim_end());
        out.push('\n');
    }
    Ok(())
}

fn draw(session: &Session, shape: &Shape, lead: &str, entry: u32, id_columns: usize) -> Result<String> {
    let Some(read) = session.entry_at(entry)? else { return Ok(String::new()) };
    let words = words::of_entry(&read);
    let id = session.id_of(entry).unwrap_or_default();
    let mut marks = String::new();
    if let Some(label) = session.label(id) {
        marks.push_str(&format!("  [{}]", line(label, LABEL)));
    }
    if shape.is_leaf(entry) {
        marks.push_str("  ◀ leaf");
    }
    let (name, id) = (pad(&line(&words.name, 24), NAME), pad(&line(id, ID), id_columns));
    let start = format!("  {lead}● {id}  {name}  ");
    let room = WIDTH.saturating_sub(columns(&start) + columns(&marks)).max(10);
    let text = line(&words.text, room);
    Ok(format!("{}{marks}", format!("{start}{text}").trim_end()))
}

fn fold(hidden: Holds, what: Folded) -> String {
    let entries = count(hidden.entries as usize, "entry", "entries");
    let mut parts = match what {
        Folded::Stretch => vec![entries],
        Folded::Branches(branches) => vec![count(branches, "branch", "branches"), entries],
        Folded::Roots(roots) => vec![count(roots, "root", "roots"), entries],
    };
    if what == Folded::Stretch && hidden.ends > 0 {
        parts.push(count(hidden.ends as usize, "branch", "branches"));
    }
    if hidden.labels > 0 {
        parts.push(count(hidden.labels as usize, "label", "labels"));
    }
    parts.join(", ")
}
