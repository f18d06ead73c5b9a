//! The session store of a coding agent.

pub mod blob;
mod error;
pub mod json;
pub mod storage;
mod time;

pub use error::{Error, Result};
