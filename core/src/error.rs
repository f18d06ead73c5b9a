//! The one error type of the library, with codes that are the same on every surface.

use std::io;
use std::path::{Path, PathBuf};

/// What every fallible call of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that can go wrong. [`Error::code`] gives the stable name of the variant; the display text says what
/// happened, where (file, line) and, where there is something to do about it, what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a file operation.
    #[error("cannot {op} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb ("open", "append to", "rename").
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There is no such file where one was required.
    #[error("no such file: {}", path.display())]
    NotFound {
        /// The missing file.
        path: PathBuf,
    },
    /// The file holds bytes, but its first record is not a session header (SPEC section 4).
    #[error("{}:{line}: not a session file: {reason}", path.display())]
    NotASession {
        /// The file.
        path: PathBuf,
        /// The line that should have been the header, counted from 1.
        line: u64,
        /// What was found instead.
        reason: String,
    },
    /// The session was written by a newer agent; it can be read, not changed (SPEC section 4).
    #[error("{}: session version {version} is newer than 3: it can be read but not changed; update the agent", path.display())]
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// The version its header names.
        version: String,
    },
    /// No entry has this id.
    #[error("Entry {id} not found")]
    EntryNotFound {
        /// The id that was asked for.
        id: String,
    },
    /// An argument makes no sense; the text says which and why.
    #[error("{0}")]
    InvalidArgument(String),
    /// A text that must be JSON is not, or is not the kind of value that is needed.
    #[error("{what} is not valid JSON at byte {offset}: {reason}")]
    InvalidJson {
        /// What the text was given as ("message", "details").
        what: String,
        /// Byte offset of the fault in the text.
        offset: usize,
        /// The fault.
        reason: String,
    },
    /// Another process or manager held the file's lock for longer than the bound.
    #[error("{} is locked by another writer (waited {waited_ms} ms); what was appended is kept and written once the lock is free", path.display())]
    Locked {
        /// The session file.
        path: PathBuf,
        /// How long was waited, in milliseconds.
        waited_ms: u64,
    },
    /// What is in memory could not be brought to the file. The entry is kept; the next operation tries again.
    #[error("{}: not written yet: {source}", path.display())]
    Persist {
        /// The session file.
        path: PathBuf,
        /// Of the entry whose append returned this error: it is in memory, with this id.
        entry_id: Option<String>,
        /// The cause.
        source: Box<Error>,
    },
    /// Another session was put in this session's place; nothing was overwritten.
    #[error("{} now holds another session ({found}); move one of the two away", path.display())]
    Replaced {
        /// The session file.
        path: PathBuf,
        /// The id in the header that is there now.
        found: String,
    },
    /// The session was opened read-only.
    #[error("{} is open read-only", path.display())]
    ReadOnly {
        /// The session file.
        path: PathBuf,
    },
    /// The handle was closed.
    #[error("the session is closed")]
    Closed,
    /// The file changed in a way that took the bytes of an entry away (cut short by another program).
    #[error("{}:{line}: the line is no longer in the file", path.display())]
    Vanished {
        /// The session file.
        path: PathBuf,
        /// The line the entry was on, counted from 1.
        line: u64,
    },
    /// A blob is missing, or its bytes do not have the hash of its name.
    #[error("blob {hash}: {reason}")]
    Blob {
        /// The hash that names the blob.
        hash: String,
        /// "missing" or "damaged", with where.
        reason: String,
    },
    /// The prompt history database refused.
    #[error("prompt history {}: {reason}", path.display())]
    History {
        /// The database file.
        path: PathBuf,
        /// What SQLite or the file system said.
        reason: String,
    },
}

impl Error {
    /// The stable name of this kind of error, the same on every surface. An [`Error::Persist`] has the code of its
    /// cause, so that a caller can tell a full disk from a lock.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Io { .. } => "Io",
            Error::NotFound { .. } => "NotFound",
            Error::NotASession { .. } => "NotASession",
            Error::UnsupportedVersion { .. } => "UnsupportedVersion",
            Error::EntryNotFound { .. } => "EntryNotFound",
            Error::InvalidArgument(_) => "InvalidArgument",
            Error::InvalidJson { .. } => "InvalidJson",
            Error::Locked { .. } => "Locked",
            Error::Persist { source, .. } => source.code(),
            Error::Replaced { .. } => "Replaced",
            Error::ReadOnly { .. } => "ReadOnly",
            Error::Closed => "Closed",
            Error::Vanished { .. } => "Vanished",
            Error::Blob { .. } => "Blob",
            Error::History { .. } => "History",
        }
    }

    /// The file or directory the error is about, where there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Error::Io { path, .. }
            | Error::NotFound { path }
            | Error::NotASession { path, .. }
            | Error::UnsupportedVersion { path, .. }
            | Error::Locked { path, .. }
            | Error::Persist { path, .. }
            | Error::Replaced { path, .. }
            | Error::ReadOnly { path }
            | Error::Vanished { path, .. }
            | Error::History { path, .. } => Some(path),
            Error::EntryNotFound { .. }
            | Error::InvalidArgument(_)
            | Error::InvalidJson { .. }
            | Error::Closed
            | Error::Blob { .. } => None,
        }
    }

    /// The line the error is about, counted from 1, where there is one.
    pub fn line(&self) -> Option<u64> {
        match self {
            Error::NotASession { line, .. } | Error::Vanished { line, .. } => Some(*line),
            Error::Persist { source, .. } => source.line(),
            _ => None,
        }
    }

    /// The id of the entry that an append added to memory although it could not be written.
    pub fn entry_id(&self) -> Option<&str> {
        match self {
            Error::Persist { entry_id, .. } => entry_id.as_deref(),
            _ => None,
        }
    }

    /// The operating system's error at the bottom, where there is one.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::Persist { source, .. } => source.io(),
            _ => None,
        }
    }

    pub(crate) fn io_at(op: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        move |source| {
            let path = path.as_ref().to_owned();
            match source.kind() {
                io::ErrorKind::NotFound => Error::NotFound { path },
                _ => Error::Io { op, path, source },
            }
        }
    }
}
