//! JSON strings: from their spelling to characters and back, and their length as JavaScript counts it.

use std::borrow::Cow;

/// The characters of a string token (quotes included). A lone surrogate escape becomes U+FFFD: the token itself
/// is where nothing is lost.
pub(crate) fn decode(token: &[u8]) -> Cow<'_, str> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    match memchr::memchr(b'\\', inner) {
        None => utf8(inner),
        Some(_) => {
            let mut out = String::with_capacity(inner.len());
            for piece in pieces(inner) {
                match piece {
                    Piece::Plain(bytes) => out.push_str(&utf8(bytes)),
                    Piece::Escape { code, .. } => out.push(char::from_u32(code).unwrap_or('\u{fffd}')),
                }
            }
            Cow::Owned(out)
        }
    }
}

/// Bytes that are UTF-8 unless memory or a caller is wrong about them: U+FFFD stands for what is not.
pub(crate) fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    // `from_utf8_lossy` goes byte by byte.
    simdutf8::basic::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// A stretch of a string's inside.
pub(crate) enum Piece<'a> {
    /// Characters that stand for themselves.
    Plain(&'a [u8]),
    /// One escape, or the two of a surrogate pair: what it stands for (a lone surrogate is its own number), and
    /// how many bytes spell it.
    Escape { code: u32, len: usize },
}

/// Splits the inside of a valid string token.
pub(crate) fn pieces(inner: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = inner;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        if first != b'\\' {
            let end = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
            let (plain, after) = rest.split_at(end);
            rest = after;
            return Some(Piece::Plain(plain));
        }
        let (code, len) = escape(rest);
        rest = &rest[len..];
        Some(Piece::Escape { code, len })
    })
}

fn escape(text: &[u8]) -> (u32, usize) {
    let code = match text.get(1) {
        Some(b'b') => 8,
        Some(b't') => 9,
        Some(b'n') => 10,
        Some(b'f') => 12,
        Some(b'r') => 13,
        Some(b'u') => {
            let Some(high) = unit(text) else { return (0xfffd, text.len()) };
            if let 0xd800..=0xdbff = high
                && let Some(low @ 0xdc00..=0xdfff) = unit(&text[6..])
            {
                return (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12);
            }
            return (high, 6);
        }
        Some(&other) => u32::from(other),
        None => return (0xfffd, text.len()),
    };
    (code, 2)
}

fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Appends `value` as a string token, spelled as `JSON.stringify` spells it.
pub(crate) fn encode(value: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut plain = 0;
    for (i, byte) in value.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            8 => b"\\b",
            9 => b"\\t",
            10 => b"\\n",
            12 => b"\\f",
            13 => b"\\r",
            _ => b"",
        };
        out.extend_from_slice(&value.as_bytes()[plain..i]);
        if escape.is_empty() {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
        } else {
            out.extend_from_slice(escape);
        }
        plain = i + 1;
    }
    out.extend_from_slice(&value.as_bytes()[plain..]);
    out.push(b'"');
}

/// `encode` into a new text.
pub(crate) fn quoted(value: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 2);
    encode(value, &mut out);
    out
}

/// Puts spaces in the place of line ends: valid JSON has them only between tokens.
pub(crate) fn put_on_one_line(json: &mut [u8]) {
    if memchr::memchr(b'\n', json).is_some() {
        json.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    }
}

/// UTF-16 code units of the characters in `utf8`, a valid UTF-8 text.
pub(crate) fn utf16_len(utf8: &[u8]) -> usize {
    utf8.iter().map(|&byte| usize::from(byte & 0xc0 != 0x80) + usize::from(byte >= 0xf0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved_and_lone_surrogates_replaced() {
        for (token, text) in [
            (r#""plain""#, "plain"),
            (r#""a\n\t\"\\\/b""#, "a\n\t\"\\/b"),
            (r#""\u00e9\ud83d\ude00""#, "\u{e9}\u{1f600}"),
            (r#""x\ud83dy""#, "x\u{fffd}y"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""""#, ""),
        ] {
            assert_eq!(decode(token.as_bytes()), text, "{token}");
        }
    }

    #[test]
    fn encoding_is_what_serde_json_writes() {
        let all: String = (0..0x300).filter_map(char::from_u32).chain("\u{2028}\u{1f600}".chars()).collect();
        assert_eq!(String::from_utf8(quoted(&all)).unwrap(), serde_json::to_string(&all).unwrap());
        assert_eq!(decode(&quoted(&all)), all);
    }

    #[test]
    fn utf16_length_is_that_of_the_standard_library() {
        let text = "a\u{e9}\u{4e2d}\u{1f600}z";
        assert_eq!(utf16_len(text.as_bytes()), text.encode_utf16().count());
    }
}
