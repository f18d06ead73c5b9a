//! The session store of a coding agent.

mod error;
pub mod json;
mod limits;
mod time;

pub use error::{Error, Result};
