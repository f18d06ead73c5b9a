//! What the tests of the library take for granted about generated files.

use std::collections::{HashMap, HashSet};
use std::io;

use serde_json::Value;
use xcsh_session_testdata::{SessionSpec, Summary, chain, directory, images, session, v1_session};

type Generate = fn(&SessionSpec, &mut dyn io::Write) -> io::Result<Summary>;

fn spec(entries: usize, seed: u64) -> SessionSpec {
    SessionSpec { entries, seed, ..SessionSpec::default() }
}

fn make(generate: Generate, spec: &SessionSpec) -> (Vec<u8>, Summary) {
    let mut bytes = Vec::new();
    let summary = generate(spec, &mut bytes).expect("a Vec takes everything");
    (bytes, summary)
}

fn records(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or_else(|| panic!("{key} in {record}"))
}

fn in_context(entry: &Value) -> bool {
    matches!(text(entry, "type"), "message" | "custom_message" | "branch_summary")
}

/// Path of the last entry, root first, by a walk that shares nothing with the generator.
fn path(entries: &[Value]) -> Vec<&Value> {
    let by_id: HashMap<_, _> = entries.iter().map(|e| (text(e, "id"), e)).collect();
    let mut path = Vec::new();
    let mut at = entries.last();
    while let Some(entry) = at {
        path.push(entry);
        at = entry["parentId"].as_str().map(|parent| by_id[parent]);
    }
    path.reverse();
    path
}

fn context_length(path: &[&Value], is_first_kept: impl Fn(usize, &Value) -> bool) -> usize {
    let last = path.iter().rposition(|e| e["type"] == "compaction");
    let count = |part: &[&Value]| part.iter().filter(|e| in_context(e)).count();
    let Some(last) = last else {
        return count(path);
    };
    let first = (0..last).find(|&i| is_first_kept(i, path[last]));
    1 + count(&path[first.expect("the first kept entry is there")..last]) + count(&path[last..])
}

#[test]
fn same_seed_same_bytes() {
    for generate in [session as Generate, v1_session as Generate] {
        let (first, summary) = make(generate, &spec(600, 7));
        assert_eq!((first.clone(), summary), make(generate, &spec(600, 7)));
        assert_ne!(first, make(generate, &spec(600, 8)).0);
    }
}

#[test]
fn size_is_near_the_mean_for_any_count() {
    for generate in [session as Generate, v1_session as Generate] {
        for (entries, seed) in [(500, 1), (1_000, 2), (3_000, 3), (10_000, 1)] {
            let (bytes, summary) = make(generate, &spec(entries, seed));
            assert_eq!(summary.bytes, bytes.len() as u64);
            let mean = bytes.len() as f64 / entries as f64;
            let wanted = xcsh_session_testdata::MEAN_ENTRY_BYTES as f64;
            assert!((mean / wanted - 1.0).abs() < 0.03, "{entries}: {mean}");
        }
    }
}

#[test]
fn v3_has_a_sound_tree_and_the_promised_context() {
    for (entries, seed) in [(1, 1), (2, 1), (3, 1), (100, 4), (140, 5), (2_000, 6), (2_001, 7)] {
        let (bytes, summary) = make(session, &spec(entries, seed));
        let records = records(&bytes);
        let (header, all) = records.split_first().expect("a header");
        assert_eq!((text(header, "type"), &header["version"]), ("session", &Value::from(3)));
        assert_eq!((all.len(), summary.entries, summary.malformed), (entries, entries, 0));

        let mut ids = HashSet::new();
        let mut time = text(header, "timestamp");
        for entry in all {
            let id = text(entry, "id");
            assert!(id.len() == 8 && id.bytes().all(|b| b.is_ascii_hexdigit()));
            match entry["parentId"].as_str() {
                Some(parent) => assert!(ids.contains(parent), "{parent} comes before {id}"),
                None => assert!(ids.is_empty() && entry["parentId"].is_null()),
            }
            for key in ["targetId", "firstKeptEntryId", "fromId"] {
                assert!(entry[key].as_str().is_none_or(|target| ids.contains(target)));
            }
            assert!(ids.insert(id), "{id} twice");
            assert!(text(entry, "timestamp") > time);
            time = text(entry, "timestamp");
        }

        let path = path(all);
        assert_eq!(summary.last_id.as_deref(), Some(text(&all[entries - 1], "id")));
        assert_eq!(summary.path_entries, path.len());
        assert!(path.len() * 10 >= entries * 8);
        let context = context_length(&path, |i, compaction| path[i]["id"] == compaction["firstKeptEntryId"]);
        assert_eq!(summary.context_messages, context);
    }
}

#[test]
fn v3_has_every_kind_and_branches() {
    let (bytes, summary) = make(session, &spec(10_000, 1));
    let records = records(&bytes);
    let mut kinds: HashMap<&str, usize> = HashMap::new();
    for entry in &records[1..] {
        *kinds.entry(text(entry, "type")).or_default() += 1;
        if let Some(role) = entry["message"]["role"].as_str() {
            *kinds.entry(role).or_default() += 1;
        }
    }
    for kind in [
        "user",
        "assistant",
        "toolResult",
        "model_change",
        "thinking_level_change",
        "label",
        "custom",
        "custom_message",
        "branch_summary",
    ] {
        assert!(kinds[kind] >= 10, "{kind}: {kinds:?}");
    }
    assert_eq!((kinds["compaction"], summary.compactions), (25, 25));
    assert!(summary.path_entries < summary.entries - 100);
    assert!((220..=310).contains(&summary.context_messages), "{summary:?}");
}

#[test]
fn v1_has_no_ids_and_indexes_name_user_messages() {
    let (bytes, summary) = make(v1_session, &spec(2_000, 3));
    let records = records(&bytes);
    assert!(records[0].get("version").is_none());
    let entries: Vec<_> = records[1..].iter().collect();
    for entry in &entries {
        assert!(entry.get("id").is_none() && entry.get("parentId").is_none());
        if let Some(index) = entry["firstKeptEntryIndex"].as_u64() {
            assert_eq!(records[index as usize]["message"]["role"], "user");
        }
    }
    assert!(entries.iter().any(|e| e["message"]["role"] == "hookMessage"));
    assert_eq!((summary.last_id, summary.path_entries), (None, 2_000));
    let context = context_length(&entries, |i, compaction| compaction["firstKeptEntryIndex"] == i + 1);
    assert_eq!(summary.context_messages, context);
}

#[test]
fn tool_results_have_2_to_20_kb_and_all_escapes() {
    let (bytes, _) = make(session, &spec(1_000, 1));
    for record in records(&bytes) {
        if record["message"]["role"] == "toolResult" {
            let escaped = record["message"]["content"][0]["text"].to_string().len();
            assert!((2_000..=20_200).contains(&escaped), "{escaped}");
        }
    }
    let text = String::from_utf8(bytes).expect("UTF-8");
    for escape in [r"\n", r"\t", r#"\""#, r"\\", r"\u001b", "é", "日本語", "😀"] {
        assert!(text.contains(escape), "{escape}");
    }
}

#[test]
fn directory_has_named_files_of_the_right_size() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let made = directory(dir.path(), 200, "/srv/pi", 5).expect("files");
    assert_eq!((made.files.len(), made.titled), (200, 67));
    let mean = made.bytes as f64 / 200.0;
    assert!((mean / 78_000.0 - 1.0).abs() < 0.06, "{mean}");
    assert!(made.files.is_sorted());
    for file in &made.files {
        let bytes = std::fs::read(file).expect("the file");
        let header = &records(&bytes)[0];
        let stamp = text(header, "timestamp").replace([':', '.'], "-");
        let name = format!("{stamp}_{}.jsonl", text(header, "id"));
        assert_eq!(file.file_name().and_then(|n| n.to_str()), Some(&*name));
        assert_eq!(header["cwd"], "/srv/pi");
    }
}

#[test]
fn images_and_chains_are_one_chain() {
    let mut bytes = Vec::new();
    let pictures = images(3, 3_001, 1, &mut bytes).expect("a Vec takes everything");
    let found = records(&bytes);
    assert_eq!((pictures.bytes, pictures.entries), (bytes.len() as u64, 6));
    assert_eq!(path(&found[1..]).len(), 6);
    assert_eq!(text(&found[1]["message"]["content"][1], "data").len(), 4_004);

    bytes.clear();
    let links = chain(5_000, 1, &mut bytes).expect("a Vec takes everything");
    let found = records(&bytes);
    assert_eq!((links.bytes, links.context_messages), (bytes.len() as u64, 5_000));
    assert_eq!(path(&found[1..]).len(), 5_000);
}
