//! The read-only snapshot of a session file: never writes, takes no lock, leaves no trace.

use crate::blob::{BlobRef, BlobStore};
use crate::content::{Content, Loaded};
use crate::context::{self, ContextPlan, Leaf, ModelResolution, PlannedMessage};
use crate::diagnostics::{self, BlobState, Diagnostics};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::header::{Header, Version};
use crate::index::{EntryNo, NO_TIME};
use crate::json::{self, Raw};
use crate::limits;
use crate::record::EntryKind;
use crate::storage::{FileSessionStorage, SessionStorage};
use crate::tree::Tree;
use crate::usage::Usage;
use std::path::Path;
use std::sync::Arc;

/// How much is read ahead where lines follow each other in the file.
const AHEAD: usize = 256 << 10;

/// How a session is read.
#[derive(Clone, Default)]
pub struct ReadOptions {
    /// Who decides `models.default` of a context.
    pub model_resolution: ModelResolution,
    /// Where blob references in messages are resolved; without it they stay references.
    pub blobs: Option<Arc<BlobStore>>,
}

/// A session file as it was when it was read. Reading changes nothing: no migration is written, no lock taken, no
/// time changed; a session that others write to shows what was complete. Sessions of older versions read as if they
/// had been migrated.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("s.jsonl");
/// # std::fs::write(&path, concat!(r#"{"type":"session","version":3,"id":"1f9d2a6b9c0d1234"}"#, "\n",
/// #     r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi"}}"#, "\n"))?;
/// use xcsh_session::{EntryData, Leaf, Session};
/// let session = Session::read(&path)?;
/// for entry in session.entries() {
///     if let EntryData::Message { role, message } = entry?.data() {
///         println!("{role}: {}", message.text());
///     }
/// }
/// let context = session.context(Leaf::Id(&session.leaf_id().unwrap()))?;
/// println!("{} messages, model {:?}", context.messages.len(), context.models);
/// # Ok(()) }
/// ```
pub struct Session {
    pub(crate) content: Content,
    pub(crate) leaf: Option<EntryNo>,
    pub(crate) options: ReadOptions,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Session { content, .. } = self;
        f.debug_struct("Session").field("path", &content.path).field("entries", &content.index.len()).finish()
    }
}

impl Session {
    /// Reads a session file. Errors: `NotFound`, `Io`, `NotASession` where the first record is no session header.
    pub fn read(path: impl AsRef<Path>) -> Result<Session> {
        Session::read_from(&FileSessionStorage::new(), path.as_ref(), ReadOptions::default())
    }

    /// Reads a session from any storage.
    pub fn read_from(storage: &dyn SessionStorage, path: &Path, options: ReadOptions) -> Result<Session> {
        let reader = storage.open_reader(path).map_err(Error::io_at("open", path))?;
        let len = reader.stat().map_err(Error::io_at("open", path))?.len;
        Session::of(Content::load(path, reader, len)?, path, options)
    }

    /// Reads a session from its text; `path` stands in errors.
    pub fn parse(text: impl Into<Vec<u8>>, path: impl AsRef<Path>, options: ReadOptions) -> Result<Session> {
        let path = path.as_ref();
        Session::of(Content::load_text(path, text.into()), path, options)
    }

    pub(crate) fn of(loaded: Loaded, path: &Path, options: ReadOptions) -> Result<Session> {
        let refuse = |line: u32, reason| Error::NotASession { path: path.to_owned(), line: line.into(), reason };
        match loaded {
            Loaded::Session(content) => Ok(Session::of_content(*content, options)),
            Loaded::Blank => Err(refuse(1, "the file is empty".to_owned())),
            Loaded::NotASession { line, reason } => Err(refuse(line, reason)),
        }
    }

    /// Of content that is already in memory; the leaf is the last entry with an id.
    pub(crate) fn of_content(content: Content, options: ReadOptions) -> Session {
        let leaf = content.index.last_with_id();
        Session { content, leaf, options }
    }

    /// The file that was read.
    pub fn path(&self) -> &Path {
        &self.content.path
    }

    /// The header, as the current version has it.
    pub fn header(&self) -> &Header {
        &self.content.header
    }

    /// The title: of a title record before the header, else the header's.
    pub fn title(&self) -> Option<String> {
        self.content.title()
    }

    /// Whether the file is of an older version than what is shown.
    pub fn is_migrated(&self) -> bool {
        self.content.is_migrating()
    }

    /// The version in the file, as its header spells it: `1` where it names none. [`Session::header`] has the version
    /// that is shown.
    pub fn file_version(&self) -> String {
        match self.content.file_version {
            Version::V1 => "1".to_owned(),
            Version::V2 => "2".to_owned(),
            Version::Current | Version::Unsupported => self.header().version_text(),
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.content.index.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries in file order. Errors: `Io`, and `Vanished` where another program cut the file short.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry>> {
        self.entries_from(0)
    }

    /// The entries from a number on, as [`Session::entries`] gives them; none where it is beyond the last.
    pub fn entries_from(&self, number: u32) -> impl Iterator<Item = Result<Entry>> {
        let mut lines = self.content.lines(AHEAD);
        let all = self.content.index.entries();
        (number.min(all.end)..all.end).map(move |entry| Ok(Entry::new(lines.get(entry)?.into_owned(), entry)))
    }

    /// The lines of the entries from a number on, each as [`Session::resolved_line`] gives it.
    pub fn resolved_lines_from(&self, number: u32) -> impl Iterator<Item = Result<String>> {
        self.entries_from(number).map(|entry| Ok(self.resolved(entry?)))
    }

    /// The lines of entries by their numbers, each as [`Session::resolved_line`] gives it. Lines that stand close together
    /// in the file are read together. Error: `EntryNotFound` for a number that no entry has.
    pub fn resolved_lines_of(&self, numbers: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Result<String>> {
        let mut lines = self.content.lines(AHEAD);
        numbers.into_iter().map(move |number| {
            if number as usize >= self.len() {
                return Err(Error::EntryNotFound { id: format!("number {number}") });
            }
            Ok(self.resolved(Entry::new(lines.get(number)?.into_owned(), number)))
        })
    }

    /// The entry of this number, counted from 0 in file order.
    pub fn entry_at(&self, number: u32) -> Result<Option<Entry>> {
        let known = (number as usize) < self.len();
        known.then(|| Ok(Entry::new(self.content.line(number)?, number))).transpose()
    }

    /// The entry that an id finds: of several the last in the file.
    pub fn entry(&self, id: &str) -> Result<Option<Entry>> {
        self.content.index.by_id(id).map_or(Ok(None), |number| self.entry_at(number))
    }

    /// The line of an entry as the agent sees it: blob references resolved, where the session was read with a blob
    /// store and the blobs are there (SPEC section 9).
    pub fn resolved_line(&self, number: u32) -> Result<Option<String>> {
        Ok(self.entry_at(number)?.map(|entry| self.resolved(entry)))
    }

    fn resolved(&self, entry: Entry) -> String {
        let blobs = self.options.blobs.as_deref();
        let line = entry.line().as_bytes();
        let resolved = blobs.and_then(|blobs| limits::resolve_blobs(line, &mut |hash| get(blobs, hash)));
        match resolved {
            Some(line) => Entry::new(line, entry.number()).into_line(),
            None => entry.into_line(),
        }
    }

    /// The number of the entry that an id finds.
    pub fn number_of(&self, id: &str) -> Option<u32> {
        self.content.index.by_id(id)
    }

    /// The id of an entry, by number.
    pub fn id_of(&self, number: u32) -> Option<&str> {
        self.content.index.entries().contains(&number).then(|| self.content.index.id(number))?
    }

    /// The id that an entry names as its parent, by number.
    pub fn parent_id_of(&self, number: u32) -> Option<&str> {
        self.content.index.entries().contains(&number).then(|| self.content.index.parent_id(number))?
    }

    /// An entry's timestamp in milliseconds since 1970, by number; `None` where it is no time.
    pub fn time_of(&self, number: u32) -> Option<i64> {
        let known = self.content.index.entries().contains(&number);
        known.then(|| self.content.index.slot(number).time).filter(|&time| time != NO_TIME)
    }

    /// The type of an entry, by number, without reading the entry.
    pub fn kind_of(&self, number: u32) -> Option<EntryKind> {
        self.content.index.entries().contains(&number).then(|| self.content.index.slot(number).kind)
    }

    /// The leaf: the last entry in the file that has an id.
    pub fn leaf_id(&self) -> Option<String> {
        self.leaf.and_then(|leaf| self.content.index.id(leaf)).map(str::to_owned)
    }

    /// Numbers of the entries from the root to `from`, or to the leaf. Error: `EntryNotFound`.
    pub fn branch(&self, from: Option<&str>) -> Result<Vec<u32>> {
        let from = match from {
            Some(id) => Some(self.number_of(id).ok_or_else(|| Error::EntryNotFound { id: id.to_owned() })?),
            None => self.leaf,
        };
        let mut path = from.map(|from| self.content.index.path(from)).unwrap_or_default();
        path.reverse();
        Ok(path)
    }

    /// Numbers of the entries whose parentId is this id, in file order.
    pub fn children(&self, id: &str) -> Vec<u32> {
        self.content.index.children(id).collect()
    }

    /// The role of the last model_change on the way from the leaf to its root: `default` where it names none.
    pub fn last_model_change_role(&self) -> Result<Option<String>> {
        let path = self.branch(None)?;
        let kind = |entry: &&u32| self.content.index.slot(**entry).kind == EntryKind::ModelChange;
        let Some(&entry) = path.iter().rev().find(kind) else { return Ok(None) };
        let line = self.content.line(entry)?;
        let role = Raw::new(&line).get("role").and_then(Raw::as_str);
        Ok(Some(role.map_or("default".to_owned(), |role| role.into_owned())))
    }

    /// The rules of the ttsr_injection entries from the root to the leaf, without repeats.
    pub fn injected_ttsr_rules(&self) -> Result<Vec<String>> {
        context::ttsr_rules(&self.content, &self.branch(None)?)
    }

    /// The tree of all entries.
    pub fn tree(&self) -> Tree {
        Tree::of(&self.content.index)
    }

    /// The label of an entry.
    pub fn label(&self, id: &str) -> Option<&str> {
        self.content.index.label(id)
    }

    /// Ids of labelled entries and their labels.
    pub fn labels(&self) -> Vec<(&str, &str)> {
        self.content.index.labels()
    }

    /// Token and cost sums over all entries.
    pub fn usage(&self) -> Usage {
        self.content.usage
    }

    /// The plan of the context for a leaf (SPEC section 7).
    pub fn context(&self, leaf: Leaf<'_>) -> Result<ContextPlan> {
        context::plan(&self.content, leaf, self.options.model_resolution)
    }

    /// The plan with another rule for `models.default` than the session was read with.
    pub fn context_with(&self, leaf: Leaf<'_>, resolution: ModelResolution) -> Result<ContextPlan> {
        context::plan(&self.content, leaf, resolution)
    }

    /// The JSON of each message of a plan, exact, with blob references resolved where there is a blob store.
    pub fn messages(&self, plan: &ContextPlan) -> Result<Vec<String>> {
        messages(&self.content, &plan.messages, self.options.blobs.as_deref())
    }

    /// The JSON of a whole context.
    pub fn context_json(&self, plan: &ContextPlan) -> Result<String> {
        Ok(context_json(plan, &self.messages(plan)?))
    }

    /// What is not as it should be. Blobs are looked at only where the session was read with a blob store.
    pub fn diagnostics(&self) -> Result<Diagnostics> {
        let blobs = self.options.blobs.as_deref();
        let state = |hash: &str| match blobs.zip(BlobRef::from_hex(hash)).map(|(blobs, blob)| blobs.get(&blob)) {
            Some(Ok(Some(_))) => BlobState::Good,
            Some(Err(_)) => BlobState::Damaged,
            Some(Ok(None)) | None => BlobState::Missing,
        };
        diagnostics::of(&self.content, blobs.is_some().then_some(&state as &dyn Fn(&str) -> BlobState))
    }
}

pub(crate) fn messages(
    content: &Content,
    messages: &[PlannedMessage],
    blobs: Option<&BlobStore>,
) -> Result<Vec<String>> {
    let mut out = Vec::with_capacity(messages.len());
    context::for_each_message(content, messages, |message| {
        let resolved = blobs.and_then(|blobs| limits::resolve_message_blobs(message, &mut |hash| get(blobs, hash)));
        let message = resolved.as_deref().unwrap_or(message);
        out.push(json::utf8(message).into_owned());
    })?;
    Ok(out)
}

/// A blob's bytes; `None` where it is missing or damaged, which leaves the reference in place.
fn get(blobs: &BlobStore, hash: &str) -> Option<Vec<u8>> {
    let blob = BlobRef::from_hex(hash)?;
    blobs.get(&blob).unwrap_or_else(|error| {
        log::warn!("{error}");
        None
    })
}

pub(crate) fn context_json(plan: &ContextPlan, messages: &[String]) -> String {
    let messages = format!("[{}]", messages.join(","));
    json::utf8(&plan.json(messages.as_bytes())).into_owned()
}
