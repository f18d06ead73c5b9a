//! Finding the names of blobs in a stream of bytes.

use std::collections::HashMap;
use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem::Finder;

use crate::blob::BlobRef;
use crate::storage::ReadAt;

/// Bytes that are read at once.
const STEP: usize = 256 << 10;

/// So much of what was read is looked at again with what comes next: no mention spelled in fewer bytes is missed.
const OVERLAP: usize = 4096;

/// Hex digits of a hash.
const DIGITS: usize = 64;

/// The beginning of an escaped character below U+0100, as all hex digits are.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u00"));

/// Which of a set of blobs were mentioned. Usable from several threads.
pub(super) struct Mentions {
    blobs: Vec<([u8; DIGITS], AtomicBool)>,
    /// The blobs by their first eight digits.
    by_start: HashMap<u64, Vec<usize>>,
}

impl Mentions {
    /// Of these blobs, none of which is mentioned so far.
    pub(super) fn of<'a>(blobs: impl IntoIterator<Item = &'a BlobRef>) -> Self {
        let mut mentions = Mentions { blobs: Vec::new(), by_start: HashMap::new() };
        for blob in blobs {
            let mut digits = [0; DIGITS];
            digits.copy_from_slice(blob.hex().as_bytes());
            mentions.by_start.entry(start_of(&digits)).or_default().push(mentions.blobs.len());
            mentions.blobs.push((digits, AtomicBool::new(false)));
        }
        mentions
    }

    /// Whether blob number `index` was mentioned.
    pub(super) fn has(&self, index: usize) -> bool {
        self.blobs[index].1.load(Ordering::Relaxed)
    }

    /// Notes every mention in a content, which is read through `buffer`.
    pub(super) fn read(&self, content: &dyn ReadAt, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(OVERLAP + STEP, 0);
        let (mut offset, mut have) = (0, 0);
        loop {
            let count = match content.read_at(&mut buffer[have..], offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count?,
            };
            if count == 0 {
                return Ok(());
            }
            offset += count as u64;
            have += count;
            self.search(&buffer[..have]);
            let kept = have.min(OVERLAP);
            buffer.copy_within(have - kept..have, 0);
            have = kept;
        }
    }

    fn search(&self, text: &[u8]) {
        self.search_plain(text);
        if let Some(plain) = without_escaped_digits(text) {
            self.search_plain(&plain);
        }
    }

    /// Looks at one byte in 64 as long as that is no hex digit: every run of 64 digits has to cover one of them.
    fn search_plain(&self, text: &[u8]) {
        let mut at = DIGITS - 1;
        while let Some(byte) = text.get(at) {
            if !byte.is_ascii_hexdigit() {
                at += DIGITS;
                continue;
            }
            let before = text[..at].iter().rev().take_while(|byte| byte.is_ascii_hexdigit()).count();
            let after = text[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            text[at - before..at + after].windows(DIGITS).for_each(|digits| self.note(digits));
            at += after + DIGITS;
        }
    }

    fn note(&self, digits: &[u8]) {
        for &index in self.by_start.get(&start_of(digits)).into_iter().flatten() {
            let (blob, mentioned) = &self.blobs[index];
            if blob.eq_ignore_ascii_case(digits) {
                mentioned.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// The first eight digits, in lower case.
fn start_of(digits: &[u8]) -> u64 {
    // This bit makes letters lower-case, and all digits have it.
    const LOWER: u64 = 0x2020_2020_2020_2020;
    digits.first_chunk().map_or(0, |start| u64::from_le_bytes(*start) | LOWER)
}

/// The text with hex digits in place of the escapes that stand for them (`\u0061`, with any number of backslashes, as
/// JSON inside JSON has); `None` where there is no such escape, as in everything that agents write.
fn without_escaped_digits(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let mut done = 0;
    for found in ESCAPE.find_iter(text) {
        let code = text.get(found + 4..found + 6).and_then(|code| std::str::from_utf8(code).ok());
        let digit = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        if let Some(digit) = digit.filter(u8::is_ascii_hexdigit) {
            plain.extend_from_slice(&text[done..found]);
            let slashes = plain.iter().rev().take_while(|&&byte| byte == b'\\').count();
            plain.truncate(plain.len() - slashes);
            plain.push(digit);
            done = found + 6;
        }
    }
    (done > 0).then(|| {
        plain.extend_from_slice(&text[done..]);
        plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_at::TextSource;
    use proptest::prelude::*;

    fn mentioned(blob: &BlobRef, text: Vec<u8>) -> bool {
        let mentions = Mentions::of([blob]);
        mentions.read(&TextSource(text), &mut Vec::new()).unwrap();
        mentions.has(0)
    }

    fn escaped(hex: &str, slashes: usize) -> String {
        let slashes = "\\".repeat(slashes);
        hex.bytes()
            .enumerate()
            .map(|(i, c)| if i % 3 == 0 { format!("{slashes}u00{c:02X}") } else { char::from(c).into() })
            .collect()
    }

    #[test]
    fn every_spelling_counts() {
        let blob = BlobRef::of(b"x");
        let hex = blob.hex();
        for text in [
            blob.to_string(),
            hex.clone(),
            hex.to_uppercase(),
            format!("abc{hex}"),
            format!("{hex}0123"),
            format!("{0}{hex}{0}", "f".repeat(200)),
            escaped(&hex, 1),
            escaped(&hex, 8),
            format!("\\u001b\\u00e9{}", escaped(&hex, 2)),
        ] {
            for before in 0..130 {
                let text = format!("{}{text}{}", "-".repeat(before), "-".repeat(70));
                assert!(mentioned(&blob, text.clone().into()), "{text}");
            }
        }
        for text in ["", &hex[1..], &hex[..63], &format!("{}\"{}", &hex[..30], &hex[30..]), &BlobRef::of(b"y").hex()] {
            assert!(!mentioned(&blob, text.into()), "{text}");
        }
    }

    #[test]
    fn borders_between_reads_hide_nothing() {
        let blob = BlobRef::of(b"x");
        for text in [blob.hex(), escaped(&blob.hex(), 16)] {
            for end in [OVERLAP + STEP, OVERLAP + 2 * STEP] {
                for back in (0..text.len() + 3).step_by(if text.len() > 64 { 7 } else { 1 }) {
                    let all = [&vec![b'-'; end - back][..], text.as_bytes(), &[b'-'; 300]].concat();
                    assert!(mentioned(&blob, all), "{back} bytes before {end}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_search_finds_what_a_plain_one_finds(parts in prop::collection::vec((0..6usize, 0..200usize), 0..12)) {
            let blobs = [BlobRef::of(b"a"), BlobRef::of(b"b")];
            let mut text = String::new();
            for (what, length) in parts {
                match what {
                    0 | 1 => text.push_str(&blobs[what].hex()),
                    2 => text.push_str(&blobs[0].hex()[..length % 64]),
                    3 => text.push_str(&"e".repeat(length)),
                    4 => text.push_str(&blobs[1].hex()[length % 64..]),
                    _ => text.push_str(&" ".repeat(length)),
                }
            }
            for blob in &blobs {
                prop_assert_eq!(mentioned(blob, text.clone().into()), text.contains(&blob.hex()), "{}", text);
            }
        }
    }
}
