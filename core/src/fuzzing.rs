//! Internals that the fuzz targets and property tests compare with something plainer. No part of the interface.

#![allow(missing_docs)]

use crate::json::Raw;
use crate::record::{self, EntryKind, RecordType, Role};
use crate::{Result, limits, time};

/// What the scan of a line finds, in owned form.
#[derive(Debug, PartialEq)]
pub struct Envelope {
    /// `None` for a session or title record.
    pub kind: Option<EntryKind>,
    pub id: Option<String>,
    pub parent: Option<String>,
    pub has_parent: bool,
    pub timestamp: Option<String>,
    pub role: Option<&'static str>,
    pub usage: [f64; 6],
    pub target: Option<String>,
    pub label: Option<String>,
}

/// Of a line that is exactly one record; or else what is wrong with it.
pub fn envelope(line: &[u8]) -> std::result::Result<Envelope, &'static str> {
    let found = record::Envelope::of_line(line).map_err(|fault| fault.reason)?;
    let text = |raw: Option<Raw<'_>>| raw.and_then(Raw::as_str).map(|text| text.into_owned());
    let usage = found.usage.unwrap_or_default();
    Ok(Envelope {
        kind: match found.record {
            RecordType::Entry(kind) => Some(kind),
            RecordType::Session | RecordType::Title => None,
        },
        id: text(found.id),
        parent: text(found.parent),
        has_parent: found.has_parent,
        timestamp: text(found.timestamp),
        role: match found.role {
            Role::None => None,
            Role::Assistant => Some("assistant"),
            Role::ToolResult => Some("toolResult"),
            Role::Hook => Some("hookMessage"),
            Role::Other => Some("other"),
        },
        usage: [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.premium_requests, usage.cost],
        target: text(found.target),
        label: text(found.label),
    })
}

/// The line of an entry as the file has it.
pub fn persist_form(line: &[u8], put_blob: &mut dyn FnMut(&[u8]) -> Result<String>) -> Result<Option<Vec<u8>>> {
    limits::persist_form(line, put_blob)
}

/// The line of an entry with blobs put back in.
pub fn resolve_blobs(line: &[u8], get: &mut dyn FnMut(&str) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    limits::resolve_blobs(line, get)
}

/// Hashes and texts of the references to blobs in a line.
pub fn blob_refs(line: &[u8]) -> Vec<(Option<String>, String)> {
    limits::blob_refs(line).into_iter().map(|mention| (mention.hash, mention.text)).collect()
}

/// Milliseconds since 1970 of a timestamp.
pub fn millis(timestamp: &str) -> Option<i64> {
    time::parse(timestamp)
}

/// [`persist_form`] with bounds that small inputs reach.
pub fn persist_small(line: &[u8], put_blob: &mut dyn FnMut(&[u8]) -> Result<String>) -> Result<Option<Vec<u8>>> {
    limits::persist_small(line, put_blob)
}
