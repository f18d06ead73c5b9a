//! Deterministic session files for tests and benchmarks: the same arguments give the same bytes on
//! every machine, so that a measurement or a failure can be repeated from its seed alone.
//!
//! ```
//! use xcsh_session_testdata::{SessionSpec, session};
//!
//! let mut file = Vec::new();
//! let summary = session(&SessionSpec { entries: 50, ..SessionSpec::default() }, &mut file)?;
//! assert_eq!(summary.bytes, file.len() as u64);
//! assert_eq!(summary.entries, 50);
//! # Ok::<(), std::io::Error>(())
//! ```

mod generator;
mod rng;
mod simple;
mod text;
mod time;

use std::io::{self, Write};

use generator::Generator;
use rng::Rng;
pub use simple::{Directory, chain, directory, images};
use time::Iso;

/// Average size of an entry's line, so that 10,000 entries give a file of 49 MB and 100,000 one of
/// 485 MB (SPEC section 15), both within one percent.
pub const MEAN_ENTRY_BYTES: usize = 4_875;

/// What a session file shall hold.
#[derive(Debug, Clone)]
pub struct SessionSpec {
    /// Number of entries, the header not counted.
    pub entries: usize,
    /// Everything random follows from it.
    pub seed: u64,
    /// The header's `cwd`.
    pub cwd: String,
    /// The header's `title`, written with `titleSource` `"user"`.
    pub title: Option<String>,
    /// The header's time in milliseconds since 1970; the entries follow it.
    pub start_ms: u64,
    /// The average size of an entry's line, reached within 3 % from some 500 entries on.
    /// Tool results have 2 to 20 KB, which bounds what can be asked for.
    pub mean_entry_bytes: usize,
}

impl Default for SessionSpec {
    fn default() -> Self {
        Self {
            entries: 1_000,
            seed: 1,
            cwd: "/srv/pi".to_owned(),
            title: None,
            start_ms: 1_771_237_230_000,
            mean_entry_bytes: MEAN_ENTRY_BYTES,
        }
    }
}

impl SessionSpec {
    /// The session's id: a Snowflake of its start.
    pub fn id(&self) -> String {
        const EPOCH_2015: u64 = 1_420_070_400_000;
        let sequence = Rng::new(self.seed).next() & 0x3f_ffff;
        format!("{:016x}", (self.start_ms.saturating_sub(EPOCH_2015) << 22) | sequence)
    }

    /// The name that the agent gives such a file: `<timestamp>_<id>.jsonl`.
    pub fn file_name(&self) -> String {
        let stamp = Iso(self.start_ms).to_string().replace([':', '.'], "-");
        format!("{stamp}_{}.jsonl", self.id())
    }

    /// The header line with `version`, or without it and with the fields of a v1 header.
    fn header(&self, v1: bool) -> String {
        let text = |value: &str| serde_json::Value::from(value).to_string();
        let version = if v1 { "" } else { r#""version":3,"# };
        let mut line = format!(
            r#"{{"type":"session",{version}"id":"{}","timestamp":"{}","cwd":{}"#,
            self.id(),
            Iso(self.start_ms),
            text(&self.cwd)
        );
        if let Some(title) = &self.title {
            line += &format!(r#","title":{},"titleSource":"user""#, text(title));
        }
        if v1 {
            line += r#","provider":"anthropic","modelId":"claude-sonnet-4-5","thinkingLevel":"off""#;
        }
        line + "}\n"
    }
}

/// What a right reader finds in a generated file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Size of the file.
    pub bytes: u64,
    /// Entries in the file, the header not counted.
    pub entries: usize,
    /// Id of the last entry, which is the leaf after loading; v1 entries have none.
    pub last_id: Option<String>,
    /// Length of the path from the root to the last entry.
    pub path_entries: usize,
    /// Messages of the context at the last entry, the compaction summary included.
    pub context_messages: usize,
    /// Compactions in the file.
    pub compactions: usize,
    /// Malformed lines: none.
    pub malformed: usize,
}

/// Writes a v3 session that looks like a long day of real work: turns of user text, assistant
/// messages with thinking, text and tool calls, and tool results; now and then a model or thinking
/// level change, a label, custom entries, a branch that was given up; a compaction every 400 entries.
///
/// # Errors
/// Whatever `out` returns.
pub fn session(spec: &SessionSpec, out: &mut dyn Write) -> io::Result<Summary> {
    Generator::new(spec, out, false).run()
}

/// Writes a v1 session of the same kinds of content: one line of entries without ids, compactions by
/// `firstKeptEntryIndex`, `hookMessage` messages in place of `custom_message` entries, no labels and
/// no branches, which v1 did not have.
///
/// # Errors
/// Whatever `out` returns.
pub fn v1_session(spec: &SessionSpec, out: &mut dyn Write) -> io::Result<Summary> {
    Generator::new(spec, out, true).run()
}
