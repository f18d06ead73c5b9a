//! The line check and the envelope scan say what a plain parse says.
#![no_main]

#[path = "../../tests/support/plain.rs"]
mod plain;

use libfuzzer_sys::fuzz_target;
use xcsh_session::fuzzing::{Envelope, envelope};
use xcsh_session::{EntryKind, json};

fuzz_target!(|line: &[u8]| {
    assert_eq!(json::check(line).is_ok(), plain::is_json(line));
    let seen = plain::seen(line).map(|seen| Envelope {
        kind: (!matches!(&*seen.kind, "session" | "title")).then(|| EntryKind::of(&seen.kind)),
        id: seen.id,
        parent: seen.parent,
        has_parent: seen.has_parent,
        timestamp: seen.timestamp,
        role: seen.role,
        usage: seen.usage,
        target: seen.target,
        label: seen.label,
    });
    assert_eq!(envelope(line).ok(), seen);
});
