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
mod entry;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod glued;
mod header;
pub mod ids;
mod index;
pub mod json;
mod limits;
mod load;
mod migrate;
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

pub use context::{ContextPlan, Leaf, MessageSource, ModelResolution, PlannedMessage};
pub use diagnostics::{Diagnostics, Finding, MalformedLine};
pub use entry::{Entry, EntryData};
pub use error::{Error, Result};
pub use header::{CURRENT_SESSION_VERSION, Header, TitleSource};
pub use record::EntryKind;
pub use records::{
    build_session_context, load_entries_from, load_entries_from_file, migrate_session_entries, parse_session_entries,
};
pub use session::{ReadOptions, Session};
pub use tree::Tree;
pub use usage::Usage;
