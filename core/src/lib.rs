//! The session store of a coding agent.

mod error;
mod glued;
pub mod json;
mod record;
mod time;
mod usage;

pub use error::{Error, Result};
pub use record::EntryKind;
pub use usage::Usage;
