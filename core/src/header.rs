//! The session header, and the title record that relatives of the agent put before it (SPEC section 2).

use crate::json::{self, ObjectEdit, Raw};

/// The version this library writes.
pub const CURRENT_SESSION_VERSION: u32 = 3;

/// Who chose a session's title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleSource {
    /// Made up by the agent; never replaces a user's title.
    Auto,
    /// Chosen by the user.
    User,
}

impl TitleSource {
    /// As it is written: `auto` or `user`.
    pub fn name(self) -> &'static str {
        match self {
            TitleSource::Auto => "auto",
            TitleSource::User => "user",
        }
    }

    /// From its written form.
    pub fn of(name: &str) -> Option<TitleSource> {
        match name {
            "auto" => Some(TitleSource::Auto),
            "user" => Some(TitleSource::User),
            _ => None,
        }
    }
}

/// How a version number is to be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Absent or below 2: entries have no ids.
    V1,
    V2,
    Current,
    /// Above 3, or something that is no version number: read only.
    Unsupported,
}

/// The first record of a session: the raw line and what it says.
#[derive(Clone, Debug)]
pub struct Header {
    line: Vec<u8>,
}

/// What a new header holds; absent fields are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewHeader<'a> {
    pub(crate) id: &'a str,
    pub(crate) timestamp: &'a str,
    pub(crate) cwd: &'a str,
    pub(crate) title: Option<&'a str>,
    pub(crate) title_source: Option<TitleSource>,
    pub(crate) parent_session: Option<&'a str>,
    /// A fork writes the title after the id, everything else after the cwd.
    pub(crate) title_after_id: bool,
}

impl Header {
    /// From the bytes of a record whose type is `session`; `None` without a string id.
    pub(crate) fn read(line: Vec<u8>) -> Option<Header> {
        let header = Header { line };
        header.raw().get("id").is_some_and(Raw::is_string).then_some(header)
    }

    pub(crate) fn new(new: &NewHeader<'_>) -> Header {
        let mut fields = Fields::new(br#"{"type":"session","version":3"#);
        fields.string("id", Some(new.id));
        let source = new.title_source.map(TitleSource::name);
        let title = |fields: &mut Fields| {
            fields.string("title", new.title);
            fields.string("titleSource", source.filter(|_| new.title.is_some()));
        };
        if new.title_after_id {
            title(&mut fields);
        }
        fields.string("timestamp", Some(new.timestamp));
        fields.string("cwd", Some(new.cwd));
        if !new.title_after_id {
            title(&mut fields);
        }
        fields.string("parentSession", new.parent_session);
        Header { line: fields.close() }
    }

    fn raw(&self) -> Raw<'_> {
        Raw::new(&self.line)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.raw().get(name).and_then(Raw::as_str).map(|text| text.into_owned())
    }

    /// The exact line, without its line end.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// The exact JSON.
    pub fn json(&self) -> &str {
        self.raw().text()
    }

    /// The session id.
    pub fn id(&self) -> String {
        self.text("id").unwrap_or_default()
    }

    /// When the session began, ISO 8601.
    pub fn timestamp(&self) -> Option<String> {
        self.text("timestamp")
    }

    /// The working directory the session belongs to.
    pub fn cwd(&self) -> Option<String> {
        self.text("cwd")
    }

    /// The title in the header itself; [`crate::Session::title`] also knows a title record.
    pub fn title(&self) -> Option<String> {
        self.text("title").filter(|title| !title.is_empty())
    }

    /// Who chose the title.
    pub fn title_source(&self) -> Option<TitleSource> {
        self.text("titleSource").and_then(|source| TitleSource::of(&source))
    }

    /// Opaque lineage: an id or a path.
    pub fn parent_session(&self) -> Option<String> {
        self.text("parentSession")
    }

    /// The version as it is spelled; `1` where it is absent.
    pub fn version_text(&self) -> String {
        self.raw().get("version").map_or("1".to_owned(), |version| version.text().to_owned())
    }

    pub(crate) fn version(&self) -> Version {
        let Some(version) = self.raw().get("version").filter(|version| !version.is_null()) else {
            return Version::V1;
        };
        let number = version.as_f64().or_else(|| version.as_str()?.trim().parse().ok());
        match number {
            Some(number) if number < 2.0 => Version::V1,
            Some(number) if number < 3.0 => Version::V2,
            Some(number) if number <= 3.0 => Version::Current,
            _ => Version::Unsupported,
        }
    }

    /// Sets members where they stand or at the end; `None` removes.
    pub(crate) fn edit(&mut self, changes: &[(&str, Option<&str>)]) {
        let mut edit = ObjectEdit::new(&self.line);
        for (name, value) in changes {
            edit.set_or_remove(name, value.map(json::quoted));
        }
        self.line = edit.apply();
    }

    pub(crate) fn set_current_version(&mut self) {
        let mut edit = ObjectEdit::new(&self.line);
        edit.set("version", CURRENT_SESSION_VERSION.to_string().into_bytes());
        self.line = edit.apply();
    }
}

/// A `{"type":"title",...}` record before the header.
#[derive(Clone, Debug)]
pub(crate) struct TitleRecord {
    line: Vec<u8>,
}

impl TitleRecord {
    pub(crate) fn new(line: Vec<u8>) -> TitleRecord {
        TitleRecord { line }
    }

    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    pub(crate) fn title(&self) -> Option<String> {
        let title = Raw::new(&self.line).get("title").and_then(Raw::as_str)?;
        (!title.is_empty()).then(|| title.into_owned())
    }

    pub(crate) fn source(&self) -> Option<TitleSource> {
        TitleSource::of(&Raw::new(&self.line).get("source").and_then(Raw::as_str)?)
    }

    /// Sets title and source. Relatives of the agent overwrite this record in place, so that its length stays what
    /// it was as far as the padding allows.
    pub(crate) fn set(&mut self, title: &str, source: TitleSource, now: &str) {
        let length = self.line.len();
        let mut edit = ObjectEdit::new(&self.line);
        edit.set("title", json::quoted(title));
        edit.set("source", json::quoted(source.name()));
        edit.set("updatedAt", json::quoted(now));
        self.line = edit.apply();
        let edit = ObjectEdit::new(&self.line);
        if let Some(span) = edit.value_span("pad") {
            let pad = (span.len() + length).saturating_sub(self.line.len() + 2);
            let mut edit = ObjectEdit::new(&self.line);
            edit.set("pad", json::quoted(&" ".repeat(pad)));
            self.line = edit.apply();
        }
    }
}

/// Builds the text of an object, members in the order they are given.
pub(crate) struct Fields(Vec<u8>);

impl Fields {
    /// `start` is the object up to and without its next comma, at least one member; empty for members alone, each with
    /// a comma before it.
    pub(crate) fn new(start: &[u8]) -> Fields {
        Fields(start.to_vec())
    }

    fn name(&mut self, name: &str) {
        self.0.push(b',');
        json::encode(name, &mut self.0);
        self.0.push(b':');
    }

    pub(crate) fn string(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.name(name);
            json::encode(value, &mut self.0);
        }
    }

    /// A string, or null where there is none.
    pub(crate) fn nullable(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.string(name, Some(value)),
            None => self.raw(name, Some(b"null")),
        }
    }

    pub(crate) fn raw(&mut self, name: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.name(name);
            self.0.extend_from_slice(value);
        }
    }

    /// A member exactly as it is spelled elsewhere.
    pub(crate) fn spelled(&mut self, key: &[u8], value: &[u8]) {
        self.0.push(b',');
        self.0.extend_from_slice(key);
        self.0.push(b':');
        self.0.extend_from_slice(value);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Header {
        Header::read(line.into()).unwrap()
    }

    #[test]
    fn versions_are_told_apart() {
        for (version, expected) in [
            ("", Version::V1),
            (r#","version":null"#, Version::V1),
            (r#","version":1"#, Version::V1),
            (r#","version":2"#, Version::V2),
            (r#","version":3.0"#, Version::Current),
            (r#","version":"3""#, Version::Current),
            (r#","version":4"#, Version::Unsupported),
            (r#","version":{}"#, Version::Unsupported),
            (r#","version":2,"version":3"#, Version::Current),
        ] {
            assert_eq!(read(&format!(r#"{{"type":"session","id":"x"{version}}}"#)).version(), expected, "{version}");
        }
        assert!(Header::read(br#"{"type":"session","id":5}"#.to_vec()).is_none());
    }

    #[test]
    fn a_title_record_keeps_its_length() {
        let line = r#"{"type":"title","v":1,"title":"","updatedAt":"2025-11-20T23:33:50.805Z","pad":"                                        "}"#;
        let mut record = TitleRecord::new(line.into());
        record.set("caf\u{e9} \"x\"", TitleSource::User, "2026-01-01T00:00:00.000Z");
        assert_eq!(record.line().len(), line.len());
        assert_eq!((record.title().as_deref(), record.source()), (Some("caf\u{e9} \"x\""), Some(TitleSource::User)));
        record.set(&"long ".repeat(40), TitleSource::Auto, "2026-01-01T00:00:00.000Z");
        assert!(record.line().ends_with(br#""pad":"","source":"auto"}"#) || record.line().len() > line.len());
    }
}
