//! What the first part of a line that was not read to its end says: its type, and a message's role and first text.

use std::borrow::Cow;

use crate::json::{Event, Walker, decode};

/// Levels of objects and arrays that are looked into: entry, message, content, block.
const LEVELS: usize = 4;

/// The beginning of a line. Nothing it says is checked by what follows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CutLine {
    pub(super) kind: Option<String>,
    pub(super) role: Option<String>,
    /// The first text, as far as it was read.
    pub(super) text: Option<String>,
}

impl CutLine {
    /// Of the first bytes of a line.
    pub(super) fn read(start: &[u8]) -> CutLine {
        let mut found = CutLine::default();
        let mut walker = Walker::new(start);
        let mut keys: Vec<Cow<'_, str>> = Vec::new();
        let mut depth = 0;
        // Where the value of the last key begins, while it was not stepped over.
        let mut value_from = None;
        loop {
            let place: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
            match walker.step() {
                Ok(Some(Event::Open { object })) => {
                    depth += 1;
                    // An array is a level without keys of its own.
                    keys.resize(if object { depth - 1 } else { depth }, Cow::Borrowed(""));
                    value_from = None;
                }
                Ok(Some(Event::Key(key))) if depth <= LEVELS => {
                    keys.resize(depth - 1, Cow::Borrowed(""));
                    value_from = Some(key.span().end);
                    keys.push(key.name());
                }
                Ok(Some(Event::Key(_))) => value_from = None,
                Ok(Some(Event::Scalar(span))) => {
                    if depth <= LEVELS && start[span.start] == b'"' {
                        found.take(&place, &start[span]);
                    }
                    value_from = None;
                }
                Ok(Some(Event::Close { .. })) => {
                    depth -= 1;
                    keys.truncate(depth);
                    value_from = None;
                }
                Ok(None) => return found,
                Err(_) => {
                    if let Some(token) = value_from.and_then(|from| open_string(&start[from..])) {
                        found.take(&place, &token);
                    }
                    return found;
                }
            }
        }
    }

    fn take(&mut self, place: &[&str], token: &[u8]) {
        let slot = match place {
            ["type"] => &mut self.kind,
            ["message", "role"] => &mut self.role,
            ["message", "content"] | ["message", "content", "", "text"] if self.text.is_none() => &mut self.text,
            _ => return,
        };
        *slot = Some(decode(token).into_owned());
    }

    /// The text, where the line is a user message.
    pub(super) fn prompt(self) -> Option<String> {
        let is_prompt = self.kind.as_deref() == Some("message") && self.role.as_deref() == Some("user");
        self.text.filter(|text| is_prompt && !text.trim().is_empty())
    }
}

/// The string that is cut off by the end of `rest`, which begins behind its key: closed, without a character or
/// escape that is only there in part.
fn open_string(rest: &[u8]) -> Option<Vec<u8>> {
    let token = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let inner = token.strip_prefix(b"\"")?;
    let mut end = inner.len();
    // The last six bytes are all that an escape that is cut off can take.
    let tail = inner.len().saturating_sub(6);
    if let Some(slash) = memchr::memrchr(b'\\', &inner[tail..]) {
        let slash = tail + slash;
        let run = inner[..=slash].iter().rev().take_while(|&&byte| byte == b'\\').count();
        let len = if inner.get(slash + 1) == Some(&b'u') { 6 } else { 2 };
        if run % 2 == 1 && slash + len > inner.len() {
            end = slash;
        }
    }
    let valid = match std::str::from_utf8(&inner[..end]) {
        Err(error) => error.valid_up_to(),
        Ok(_) => end,
    };
    Some([b"\"", &inner[..valid], b"\""].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_gives_the_beginning_of_what_the_whole_line_gives() {
        let prompt = r#"caf\u00e9 \\ \"x\" \ud83d\ude00 日本 end"#;
        for content in
            [format!(r#""{prompt}""#), format!(r#"[{{"type":"text","text":"{prompt}"}},{{"type":"text","text":"b"}}]"#)]
        {
            let line = format!(
                r#"{{"type":"message","id":"a","x":[[{{"type":"no","text":"no"}}],"no"],"message":{{"role":"user","y":{{"text":"no"}},"content":{content}}},"z":"no"}}"#
            );
            let whole = CutLine::read(line.as_bytes());
            assert_eq!(whole.kind.as_deref(), Some("message"));
            assert_eq!(whole.role.as_deref(), Some("user"));
            let full = whole.text.unwrap();
            assert_eq!(full, "café \\ \"x\" \u{1f600} 日本 end");
            let mut last = 0;
            for cut in 0..line.len() {
                let text = CutLine::read(&line.as_bytes()[..cut]).text.unwrap_or_default();
                let beginning = text.strip_suffix('\u{fffd}').unwrap_or(&text);
                assert!(full.starts_with(beginning), "{text:?}");
                assert!(text.len() + 3 >= last, "{text:?}");
                last = text.len();
            }
            assert_eq!(last, full.len());
        }
    }

    #[test]
    fn other_lines_are_no_prompts() {
        for line in [
            "",
            "[",
            "]]]",
            r#"{"type":"message","message":{"role":"assistant","content":"x"#,
            r#"{"type":"custom","message":{"role":"user","content":"x"#,
            r#"{"type":"message","message":{"role":"user","content":"  "#,
            r#"{"type":"message","message":{"role":"user","content":[["#,
        ] {
            assert_eq!(CutLine::read(line.as_bytes()).prompt(), None, "{line}");
        }
    }
}
