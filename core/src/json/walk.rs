//! A pass over a whole JSON text token by token, for work that needs every value at every depth.

use super::scan::{Key, Malformed, Scanner, Span};

/// One step of a [`Walker`].
pub(crate) enum Event<'a> {
    /// An object (or else an array) begins.
    Open { object: bool },
    /// The key of a member; its value is the next step.
    Key(Key<'a>),
    /// A string, number, `true`, `false` or `null`.
    Scalar(Span),
    /// The innermost open object or array ended just before this offset.
    Close { end: usize },
}

/// Checks as it goes: the steps seen before an error are those of a text that is no JSON, so nothing may be done with
/// them until the walk has come to its end. The stack is the scanner's, a bit a level.
pub(crate) struct Walker<'a> {
    scanner: Scanner<'a>,
    next: Next,
}

#[derive(Clone, Copy)]
enum Next {
    Value,
    /// Right behind an opening bracket.
    FirstItem,
    AfterValue,
}

impl<'a> Walker<'a> {
    /// Over the one value that `text` consists of.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Walker { scanner: Scanner::new(text, 0), next: Next::Value }
    }

    /// The next step; `None` after the whole text was found to be one JSON value in UTF-8.
    pub(crate) fn step(&mut self) -> Result<Option<Event<'a>>, Malformed> {
        self.scanner.skip_white();
        match self.next {
            Next::Value => self.value().map(Some),
            Next::FirstItem => match self.close() {
                Some(close) => Ok(Some(close)),
                None => self.item().map(Some),
            },
            Next::AfterValue if self.scanner.in_object().is_none() => {
                self.scanner.end()?;
                self.scanner.check_utf8(0)?;
                Ok(None)
            }
            Next::AfterValue => match self.close() {
                Some(close) => Ok(Some(close)),
                None => self.comma().map(Some),
            },
        }
    }

    /// Steps over the value of the key that was the last step.
    pub(crate) fn skip_value(&mut self) -> Result<Span, Malformed> {
        self.next = Next::AfterValue;
        self.scanner.value()
    }

    fn value(&mut self) -> Result<Event<'a>, Malformed> {
        match self.scanner.peek() {
            Some(open @ (b'{' | b'[')) => {
                let object = open == b'{';
                self.scanner.push(object)?;
                self.next = Next::FirstItem;
                Ok(Event::Open { object })
            }
            _ => {
                self.next = Next::AfterValue;
                self.scanner.value().map(Event::Scalar)
            }
        }
    }

    fn item(&mut self) -> Result<Event<'a>, Malformed> {
        if self.scanner.in_object() == Some(true) {
            self.next = Next::Value;
            return self.scanner.key().map(Event::Key);
        }
        self.value()
    }

    fn comma(&mut self) -> Result<Event<'a>, Malformed> {
        if self.scanner.peek() != Some(b',') {
            return self.scanner.fail("expected a comma or the end of the object or array");
        }
        self.scanner.advance();
        self.scanner.skip_white();
        self.item()
    }

    fn close(&mut self) -> Option<Event<'a>> {
        let object = self.scanner.in_object()?;
        let bracket = if object { b'}' } else { b']' };
        if self.scanner.peek() != Some(bracket) {
            return None;
        }
        self.scanner.pop(object);
        self.next = Next::AfterValue;
        Some(Event::Close { end: self.scanner.pos() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::check;
    use proptest::prelude::*;

    /// The text rebuilt from the steps, without white space; `None` where the walk failed.
    fn rebuilt(text: &[u8]) -> Option<String> {
        let mut walker = Walker::new(text);
        let mut out = String::new();
        let mut open = Vec::new();
        while let Some(event) = walker.step().ok()? {
            let begins = !matches!(event, Event::Close { .. })
                && !matches!(out.as_bytes().last(), Some(b'{' | b'[' | b':') | None);
            out.push_str(if begins { "," } else { "" });
            match event {
                Event::Open { object } => {
                    open.push(object);
                    out.push(if object { '{' } else { '[' });
                }
                Event::Key(key) => {
                    out.push_str(std::str::from_utf8(&text[key.span()]).ok()?);
                    out.push(':');
                }
                Event::Scalar(span) => out.push_str(std::str::from_utf8(&text[span]).ok()?),
                Event::Close { end } => {
                    let object = open.pop()?;
                    assert_eq!(text[end - 1], if object { b'}' } else { b']' });
                    out.push(if object { '}' } else { ']' });
                }
            }
        }
        Some(out)
    }

    #[test]
    fn the_steps_are_the_text() {
        let text = r#" { "a" : [ 1 , -0.5e9 , "x\"y" , [ ] , { } , null ] , "" : { "b" : true } } "#;
        assert_eq!(rebuilt(text.as_bytes()).unwrap(), r#"{"a":[1,-0.5e9,"x\"y",[],{},null],"":{"b":true}}"#);
        assert_eq!(rebuilt(b" 12 ").unwrap(), "12");
    }

    #[test]
    fn a_skipped_value_is_no_step() {
        let mut walker = Walker::new(br#"{"a":[1,{"b":2}] ,"c":3}"#);
        assert!(matches!(walker.step(), Ok(Some(Event::Open { object: true }))));
        assert!(matches!(walker.step(), Ok(Some(Event::Key(_)))));
        assert_eq!(walker.skip_value().unwrap(), 5..16);
        assert!(matches!(walker.step(), Ok(Some(Event::Key(key))) if key.is("c")));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn walking_and_checking_agree(text in r#"[\[\]{},:"a1 \\u-]{0,12}"#, cut in any::<prop::sample::Index>()) {
            prop_assert_eq!(rebuilt(text.as_bytes()).is_some(), check(text.as_bytes()).is_ok(), "{}", text);
            let sound = r#"{"a":[1,{"b":[[],{}],"c":"\u00e9é"}],"d":null}"#.as_bytes();
            let mut cut_short = sound.to_vec();
            cut_short.remove(cut.index(sound.len()));
            prop_assert_eq!(rebuilt(&cut_short).is_some(), check(&cut_short).is_ok());
        }
    }
}
