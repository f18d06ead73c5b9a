//! What an entry's line looks like in the file (SPEC section 9): long strings cut, transient keys left out, images
//! moved to the blob store; and the way back when it is read. Everything works on the raw line and changes it only at
//! the places that must change; text that is not JSON is never changed.
//!
//! Decisions where the contract leaves room:
//! - An image is moved out whole or left whole, never cut: `data` of an image block in a `content` array is moved only
//!   where encoding the decoded bytes gives the very same text again, else it stays in the line at any length.
//! - `lineCount` follows when something in its object was cut or removed, at any depth below it too. Moving an image
//!   out changes no `lineCount`, since reading puts the image back.
//! - Reading puts images of `message` and `custom_message` entries back at every depth at which writing takes them out.
//! - `type`, `id`, `parentId` and `timestamp` of the line itself are never cut; a session header is never touched.

mod cut;
mod persist;
mod refs;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use persist::persist_form;
pub(crate) use refs::{blob_refs, resolve_blobs, resolve_message_blobs};

use crate::blob::PREFIX as BLOB_PREFIX;
use memchr::memmem::Finder;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// UTF-16 code units that a string may have in the file.
pub(crate) const MAX_PERSIST_CHARS: usize = 500_000;
/// Characters from which the base64 text of an image block is moved out of the line.
pub(crate) const MIN_IMAGE_CHARS: usize = 1_024;

/// The bounds, small ones in tests.
#[derive(Clone, Copy)]
struct Limits {
    max_chars: usize,
    min_image: usize,
}

const LIMITS: Limits = Limits { max_chars: MAX_PERSIST_CHARS, min_image: MIN_IMAGE_CHARS };

/// `persist_form` with bounds that a fuzzer's inputs reach; a reference to a blob is no longer than they allow.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn persist_small(
    line: &[u8],
    put_blob: &mut dyn FnMut(&[u8]) -> crate::Result<String>,
) -> crate::Result<Option<Vec<u8>>> {
    persist::persist_within(line, Limits { max_chars: 100, min_image: 8 }, put_blob)
}

fn has(line: &[u8], finder: &Finder<'_>) -> bool {
    finder.find(line).is_some()
}

/// Whether an ASCII character with its first hex digit in `high` is spelled as `\u00..`. A key or word in such a
/// spelling is not found by its bytes.
fn has_escaped_ascii(line: &[u8], high: RangeInclusive<u8>) -> bool {
    static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u00"));
    ESCAPE.find_iter(line).any(|at| line.get(at + 4).is_some_and(|digit| high.contains(digit)))
}
