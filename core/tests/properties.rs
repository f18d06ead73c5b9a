//! Properties of loading, migration, tree and context, against the plain forms in support/plain.rs.

#[path = "support/arbitrary.rs"]
mod arbitrary;
#[path = "support/plain.rs"]
mod plain;

use plain::{Members, Plain, seen};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;
use xcsh_session::{
    Leaf, ModelResolution, ReadOptions, Session, build_session_context, load_entries_from_file,
    migrate_session_entries, parse_session_entries,
};

fn parse(text: &str) -> Session {
    Session::parse(text, "session.jsonl", ReadOptions::default()).unwrap()
}

fn lines(session: &Session) -> Vec<String> {
    session.entries().map(|entry| entry.unwrap().into_line()).collect()
}

fn header(version: u32) -> String {
    match version {
        1 => r#"{ "type":"session","id":"1f9d2a6b9c0d1234","z":1e400}"#.to_owned(),
        _ => format!(r#"{{ "type":"session","version":{version} ,"id":"1f9d2a6b9c0d1234","z":1e400}}"#),
    }
}

/// A line end, blank lines behind it now and then.
fn line_end() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["\n", "\n", "\n", "\r\n", " \n", "\n\n", "\n \t\r\n"][..])
}

/// Lines that are entries, with their ends.
fn entries(most: usize) -> impl Strategy<Value = Vec<(String, &'static str)>> {
    let is_entry = |line: &String| seen(line.as_bytes()).is_some_and(|seen| seen.kind != "session");
    vec((arbitrary::entry().prop_filter("is an entry", is_entry), line_end()), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn what_was_loaded_is_given_back_byte_for_byte(entries in entries(12), mark in any::<bool>(), cut in any::<bool>()) {
        let mut text = if mark { "\u{feff}".to_owned() } else { String::new() };
        text += &(header(3) + "\n");
        let mut expected = Vec::new();
        for (line, end) in &entries {
            text += line;
            text += end;
            expected.push(line.clone() + end.split('\n').next().unwrap());
        }
        if cut && let Some((_, end)) = entries.last() {
            // The last line without its end.
            text.truncate(text.len() - end.len() + end.find('\n').unwrap());
        }
        let session = parse(&text);
        prop_assert_eq!(&lines(&session), &expected);
        prop_assert_eq!(session.header().json(), &header(3));
        prop_assert!(session.diagnostics().unwrap().malformed_lines.is_empty());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, &text).unwrap();
        let records: Vec<_> = std::iter::once(header(3)).chain(expected).collect();
        prop_assert_eq!(&load_entries_from_file(&path).unwrap(), &records);
        prop_assert_eq!(&lines(&Session::read(&path).unwrap()), &records[1..]);
        prop_assert_eq!(&parse_session_entries(text.as_bytes()), &records);
        prop_assert_eq!(migrate_session_entries(&records).unwrap(), None);
    }

    #[test]
    fn migration_changes_its_fields_and_nothing_else(entries in entries(10), version in 1..3u32) {
        let text = header(version) + "\n" + &entries.iter().map(|(line, end)| line.clone() + end).collect::<String>();
        let session = parse(&text);
        let migrated = lines(&session);
        prop_assert_eq!(migrated.len(), entries.len());
        let ids: Vec<_> = migrated.iter().map(|line| seen(line.as_bytes()).unwrap().id).collect();
        if version == 1 {
            prop_assert_eq!(ids.iter().flatten().collect::<HashSet<_>>().len(), ids.len(), "every entry has its own id");
        }
        for (number, ((old, end), new)) in entries.iter().zip(&migrated).enumerate() {
            let old = old.clone() + end.split('\n').next().unwrap();
            if version == 1 {
                let new = seen(new.as_bytes()).unwrap();
                let before = number.checked_sub(1).and_then(|before| ids[before].clone());
                prop_assert!(new.has_parent);
                prop_assert_eq!(new.parent, before);
                let branch = session.branch(Some(&new.id.unwrap())).unwrap();
                prop_assert_eq!(branch, (0..=number as u32).collect::<Vec<_>>());
            }
            check_migrated(&old, new, version, &ids)?;
        }
        let expected = match version {
            1 => header(1).replace("}", r#","version":3}"#),
            _ => header(3),
        };
        prop_assert_eq!(session.header().json(), expected);
        // What migration gives is not changed again.
        let records: Vec<_> = std::iter::once(session.header().json().to_owned()).chain(migrated).collect();
        prop_assert_eq!(migrate_session_entries(&records).unwrap(), None);
        prop_assert_eq!(&lines(&parse(&records.join("\n"))), &records[1..]);
    }
}

/// `new` is `old` with what version 3 changed, and becomes `old` again where those changes are taken back.
fn check_migrated(old: &str, new: &str, version: u32, ids: &[Option<String>]) -> Result<(), TestCaseError> {
    let (before, after) = (Members::of(old).unwrap(), Members::of(new).unwrap());
    let kind = before.string("type").unwrap();
    let role = |members: &Members<'_>| Members::of(members.get("message")?)?.string("role");
    if kind == "message" && role(&before).as_deref() == Some("hookMessage") {
        prop_assert_eq!(role(&after), Some("custom".to_owned()));
    }
    let index = before.get("firstKeptEntryIndex").and_then(|text| text.parse::<f64>().ok());
    let index = index.filter(|_| version == 1 && kind == "compaction");
    if let Some(index) = index {
        prop_assert!(after.get("firstKeptEntryIndex").is_none());
        let named = ids.iter().enumerate().find(|(number, _)| (number + 1) as f64 == index);
        if let Some((_, id)) = named {
            prop_assert_eq!(&after.string("firstKeptEntryId"), id);
        }
        // Which comma went with the member is settled by unit tests; here it is that all the others are as they were.
        let links = ["id", "parentId", "firstKeptEntryId", "firstKeptEntryIndex"];
        let others = |members: &Members<'_>| -> Vec<String> {
            let is_link = |key: &str| links.contains(&plain::string(key).unwrap().as_str());
            members.0.iter().filter(|(key, _)| !is_link(key)).map(|(key, value)| format!("{key}:{value}")).collect()
        };
        prop_assert_eq!(others(&before), others(&after));
        return Ok(());
    }
    let mut undone = new.to_owned();
    if version == 1 {
        // From the end to the front, so that the places in front stay what they are.
        let mut back: Vec<(std::ops::Range<usize>, &str)> = Vec::new();
        let mut added = None;
        for name in ["id", "parentId"] {
            let (_, new_value) = last(&after, name).unwrap();
            match last(&before, name) {
                Some((_, old_value)) => back.push((place(new, new_value), old_value)),
                None => {
                    let (key, value) = last(&after, name).unwrap();
                    let from = place(new, key).start - 1;
                    prop_assert_eq!(&new[from..=from], ",");
                    let (start, _) = added.unwrap_or((from, 0));
                    added = Some((start, place(new, value).end));
                }
            }
        }
        if let Some((from, to)) = added {
            back.push((from..to, ""));
        }
        if kind == "message" && role(&before).as_deref() == Some("hookMessage") {
            back.push(role_back(&before, new, &after));
        }
        back.sort_by_key(|(range, _)| range.start);
        for (range, text) in back.into_iter().rev() {
            undone.replace_range(range, text);
        }
    } else if kind == "message" && role(&before).as_deref() == Some("hookMessage") {
        let (range, text) = role_back(&before, new, &after);
        undone.replace_range(range, text);
    }
    prop_assert_eq!(undone, old);
    Ok(())
}

fn role_back<'a>(before: &Members<'a>, new: &str, after: &Members<'_>) -> (std::ops::Range<usize>, &'a str) {
    let token = |members: &Members<'_>| Members::of(last_value(members, "message")).unwrap().get("role").map(str::len);
    assert_eq!(token(after), Some("\"custom\"".len()));
    let message = Members::of(last(after, "message").unwrap().1).unwrap();
    let was = Members::of(last(before, "message").unwrap().1).unwrap();
    (place(new, message.get("role").unwrap()), was.get("role").unwrap())
}

fn last_value<'a>(members: &Members<'a>, name: &str) -> &'a str {
    last(members, name).unwrap().1
}

fn last<'a>(members: &Members<'a>, name: &str) -> Option<(&'a str, &'a str)> {
    members.0.iter().rfind(|(key, _)| plain::string(key).as_deref() == Some(name)).copied()
}

/// Where a part of a text stands in it.
fn place(text: &str, part: &str) -> std::ops::Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

#[test]
fn ten_thousand_levels_are_loaded_migrated_and_given_back() {
    for objects in [0, u64::MAX, 0x5555_5555_5555_5555] {
        let deep = arbitrary::nested(10_000, objects, r#""\ud83d""#);
        let line = format!(r#"{{"type":"message","message":{{"role":"hookMessage","content":{deep}}} ,"x":{deep}}}"#);
        assert_eq!(lines(&parse(&(header(3) + "\n" + &line))), [line.as_str()]);
        let session = parse(&(header(1) + "\n" + &line));
        let id = session.leaf_id().unwrap();
        let renamed = line.replace("hookMessage", "custom");
        let links = format!(r#","id":"{id}","parentId":null}}"#);
        assert_eq!(lines(&session), [renamed[..renamed.len() - 1].to_owned() + &links]);
        let plan = session.context(Leaf::Last).unwrap();
        assert_eq!(session.messages(&plan).unwrap(), [format!(r#"{{"role":"custom","content":{deep}}}"#)]);
        assert!(session.diagnostics().unwrap().is_clean());
    }
}

const TIMES: [(&str, Option<i64>); 6] = [
    ("2026-02-16T10:20:30.000Z", Some(1_771_237_230_000)),
    ("2026-02-16T10:20:30.001Z", Some(1_771_237_230_001)),
    ("2026-02-16T12:20:29.999+02:00", Some(1_771_237_229_999)),
    ("1970-01-01T00:00:00.000Z", Some(0)),
    ("1969-12-31T23:59:59.000Z", Some(-1_000)),
    ("yesterday", None),
];

fn time(entry: &Value) -> Option<i64> {
    let text = entry["timestamp"].as_str()?;
    TIMES.iter().find(|(known, _)| *known == text)?.1
}

fn some_id() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["a", "b", "c", "d", "e", "f", "g", "h"][..])
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => prop::sample::select(&["default", "smol", "p/m", "r1", "r2", "\u{e9}\n\"", "x"][..]).prop_map(Value::from),
        1 => Just(json!("")),
        1 => prop::sample::select(vec![Value::Null, json!(7), json!(["a"]), json!({"text": 1})]),
    ]
}

fn texts() -> impl Strategy<Value = Value> {
    prop_oneof![6 => vec(text(), 0..4).prop_map(Value::from), 1 => text()]
}

fn message() -> impl Strategy<Value = Value> {
    let role = prop::sample::select(&["user", "assistant", "assistant", "toolResult", "custom"][..]);
    let object = (role, option::of(text()), option::of(text()), text(), any::<u16>()).prop_map(
        |(role, provider, model, content, number)| {
            let mut message = json!({"role": role, "content": content});
            if let Some(provider) = provider {
                message["provider"] = provider;
            }
            if let Some(model) = model {
                message["model"] = model;
            }
            message["usage"] = json!({"input": number, "output": 1, "cost": {"total": f64::from(number) / 7.0}});
            message
        },
    );
    prop_oneof![9 => object, 1 => text()]
}

fn preserved() -> impl Strategy<Value = Value> {
    let remote = (text(), texts()).prop_map(
        |(provider, history)| json!({"openaiRemoteCompaction": {"provider": provider, "replacementHistory": history}}),
    );
    prop_oneof![remote, text()]
}

/// The fields of an entry, whatever its type: each is there or not.
fn fields() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let member = |name: &'static str, value: BoxedStrategy<Value>| {
        option::weighted(0.8, value).prop_map(move |value| value.map(|value| (name, value)))
    };
    let ids = || prop_oneof![6 => some_id().prop_map(Value::from), 1 => text()].boxed();
    let of = |names: &'static [&'static str], strategies: Vec<BoxedStrategy<Value>>| {
        let members: Vec<_> = names.iter().zip(strategies).map(|(name, value)| member(name, value)).collect();
        members.prop_map(move |members| members.into_iter().flatten().collect::<Vec<_>>())
    };
    let t = || text().boxed();
    prop_oneof![
        6 => message().prop_map(|message| vec![("type", json!("message")), ("message", message)]),
        2 => typed("model_change", of(&["model", "role"], vec![t(), t()])),
        1 => typed("model_change", of(&["provider", "modelId", "role"], vec![t(), t(), t()])),
        1 => typed("thinking_level_change", of(&["thinkingLevel"], vec![t()])),
        2 => typed("compaction", of(
            &["summary", "shortSummary", "firstKeptEntryId", "tokensBefore"], vec![t(), t(), ids(), t()])),
        1 => typed("compaction", of(
            &["summary", "firstKeptEntryId", "preserveData"], vec![t(), ids(), preserved().boxed()])),
        1 => typed("branch_summary", of(&["fromId", "summary", "details"], vec![ids(), t(), t()])),
        1 => typed("custom", of(&["customType", "data"], vec![t(), t()])),
        1 => typed("custom_message", of(
            &["customType", "content", "display", "details", "attribution"], vec![t(), t(), t(), t(), t()])),
        2 => typed("label", of(&["targetId", "label"], vec![ids(), t()])),
        1 => typed("ttsr_injection", of(&["injectedRules"], vec![texts().boxed()])),
        1 => typed("session_init", of(&["systemPrompt"], vec![t()])),
        1 => typed("mode_change", of(&["mode", "data"], vec![t(), t()])),
        1 => typed("service_tier_change", of(&["serviceTier"], vec![t()])),
        1 => typed("context_change", of(&["contextName", "tenant", "namespace"], vec![t(), t(), t()])),
        1 => typed("mcp_tool_selection", of(&["selectedToolNames"], vec![texts().boxed()])),
        1 => typed("from_the_future", of(&["summary"], vec![t()])),
        1 => typed("title", of(&["title"], vec![t()])),
    ]
}

fn typed(
    name: &'static str,
    fields: impl Strategy<Value = Vec<(&'static str, Value)>> + 'static,
) -> BoxedStrategy<Vec<(&'static str, Value)>> {
    fields.prop_map(move |fields| std::iter::once(("type", json!(name))).chain(fields).collect()).boxed()
}

/// Entries whose ids repeat and whose parents are before them, behind them, themselves, or nobody.
fn tangled() -> impl Strategy<Value = Vec<Value>> {
    let id = option::weighted(0.9, some_id());
    let parent = prop_oneof![5 => some_id().prop_map(Value::from), 1 => Just(Value::Null), 1 => Just(json!(5)), 1 => Just(json!("nobody"))];
    let time = option::of(prop::sample::select(&TIMES[..]));
    let entry = (fields(), id, option::weighted(0.9, parent), time).prop_map(|(fields, id, parent, time)| {
        let time = time.map(|(text, _)| json!(text));
        let base = [("id", id.map(Value::from)), ("parentId", parent), ("timestamp", time)];
        let base = base.into_iter().filter_map(|(name, value)| Some((name, value?)));
        fields.into_iter().chain(base).map(|(name, value)| (name.to_owned(), value)).collect()
    });
    vec(entry.prop_map(Value::Object), 0..24)
}

/// Entries as they come about: each with its own id, most on the one before it, some on an earlier one.
fn grown() -> impl Strategy<Value = Vec<Value>> {
    let entry = (fields(), option::weighted(0.2, any::<prop::sample::Index>()), prop::sample::select(&TIMES[..]));
    vec(entry, 1..40).prop_map(|entries| {
        let name = |number: usize| format!("{}{number}", ["a", "b", "c", "d"][number % 4]);
        let mut grown = Vec::new();
        for (number, (fields, back, (time, _))) in entries.into_iter().enumerate() {
            let mut entry = json!({"id": name(number), "parentId": null, "timestamp": time});
            if number > 0 {
                entry["parentId"] = json!(name(back.map_or(number - 1, |back| back.index(number))));
            }
            for (field, value) in fields {
                // Ids in the fields name entries of this session.
                let pointed = value.as_str().filter(|_| matches!(field, "firstKeptEntryId" | "targetId" | "fromId"));
                entry[field] = match pointed.and_then(|id| id.bytes().next()) {
                    Some(byte) => json!(name(usize::from(byte) % (number + 1))),
                    None => value,
                };
            }
            grown.push(entry);
        }
        grown
    })
}

fn check_tree(plain: &Plain, session: &Session) -> Result<(), TestCaseError> {
    let entries = 0..plain.0.len();
    let tree = session.tree();
    let walked: Vec<_> = tree.depth_first().collect();
    prop_assert_eq!(walked.iter().map(|(entry, _)| *entry).collect::<HashSet<_>>().len(), plain.0.len());
    prop_assert_eq!(walked.len(), plain.0.len(), "each entry once");
    let roots: Vec<_> = entries.clone().filter(|&entry| plain.is_root(entry)).map(|entry| entry as u32).collect();
    prop_assert_eq!(tree.roots(), &roots);
    for parent in entries.clone() {
        let is_child = |&entry: &usize| plain.parent(entry) == Some(parent) && !plain.is_root(entry);
        let mut children: Vec<_> = entries.clone().filter(is_child).map(|entry| entry as u32).collect();
        children.sort_by_key(|&entry| time(&plain.0[entry as usize]).unwrap_or(i64::MIN));
        prop_assert_eq!(tree.children(parent as u32), &children);
    }
    for pair in walked.windows(2) {
        prop_assert!(pair[1].1 <= pair[0].1 + 1);
    }
    for id in plain.0.iter().filter_map(|entry| entry["id"].as_str()).chain(["a", "nobody", ""]) {
        prop_assert_eq!(session.children(id), plain.children(id));
        prop_assert_eq!(session.number_of(id).map(|entry| entry as usize), plain.find(id));
        prop_assert_eq!(session.label(id), plain.label(id));
        let branch = session.branch(Some(id)).ok();
        let path = plain.find(id).map(|entry| plain.path(entry));
        prop_assert_eq!(branch, path.map(|path| path.into_iter().map(|entry| entry as u32).collect::<Vec<_>>()));
    }
    let leaf = entries.clone().rev().find(|&entry| plain.id(entry).is_some());
    prop_assert_eq!(session.leaf_id(), leaf.and_then(|leaf| plain.id(leaf)).map(str::to_owned));
    check_reports(plain, session)
}

fn check_reports(plain: &Plain, session: &Session) -> Result<(), TestCaseError> {
    let entries = 0..plain.0.len();
    let report = session.diagnostics().unwrap();
    let lines = |findings: &[xcsh_session::Finding]| findings.iter().map(|it| it.line as usize - 2).collect::<Vec<_>>();
    let those = |is: &dyn Fn(usize) -> bool| entries.clone().filter(|&entry| is(entry)).collect::<Vec<_>>();
    prop_assert_eq!(lines(&report.without_id), those(&|entry| plain.id(entry).is_none()));
    let repeats = |entry: usize| plain.id(entry).is_some_and(|id| (0..entry).any(|it| plain.id(it) == Some(id)));
    prop_assert_eq!(lines(&report.duplicate_ids), those(&repeats));
    let orphan = |entry: usize| plain.0[entry]["parentId"].is_string() && plain.parent(entry).is_none();
    prop_assert_eq!(lines(&report.orphans), those(&orphan));
    prop_assert_eq!(lines(&report.cycles), those(&|entry| plain.is_root(entry) && plain.parent(entry).is_some()));
    let dangling = |entry: usize| {
        let entry = &plain.0[entry];
        entry["type"] == "compaction" && entry["firstKeptEntryId"].as_str().is_some_and(|id| plain.find(id).is_none())
    };
    prop_assert_eq!(lines(&report.dangling_first_kept), those(&dangling));
    let mut sums = [0.0; 6];
    for entry in &plain.0 {
        let usage = seen(entry.to_string().as_bytes()).unwrap().usage;
        sums.iter_mut().zip(usage).for_each(|(sum, of)| *sum += of);
    }
    let usage = session.usage();
    let found = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.premium_requests, usage.cost];
    prop_assert_eq!(found, sums);
    Ok(())
}

fn check_contexts(plain: &Plain, session: &Session) -> Result<(), TestCaseError> {
    let last = plain.0.len().checked_sub(1);
    let ids: HashSet<_> = plain.0.iter().filter_map(|entry| entry["id"].as_str()).collect();
    let by_id = ids.iter().map(|id| (Leaf::Id(id), plain.find(id)));
    let leaves = by_id.chain([(Leaf::Last, last), (Leaf::Id("nobody"), last), (Leaf::None, None)]);
    let texts: Vec<_> = plain.0.iter().map(Value::to_string).collect();
    for (leaf, entry) in leaves {
        for (resolution, latest) in [(ModelResolution::ModelChange, false), (ModelResolution::Latest, true)] {
            let expected = plain.context(entry, latest, time);
            let plan = session.context_with(leaf, resolution).unwrap();
            let text = session.context_json(&plan).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &expected, "{:?}", leaf);
            // serde_json spells these values as the lines do.
            let spelled: Vec<_> = expected["messages"].as_array().unwrap().iter().map(Value::to_string).collect();
            prop_assert_eq!(session.messages(&plan).unwrap(), spelled);
            prop_assert_eq!(build_session_context(&texts, leaf, resolution).unwrap(), text);
        }
    }
    Ok(())
}

fn session_of(plain: &Plain) -> Session {
    parse(&plain.0.iter().fold(header(3), |text, entry| text + "\n" + &entry.to_string()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_tangle_of_entries_is_walked_as_a_plain_walk_does(entries in tangled()) {
        let plain = Plain(entries);
        let session = session_of(&plain);
        check_tree(&plain, &session)?;
        check_contexts(&plain, &session)?;
    }

    #[test]
    fn a_grown_session_is_walked_as_a_plain_walk_does(entries in grown()) {
        let plain = Plain(entries);
        let session = session_of(&plain);
        check_tree(&plain, &session)?;
        check_contexts(&plain, &session)?;
    }
}
