//! What both outputs say of a session.

use crate::words::{self, Words};
use std::collections::HashMap;
use xcsh_session::json::Raw;
use xcsh_session::{ContextPlan, Diagnostics, EntryKind, Leaf, Result, Session};

/// Messages that are read at once: a context can be larger than memory should be.
const AT_ONCE: usize = 64;
/// Messages of a long context that are shown at its start and at its end.
const EDGE: usize = 8;

pub(crate) struct Report {
    /// Types and how many entries have them, in the order of first mention.
    pub(crate) types: Vec<(String, usize)>,
    pub(crate) leaf: Option<String>,
    pub(crate) branch: usize,
    pub(crate) plan: ContextPlan,
    /// Roles of the context's messages, in the order of first mention.
    pub(crate) roles: Vec<(String, usize)>,
    /// The first messages of the context, and the last.
    pub(crate) first: Vec<Message>,
    pub(crate) last: Vec<Message>,
    /// Bytes of all messages, and of those between the first and the last.
    pub(crate) bytes: u64,
    pub(crate) folded_bytes: u64,
    pub(crate) diagnostics: Diagnostics,
}

/// One message of the context.
pub(crate) struct Message {
    pub(crate) bytes: u64,
    pub(crate) words: Words,
}

impl Report {
    pub(crate) fn of(session: &Session) -> Result<Report> {
        let leaf = session.leaf_id();
        let mut report = Report {
            types: types(session)?,
            branch: session.branch(None)?.len(),
            plan: session.context(leaf.as_deref().map_or(Leaf::None, Leaf::Id))?,
            leaf,
            roles: Vec::new(),
            first: Vec::new(),
            last: Vec::new(),
            bytes: 0,
            folded_bytes: 0,
            diagnostics: session.diagnostics()?,
        };
        report.read_messages(session)?;
        Ok(report)
    }

    fn read_messages(&mut self, session: &Session) -> Result<()> {
        let mut roles = Counts::default();
        let all = self.plan.messages.len();
        let folds = all > 2 * EDGE + 2;
        for (chunk_no, chunk) in self.plan.messages.chunks(AT_ONCE).enumerate() {
            let chunk = ContextPlan { messages: chunk.to_vec(), ..ContextPlan::default() };
            for (i, message) in session.messages(&chunk)?.iter().enumerate() {
                let number = chunk_no * AT_ONCE + i;
                let raw = Raw::new(message.as_bytes());
                let bytes = message.len() as u64;
                roles.add(&raw.get("role").and_then(Raw::as_str).unwrap_or_default());
                self.bytes += bytes;
                let list = match number {
                    _ if !folds || number < EDGE => &mut self.first,
                    _ if number >= all - EDGE => &mut self.last,
                    _ => {
                        self.folded_bytes += bytes;
                        continue;
                    }
                };
                list.push(Message { bytes, words: words::of_message(raw) });
            }
        }
        self.roles = roles.list;
        Ok(())
    }

    /// Messages of the context between the first and the last.
    pub(crate) fn folded(&self) -> usize {
        self.plan.messages.len() - self.first.len() - self.last.len()
    }
}

fn types(session: &Session) -> Result<Vec<(String, usize)>> {
    let mut types = Counts::default();
    for number in 0..session.len() as u32 {
        match session.kind_of(number).and_then(EntryKind::name) {
            Some(name) => types.add(name),
            None => {
                types.add(&session.entry_at(number)?.map(|entry| entry.entry_type().into_owned()).unwrap_or_default())
            }
        }
    }
    Ok(types.list)
}

#[derive(Default)]
struct Counts {
    list: Vec<(String, usize)>,
    places: HashMap<String, usize>,
}

impl Counts {
    fn add(&mut self, name: &str) {
        match self.places.get(name) {
            Some(&place) => self.list[place].1 += 1,
            None => {
                self.places.insert(name.to_owned(), self.list.len());
                self.list.push((name.to_owned(), 1));
            }
        }
    }
}
