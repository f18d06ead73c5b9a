//! Where a string that is too long is cut. Lengths are UTF-16 code units of the characters that the spelling stands
//! for; a cut is never inside an escape or between the halves of a surrogate pair.

use crate::json::{Piece, pieces, utf16_len};

/// What is put at a cut, as it is spelled inside of a string.
pub(super) const NOTICE: &str = r"\n\n[Session persistence truncated large content]";
/// Line ends in the notice; each is spelled with one byte more than it has units.
const NOTICE_LINE_ENDS: usize = 2;
const NOTICE_UNITS: usize = NOTICE.len() - NOTICE_LINE_ENDS;

/// Of the inside of a string with more than `max` units: how many of its bytes stay in front of the notice.
pub(super) fn cut(inner: &[u8], max: usize) -> Option<usize> {
    // No spelling takes less than a byte a unit.
    if inner.len() <= max {
        return None;
    }
    let keep = max.saturating_sub(NOTICE_UNITS);
    let (mut units, mut at, mut end) = (0, 0, None);
    for piece in pieces(inner) {
        let (size, len) = match piece {
            Piece::Plain(bytes) => (utf16_len(bytes), bytes.len()),
            Piece::Escape { code, len } => (if code > 0xffff { 2 } else { 1 }, len),
        };
        if end.is_none() && units + size > keep {
            end = Some(match piece {
                Piece::Plain(bytes) => at + prefix(bytes, keep - units),
                Piece::Escape { .. } => at,
            });
        }
        units += size;
        at += len;
        if units > max {
            return end;
        }
    }
    None
}

/// Bytes of the longest run of whole characters from the start that has at most `units` units.
fn prefix(utf8: &[u8], units: usize) -> usize {
    let mut left = units;
    for (i, &byte) in utf8.iter().enumerate() {
        if byte & 0xc0 == 0x80 {
            continue;
        }
        let size = if byte >= 0xf0 { 2 } else { 1 };
        if size > left {
            return i;
        }
        left -= size;
    }
    utf8.len()
}

/// Lines of a string, split at `\n`, as it is after it was cut where it is too long.
pub(super) fn lines(inner: &[u8], max: usize) -> usize {
    let (kept, notice) = match cut(inner, max) {
        Some(end) => (&inner[..end], NOTICE_LINE_ENDS),
        None => (inner, 0),
    };
    1 + notice + pieces(kept).filter(|piece| matches!(piece, Piece::Escape { code: 10, .. })).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(inner: &str, max: usize) -> Option<&str> {
        cut(inner.as_bytes(), max).map(|end| &inner[..end])
    }

    #[test]
    fn the_notice_has_the_length_it_is_reckoned_with() {
        let notice: String = serde_json::from_str(&format!("\"{NOTICE}\"")).unwrap();
        assert_eq!(notice, "\n\n[Session persistence truncated large content]");
        assert_eq!(notice.encode_utf16().count(), NOTICE_UNITS);
        assert_eq!(notice.matches('\n').count(), NOTICE_LINE_ENDS);
    }

    #[test]
    fn units_are_counted_through_every_spelling() {
        let max = NOTICE_UNITS + 3;
        let tail = "z".repeat(NOTICE_UNITS);
        for (head, stays) in [
            ("abcd", "abc"),
            ("\u{e9}\u{4e2d}\u{ffff}d", "\u{e9}\u{4e2d}\u{ffff}"),
            (r"\u00e9\n\\d", r"\u00e9\n\\"),
            (r"\ud83d\ud83d\ud83dd", r"\ud83d\ud83d\ud83d"),
            (r"\ude00\ud83dab", r"\ude00\ud83da"),
        ] {
            assert_eq!(kept(&format!("{head}{tail}"), max), Some(stays), "{head}");
            assert_eq!(kept(&format!("{head}{}", &tail[1..]), max), None, "{head}: exactly the limit");
        }
    }

    #[test]
    fn a_pair_is_kept_or_left_out_whole() {
        let max = NOTICE_UNITS + 3;
        let tail = "z".repeat(NOTICE_UNITS);
        for (head, stays) in [
            ("a\u{1f600}\u{1f600}", "a\u{1f600}"),
            ("\u{1f600}\u{1f600}", "\u{1f600}"),
            (r"\ud83d\ude00\ud83d\ude00", r"\ud83d\ude00"),
            (r"ab\uD83D\uDE00", "ab"),
            (r"ab\ud83d\ud83d\ude00", r"ab\ud83d"),
        ] {
            assert_eq!(kept(&format!("{head}{tail}"), max), Some(stays), "{head}");
        }
    }

    #[test]
    fn lines_are_those_of_the_cut_text() {
        assert_eq!(lines(br"a\nb\u000Ac\r\\n", 1_000), 3);
        assert_eq!(lines(b"", 1_000), 1);
        let max = NOTICE_UNITS + 2;
        assert_eq!(lines(format!(r"\na\n\n{}", "z".repeat(max)).as_bytes(), max), 4);
    }
}
