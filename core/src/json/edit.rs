//! Splicing: changes to a JSON text at the places that must change, everything else byte for byte.

use super::raw::{Member, Raw};
use super::scan::Span;
use super::text;

/// Replacements in one text, applied together.
#[derive(Default)]
pub(crate) struct Edits(Vec<(Span, Vec<u8>)>);

impl Edits {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces a stretch; stretches of one set must not overlap.
    pub(crate) fn replace(&mut self, span: Span, with: impl Into<Vec<u8>>) {
        self.0.push((span, with.into()));
    }

    /// The text with all replacements made. Insertions at one place keep the order they were asked for in.
    pub(crate) fn apply(mut self, text: &[u8]) -> Vec<u8> {
        self.0.sort_by_key(|(span, _)| (span.start, span.end));
        let grown: usize = self.0.iter().map(|(_, with)| with.len()).sum();
        let mut out = Vec::with_capacity(text.len() + grown);
        let mut done = 0;
        for (span, with) in self.0 {
            debug_assert!(span.start >= done, "edits overlap");
            out.extend_from_slice(&text[done..span.start]);
            out.extend_from_slice(&with);
            done = span.end;
        }
        out.extend_from_slice(&text[done..]);
        out
    }
}

/// Changes to the members of one object.
pub(crate) struct ObjectEdit<'a> {
    text: &'a [u8],
    /// Where the object begins in `text`.
    start: usize,
    object: Raw<'a>,
    members: Vec<Member<'a>>,
    removed: Vec<bool>,
    added: Vec<(String, Vec<u8>)>,
    edits: Edits,
}

impl<'a> ObjectEdit<'a> {
    /// Of the object that the text consists of, white space around it left as it is.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let start = text.len() - text.trim_ascii_start().len();
        ObjectEdit::at(text, start..start + text.trim_ascii().len())
    }

    /// Of the object that stands at `span` of the text.
    pub(crate) fn at(text: &'a [u8], span: Span) -> Self {
        let object = Raw::new(&text[span.clone()]);
        let members: Vec<_> = object.members().collect();
        let removed = vec![false; members.len()];
        ObjectEdit { text, start: span.start, object, members, removed, added: Vec::new(), edits: Edits::default() }
    }

    /// The place in the whole text of the value that counts for `name`.
    pub(crate) fn value_span(&self, name: &str) -> Option<Span> {
        let member = self.members.iter().rfind(|member| member.key.is(name))?;
        Some(self.start + member.value_span.start..self.start + member.value_span.end)
    }

    /// Sets a member: the value that counts is replaced where it stands, an absent one goes to the end.
    pub(crate) fn set(&mut self, name: &str, value: Vec<u8>) {
        match self.value_span(name) {
            Some(span) => self.edits.replace(span, value),
            None => self.added.push((name.to_owned(), value)),
        }
    }

    /// Sets or removes a member.
    pub(crate) fn set_or_remove(&mut self, name: &str, value: Option<Vec<u8>>) {
        match value {
            Some(value) => self.set(name, value),
            None => self.remove(name),
        }
    }

    /// Removes every member of this name.
    pub(crate) fn remove(&mut self, name: &str) {
        for (member, removed) in self.members.iter().zip(&mut self.removed) {
            *removed |= member.key.is(name);
        }
    }

    /// The whole text with the changes made.
    pub(crate) fn apply(self) -> Vec<u8> {
        let (text, edits) = (self.text, self.into_edits());
        edits.apply(text)
    }

    /// The changes as edits of the whole text. A member that is removed must not also have been set.
    pub(crate) fn into_edits(mut self) -> Edits {
        let at = |offset: usize| self.start + offset;
        let mut kept_end = None;
        let mut i = 0;
        while i < self.members.len() {
            if !self.removed[i] {
                kept_end = Some(self.members[i].value_span.end);
                i += 1;
                continue;
            }
            let first = self.members[i].key.span().start;
            let run = self.removed[i..].iter().take_while(|&&removed| removed).count();
            let last = self.members[i + run - 1].value_span.end;
            // A run before a kept member goes with the comma behind it, a run at the end with the one before it.
            let span = match (self.members.get(i + run), kept_end) {
                (Some(next), _) => first..next.key.span().start,
                (None, Some(kept)) => kept..last,
                (None, None) => first..last,
            };
            self.edits.replace(at(span.start)..at(span.end), *b"");
            i += run;
        }
        if !self.added.is_empty() {
            let mut tail = Vec::new();
            for (name, value) in &self.added {
                if kept_end.is_some() || !tail.is_empty() {
                    tail.push(b',');
                }
                text::encode(name, &mut tail);
                tail.push(b':');
                tail.extend_from_slice(value);
            }
            let brace = at(self.object.bytes().len() - 1);
            self.edits.replace(brace..brace, tail);
        }
        self.edits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, change: impl FnOnce(&mut ObjectEdit<'_>)) -> String {
        let mut edit = ObjectEdit::new(text.as_bytes());
        change(&mut edit);
        String::from_utf8(edit.apply()).unwrap()
    }

    #[test]
    fn a_member_is_set_where_it_stands_or_at_the_end() {
        assert_eq!(edited(r#" {"a" : 1 , "b":2}	"#, |e| e.set("a", b"9".into())), r#" {"a" : 9 , "b":2}	"#);
        assert_eq!(edited(r#"{"a":1,"a":2}"#, |e| e.set("a", b"9".into())), r#"{"a":1,"a":9}"#);
        assert_eq!(edited(r#"{"a":1 }"#, |e| e.set("b", b"9".into())), r#"{"a":1 ,"b":9}"#);
        assert_eq!(
            edited(r#"{}"#, |e| {
                e.set("b", b"9".into());
                e.set("c", b"[]".into())
            }),
            r#"{"b":9,"c":[]}"#
        );
    }

    #[test]
    fn removing_takes_the_right_comma() {
        let remove = |text: &str, names: &[&str]| edited(text, |e| names.iter().for_each(|name| e.remove(name)));
        assert_eq!(remove(r#"{"a":1, "b":2,"c":3}"#, &["a"]), r#"{"b":2,"c":3}"#);
        assert_eq!(remove(r#"{"a":1,"b":2 ,"c":3 }"#, &["c"]), r#"{"a":1,"b":2 }"#);
        assert_eq!(remove(r#"{"a":1,"b":2,"c":3}"#, &["b", "c"]), r#"{"a":1}"#);
        assert_eq!(remove(r#"{"a":1,"b":2,"c":3}"#, &["a", "c"]), r#"{"b":2}"#);
        assert_eq!(remove(r#"{ "a":1,"a":2 }"#, &["a"]), r#"{  }"#);
        assert_eq!(
            edited(r#"{"a":1}"#, |e| {
                e.remove("a");
                e.set("b", b"2".into())
            }),
            r#"{"b":2}"#
        );
        assert_eq!(
            edited(r#"{"x":0,"a":1}"#, |e| {
                e.remove("a");
                e.set("b", b"2".into())
            }),
            r#"{"x":0,"b":2}"#
        );
    }
}
