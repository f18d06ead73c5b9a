//! Sessions as lists of JSON texts, the header first: what the agent's own functions take and give.

use crate::content::{Content, Loaded};
use crate::context::{self, ContextPlan, Leaf, ModelResolution};
use crate::error::{Error, Result};
use crate::header::{Header, NewHeader};
use crate::json;
use crate::load::{self, What};
use crate::session;
use crate::storage::{FileSessionStorage, SessionStorage};
use std::path::Path;

/// Header and entries of a session file, each exactly as it is in the file, not migrated. Empty where the file is
/// missing or its first record is no session header. Errors: any other failure to read (SPEC section 4).
pub fn load_entries_from_file(path: impl AsRef<Path>) -> Result<Vec<String>> {
    load_entries_from(&FileSessionStorage::new(), path.as_ref())
}

/// [`load_entries_from_file`] from any storage.
pub fn load_entries_from(storage: &dyn SessionStorage, path: &Path) -> Result<Vec<String>> {
    match storage.read_text(path) {
        Ok(text) => Ok(parse_session_entries(&text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::io_at("read", path)(error)),
    }
}

/// Header and entries of a session's text, each exactly as it is; empty where the first record is no session header.
pub fn parse_session_entries(text: &[u8]) -> Vec<String> {
    let batch = load::scan_text(text);
    let mut records = Vec::new();
    for found in &batch.found {
        let (start, len) = (found.offset as usize, found.len as usize);
        let record = || json::utf8(&text[start..start + len]).into_owned();
        match &found.what {
            What::Session(line) if records.is_empty() => match Header::read(line.clone()) {
                Some(_) => records.push(record()),
                None => return Vec::new(),
            },
            What::Title(..) if records.is_empty() => {}
            What::Malformed(_) | What::Session(_) => {}
            What::Entry(_) | What::Title(..) if records.is_empty() => return Vec::new(),
            What::Entry(_) | What::Title(..) => records.push(record()),
        }
    }
    records
}

/// The records of a session, header first, as the current version has them; `None` where they are that already, or
/// are no session.
pub fn migrate_session_entries(records: &[impl AsRef<str>]) -> Result<Option<Vec<String>>> {
    let Loaded::Session(content) = Content::load_text(Path::new(""), join(records)) else { return Ok(None) };
    if !content.is_migrating() {
        return Ok(None);
    }
    let mut migrated = vec![content.header.json().to_owned()];
    let mut lines = content.lines(256 << 10);
    for entry in content.index.entries() {
        migrated.push(json::utf8(&lines.get(entry)?).into_owned());
    }
    Ok(Some(migrated))
}

/// The JSON of the context that a list of entries (without header) gives for a leaf (SPEC section 7).
pub fn build_session_context(
    entries: &[impl AsRef<str>],
    leaf: Leaf<'_>,
    resolution: ModelResolution,
) -> Result<String> {
    let content = content_of(entries)?;
    let plan = context::plan(&content, leaf, resolution)?;
    Ok(session::context_json(&plan, &session::messages(&content, &plan.messages, None)?))
}

/// The plan of [`build_session_context`], for a caller that holds the messages itself: of the entries only what
/// decides about the context has to be there (the base, a message's role, provider and model, and the other types
/// without their long texts). Entry numbers are places in the list, in which every text must be an object with a
/// `type` that is neither `session` nor `title`.
pub fn plan_session_context(
    entries: &[impl AsRef<str>],
    leaf: Leaf<'_>,
    resolution: ModelResolution,
) -> Result<ContextPlan> {
    context::plan(&content_of(entries)?, leaf, resolution)
}

fn content_of(entries: &[impl AsRef<str>]) -> Result<Content> {
    let mut text = Header::new(&NewHeader::default()).line().to_vec();
    text.push(b'\n');
    text.extend(join(entries));
    match Content::load_text(Path::new(""), text) {
        Loaded::Session(content) => Ok(*content),
        _ => Err(Error::InvalidArgument("the entries are not JSON objects".to_owned())),
    }
}

/// The text of a file with a record a line.
fn join(records: &[impl AsRef<str>]) -> Vec<u8> {
    let mut text = Vec::new();
    for record in records {
        let start = text.len();
        text.extend_from_slice(record.as_ref().as_bytes());
        json::put_on_one_line(&mut text[start..]);
        text.push(b'\n');
    }
    text
}
