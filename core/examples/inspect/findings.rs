//! What the diagnostics found, in words.

use crate::text::{WIDTH, line, number, size};
use xcsh_session::{Diagnostics, Finding, MalformedLine};

/// Findings of one kind that are told one by one.
const EACH: usize = 6;

pub(crate) fn show(out: &mut String, found: &Diagnostics) {
    if found.is_clean() {
        out.push_str("  nothing wrong (blob files are not looked at)\n");
        return;
    }
    list(out, &found.malformed_lines, |line: &MalformedLine| {
        let MalformedLine { offset, length, reason, .. } = line;
        format!("no record, {} at byte {offset}: {reason}", size(*length))
    });
    let mut each = |findings: &[Finding], say: fn(&str, &str) -> String| {
        list(out, findings, |finding| {
            let id = line(finding.id.as_deref().unwrap_or("an entry without id"), 24);
            say(&id, &line(finding.target.as_deref().unwrap_or_default(), 30))
        });
    };
    each(&found.recovered, |id, _| format!("{id} was taken out of a damaged line"));
    each(&found.orphans, |id, parent| format!("{id} follows {parent}, which is not in the file: a root here"));
    each(&found.cycles, |id, _| format!("{id} is among its own ancestors: a root here"));
    each(&found.duplicate_ids, |id, _| format!("{id} is the id of an entry before it too: the last one is found"));
    each(&found.without_id, |_, _| "an entry has no id: nothing can follow it".to_owned());
    each(&found.bad_blob_refs, |id, blob| format!("{id} names {blob}, which is no blob's name"));
    each(&found.missing_blobs, |id, blob| format!("{id} names {blob}, which is missing"));
    each(&found.damaged_blobs, |id, blob| format!("{id} names {blob}, which is damaged"));
    each(&found.dangling_first_kept, |id, first| {
        format!("compaction {id} keeps what follows {first}, which is not in the file: nothing")
    });
}

trait HasLine {
    fn line(&self) -> u32;
}

impl HasLine for Finding {
    fn line(&self) -> u32 {
        self.line
    }
}

impl HasLine for MalformedLine {
    fn line(&self) -> u32 {
        self.line
    }
}

fn list<F: HasLine>(out: &mut String, findings: &[F], say: impl Fn(&F) -> String) {
    // Folding a single one saves no row.
    let told = if findings.len() == EACH + 1 { EACH + 1 } else { EACH };
    for finding in findings.iter().take(told) {
        let text = format!("line {}: {}", number(finding.line().into()), say(finding));
        out.push_str(&format!("  {}\n", line(&text, WIDTH - 2)));
    }
    if let Some(last) = findings.get(told..).and_then(<[F]>::last) {
        let more = number((findings.len() - told) as f64);
        out.push_str(&format!("  … {more} more of these, up to line {} …\n", number(last.line().into())));
    }
}
