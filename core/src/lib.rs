//! The session store of a coding agent.

mod error;

pub use error::{Error, Result};
