//! Text of a session made safe and short for a terminal.

use std::fmt::Display;

/// Columns of the output.
pub(crate) const WIDTH: usize = 100;

/// One line of at most this many columns, without anything that a terminal acts on: white space becomes single
/// spaces; control characters and marks that turn the direction of text become U+FFFD.
pub(crate) fn line(text: &str, columns: usize) -> String {
    let (mut out, mut used, mut gap) = (String::new(), 0, false);
    for c in text.chars() {
        if c.is_whitespace() {
            gap = !out.is_empty();
            continue;
        }
        if gap {
            out.push(' ');
            used += 1;
        }
        let c = if is_safe(c) { c } else { char::REPLACEMENT_CHARACTER };
        out.push(c);
        used += width(c);
        gap = false;
        if used > columns {
            while used >= columns.max(1) {
                used -= out.pop().map_or(used, width);
            }
            out.truncate(out.trim_end().len());
            out.push('…');
            break;
        }
    }
    out
}

pub(crate) fn is_safe(c: char) -> bool {
    let turns_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !turns_direction && !matches!(c, '\u{2028}' | '\u{2029}')
}

/// Columns that a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Pads with spaces to this many columns.
pub(crate) fn pad(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(columns(text))))
}

fn width(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// `812 B`, `1.2 kB`, `48.3 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut name = "B";
    for unit in units {
        if value < 999.95 {
            break;
        }
        value /= 1000.0;
        name = unit;
    }
    if name == "B" { format!("{bytes} B") } else { format!("{value:.1} {name}") }
}

/// `1,234,567`, with a fraction where there is one.
pub(crate) fn number(value: f64) -> String {
    let text = value.to_string();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut out = String::new();
    for (i, digit) in text[..digits].chars().enumerate() {
        if i > 0 && (digits - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + &text[digits..]
}

/// `1 entry`, `1,234 entries`.
pub(crate) fn count(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", number(count as f64), if count == 1 { one } else { many })
}

/// `3 user, 2 assistant, …`, most first, no more than `most` of them.
pub(crate) fn tally(counts: &[(String, usize)], most: usize) -> Vec<String> {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let show = |(name, count): &&(String, usize)| format!("{} {}", number(*count as f64), line(name, 40));
    let mut shown: Vec<_> = sorted.iter().take(most).map(show).collect();
    if sorted.len() > most {
        shown.push(format!("… {} more …", number((sorted.len() - most) as f64)));
    }
    shown
}

/// Appends `name  value` lines, the value broken into several where it is a list that is too long for one.
pub(crate) fn field(out: &mut String, name: &str, parts: &[impl Display]) {
    let mut row = pad(&format!("  {name}"), 14);
    let mut first = true;
    for (i, part) in parts.iter().enumerate() {
        let part = format!("{part}{}", if i + 1 < parts.len() { "," } else { "" });
        if !first && columns(&row) + 1 + columns(&part) > WIDTH {
            out.push_str(&row);
            out.push('\n');
            row = " ".repeat(14);
            first = true;
        }
        if !first {
            row.push(' ');
        }
        row.push_str(&part);
        first = false;
    }
    out.push_str(&row);
    out.push('\n');
}
