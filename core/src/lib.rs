//! The session store of a coding agent.

pub mod artifacts;
pub mod breadcrumb;
pub mod dirs;
pub mod blob;
mod error;
mod glued;
mod header;
mod index;
pub mod ids;
pub mod json;
mod load;
mod read_at;
mod record;
mod limits;
pub mod storage;
mod time;
mod usage;

pub use error::{Error, Result};
pub use header::{CURRENT_SESSION_VERSION, Header, TitleSource};
pub use read_at::ReadAt;
pub use record::EntryKind;
pub use usage::Usage;
