//! Finding sessions (SPEC section 11): recent ones, the most recent one, lists, and the one that an argument names.
//!
//! What cannot be read never fails a look-up: it is left out and, where the result has room for it, reported as
//! [`Unreadable`]. Only a directory that was asked for and cannot be listed is an error.

mod cut;
mod files;
mod head;
mod list;
mod name;
mod quick;
mod recent;
mod resolve;
mod scan;
mod scope;

use std::path::PathBuf;

use crate::Error;

pub use list::{ListOptions, Listing, SessionInfo, list, list_all};
pub(crate) use recent::is_session;
pub use recent::{Recent, RecentSessionInfo, find_most_recent_session, get_recent_sessions, most_recent_for_cwd};
pub use resolve::{Resolved, resolve_resumable_session};

/// Something that was left out of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The file or directory.
    pub path: PathBuf,
    /// [`Error::code`] of the cause: `NotASession` for a file without a session header, `Io` and `NotFound` (a link
    /// to nothing) for what the storage refused.
    pub code: &'static str,
    /// The cause in words, path included.
    pub reason: String,
}

impl Unreadable {
    pub(crate) fn new(path: PathBuf, error: &Error) -> Self {
        Unreadable { path, code: error.code(), reason: error.to_string() }
    }
}
