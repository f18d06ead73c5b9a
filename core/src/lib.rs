//! The session store of a coding agent: append-only JSONL files that hold a tree of entries.
//!
//! [`Session`] reads a file without touching it. See ARCHITECTURE.md in the repository for the map of the code.

#[cfg(test)]
#[path = "../tests/support/arbitrary.rs"]
mod arbitrary;
pub mod artifacts;
pub mod blob;
pub mod breadcrumb;
mod content;
mod context;
mod diagnostics;
pub mod dirs;
pub mod discovery;
mod entry;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod gc;
mod glued;
mod header;
#[cfg(feature = "history")]
pub mod history;
pub mod ids;
mod index;
mod journal;
pub mod json;
mod limits;
mod load;
mod manager;
mod migrate;
mod parallel;
#[cfg(test)]
#[path = "../tests/support/plain.rs"]
mod plain;
mod read_at;
mod record;
mod records;
mod session;
pub mod storage;
mod time;
mod tree;
mod usage;

/// The example of the README is compiled and run with the doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

pub use context::{ContextPlan, Leaf, MessageSource, ModelResolution, PlannedMessage};
pub use diagnostics::{Diagnostics, Finding, MalformedLine};
pub use entry::{Entry, EntryData};
pub use error::{Error, Result};
pub use header::{CURRENT_SESSION_VERSION, Header, TitleSource};
#[cfg(feature = "history")]
pub use history::{HistoryEntry, HistoryStorage};
pub use manager::{
    Compaction, CustomMessage, Forked, ManagerOptions, OnInvalid, PersistError, Profile, SessionManager, SessionState,
    delete_session_with_artifacts,
};
pub use record::EntryKind;
pub use records::{
    build_session_context, load_entries_from, load_entries_from_file, migrate_session_entries, parse_session_entries,
    plan_session_context,
};
pub use session::{ReadOptions, Session};
pub use tree::Tree;
pub use usage::Usage;
