//! The session store of a coding agent.

pub mod artifacts;
pub mod breadcrumb;
pub mod dirs;
mod error;
pub mod ids;
pub mod json;
mod time;

pub use error::{Error, Result};
