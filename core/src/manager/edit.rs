//! Changes to what is there: the title, and entries that are replaced. Each is a rewrite of the file.

use super::{Inner, SessionManager};
use crate::error::{Error, Result};
use crate::header::TitleSource;
use crate::journal::HeaderEdit;
use crate::json;
use crate::record::Role;
use crate::time;
use std::collections::BTreeMap;

impl SessionManager {
    /// Who chose the title.
    pub fn title_source(&self) -> Option<TitleSource> {
        self.read(|session| session.content.title_source())
    }

    /// Sets the title (SPEC section 8): control characters and runs of white space become one space, the ends are
    /// trimmed. Returns whether it was taken: an empty title is not, and an `auto` one never replaces a user's.
    pub fn set_session_name(&self, name: &str, source: TitleSource) -> Result<bool> {
        let title = clean_title(name);
        let mut inner = self.lock();
        let users = |inner: &Inner| inner.session.content.title_source() == Some(TitleSource::User);
        if title.is_empty() || (source == TitleSource::Auto && users(&inner)) {
            return Ok(false);
        }
        self.check_writable(&inner)?;
        let edit = HeaderEdit::Title { title, source, now: time::format(time::now()) };
        let inner = &mut *inner;
        inner.journal.edit_header(&mut inner.session.content, edit);
        inner.settle()?;
        Ok(source == TitleSource::User || !users(inner))
    }

    /// Puts other lines in the places of entries, named by number, and rewrites the file: what a caller changed in
    /// entries that it holds. Each line is the JSON of a whole entry. An entry that cannot be read refuses the whole
    /// change (`InvalidJson`, `EntryNotFound`).
    pub fn rewrite_entries(&self, changed: &[(u32, &str)]) -> Result<()> {
        let mut inner = self.lock();
        self.check_writable(&inner)?;
        inner.rewrite_entries(changed)
    }

    /// [`SessionManager::rewrite_entries`] for numbers that belong to a [`SessionManager::numbering`]. Returns `false`,
    /// and nothing has happened, where that is not the numbering any more.
    pub fn rewrite_entries_of(&self, numbering: u64, changed: &[(u32, &str)]) -> Result<bool> {
        let mut inner = self.lock();
        self.check_writable(&inner)?;
        if inner.renumbered != numbering {
            return Ok(false);
        }
        inner.rewrite_entries(changed).map(|()| true)
    }

    /// Puts another line in the place of the entry that an id finds, and rewrites the file. Errors: `EntryNotFound`,
    /// `InvalidJson`.
    pub fn replace_entry(&self, id: &str, line: &str) -> Result<()> {
        let mut inner = self.lock();
        self.check_writable(&inner)?;
        let number = inner.find(id)?;
        inner.rewrite_entries(&[(number, line)])
    }
}

impl Inner {
    fn rewrite_entries(&mut self, changed: &[(u32, &str)]) -> Result<()> {
        let known = self.session.len() as u32;
        let mut lines = BTreeMap::new();
        for (number, line) in changed {
            if *number >= known {
                return Err(Error::EntryNotFound { id: format!("number {number}") });
            }
            check_entry(line)?;
            let mut line = line.as_bytes().to_vec();
            json::put_on_one_line(&mut line);
            lines.insert(*number, line);
        }
        self.session.content.change(&lines)?;
        let assistant = |number: &u32| self.session.content.index.slot(*number).role == Role::Assistant;
        self.deferred &= !lines.keys().any(assistant);
        self.journal.change(lines.into_keys());
        self.settle()
    }
}

fn check_entry(line: &str) -> Result<()> {
    let invalid =
        |offset, reason: &str| Error::InvalidJson { what: "entry".to_owned(), offset, reason: reason.to_owned() };
    let envelope =
        crate::record::Envelope::of_line(line.as_bytes()).map_err(|fault| invalid(fault.offset, fault.reason))?;
    match envelope.record {
        crate::record::RecordType::Entry(_) => Ok(()),
        _ => Err(invalid(0, "a session header or title record is no entry")),
    }
}

fn clean_title(name: &str) -> String {
    let spaced: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").trim().to_owned()
}
