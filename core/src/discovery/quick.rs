//! Telling an entry's type from the beginning of its line, for lines as agents write them.
//!
//! A list counts messages; checking every byte for that would take three times as long as reading the files. So a
//! line whose beginning, end and one look through it show no sign of damage is taken at its word, and every other
//! line is checked. What writers leave behind when they are torn off is always among the others: a record that ends
//! early and another one glued to it, NUL bytes, a last line without its line end. Not noticed here, only when the
//! session is opened: a line that lost nothing but its last bracket, bytes changed in the middle of a line, and what a
//! second member of the same name in an entry would change.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::json::{Raw, Scanner, Span};
use crate::record::EntryKind;

/// A record has it once. Inside of strings the quotes are escaped, so a second one is that of another record, or of
/// an object that happens to have such a member.
static PARENT_ID: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"parentId\":"));

/// The members that every entry begins with, in the order in which they are written.
const HEAD: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// What the beginning of a line tells.
pub(super) struct Look<'a> {
    pub(super) kind: EntryKind,
    /// The members behind [`HEAD`], and the bracket that ends the line.
    rest: &'a [u8],
}

impl<'a> Look<'a> {
    /// Role and message of a message entry whose message is the next member and begins with its role. What follows the
    /// message in the line is still behind it: its members can be read, its bytes are not its own.
    pub(super) fn message(&self) -> Option<(Cow<'a, str>, Raw<'a>)> {
        let mut scanner = Scanner::new(self.rest, 0);
        scanner.skip_white();
        scanner.key().ok().filter(|key| key.is("message"))?;
        scanner.skip_white();
        let message = Raw::new(&self.rest[scanner.pos()..]);
        if scanner.peek() != Some(b'{') {
            return None;
        }
        scanner.advance();
        scanner.skip_white();
        scanner.key().ok().filter(|key| key.is("role"))?;
        scanner.skip_white();
        let value = scanner.value().ok()?;
        Raw::new(&self.rest[value]).as_str().map(|role| (role, message))
    }
}

/// What a line tells that shows no sign of damage; `None` where the line has to be checked. `line` is a line without
/// its line end, which must have been there.
pub(super) fn look(line: &[u8]) -> Option<Look<'_>> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.starts_with(b"{\"") || !line.ends_with(b"}") {
        return None;
    }
    let mut scanner = Scanner::new(line, 1);
    let mut kind = None;
    for name in HEAD {
        if !scanner.key().ok()?.is(name) {
            return None;
        }
        let Span { start, end } = scanner.value().ok()?;
        let value = Raw::new(&line[start..end]);
        match (name, value.as_str()) {
            ("type", Some(name)) => kind = Some(EntryKind::of(&name)),
            ("parentId", None) if value.is_null() => {}
            (_, None) => return None,
            (_, Some(_)) => {}
        }
        if scanner.peek() != Some(b',') {
            return None;
        }
        scanner.advance();
    }
    let rest = &line[scanner.pos()..];
    kind.filter(|_| PARENT_ID.find(rest).is_none()).map(|kind| Look { kind, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"user","content":"say \"parentId\":1"}}"#;
    const LABEL: &str = r#"{"type":"label","id":"b","parentId":"a","timestamp":"","targetId":"a"}"#;

    fn kind_of(line: &[u8]) -> Option<EntryKind> {
        look(line).map(|look| look.kind)
    }

    #[test]
    fn a_role_is_told_where_the_message_begins_with_it() {
        let role = |line: &str| look(line.as_bytes()).and_then(|look| Some(look.message()?.0.into_owned()));
        assert_eq!(role(MESSAGE).as_deref(), Some("user"));
        assert_eq!(role(&MESSAGE.replace(r#":{"role""#, r#" : { "role""#)).as_deref(), Some("user"));
        assert_eq!(role(&MESSAGE.replace("user", "tool\\u0052esult")).as_deref(), Some("toolResult"));
        for other in [r#""message":{"x":1,"role""#, r#""x":1,"message":{"role""#, r#""message":[],"x":{"role""#] {
            let line = MESSAGE.replace(r#""message":{"role""#, other);
            assert!(kind_of(line.as_bytes()).is_some(), "{line}");
            assert_eq!(role(&line), None, "{line}");
        }
        assert_eq!(role(LABEL), None);
    }

    #[test]
    fn lines_as_they_are_written_need_no_check() {
        assert_eq!(kind_of(MESSAGE.as_bytes()), Some(EntryKind::Message));
        assert_eq!(kind_of(format!("{MESSAGE}\r").as_bytes()), Some(EntryKind::Message));
        assert_eq!(kind_of(LABEL.as_bytes()), Some(EntryKind::Label));
    }

    #[test]
    fn whatever_a_torn_write_leaves_has_to_be_checked() {
        for tear in 1..MESSAGE.len() - 1 {
            let torn = &MESSAGE[..tear];
            for next in ["", MESSAGE, LABEL, "\0\0\0", &format!("\0\0{LABEL}")] {
                assert_eq!(kind_of(format!("{torn}{next}").as_bytes()), None, "{torn} then {next:?}");
            }
        }
        assert_eq!(kind_of(format!("{MESSAGE}{LABEL}").as_bytes()), None);
        assert_eq!(kind_of(format!("\0\0{LABEL}").as_bytes()), None);
        for odd in
            [r#"{"id":"b","type":"label","parentId":"a","timestamp":"","targetId":"a"}"#, r#"{"type":"message"}"#]
        {
            assert_eq!(kind_of(odd.as_bytes()), None, "{odd}");
        }
    }
}
