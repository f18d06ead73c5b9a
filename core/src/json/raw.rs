//! A view of JSON text that is already checked: looks up members and reads scalars without building a tree.

use super::scan::{Key, Scanner, Span};
use super::text;
use std::borrow::Cow;

/// One JSON value as it is spelled. Text that is not valid JSON makes look-ups find nothing; it never panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a>(&'a [u8]);

/// A member of an object.
pub(crate) struct Member<'a> {
    pub(crate) key: Key<'a>,
    /// Where the value stands in the object's text.
    pub(crate) value_span: Span,
    pub(crate) value: Raw<'a>,
}

impl<'a> Raw<'a> {
    /// A value of this spelling.
    pub fn new(text: &'a [u8]) -> Self {
        Raw(text.trim_ascii())
    }

    /// The exact bytes, without white space around them.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// The exact text; empty where it is not UTF-8.
    pub fn text(self) -> &'a str {
        std::str::from_utf8(self.0).unwrap_or_default()
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Whether it is a string.
    pub fn is_string(self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// The characters of a string; lone surrogates become U+FFFD.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        self.is_string().then(|| text::decode(self.0))
    }

    /// The characters of a string in UTF-8.
    pub(crate) fn as_bytes(self) -> Option<Cow<'a, [u8]>> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"").unwrap_or_default();
        Some(match inner.contains(&b'\\') {
            false => Cow::Borrowed(inner),
            true => Cow::Owned(text::decode(self.0).into_owned().into_bytes()),
        })
    }

    /// A number as a double, as JavaScript reads it.
    pub fn as_f64(self) -> Option<f64> {
        // Digits that a double holds exactly.
        if let [b'1'..=b'9', rest @ ..] = self.0
            && rest.len() < 15
            && rest.iter().all(u8::is_ascii_digit)
        {
            return Some(self.0.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')) as f64);
        }
        match self.0.first()? {
            b'-' | b'0'..=b'9' => self.text().parse().ok(),
            _ => None,
        }
    }

    /// `true` or `false`.
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// The value of a member of an object. Of duplicate keys the last one counts.
    pub fn get(self, name: &str) -> Option<Raw<'a>> {
        self.members().filter(|member| member.key.is(name)).last().map(|member| member.value)
    }

    /// The members of an object in order, duplicates included; none where it is no object.
    pub(crate) fn members(self) -> impl Iterator<Item = Member<'a>> {
        let mut scanner = Scanner::new(self.0, 0);
        let mut more = if self.is_object() { scanner.enter() } else { None };
        std::iter::from_fn(move || {
            more?;
            let (key, value_span) = scanner.member()?;
            more = scanner.next_item();
            let value = Raw(&self.0[value_span.clone()]);
            Some(Member { key, value_span, value })
        })
    }

    /// Keys and values of an object in order, duplicates included; none where it is no object.
    pub fn entries(self) -> impl Iterator<Item = (Cow<'a, str>, Raw<'a>)> {
        self.members().map(|member| (member.key.name(), member.value))
    }

    /// The items of an array in order; none where it is no array.
    pub fn items(self) -> impl Iterator<Item = Raw<'a>> {
        let mut scanner = Scanner::new(self.0, 0);
        let mut more = if self.is_array() { scanner.enter() } else { None };
        std::iter::from_fn(move || {
            more?;
            let span = scanner.value().ok()?;
            more = scanner.next_item();
            Some(Raw(&self.0[span]))
        })
    }
}

impl<'a> Scanner<'a> {
    /// Steps into an object or array; `None` where it is empty.
    fn enter(&mut self) -> Option<()> {
        self.advance();
        self.skip_white();
        (!matches!(self.peek(), Some(b'}' | b']') | None)).then_some(())
    }

    fn member(&mut self) -> Option<(Key<'a>, Span)> {
        self.skip_white();
        let key = self.key().ok()?;
        let value = self.value().ok()?;
        Some((key, value))
    }

    /// Steps over a comma; `None` at the end of the object or array.
    fn next_item(&mut self) -> Option<()> {
        self.skip_white();
        (self.peek() == Some(b',')).then(|| self.advance())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_items_come_as_they_are_spelled() {
        let raw = Raw::new(br#" {"a" : 1e400, "b":[ -0 , "x\u0041", {"c":null}],"a":"\ud83d","\u0061":2 } "#);
        let members: Vec<_> = raw.entries().map(|(key, value)| (key.into_owned(), value.text())).collect();
        assert_eq!(
            members,
            [
                ("a".into(), "1e400"),
                ("b".into(), r#"[ -0 , "x\u0041", {"c":null}]"#),
                ("a".into(), r#""\ud83d""#),
                ("a".into(), "2"),
            ]
        );
        assert_eq!(raw.get("a").unwrap().as_f64(), Some(2.0), "the last of duplicate keys, however spelled");
        let items: Vec<_> = raw.get("b").unwrap().items().map(Raw::text).collect();
        assert_eq!(items, ["-0", r#""x\u0041""#, r#"{"c":null}"#]);
        assert_eq!(Raw::new(b"[]").items().count() + Raw::new(b"{ }").entries().count(), 0);
    }

    #[test]
    fn numbers_are_read_as_a_plain_parse_reads_them() {
        for text in
            ["0", "7", "10", "999999999999999", "123456789012345", "9007199254740993", "1234567890123456", "1e3"]
        {
            assert_eq!(Raw::new(text.as_bytes()).as_f64(), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_json_gives_nothing_and_does_not_panic() {
        for text in ["", "{", "[", "{\"", "{\"a\"", "{\"a\":", "[1", "[1,", "x", "\"", "{\"a\":\"\\"] {
            let raw = Raw::new(text.as_bytes());
            assert!(raw.get("a").is_none(), "{text}");
            let _ = (raw.items().count(), raw.as_str(), raw.as_f64(), raw.as_bool());
        }
    }
}
