//! The C ABI of xcsh-session. `include/xcsh_session.h` is made from this crate and says to C programmers what it does;
//! README.md beside this crate says how to build against it.
//!
//! The border translates and decides nothing: an exported function turns its arguments into Rust values, makes one
//! call of the core, and turns the result back. The shape of all of them:
//!
//! - handles come in as `Option<&T>`, and are taken back as `Option<Box<T>>` by their `_free` function only, so that the
//!   type says who owns what; every handle is `Sync`;
//! - strings come in as pointer and length and go through [`input`]; results go out through [`output`], which blanks
//!   every place for a result before anything can fail;
//! - bodies stand in [`border::border!`], which catches panics and makes the error object.

#![allow(unsafe_code, reason = "this crate is the border to C")]
#![allow(clippy::missing_safety_doc, reason = "what callers must do is in the header, which these comments become")]

#[macro_use]
mod border;
mod input;
mod output;

// The header has them in this order.

pub mod version;

pub mod status;

pub mod string;

pub mod error;

pub mod options;

pub mod manager;

pub mod session;

pub mod records;

pub mod discovery;

pub mod blob;

pub mod history;

pub mod log;
