//! The border between JavaScript and `xcsh-session`: JSON texts, entry numbers and strings go across, objects stay in
//! JavaScript. Everything here translates; what the classes mean to users is documented in `src/*.ts`.
//!
//! Invariants:
//! - No panic leaves a call: `border::guard` is around the body of every function that does work.
//! - An error crosses as one JSON text, which the JavaScript side turns into its error object.
//! - An answer that names entries by number names the numbering they belong to, and a question about numbers is refused
//!   where the numbering has changed.

// What is `pub` here is public to JavaScript only.
#![allow(missing_docs, unreachable_pub)]

mod blob;
mod border;
mod discovery;
mod history;
mod logging;
mod manager;
mod options;
mod reader;
mod records;
mod storage;
mod testing;
mod text;
