//! The session store of a coding agent.

mod error;
#[cfg(feature = "history")]
pub mod history;

pub use error::{Error, Result};
#[cfg(feature = "history")]
pub use history::{HistoryEntry, HistoryStorage};
