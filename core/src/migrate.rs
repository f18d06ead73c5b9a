//! Migration of older sessions as edits of raw lines (SPEC section 5). Pure: what an entry becomes follows from its
//! line, its place and its neighbours, so that a body in the file can be migrated whenever it is read.

use crate::json::{self, ObjectEdit, Raw};

/// What version 1 did not have: every entry gets these.
pub(crate) struct Links<'a> {
    pub(crate) id: &'a str,
    pub(crate) parent: Option<&'a str>,
}

/// The line of an entry as version 3 has it. `links` where the file is of version 1; `id_of_record` gives the id of
/// the entry that a `firstKeptEntryIndex` names: it counts the records of the file, the header being 0.
pub(crate) fn entry<'i>(
    line: &[u8],
    links: Option<&Links<'_>>,
    id_of_record: impl Fn(f64) -> Option<&'i str>,
) -> Vec<u8> {
    let mut edit = ObjectEdit::new(line);
    let entry = Raw::new(line);
    if let Some(links) = links {
        edit.set("id", json::quoted(links.id));
        edit.set("parentId", links.parent.map_or(b"null".to_vec(), json::quoted));
        if has_type(entry, "compaction")
            && let Some(index) = entry.get("firstKeptEntryIndex").and_then(Raw::as_f64)
        {
            if let Some(id) = id_of_record(index) {
                edit.set("firstKeptEntryId", json::quoted(id));
            }
            edit.remove("firstKeptEntryIndex");
        }
    }
    let mut edits = edit.into_edits();
    if let Some(role) = hook_role(line) {
        edits.replace(role, *b"\"custom\"");
    }
    edits.apply(line)
}

/// [`entry`] for the many entries that only have to be linked: no compaction, not of the old role, and without members
/// `id` and `parentId`. Nothing of the line has to be looked at but where it ends.
pub(crate) fn append_links(line: &[u8], links: &Links<'_>) -> Vec<u8> {
    let brace = memchr::memrchr(b'}', line).unwrap_or(line.len());
    let mut linked = Vec::with_capacity(line.len() + links.id.len() + links.parent.map_or(4, str::len) + 24);
    linked.extend_from_slice(&line[..brace]);
    linked.extend_from_slice(b",\"id\":");
    json::encode(links.id, &mut linked);
    linked.extend_from_slice(b",\"parentId\":");
    match links.parent {
        Some(parent) => json::encode(parent, &mut linked),
        None => linked.extend_from_slice(b"null"),
    }
    linked.extend_from_slice(&line[brace..]);
    linked
}

fn has_type(entry: Raw<'_>, name: &str) -> bool {
    entry.get("type").and_then(Raw::as_str).is_some_and(|kind| kind == name)
}

/// Where `message.role` of a message entry stands, if it is the one that version 3 renamed.
fn hook_role(line: &[u8]) -> Option<json::Span> {
    let entry = Raw::new(line);
    let message = ObjectEdit::new(line).value_span("message").filter(|_| has_type(entry, "message"))?;
    let role = ObjectEdit::at(line, message).value_span("role")?;
    (Raw::new(&line[role.clone()]).as_str()? == "hookMessage").then_some(role)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrated(line: &str, links: Option<&Links<'_>>) -> String {
        let id_of_record = |index: f64| (index == 1.0).then_some("first");
        String::from_utf8(entry(line.as_bytes(), links, id_of_record)).unwrap()
    }

    #[test]
    fn version_1_gets_links_at_the_end_and_nothing_else_changes() {
        let links = Links { id: "b", parent: Some("a") };
        assert_eq!(
            migrated(r#" {"type":"message", "x":1e400,"message":{"role":"hookMessage"} } "#, Some(&links)),
            r#" {"type":"message", "x":1e400,"message":{"role":"custom"} ,"id":"b","parentId":"a"} "#
        );
        let root = Links { id: "b", parent: None };
        assert_eq!(
            migrated(r#"{"id":"old","type":"x","parentId":7}"#, Some(&root)),
            r#"{"id":"b","type":"x","parentId":null}"#
        );
    }

    #[test]
    fn appending_links_is_what_editing_gives() {
        let links = Links { id: "b", parent: Some("a") };
        let root = Links { id: "b", parent: None };
        for line in [r#"{"type":"x"}"#, " {\"type\" : \"message\",\"message\":{\"content\":\"}\"} }\t\r"] {
            for links in [&links, &root] {
                assert_eq!(
                    append_links(line.as_bytes(), links),
                    entry(line.as_bytes(), Some(links), |_| None),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn an_index_becomes_an_id() {
        let links = Links { id: "b", parent: Some("a") };
        let with = |index: &str| format!(r#"{{"type":"compaction","firstKeptEntryIndex":{index},"s":1}}"#);
        assert_eq!(
            migrated(&with("1"), Some(&links)),
            r#"{"type":"compaction","s":1,"id":"b","parentId":"a","firstKeptEntryId":"first"}"#
        );
        assert_eq!(migrated(&with("0"), Some(&links)), r#"{"type":"compaction","s":1,"id":"b","parentId":"a"}"#);
        assert_eq!(migrated(&with("1"), None), with("1"), "version 2 has ids");
    }

    #[test]
    fn the_role_that_counts_is_renamed() {
        let line = r#"{"type":"message","message":{"role":"hookMessage","role":"hook\u004dessage","c":"hookMessage"}}"#;
        let expected = r#"{"type":"message","message":{"role":"hookMessage","role":"custom","c":"hookMessage"}}"#;
        assert_eq!(migrated(line, None), expected);
        let other = r#"{"type":"custom","message":{"role":"hookMessage"}}"#;
        assert_eq!(migrated(other, None), other);
    }
}
