//! From the line as it is in memory to the line as it goes to the file.

use super::cut::{NOTICE, cut, lines};
use super::walk::{Place, Visitor, walk};
use super::{BLOB_PREFIX, LIMITS, Limits, has, has_escaped_ascii};
use crate::Result;
use crate::json::{Edits, Piece, Raw, Span, pieces};
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The line of an entry as the file has it; `None` where that is the line as it is. `put_blob` stores the bytes of an
/// image and gives their hash (64 hex digits); it is called only for a line that is sound as a whole, and its first
/// error ends the work.
pub(crate) fn persist_form(line: &[u8], put_blob: &mut dyn FnMut(&[u8]) -> Result<String>) -> Result<Option<Vec<u8>>> {
    persist_within(line, LIMITS, put_blob)
}

pub(super) fn persist_within(
    line: &[u8],
    limits: Limits,
    put_blob: &mut dyn FnMut(&[u8]) -> Result<String>,
) -> Result<Option<Vec<u8>>> {
    if !may_change(line, limits) {
        return Ok(None);
    }
    let mut plan = Plan { text: line, limits, edits: Edits::default(), blobs: Vec::new() };
    match walk(line, &mut plan) {
        None => return Ok(None),
        Some(kind) if kind == "session" => return Ok(None),
        Some(_) => {}
    }
    plan.move_out(put_blob)?;
    Ok((!plan.edits.is_empty()).then(|| plan.edits.apply(line)))
}

/// Whether a walk could find anything. No string, and no image, is longer than its line.
fn may_change(line: &[u8], limits: Limits) -> bool {
    static PARTIAL_JSON: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"partialJson"));
    static JSONL_EVENTS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"jsonlEvents"));
    static IMAGE_URL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"image_url"));
    static IMAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"image"));
    let image = if line.len() < limits.min_image { &IMAGE_URL } else { &IMAGE };
    line.len() > limits.max_chars
        || has(line, image)
        || has(line, &PARTIAL_JSON)
        || has(line, &JSONL_EVENTS)
        || has_escaped_ascii(line, b'4'..=b'7')
}

struct Plan<'a> {
    text: &'a [u8],
    limits: Limits,
    edits: Edits,
    /// Tokens that go to the blob store if they are what they seem.
    blobs: Vec<(Place, Span)>,
}

impl<'a> Plan<'a> {
    fn inner(&self, token: &Span) -> &'a [u8] {
        &self.text[token.start + 1..token.end - 1]
    }

    fn shorten(&mut self, token: Span) -> bool {
        let Some(kept) = cut(self.inner(&token), self.limits.max_chars) else { return false };
        self.edits.replace(token.start + 1 + kept..token.end - 1, NOTICE);
        true
    }

    fn clear(&mut self, token: Span) -> bool {
        let long = cut(self.inner(&token), self.limits.max_chars).is_some();
        if long {
            self.edits.replace(token, *b"\"\"");
        }
        long
    }

    /// Runs after the walk: before its end nothing is known to be sound.
    fn move_out(&mut self, put_blob: &mut dyn FnMut(&[u8]) -> Result<String>) -> Result<()> {
        for (place, token) in std::mem::take(&mut self.blobs) {
            let Some(text) = characters(self.inner(&token)) else { continue };
            let hash = match place {
                Place::Image if text.len() < self.limits.min_image => continue,
                // Strict: takes only what encoding would give, so the way back gives the same text.
                Place::Image => match base64_simd::STANDARD.decode_to_vec(&*text) {
                    Ok(bytes) => put_blob(&bytes)?,
                    Err(_) => continue,
                },
                _ => put_blob(&text)?,
            };
            self.edits.replace(token, format!("\"{BLOB_PREFIX}{hash}\""));
        }
        Ok(())
    }
}

impl Visitor for Plan<'_> {
    const REMOVES: bool = true;

    fn string(&mut self, place: Place, token: Span) -> bool {
        match place {
            Place::Image => {
                if self.inner(&token).len() >= self.limits.min_image {
                    self.blobs.push((place, token));
                }
                false
            }
            Place::ImageUrl if is_data_url(self.inner(&token)) => {
                self.blobs.push((place, token));
                false
            }
            Place::Signature => self.clear(token),
            Place::Text | Place::ImageUrl => self.shorten(token),
        }
    }

    fn remove(&mut self, members: Span) {
        self.edits.replace(members, *b"");
    }

    fn line_count(&mut self, content: Span, count: Span) {
        let lines = lines(self.inner(&content), self.limits.max_chars);
        if Raw::new(&self.text[count.clone()]).as_f64() != Some(lines as f64) {
            self.edits.replace(count, lines.to_string());
        }
    }
}

/// The characters of a string as UTF-8; `None` where a lone surrogate has no UTF-8.
fn characters(inner: &[u8]) -> Option<Cow<'_, [u8]>> {
    if memchr::memchr(b'\\', inner).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut out = Vec::with_capacity(inner.len());
    for piece in pieces(inner) {
        match piece {
            Piece::Plain(bytes) => out.extend_from_slice(bytes),
            Piece::Escape { code, .. } => {
                out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    Some(Cow::Owned(out))
}

/// Whether the string is `data:image/...;base64,...`.
fn is_data_url(inner: &[u8]) -> bool {
    let Some(url) = characters(inner) else { return false };
    let Some((scheme, rest)) = url.split_at_checked(b"data:image/".len()) else { return false };
    let media = &rest[..memchr::memchr(b',', rest).unwrap_or(0)];
    let encoding = media.len().checked_sub(b";base64".len()).map(|at| &media[at..]);
    scheme.eq_ignore_ascii_case(b"data:image/") && encoding.is_some_and(|it| it.eq_ignore_ascii_case(b";base64"))
}
