//! What the beginning of a session file says: header, title, first prompt.

use std::path::Path;

use super::cut::CutLine;
use crate::content::{Content, Loaded};
use crate::header::Header;
use crate::json::Raw;
use crate::read_at::fill;
use crate::record::{EntryKind, Role};
use crate::storage::SessionStorage;
use crate::{Error, Result};

/// Bytes that are read at first; almost always they are enough.
const PREFIX: usize = 4096;

/// How far a prompt is looked for.
const PROMPT_BOUND: usize = 256 << 10;

/// How far the end of the first line is looked for.
const HEADER_BOUND: usize = 16 << 20;

/// How much of a file is of interest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    Header,
    Prompt,
}

pub(super) struct Head {
    pub(super) header: Header,
    /// Of a title record before the header, else the header's.
    pub(super) title: Option<String>,
    /// Text of the first user message that has any; only where it was wanted.
    pub(super) first_prompt: Option<String>,
}

impl Head {
    /// Errors: `NotFound`, `Io`, `NotASession`.
    pub(super) fn read(storage: &dyn SessionStorage, path: &Path, want: Want) -> Result<Head> {
        let reader = storage.open_reader(path).map_err(Error::io_at("open", path))?;
        let mut text = Vec::new();
        let mut bounds = [PREFIX, PROMPT_BOUND, HEADER_BOUND].into_iter().peekable();
        loop {
            let bound = bounds.next().unwrap_or(HEADER_BOUND);
            let have = text.len();
            text.resize(bound, 0);
            let filled = fill(&*reader, &mut text[have..], have as u64).map_err(Error::io_at("read", path))?;
            text.truncate(have + filled);
            let whole = text.len() < bound;
            let end = if whole { text.len() } else { memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1) };
            let (lines, cut) = text.split_at(end);
            let last = whole || bounds.peek().is_none() || (bound >= PROMPT_BOUND && !lines.is_empty());
            match Content::load_text(path, lines.to_vec()) {
                Loaded::Session(content) => {
                    let first_prompt = match want {
                        Want::Header => None,
                        Want::Prompt => first_prompt_of(&content)?,
                    };
                    if want == Want::Header || first_prompt.is_some() || last {
                        let first_prompt = first_prompt.or_else(|| CutLine::read(cut).prompt());
                        return Ok(Head { title: content.title(), header: content.header, first_prompt });
                    }
                }
                Loaded::NotASession { line, reason } if last => return refuse(path, line, reason),
                Loaded::Blank if last && whole => return refuse(path, 1, "the file is empty".to_owned()),
                Loaded::Blank if last => return refuse(path, 1, "no header in the first lines".to_owned()),
                Loaded::NotASession { .. } | Loaded::Blank => {}
            }
        }
    }
}

fn refuse(path: &Path, line: u32, reason: String) -> Result<Head> {
    Err(Error::NotASession { path: path.to_owned(), line: line.into(), reason })
}

fn first_prompt_of(content: &Content) -> Result<Option<String>> {
    for entry in content.index.entries() {
        let slot = content.index.slot(entry);
        if slot.kind == EntryKind::Message && slot.role == Role::Other {
            let line = content.line(entry)?;
            if let Some(prompt) = Raw::new(&line).get("message").and_then(prompt_of) {
                return Ok(Some(prompt));
            }
        }
    }
    Ok(None)
}

/// The text of a user message; `None` where it is of another role or has no text.
pub(super) fn prompt_of(message: Raw<'_>) -> Option<String> {
    let [role, content] = both(message, ["role", "content"]);
    let is_user = role.and_then(Raw::as_str).is_some_and(|role| role == "user");
    content.filter(|_| is_user).map(content_text).filter(|text| !text.trim().is_empty())
}

/// Two members of an object, in one pass.
fn both<'a>(object: Raw<'a>, names: [&str; 2]) -> [Option<Raw<'a>>; 2] {
    let mut found = [None, None];
    for member in object.members() {
        if let Some(place) = names.iter().position(|name| member.key.is(name)) {
            found[place] = Some(member.value);
        }
    }
    found
}

/// The text of a message.
pub(super) fn message_text(message: Raw<'_>) -> String {
    message.get("content").map(content_text).unwrap_or_default()
}

/// The content itself where that is a string, else its text blocks with spaces between.
fn content_text(content: Raw<'_>) -> String {
    if let Some(text) = content.as_str() {
        return text.into_owned();
    }
    let mut all = String::new();
    for block in content.items() {
        let [kind, text] = both(block, ["type", "text"]);
        let is_text = kind.and_then(Raw::as_str).is_some_and(|kind| kind == "text");
        if let Some(text) = text.filter(|_| is_text).and_then(Raw::as_str) {
            if !all.is_empty() {
                all.push(' ');
            }
            all.push_str(&text);
        }
    }
    all
}
