//! The session store of a coding agent.

mod error;
pub mod json;
pub mod storage;
mod time;

pub use error::{Error, Result};
