//! What is not as it should be in a session (SPEC section 4, read reports). Computed when asked for.

use crate::content::Content;
use crate::error::Result;
use crate::index::EntryNo;
use crate::json::Raw;
use crate::limits;
use crate::record::EntryKind;
use crate::tree;
use serde::Serialize;
use std::collections::HashMap;

/// The report. Line numbers count from 1; an entry that is not in the file yet has line 0. Serialises with the keys
/// of SPEC section 4.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostics {
    /// Stretches of the file that are no record; they stay in the file.
    pub malformed_lines: Vec<MalformedLine>,
    /// Entries that were taken out of damaged or glued lines.
    pub recovered: Vec<Finding>,
    /// Entries whose parentId names no entry.
    pub orphans: Vec<Finding>,
    /// Of each cycle of parentIds the entry that comes first in the file.
    pub cycles: Vec<Finding>,
    /// Entries that have the id of an entry before them.
    pub duplicate_ids: Vec<Finding>,
    /// Entries without an id.
    pub without_id: Vec<Finding>,
    /// References that are no blob's name.
    pub bad_blob_refs: Vec<Finding>,
    /// References to blobs that are not there.
    pub missing_blobs: Vec<Finding>,
    /// References to blobs whose bytes do not have the hash they are named after.
    pub damaged_blobs: Vec<Finding>,
    /// Compactions whose firstKeptEntryId names no entry.
    pub dangling_first_kept: Vec<Finding>,
}

/// A stretch of the file that is no record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MalformedLine {
    /// Line, from 1.
    pub line: u32,
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// An entry about which there is something to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Line, from 1.
    pub line: u32,
    /// The entry's id.
    pub id: Option<String>,
    /// What it names in vain: a parent, a first kept entry, a blob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// How a blob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlobState {
    Good,
    Missing,
    Damaged,
}

impl Diagnostics {
    /// Whether there is nothing to report.
    pub fn is_clean(&self) -> bool {
        *self == Diagnostics::default()
    }
}

/// `blob` says how the blob of a hash is; `None` where there is no blob store to ask.
pub(crate) fn of(content: &Content, blob: Option<&dyn Fn(&str) -> BlobState>) -> Result<Diagnostics> {
    let index = &content.index;
    let finding = |entry: EntryNo, target: Option<String>| Finding {
        line: index.slot(entry).line,
        id: index.id(entry).map(str::to_owned),
        target,
    };
    let mut report = Diagnostics {
        malformed_lines: malformed(content),
        recovered: content.recovered.iter().map(|&entry| finding(entry, None)).collect(),
        cycles: tree::parents(index).1.into_iter().map(|entry| finding(entry, None)).collect(),
        ..Diagnostics::default()
    };
    let mut seen = HashMap::new();
    for entry in index.entries() {
        match index.id(entry) {
            None => report.without_id.push(finding(entry, None)),
            Some(id) if seen.insert(id, entry).is_some() => report.duplicate_ids.push(finding(entry, None)),
            Some(_) => {}
        }
        if let Some(parent) = index.parent_id(entry)
            && index.parent(entry).is_none()
        {
            report.orphans.push(finding(entry, Some(parent.to_owned())));
        }
    }
    let mut states = HashMap::new();
    let mut lines = content.lines(256 << 10);
    for entry in index.entries() {
        let line = lines.get(entry)?;
        if index.slot(entry).kind == EntryKind::Compaction
            && let Some(first) = Raw::new(&line).get("firstKeptEntryId").and_then(Raw::as_str)
            && index.by_id(&first).is_none()
        {
            report.dangling_first_kept.push(finding(entry, Some(first.into_owned())));
        }
        for mention in limits::blob_refs(&line) {
            let state = match (&mention.hash, blob) {
                (None, _) => None,
                (Some(_), None) => Some(BlobState::Good),
                (Some(hash), Some(blob)) => Some(*states.entry(hash.clone()).or_insert_with(|| blob(hash))),
            };
            let list = match state {
                None => &mut report.bad_blob_refs,
                Some(BlobState::Missing) => &mut report.missing_blobs,
                Some(BlobState::Damaged) => &mut report.damaged_blobs,
                Some(BlobState::Good) => continue,
            };
            list.push(finding(entry, Some(mention.text)));
        }
    }
    Ok(report)
}

fn malformed(content: &Content) -> Vec<MalformedLine> {
    let with_reason = |extra: &crate::content::Extra| {
        let (line, offset, length) = (extra.line, extra.offset, extra.len);
        extra.reason.map(|reason| MalformedLine { line, offset, length, reason })
    };
    content.extras.iter().filter_map(with_reason).collect()
}
