//! JSON as bytes: the exact check of a line, look-ups in it, and splicing. Nothing here builds a tree.

mod block;
mod edit;
mod raw;
mod scan;
mod text;
mod walk;

pub(crate) use edit::{Edits, ObjectEdit};
pub use raw::Raw;
pub(crate) use scan::{Key, Scanner, Span, check_within};
pub use scan::{MAX_DEPTH, Malformed, check};
pub(crate) use text::{Piece, decode, encode, pieces, put_on_one_line, quoted, utf8, utf16_len};
pub(crate) use walk::{Event, Walker};
