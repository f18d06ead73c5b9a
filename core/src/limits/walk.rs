//! Every string of a line, with what its place makes of it: the one pass that writing and reading share.

use crate::json::{Event, Key, Malformed, Span, Walker, decode};
use std::borrow::Cow;

/// What a string is, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Any text.
    Text,
    /// Under a signature key: worthless when it is not whole.
    Signature,
    /// Under the key `image_url`.
    ImageUrl,
    /// `data` of an image block in a `content` array.
    Image,
}

/// What is done at the places.
pub(super) trait Visitor {
    /// Whether transient members are handed to `remove`, and what is in them to nobody else.
    const REMOVES: bool;

    /// A string token. Says whether this changes it for good.
    fn string(&mut self, place: Place, token: Span) -> bool;

    /// A stretch with transient members and the comma that goes with them.
    fn remove(&mut self, _members: Span) {}

    /// In an object of which something was changed or removed, at any depth: a string `content` and a number
    /// `lineCount` that count.
    fn line_count(&mut self, _content: Span, _count: Span) {}
}

/// The key that a value stands under.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Other,
    /// `type`; of the line itself a part of the envelope.
    Type,
    /// The rest of the envelope.
    Envelope,
    Content,
    Data,
    ImageUrl,
    LineCount,
    Signature,
    Transient,
}

impl Name {
    fn of(key: &Key<'_>) -> Name {
        match &*key.name() {
            "type" => Name::Type,
            "id" | "parentId" | "timestamp" => Name::Envelope,
            "content" => Name::Content,
            "data" => Name::Data,
            "image_url" => Name::ImageUrl,
            "lineCount" => Name::LineCount,
            "thinkingSignature" | "thoughtSignature" | "textSignature" => Name::Signature,
            "partialJson" | "jsonlEvents" => Name::Transient,
            _ => Name::Other,
        }
    }
}

/// An open object or array. Of duplicate keys the last one counts, so what counts is known only at the end.
#[derive(Default)]
struct Frame {
    object: bool,
    /// The key of the value that comes next; in an array what its items stand under.
    name: Option<Name>,
    /// An object that is an item of a `content` array.
    block: bool,
    changed: bool,
    image: bool,
    data: Option<Span>,
    content: Option<Span>,
    line_count: Option<Span>,
    /// Where the last member that stays ends.
    kept_end: Option<usize>,
    /// Members to remove, none that stays between them.
    removing: Option<Span>,
}

impl Frame {
    fn name(&self) -> Name {
        self.name.unwrap_or(Name::Other)
    }
}

struct Walk<'a, 'v, V> {
    text: &'a [u8],
    frames: Vec<Frame>,
    /// `type` of the line itself.
    kind: Option<Span>,
    visitor: &'v mut V,
}

/// Shows all of `text` to the visitor and returns the string `type` of the line itself (empty where there is none).
/// `None`: the text is not one JSON object, and what the visitor saw means nothing.
pub(super) fn walk<'a, V: Visitor>(text: &'a [u8], visitor: &mut V) -> Option<Cow<'a, str>> {
    if text.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let mut walk = Walk { text, frames: Vec::new(), kind: None, visitor };
    walk.run().ok()?;
    Some(walk.kind.map_or(Cow::Borrowed(""), |token| decode(&text[token])))
}

impl<V: Visitor> Walk<'_, '_, V> {
    fn run(&mut self) -> Result<(), Malformed> {
        let mut walker = Walker::new(self.text);
        while let Some(event) = walker.step()? {
            match event {
                Event::Open { object } => self.open(object),
                Event::Key(key) => {
                    if self.key(&key) {
                        let value = walker.skip_value()?;
                        self.removed(key.span().start..value.end);
                    }
                }
                Event::Scalar(token) => self.scalar(token),
                Event::Close { end } => self.close(end),
            }
        }
        Ok(())
    }

    fn open(&mut self, object: bool) {
        self.note(None, None);
        let (name, in_object) = self.frames.last().map_or((Name::Other, false), |frame| (frame.name(), frame.object));
        // Only a signature is one at any depth of arrays.
        let inherited = (in_object || name == Name::Signature).then_some(name);
        self.frames.push(Frame {
            object,
            name: if object { None } else { inherited },
            block: object && !in_object && name == Name::Content,
            ..Frame::default()
        });
    }

    /// Whether the member is to be removed.
    fn key(&mut self, key: &Key<'_>) -> bool {
        let name = Name::of(key);
        let Some(frame) = self.frames.last_mut() else { return false };
        if V::REMOVES && name == Name::Transient {
            return true;
        }
        frame.name = Some(name);
        // A run in front of a member that stays goes with the comma behind the run.
        if let Some(run) = frame.removing.take() {
            self.visitor.remove(run.start..key.span().start);
        }
        false
    }

    fn removed(&mut self, member: Span) {
        if let Some(frame) = self.frames.last_mut() {
            frame.changed = true;
            frame.removing = Some(frame.removing.as_ref().map_or(member.start, |run| run.start)..member.end);
        }
    }

    fn scalar(&mut self, token: Span) {
        let first = self.text[token.start];
        let string = (first == b'"').then(|| token.clone());
        let number = matches!(first, b'-' | b'0'..=b'9').then(|| token.clone());
        self.note(string.clone(), number);
        let top = self.frames.len() == 1;
        let Some(frame) = self.frames.last_mut() else { return };
        frame.kept_end = Some(token.end);
        let Some(token) = string else { return };
        let place = match frame.name() {
            Name::Type | Name::Envelope if top => return,
            Name::Data if frame.block => return,
            Name::Signature => Place::Signature,
            Name::ImageUrl if frame.object => Place::ImageUrl,
            _ => Place::Text,
        };
        frame.changed |= self.visitor.string(place, token);
    }

    /// Keeps what a member's value may be needed for at the end of its object.
    fn note(&mut self, string: Option<Span>, number: Option<Span>) {
        let top = self.frames.len() == 1;
        let Some(frame) = self.frames.last_mut().filter(|frame| frame.object) else { return };
        match frame.name() {
            Name::Content => frame.content = string,
            Name::LineCount => frame.line_count = number,
            Name::Type => {
                frame.image = string.as_ref().is_some_and(|token| decode(&self.text[token.clone()]) == "image");
                if top {
                    self.kind = string;
                }
            }
            Name::Data if frame.block => {
                if let Some(superseded) = std::mem::replace(&mut frame.data, string) {
                    frame.changed |= self.visitor.string(Place::Text, superseded);
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, end: usize) {
        let Some(mut frame) = self.frames.pop() else { return };
        if let Some(run) = frame.removing {
            // A run at the end goes with the comma in front of it.
            self.visitor.remove(frame.kept_end.unwrap_or(run.start)..run.end);
        }
        if let Some(data) = frame.data {
            let place = if frame.image { Place::Image } else { Place::Text };
            frame.changed |= self.visitor.string(place, data);
        }
        if let (true, Some(content), Some(count)) = (frame.changed, frame.content, frame.line_count) {
            self.visitor.line_count(content, count);
        }
        if let Some(outer) = self.frames.last_mut() {
            outer.changed |= frame.changed;
            outer.kept_end = Some(end);
        }
    }
}
