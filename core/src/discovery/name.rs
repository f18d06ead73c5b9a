//! Names and times as lists of sessions show them.

use crate::time;

/// The longest name, in characters.
const LONGEST: usize = 40;

/// The first line that has something to show, fit for a terminal: control characters, also those that turn the
/// writing direction, become spaces, runs of spaces one.
pub(super) fn first_line(text: &str) -> Option<String> {
    let ends_line = |c: char| matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.split(ends_line).find_map(|line| {
        let mut shown = String::new();
        for c in line.chars() {
            match c {
                c if is_space(c) && (shown.is_empty() || shown.ends_with(' ')) => {}
                c if is_space(c) => shown.push(' '),
                c => shown.push(c),
            }
        }
        shown.truncate(shown.trim_end().len());
        (!shown.is_empty()).then_some(shown)
    })
}

fn is_space(c: char) -> bool {
    c.is_control() || c.is_whitespace() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// At most 40 characters; `…` stands for what was cut.
pub(super) fn shortened(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        None => name.to_owned(),
        Some(_) => {
            let end = name.char_indices().nth(LONGEST - 1).map_or(name.len(), |(end, _)| end);
            format!("{}…", name[..end].trim_end())
        }
    }
}

/// How long ago a time was, both in milliseconds since 1970: `just now` below one minute and in the future, `5m ago`
/// below one hour, `3h ago` below one day, `2d ago` below one week, else the date (UTC), `2026-02-16`.
pub(super) fn time_ago(then_ms: i64, now_ms: i64) -> String {
    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    match now_ms.saturating_sub(then_ms) {
        ..MINUTE => "just now".to_owned(),
        ago @ ..HOUR => format!("{}m ago", ago / MINUTE),
        ago @ ..DAY => format!("{}h ago", ago / HOUR),
        ago if ago < 7 * DAY => format!("{}d ago", ago / DAY),
        _ => {
            let text = time::format(then_ms);
            text.split_once('T').map_or(text.clone(), |(date, _)| date.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_clean_line() {
        for (text, shown) in [
            ("plain", Some("plain")),
            ("\n \r\n  two\twords \nnext", Some("two words")),
            ("a\u{1b}[31mb\0\0c", Some("a [31mb c")),
            ("one\u{2028}two", Some("one")),
            ("\u{202e}txt", Some("txt")),
            (" \n\t", None),
            ("", None),
        ] {
            assert_eq!(first_line(text).as_deref(), shown, "{text:?}");
        }
    }

    #[test]
    fn long_names_are_cut_at_forty_characters() {
        let exact = "é".repeat(40);
        assert_eq!(shortened(&exact), exact);
        assert_eq!(shortened(&format!("{exact}x")), format!("{}…", "é".repeat(39)));
        let words = format!("{} {}", "a".repeat(38), "b".repeat(9));
        assert_eq!(shortened(&words), format!("{}…", "a".repeat(38)), "no space before the mark");
    }

    #[test]
    fn times_are_told_as_the_agent_does() {
        let now = 1_771_237_230_000;
        for (seconds, told) in [
            (-5, "just now"),
            (59, "just now"),
            (60, "1m ago"),
            (3599, "59m ago"),
            (3600, "1h ago"),
            (86_399, "23h ago"),
            (86_400, "1d ago"),
            (7 * 86_400 - 1, "6d ago"),
            (7 * 86_400, "2026-02-09"),
        ] {
            assert_eq!(time_ago(now - seconds * 1000, now), told, "{seconds}");
        }
        assert!(!time_ago(i64::MIN, i64::MAX).is_empty());
    }
}
