//! A damaged line taken apart: the complete records in it, and what is left between them (SPEC section 4).
//!
//! A torn write followed by a later append puts a fragment and a whole record on one line. A record is recovered
//! where an object begins right after another one on the line, or where an object has the members that only records
//! have (`parentId`, `timestamp`, or the types `session` and `title`); a complete content block inside a torn message
//! has a string `type` too, and is no record.

use crate::json::{Malformed, Scanner};
use crate::record::{Envelope, RecordType};
use std::ops::Range;

/// The reason given for a run of NUL bytes, which file systems leave behind when the power fails. It says nothing, so
/// that a rewrite may leave it out.
pub(crate) const NUL_BYTES: &str = "NUL bytes";

/// A part of a damaged line.
pub(crate) enum Part<'a> {
    /// A complete record, and whether it was found after the beginning of the line.
    Record { envelope: Envelope<'a>, recovered: bool },
    /// Bytes that belong to no record. White space around them is left out where there are records too.
    Rest { span: Range<usize>, reason: &'static str },
}

/// Takes apart a line that is not one record; `first` is what the check said of it.
///
/// Linear: an attempt that fails marks the objects that were still open, none of which is tried again, and a
/// complete object is stepped over whole.
pub(crate) fn take_apart(line: &[u8], first: Malformed) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut rest, mut at) = (0, 0);
    let mut doomed = Places::default();
    let mut after_record = true;
    let begin = line.iter().position(|&byte| !is_blank_byte(byte)).unwrap_or(line.len());
    while let Some(found) = memchr::memchr(b'{', &line[at..]) {
        let start = at + found;
        at = start + 1;
        // Asked again only behind the next record, so that no stretch is looked at twice.
        after_record = after_record && is_blank(&line[rest..start]);
        if doomed.contains(start) {
            continue;
        }
        let mut scanner = Scanner::tracking(line, start);
        match Envelope::scan(line, &mut scanner) {
            Ok(envelope) if after_record || is_record(&envelope) => {
                let end = scanner.pos();
                push_rest(&mut parts, line, rest..start, first.reason);
                let recovered = begin < start;
                parts.push(Part::Record { envelope, recovered });
                (rest, at, after_record) = (end, end, true);
            }
            // A complete object is stepped over, whatever it is; a torn one holds further candidates.
            _ if scanner.open_objects().is_empty() && scanner.pos() > start => at = scanner.pos(),
            _ => scanner.open_objects().iter().filter(|&&open| open > start).for_each(|&open| doomed.add(open, line)),
        }
    }
    push_rest(&mut parts, line, rest..line.len(), first.reason);
    // Without any record the line is kept as it is, white space at its ends included.
    if let [Part::Rest { span, .. }] = &mut parts[..] {
        *span = 0..line.len();
    }
    parts
}

/// Places of a line, a bit a byte: a line may consist of nothing else.
#[derive(Default)]
struct Places(Vec<u64>);

impl Places {
    fn add(&mut self, place: usize, line: &[u8]) {
        if self.0.is_empty() {
            self.0 = vec![0; line.len().div_ceil(64)];
        }
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn contains(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

fn is_record(envelope: &Envelope<'_>) -> bool {
    envelope.has_parent || envelope.timestamp.is_some() || !matches!(envelope.record, RecordType::Entry(_))
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| is_blank_byte(byte))
}

fn is_blank_byte(byte: u8) -> bool {
    byte == 0 || byte.is_ascii_whitespace()
}

fn push_rest<'a>(parts: &mut Vec<Part<'a>>, line: &[u8], span: Range<usize>, reason: &'static str) {
    let rest = &line[span.clone()];
    let start = span.start + rest.len() - rest.trim_ascii_start().len();
    let span = start..start + rest.trim_ascii().len();
    if !span.is_empty() {
        let reason = if is_blank(&line[span.clone()]) { NUL_BYTES } else { reason };
        parts.push(Part::Rest { span, reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(line: &str) -> Vec<String> {
        let fault = Envelope::of_line(line.as_bytes()).err().unwrap_or(Malformed { offset: 0, reason: "none" });
        let show = |part| match part {
            Part::Record { envelope, recovered } => {
                format!("{}{}", if recovered { "+" } else { "=" }, &line[envelope.span])
            }
            Part::Rest { span, .. } => format!("-{}", &line[span]),
        };
        take_apart(line.as_bytes(), fault).into_iter().map(show).collect()
    }

    const RECORD: &str =
        r#"{"type":"message","id":"c","parentId":"b","message":{"content":[{"type":"text","text":"{"}]}}"#;

    #[test]
    fn a_record_behind_a_torn_one_is_recovered_wherever_the_tear_is() {
        let whole = r#"{"type":"message","id":"x","parentId":"\u0062","n":-1.5e3,"message":{"role":"a{\"}","content":[{"type":"text","text":"t\n"},true]}}"#;
        for tear in 1..whole.len() {
            let torn = &whole[..tear];
            let parts = apart(&format!("{torn}{RECORD}"));
            assert_eq!(parts, [format!("-{torn}"), format!("+{RECORD}")], "torn at {tear}");
        }
    }

    #[test]
    fn whole_records_on_one_line_are_all_found() {
        let bare = r#"{"type":"marker"}"#;
        assert_eq!(
            apart(&format!("{bare}{RECORD} {bare}")),
            [format!("={bare}"), format!("+{RECORD}"), format!("+{bare}")]
        );
        assert_eq!(apart(&format!("{bare}junk{bare}")), [format!("={bare}"), format!("-junk{bare}")]);
        assert_eq!(apart(&format!("\0\0{RECORD}")), ["-\0\0".to_owned(), format!("={RECORD}")]);
        assert_eq!(apart(" \0\0 \0\t"), ["- \0\0 \0\t"]);
        assert_eq!(apart("\tnot json \r"), ["-\tnot json \r"]);
    }

    #[test]
    fn a_content_block_of_a_torn_message_is_no_record() {
        let torn = r#"{"type":"message","id":"x","message":{"content":[{"type":"text","text":"a"},{"type":"te"#;
        assert_eq!(apart(torn), [format!("-{torn}")]);
    }

    #[test]
    fn deep_and_repeated_openings_cost_linear_time() {
        for unit in [r#"{"a":"#, r#"{"{":"#, "{", r#"{"a":{},"b":["#, r#"{"":""}"#, r#"["{"#, r#"{"type":""}"#, "{ "] {
            for before in ["", " "] {
                let line = before.repeat(400_000) + &unit.repeat(400_000);
                assert!(!take_apart(line.as_bytes(), Malformed { offset: 0, reason: "none" }).is_empty());
            }
        }
    }
}
