//! References to blobs: where a line has them, and putting back what they stand for.

use super::walk::{Place, Visitor, walk};
use super::{BLOB_PREFIX, has, has_escaped_ascii};
use crate::blob::BlobRef;
use crate::json::{Edits, Span, decode, encode};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// A reference to a blob in a line, at a place where reading resolves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlobMention {
    /// The hash; `None` where the reference is invalid, such as `blob:sha256:../../x`.
    pub(crate) hash: Option<String>,
    /// The reference as it stands there.
    pub(crate) text: String,
}

/// The hash that a reference names: 64 lower-case hex digits and nothing else, since it becomes a file name.
pub(crate) fn reference_hash(reference: &str) -> Option<&str> {
    BlobRef::parse(reference).and_then(|_| reference.strip_prefix(BLOB_PREFIX))
}

/// The entry's line with images and image URLs put back in the place of their references; `None` where nothing is to
/// be put back. `get` is asked only for valid hashes; a reference stays where it gives nothing, or for a URL gives
/// bytes that are no text.
pub(crate) fn resolve_blobs(line: &[u8], get: &mut dyn FnMut(&str) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    resolve(line, Of::Line, get)
}

/// [`resolve_blobs`] for the `message` of an entry alone.
pub(crate) fn resolve_message_blobs(message: &[u8], get: &mut dyn FnMut(&str) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    resolve(message, Of::Message, get)
}

/// The references that [`resolve_blobs`] would resolve, and the invalid ones at such places.
pub(crate) fn blob_refs(line: &[u8]) -> Vec<BlobMention> {
    let mention = |found: Found| BlobMention { hash: reference_hash(&found.text).map(str::to_owned), text: found.text };
    references(line, Of::Line).into_iter().map(mention).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Line,
    Message,
}

fn resolve(text: &[u8], of: Of, get: &mut dyn FnMut(&str) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut edits = Edits::default();
    for found in references(text, of) {
        if let Some(hash) = reference_hash(&found.text)
            && let Some(bytes) = get(hash)
            && let Some(token) = spelled(found.place, &bytes)
        {
            edits.replace(found.token, token);
        }
    }
    (!edits.is_empty()).then(|| edits.apply(text))
}

/// The string token that a blob's bytes make at a place.
fn spelled(place: Place, bytes: &[u8]) -> Option<Vec<u8>> {
    if place == Place::Image {
        let mut token = Vec::with_capacity(bytes.len() / 3 * 4 + 6);
        token.push(b'"');
        base64_simd::STANDARD.encode_append(bytes, &mut token);
        token.push(b'"');
        return Some(token);
    }
    let url = simdutf8::basic::from_utf8(bytes).ok()?;
    let mut token = Vec::with_capacity(url.len() + 2);
    encode(url, &mut token);
    Some(token)
}

struct Found {
    place: Place,
    token: Span,
    text: String,
}

struct Finding<'a> {
    text: &'a [u8],
    found: Vec<Found>,
}

impl Visitor for Finding<'_> {
    const REMOVES: bool = false;

    fn string(&mut self, place: Place, token: Span) -> bool {
        let spelling = &self.text[token.clone()];
        let plain = spelling[1..].starts_with(BLOB_PREFIX.as_bytes());
        if matches!(place, Place::Image | Place::ImageUrl) && (plain || spelling.contains(&b'\\')) {
            let text = decode(spelling);
            if text.starts_with(BLOB_PREFIX) {
                self.found.push(Found { place, token, text: text.into_owned() });
            }
        }
        false
    }
}

fn references(text: &[u8], of: Of) -> Vec<Found> {
    static PREFIX: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(BLOB_PREFIX));
    if !has(text, &PREFIX) && !has_escaped_ascii(text, b'2'..=b'7') {
        return Vec::new();
    }
    let mut finding = Finding { text, found: Vec::new() };
    let Some(kind) = walk(text, &mut finding) else { return Vec::new() };
    let images = of == Of::Message || matches!(&*kind, "message" | "custom_message");
    match &*kind {
        "session" if of == Of::Line => finding.found.clear(),
        _ => finding.found.retain(|found| images || found.place == Place::ImageUrl),
    }
    finding.found
}
