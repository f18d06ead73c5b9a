//! Iterating over entries. Lines are read ahead in small batches and lent to C where they lie.

use super::{Source, XcshSession, source};
use crate::border;
use crate::error::{Failure, XcshError};
use crate::input::{handle, optional, text};
use crate::output::{Blank, out};
use crate::status::{XCSH_END, XCSH_OK, XcshStatus};
use crate::string::XcshStr;
use session::{Entry, Session, SessionManager};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::c_char;
use std::sync::{Arc, Mutex, PoisonError};

/// An iteration over entries. Free it with xcsh_entries_free(); it can outlive the session and the manager it came from.
pub struct XcshEntries(Mutex<Iteration>);

/// A look at an entry, lent by the iteration that gave it: see xcsh_entries_next().
#[repr(C)]
pub struct XcshEntryView {
    /// The entry's place in the session, from 0.
    pub number: u32,
    /// `data` is NULL where the entry has no id.
    pub id: XcshStr,
    /// `data` is NULL where the entry is a root.
    pub parent_id: XcshStr,
    /// The type, such as "message".
    pub entry_type: XcshStr,
    /// The JSON of the whole entry, exactly as it is, without its line end.
    pub line: XcshStr,
}

impl Blank for XcshEntryView {
    const BLANK: Self = XcshEntryView {
        number: 0,
        id: XcshStr::NONE,
        parent_id: XcshStr::NONE,
        entry_type: XcshStr::NONE,
        line: XcshStr::NONE,
    };
}

struct Iteration {
    source: Source,
    numbering: u64,
    left: Left,
    /// The entry that is lent, and what its view shows that does not lie in its line.
    lent: Option<(Entry, Vec<String>)>,
}

/// What is still to come.
enum Left {
    /// All from a number to before another, of which some are read already.
    Range {
        next: u32,
        end: u32,
        read: VecDeque<Entry>,
    },
    List(std::vec::IntoIter<u32>),
}

/// How much is read at once of entries that follow each other: this many, or this many bytes.
const BATCH: (usize, usize) = (256, 256 << 10);

impl XcshEntries {
    fn all(source: Source) -> XcshEntries {
        let numbering = source.numbering();
        let end = source.look(|session| u32::try_from(session.len()).unwrap_or(u32::MAX));
        XcshEntries::new(source, numbering, Left::Range { next: 0, end, read: VecDeque::new() })
    }

    fn list(
        source: Source,
        numbers: impl FnOnce(&Source) -> Result<Vec<u32>, Failure>,
    ) -> Result<XcshEntries, Failure> {
        let numbering = source.numbering();
        let numbers = numbers(&source)?;
        Ok(XcshEntries::new(source, numbering, Left::List(numbers.into_iter())))
    }

    /// Entries of a manager that has just said that these are their numbers.
    pub(crate) fn live(manager: Arc<SessionManager>, numbers: Vec<u32>) -> XcshEntries {
        let source = Source::Live(manager);
        XcshEntries::new(source.clone(), source.numbering(), Left::List(numbers.into_iter()))
    }

    fn new(source: Source, numbering: u64, left: Left) -> XcshEntries {
        XcshEntries(Mutex::new(Iteration { source, numbering, left, lent: None }))
    }
}

fn read_batch(session: &Session, next: &mut u32, end: u32, read: &mut VecDeque<Entry>) -> session::Result<()> {
    let (entries, mut bytes) = BATCH;
    let count = entries.min(end.saturating_sub(*next) as usize);
    for entry in session.entries_from(*next).take(count) {
        let entry = entry?;
        *next += 1;
        bytes = bytes.saturating_sub(entry.line().len());
        read.push_back(entry);
        if bytes == 0 {
            break;
        }
    }
    Ok(())
}

impl Iteration {
    fn next(&mut self) -> Result<Option<Entry>, Failure> {
        self.lent = None;
        let Iteration { source, numbering, left, .. } = self;
        let next = match left {
            Left::Range { next, end, read } => {
                if read.is_empty() {
                    source.look(|session| read_batch(session, next, *end, read))?;
                }
                read.pop_front()
            }
            Left::List(numbers) => match numbers.next() {
                Some(number) => source.look(|session| session.entry_at(number))?,
                None => None,
            },
        };
        // A numbering only counts up, so what was read before this look is what was asked for.
        if source.numbering() == *numbering { Ok(next) } else { Err(Failure::renumbered()) }
    }

    fn lend(&mut self, entry: Entry) -> XcshEntryView {
        let mut held = Vec::new();
        let mut view = |text: Option<Cow<'_, str>>| match text {
            None => XcshStr::NONE,
            // Lies in the line, which does not move when the entry does.
            Some(Cow::Borrowed(text)) => XcshStr::of(text.as_bytes()),
            Some(Cow::Owned(text)) => {
                let view = XcshStr::of(text.as_bytes());
                held.push(text);
                view
            }
        };
        let view = XcshEntryView {
            number: entry.number(),
            id: view(entry.id()),
            parent_id: view(entry.parent_id()),
            entry_type: view(Some(entry.entry_type())),
            line: XcshStr::of(entry.line().as_bytes()),
        };
        self.lent = Some((entry, held));
        view
    }
}

/// Begins an iteration over all entries in the order of the file; entries that are appended later are not in it. Free
/// `entries` with xcsh_entries_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_entries(
    session: Option<&XcshSession>,
    entries: *mut *mut XcshEntries,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let entries = out(entries, "entries")?;
        entries.give(XcshEntries::all(source(session)?.clone()));
        Ok(())
    })
}

/// Begins an iteration over the entries from the root to an entry, or to the leaf (NULL with length 0). Error:
/// XCSH_ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_branch(
    session: Option<&XcshSession>,
    entry_id: *const c_char,
    entry_id_len: usize,
    entries: *mut *mut XcshEntries,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let entries = out(entries, "entries")?;
        let id = optional(entry_id, entry_id_len, "entry_id")?;
        let numbers = |source: &Source| Ok(source.look(|session| session.branch(id))?);
        entries.give(XcshEntries::list(source(session)?.clone(), numbers)?);
        Ok(())
    })
}

/// Begins an iteration over the entries whose parent is the entry with this id, in the order of the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_children(
    session: Option<&XcshSession>,
    entry_id: *const c_char,
    entry_id_len: usize,
    entries: *mut *mut XcshEntries,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let entries = out(entries, "entries")?;
        let id = text(entry_id, entry_id_len, "entry_id")?;
        let numbers = |source: &Source| Ok(source.look(|session| session.children(id)));
        entries.give(XcshEntries::list(source(session)?.clone(), numbers)?);
        Ok(())
    })
}

/// Goes to the next entry and lends it to `view`, without copying it. What the view points to is valid until the next call
/// with the same iteration, by whichever thread, or until the iteration is freed. XCSH_END, and a view of nothing, after the
/// last entry. Errors: XCSH_RENUMBERED where the manager went to another session or another program replaced the file;
/// XCSH_VANISHED, XCSH_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_entries_next(
    entries: Option<&XcshEntries>,
    view: *mut XcshEntryView,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let view = out(view, "view")?;
        let mut iteration = handle(entries, "entries")?.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match iteration.next()? {
            Some(entry) => {
                view.set(iteration.lend(entry));
                XCSH_OK
            }
            None => XCSH_END,
        })
    })
}

/// Frees an iteration. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_entries_free(entries: Option<Box<XcshEntries>>) {
    border::free(entries);
}
