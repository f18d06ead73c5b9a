//! The exact check of JSON text (RFC 8259, UTF-8), which also is the way to step over a value.
//!
//! Invariants: no recursion, so no depth can overflow the stack; every byte is looked at once; what the check
//! accepts is exactly what a full parser accepts, but for the bound on depth.

use super::block::{BLOCK, masks};
use super::wide::{Block, End};
use std::ops::Range;

/// Levels of arrays and objects that a value may have (SPEC section 4 asks for 10,000). A line nested deeper is
/// malformed.
pub const MAX_DEPTH: usize = 100_000;

/// Why a text is not the JSON that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Byte offset of the fault in the text.
    pub offset: usize,
    /// The fault, in words.
    pub reason: &'static str,
}

/// The place of a token in the text.
pub(crate) type Span = Range<usize>;

/// A reader that moves forward over JSON text.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    pos: usize,
    depth: usize,
    nest: Nest,
    block: Block,
    non_ascii: bool,
    /// Whether a `\n` is no white space.
    one_line: bool,
    /// Where the objects begin that are still open; kept only while a damaged line is taken apart.
    open: Option<Vec<usize>>,
}

/// Whether each open level is an object: one bit a level, the first 64 without an allocation.
#[derive(Default)]
struct Nest {
    first: u64,
    rest: Vec<u64>,
}

impl Nest {
    fn set(&mut self, level: usize, object: bool) {
        let (word, bit) = (level / 64, level % 64);
        if word > self.rest.len() {
            self.rest.resize(word, 0);
        }
        let word = if word == 0 { &mut self.first } else { &mut self.rest[word - 1] };
        *word = *word & !(1 << bit) | u64::from(object) << bit;
    }

    fn get(&self, level: usize) -> bool {
        let (word, bit) = (level / 64, level % 64);
        let word = if word == 0 { self.first } else { self.rest[word - 1] };
        word >> bit & 1 == 1
    }
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8], pos: usize) -> Self {
        Scanner {
            text,
            pos,
            depth: 0,
            nest: Nest::default(),
            block: Block::default(),
            non_ascii: false,
            one_line: false,
            open: None,
        }
    }

    /// Like `new`, for a text that will stand `levels` levels deep in another.
    pub(crate) fn within(text: &'a [u8], levels: usize) -> Self {
        Scanner { depth: levels, ..Scanner::new(text, 0) }
    }

    /// Like `new`, for text that is known to be damaged: keeps where the open objects began.
    pub(crate) fn tracking(text: &'a [u8], pos: usize) -> Self {
        Scanner { open: Some(Vec::new()), ..Scanner::new(text, pos) }
    }

    /// Like `new`, for a value that ends on the line on which it begins; other lines may follow it.
    pub(crate) fn on_line(text: &'a [u8], pos: usize) -> Self {
        Scanner { one_line: true, ..Scanner::new(text, pos) }
    }

    /// Steps over one byte that `peek` showed.
    pub(crate) fn advance(&mut self) {
        self.pos += 1;
    }

    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Starts of the objects that were open where a tracking scanner stopped, outermost first.
    pub(crate) fn open_objects(&self) -> &[usize] {
        self.open.as_deref().unwrap_or_default()
    }

    pub(crate) fn fail<T>(&self, reason: &'static str) -> Result<T, Malformed> {
        Err(Malformed { offset: self.pos, reason })
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.get(self.pos).copied()
    }

    #[inline(always)]
    pub(crate) fn skip_white(&mut self) {
        if self.peek().is_some_and(|byte| byte <= b' ') {
            self.step_over_white();
        }
    }

    #[inline(never)]
    fn step_over_white(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.peek() {
            if self.one_line && byte == b'\n' {
                return;
            }
            self.pos += 1;
        }
    }

    /// The byte behind white space.
    #[inline(always)]
    fn token(&mut self) -> Option<u8> {
        self.skip_white();
        self.peek()
    }

    /// Checks that everything passed since `from` is UTF-8. Outside of strings the grammar is ASCII, so text whose
    /// strings showed no high byte needs no look.
    pub(crate) fn check_utf8(&self, from: usize) -> Result<(), Malformed> {
        if !self.non_ascii && !self.block.not_utf8 {
            return Ok(());
        }
        match simdutf8::compat::from_utf8(&self.text[from..self.pos]) {
            Ok(_) => Ok(()),
            Err(error) => Err(Malformed { offset: from + error.valid_up_to(), reason: "invalid UTF-8" }),
        }
    }

    /// After the value there may be white space and nothing else.
    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        self.skip_white();
        if self.pos == self.text.len() { Ok(()) } else { self.fail("characters after the value") }
    }

    /// Whether the innermost open level is an object; `None` outside of all levels.
    pub(super) fn in_object(&self) -> Option<bool> {
        Some(self.nest.get(self.depth.checked_sub(1)?))
    }

    /// Steps over an opening bracket.
    pub(super) fn push(&mut self, object: bool) -> Result<(), Malformed> {
        if self.depth >= MAX_DEPTH {
            return self.fail("nested too deep");
        }
        self.nest.set(self.depth, object);
        if object && let Some(open) = &mut self.open {
            open.push(self.pos);
        }
        self.depth += 1;
        self.pos += 1;
        Ok(())
    }

    /// Steps over a closing bracket.
    pub(super) fn pop(&mut self, object: bool) {
        self.depth -= 1;
        self.pos += 1;
        if object && let Some(open) = &mut self.open {
            open.pop();
        }
    }

    /// Steps over one value. White space before it is skipped, white space after it is not.
    pub(crate) fn value(&mut self) -> Result<Span, Malformed> {
        if let Some(b'"') = self.token() {
            return self.string();
        }
        let (start, floor) = (self.pos, self.depth);
        'value: loop {
            match self.token() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{') => {
                    self.push(true)?;
                    if self.token() != Some(b'}') {
                        self.key()?;
                        continue 'value;
                    }
                    self.pop(true);
                }
                Some(b'[') => {
                    self.push(false)?;
                    if self.token() != Some(b']') {
                        continue 'value;
                    }
                    self.pop(false);
                }
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(_) => return self.fail("expected a value"),
                None => return self.fail("the text ends where a value should be"),
            }
            while self.depth > floor {
                let object = self.nest.get(self.depth - 1);
                match self.token() {
                    Some(b',') => {
                        self.pos += 1;
                        if object {
                            self.skip_white();
                            self.key()?;
                        }
                        continue 'value;
                    }
                    Some(b'}') if object => self.pop(true),
                    Some(b']') if !object => self.pop(false),
                    Some(_) => return self.fail("expected a comma or the end of the object or array"),
                    None => return self.fail("the text ends inside an object or array"),
                }
            }
            return Ok(start..self.pos);
        }
    }

    /// Steps over an object, handing each member's key to `member`, which must step over the value.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Key<'a>) -> Result<(), Malformed>,
    ) -> Result<Span, Malformed> {
        self.skip_white();
        let start = self.pos;
        if self.peek() != Some(b'{') {
            return self.fail("expected an object");
        }
        self.push(true)?;
        self.skip_white();
        if self.peek() == Some(b'}') {
            self.pop(true);
            return Ok(start..self.pos);
        }
        loop {
            let key = self.key()?;
            self.skip_white();
            member(self, key)?;
            self.skip_white();
            match self.peek() {
                Some(b',') => {
                    self.pos += 1;
                    self.skip_white();
                }
                Some(b'}') => {
                    self.pop(true);
                    return Ok(start..self.pos);
                }
                Some(_) => return self.fail("expected a comma or the end of the object or array"),
                None => return self.fail("the text ends inside an object or array"),
            }
        }
    }

    /// Steps over a key and its colon.
    pub(crate) fn key(&mut self) -> Result<Key<'a>, Malformed> {
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return self.fail("expected a string as key"),
            None => return self.fail("the text ends inside an object or array"),
        }
        let (span, escapes) = self.text()?;
        if self.token() != Some(b':') {
            return self.fail("expected a colon after the key");
        }
        self.pos += 1;
        Ok(Key { text: self.text, span, escapes })
    }

    /// Steps over a string; the scanner stands at its opening quote.
    pub(crate) fn string(&mut self) -> Result<Span, Malformed> {
        self.text().map(|(span, _)| span)
    }

    /// Steps over a string; also tells whether there may be a `\` in it.
    #[inline(always)]
    fn text(&mut self) -> Result<(Span, bool), Malformed> {
        let start = self.pos;
        if let Some(End { quote, escapes }) = self.block.string_end(self.text, start + 1) {
            self.pos = quote + 1;
            return Ok((start..self.pos, escapes));
        }
        self.string_by_steps().map(|span| (span, true))
    }

    #[inline(never)]
    fn string_by_steps(&mut self) -> Result<Span, Malformed> {
        let start = self.pos;
        self.pos += 1;
        loop {
            while !self.plain_block() {}
            match self.peek() {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(start..self.pos);
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return self.fail("control character in a string"),
                None => return self.fail("the text ends inside a string"),
            }
        }
    }

    /// Steps over characters that stand for themselves, a block at most. Whether it came to one that does not, or to
    /// the end.
    #[inline(always)]
    fn plain_block(&mut self) -> bool {
        let Some(block) = self.text.get(self.pos..self.pos + BLOCK) else {
            self.plain_tail();
            return true;
        };
        let found = masks(block.try_into().expect("BLOCK bytes"));
        if found.stop == 0 {
            self.non_ascii |= found.high != 0;
            self.pos += BLOCK;
            return false;
        }
        let plain = found.stop.trailing_zeros();
        self.non_ascii |= found.high & ((1 << plain) - 1) != 0;
        self.pos += plain as usize;
        true
    }

    fn plain_tail(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b'"' || byte == b'\\' || byte < 0x20 {
                return;
            }
            self.non_ascii |= byte >= 0x80;
            self.pos += 1;
        }
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        match self.text.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 2,
            Some(b'u') => match self.text.get(self.pos + 2..self.pos + 6) {
                Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => self.pos += 6,
                _ => return self.fail("invalid \\u escape"),
            },
            _ => return self.fail("invalid escape"),
        }
        Ok(())
    }

    fn word(&mut self, word: &'static [u8]) -> Result<(), Malformed> {
        if self.text[self.pos..].starts_with(word) {
            self.pos += word.len();
            Ok(())
        } else {
            self.fail("expected a value")
        }
    }

    fn number(&mut self) -> Result<(), Malformed> {
        if self.peek() == Some(b'-') {
            self.pos += 1;
        }
        match self.peek() {
            Some(b'0') => self.pos += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return self.fail("invalid number"),
        }
        if self.peek() == Some(b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.pos;
        while let Some(b'0'..=b'9') = self.peek() {
            self.pos += 1;
        }
        if self.pos == start { self.fail("invalid number") } else { Ok(()) }
    }
}

/// The key of a member: the string as it is spelled, quotes included.
#[derive(Clone)]
pub(crate) struct Key<'a> {
    text: &'a [u8],
    span: Span,
    /// Whether there may be a `\` in it.
    escapes: bool,
}

impl<'a> Key<'a> {
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// The key's characters, escapes resolved.
    pub(crate) fn name(&self) -> std::borrow::Cow<'a, str> {
        super::text::decode(&self.text[self.span.clone()])
    }

    /// Whether the key is `name`, however it is spelled.
    #[inline(always)]
    pub(crate) fn is(&self, name: &str) -> bool {
        let inner = &self.text[self.span.start + 1..self.span.end - 1];
        inner == name.as_bytes() || (self.escapes && self.name() == name)
    }
}

/// Checks that `text` is exactly one JSON value with nothing but white space around it.
pub fn check(text: &[u8]) -> Result<(), Malformed> {
    check_within(text, 0)
}

/// [`check`] for a text that will stand `levels` levels deep in another, which must not become too deep by it.
pub(crate) fn check_within(text: &[u8], levels: usize) -> Result<(), Malformed> {
    let mut scanner = Scanner::within(text, levels);
    scanner.value()?;
    scanner.end()?;
    scanner.check_utf8(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a plain parser says, for texts without invalid UTF-8 and within its depth.
    fn plain(text: &[u8]) -> bool {
        std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok())
    }

    #[test]
    fn accepts_and_refuses_what_a_plain_parser_does() {
        let texts = [
            "{}",
            "[]",
            "0",
            "-0",
            "01",
            "-",
            "1.",
            "1.5e",
            "1e+5",
            ".5",
            "+1",
            "true",
            "tru",
            "nulll",
            "\"\"",
            "\"",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\":1}}",
            "{}{}",
            " { } ",
            "",
            " ",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\ud800\"",
            "\"a\tb\"",
            "\"\u{7f}\u{2028}\"",
            "[[[[]]]]",
            "[}",
            "{]",
            "{\"a\":[{\"b\":[]}]}",
            "1 2",
            "1e400",
            "--1",
            "1e",
            "\u{feff}{}",
            "NaN",
            "'a'",
            "{\"\":\"\"}",
            "\"0123456789abcdef\\\"0123456789abcdef\"",
            "\"0123456789abcde\u{1}\"",
        ];
        for text in texts {
            assert_eq!(check(text.as_bytes()).is_ok(), plain(text.as_bytes()), "{text:?}");
        }
        for bad in [&b"\"\xff\""[..], b"\"\xed\xa0\x80\"", b"{\"\xc3\":1}", b"\xff", b"\"0123456789abcdef\xc3\""] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn depth_is_bounded_and_never_overflows() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(check(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(check(&nested(MAX_DEPTH + 1)).unwrap_err().reason, "nested too deep");
        let objects = "{\"a\":".repeat(10_000) + "1" + &"}".repeat(10_000);
        assert!(check(objects.as_bytes()).is_ok());
        assert_eq!(check(&vec![b'['; 1 << 20]).unwrap_err().offset, MAX_DEPTH);
    }

    #[test]
    fn a_tracking_scanner_knows_the_open_objects() {
        let text = br#"{"a":{"b":1},"c":[{"d":"x"#;
        let mut scanner = Scanner::tracking(text, 0);
        assert!(scanner.value().is_err());
        assert_eq!(scanner.open_objects(), [0, 18]);
    }
}
