//! What can go wrong below the public surface, kept as SQLite said it until it is clear who has to act on it.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::Error;

/// An error whose class still matters (try again, rebuild the index, read only, give up).
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite refused.
    Sql(rusqlite::Error),
    /// What is at the path is not a prompt history. Nothing may be changed there.
    Foreign(String),
    /// The database can be read, not written.
    ReadOnly,
    /// The file system refused outside SQLite.
    Io {
        /// The operation, as a verb.
        op: &'static str,
        /// The cause.
        source: io::Error,
    },
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Fault::not_a_database(),
            _ => Fault::Sql(error),
        }
    }
}

impl Fault {
    pub(super) fn io(op: &'static str) -> impl FnOnce(io::Error) -> Fault {
        move |source| Fault::Io { op, source }
    }

    pub(super) fn not_a_database() -> Fault {
        Fault::Foreign("the file is not an SQLite database and was left as it is; move it away or name another".into())
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Fault::Sql(error) => error.sqlite_error_code(),
            _ => None,
        }
    }

    /// Another connection is in the way; the same call can succeed later without anything else changing.
    pub(super) fn is_contention(&self) -> bool {
        matches!(
            self.code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed)
        )
    }

    /// What SQLite answers to the first read where a write-ahead log cannot be opened: its file or its shared memory
    /// is refused, or could only be read.
    pub(super) fn is_wal_refusal(&self) -> bool {
        matches!(
            self.code(),
            Some(
                ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::PermissionDenied | ErrorCode::ReadOnly
            )
        )
    }

    /// Pages, or the tables behind the full-text index, do not hold what they must. SQLite reports missing or
    /// unreadable index tables as the general error (`Unknown`), index rows that are there twice as a violated
    /// constraint, which no prompt can cause by itself, and a damaged length as a lack of memory; where memory really
    /// lacks, rebuilding fails in the same way and changes nothing.
    pub(super) fn is_damage(&self) -> bool {
        matches!(
            self.code(),
            Some(
                ErrorCode::DatabaseCorrupt
                    | ErrorCode::Unknown
                    | ErrorCode::ConstraintViolation
                    | ErrorCode::OutOfMemory
            )
        )
    }

    /// There is no room.
    pub(super) fn is_full(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::DiskFull))
    }

    /// What happened and what to do, without the path.
    pub(super) fn reason(&self) -> String {
        let (sql, advice) = match self {
            Fault::Foreign(reason) => return reason.clone(),
            Fault::ReadOnly => {
                return "the database or its directory is read-only; make both writable to keep new prompts".into();
            }
            Fault::Io { op, source } => return format!("cannot {op}: {source}"),
            Fault::Sql(error) => (
                error,
                match error.sqlite_error_code() {
                    Some(ErrorCode::DiskFull) => "; make room on the disk",
                    Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                        "; another process held the lock for more than 5 s"
                    }
                    Some(ErrorCode::ReadOnly) => "; make the file and its directory writable",
                    Some(ErrorCode::DatabaseCorrupt) => "; move the file away to start a new one",
                    Some(ErrorCode::CannotOpen) => "; check the permissions of the file and its directory",
                    _ => "",
                },
            ),
        };
        format!("{sql}{advice}")
    }

    /// The error that callers see.
    pub(super) fn at(self, path: &Path) -> Error {
        match self {
            Fault::Io { op, source } => Error::Io { op, path: path.into(), source },
            other => Error::History { path: path.into(), reason: other.reason() },
        }
    }
}
