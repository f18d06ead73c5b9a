//! The conformance cases (tests/conformance) through the Rust surface. Every other surface runs the same files the
//! same way: load, compare what a case names, and nothing else.

use serde_json::{Value, json};
use std::path::Path;
use xcsh_session::{
    ContextPlan, Leaf, ModelResolution, ReadOptions, Session, Tree, load_entries_from_file, storage::FileSessionStorage,
};

fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// Ids as the cases show them: fresh ids of migrated files as `#<index of the entry>`.
struct Shown<'a> {
    session: &'a Session,
    fresh: bool,
}

impl Shown<'_> {
    fn id(&self, id: Option<&str>) -> Value {
        match id {
            None => Value::Null,
            Some(id) if self.fresh => json!(format!("#{}", self.session.number_of(id).unwrap())),
            Some(id) => json!(id),
        }
    }

    fn entry(&self, number: u32) -> Value {
        self.id(self.session.id_of(number))
    }

    fn branch(&self) -> Value {
        self.session.branch(None).unwrap().into_iter().map(|number| self.entry(number)).collect()
    }

    fn tree(&self) -> Value {
        let tree: Tree = self.session.tree();
        let mut nodes: Vec<Option<Value>> = vec![None; self.session.len()];
        let order: Vec<_> = tree.depth_first().map(|(entry, _)| entry).collect();
        assert_eq!(order.len(), self.session.len(), "every entry is in the tree once");
        for &entry in order.iter().rev() {
            let children: Value = tree.children(entry).iter().map(|&c| nodes[c as usize].take().unwrap()).collect();
            nodes[entry as usize] = Some(json!([self.entry(entry), children]));
        }
        tree.roots().iter().map(|&root| nodes[root as usize].take().unwrap()).collect()
    }

    fn leaf(&self, given: &Value) -> Option<String> {
        let given = given.as_str()?;
        match given.strip_prefix('#').filter(|_| self.fresh).and_then(|index| index.parse().ok()) {
            Some(index) => self.session.id_of(index).map(str::to_owned),
            None => Some(given.to_owned()),
        }
    }
}

fn context(session: &Session, plan: &ContextPlan) -> Value {
    serde_json::from_str(&session.context_json(plan).unwrap()).unwrap()
}

fn read(dir: &Path, case: &Value) -> (Vec<String>, Option<Session>) {
    let path = dir.join("session.jsonl");
    std::fs::write(&path, case["file"].as_str().unwrap()).unwrap();
    let session = Session::read_from(&FileSessionStorage::new(), &path, ReadOptions::default()).ok();
    (load_entries_from_file(&path).unwrap(), session)
}

fn usage(session: &Session) -> Value {
    // The cases spell whole numbers without a fraction.
    let whole = |(key, value): (String, Value)| match value.as_f64() {
        Some(number) if number.fract() == 0.0 => (key, json!(number as i64)),
        _ => (key, value),
    };
    match serde_json::to_value(session.usage()).unwrap() {
        Value::Object(sums) => Value::Object(sums.into_iter().map(whole).collect()),
        other => other,
    }
}

#[test]
fn load_cases() {
    let dir = tempfile::tempdir().unwrap();
    for case in cases("load.json") {
        let name = case["name"].as_str().unwrap();
        let (records, session) = read(dir.path(), &case);
        assert_eq!(!records.is_empty(), case["loads"] == true, "{name}: loads");
        let Some(session) = session else {
            assert_eq!(case["loads"], false, "{name}: does not open");
            continue;
        };
        let first_id = case["entries"][0]["id"].as_str().unwrap_or_default();
        let shown = Shown { session: &session, fresh: first_id.starts_with('#') };
        let header: Value = serde_json::from_str(session.header().json()).unwrap();
        assert_eq!(header, case["header"], "{name}: header");
        assert_eq!(json!(session.is_migrated()), case["migrated"], "{name}: migrated");
        let entries: Vec<_> = session.entries().map(Result::unwrap).collect();
        let listed: Value = entries
            .iter()
            .map(|entry| {
                let parent = shown.id(entry.parent_id().as_deref());
                json!({"type": entry.entry_type(), "id": shown.id(entry.id().as_deref()), "parentId": parent})
            })
            .collect();
        assert_eq!(listed, case["entries"], "{name}: entries");
        for pair in case["firstKept"].as_array().into_iter().flatten() {
            let compaction = &entries[pair[0].as_u64().unwrap() as usize];
            let first = compaction.raw().get("firstKeptEntryId").and_then(|id| id.as_str());
            let expected = if shown.fresh { shown.id(first.as_deref()) } else { json!(first) };
            assert_eq!(expected, pair[1], "{name}: firstKept");
        }
        assert_eq!(shown.id(session.leaf_id().as_deref()), case["leaf"], "{name}: leaf");
        assert_eq!(shown.branch(), case["branch"], "{name}: branch");
        let labels: serde_json::Map<_, _> =
            session.labels().into_iter().map(|(id, label)| (id.to_owned(), json!(label))).collect();
        assert_eq!(Value::Object(labels), case["labels"], "{name}: labels");
        assert_eq!(shown.tree(), case["tree"], "{name}: tree");
        assert_eq!(usage(&session), case["usage"], "{name}: usage");
        for expected in case["contexts"].as_array().unwrap() {
            check_context(name, &shown, expected);
        }
    }
}

fn check_context(name: &str, shown: &Shown<'_>, expected: &Value) {
    let session = shown.session;
    let id = expected.get("leaf").and_then(|leaf| shown.leaf(leaf));
    let leaf = match expected.get("leaf") {
        None => Leaf::Last,
        Some(Value::Null) => Leaf::None,
        Some(_) => Leaf::Id(id.as_deref().unwrap()),
    };
    let plan = session.context(leaf).unwrap();
    if let Some(raw) = expected.get("rawMessages") {
        assert_eq!(json!(session.messages(&plan).unwrap()), *raw, "{name}: raw messages of {leaf:?}");
    }
    if let Some(whole) = expected.get("expect") {
        assert_eq!(context(session, &plan), *whole, "{name}: context of {leaf:?}");
        let latest = session.context_with(leaf, ModelResolution::Latest).unwrap();
        let models = expected.get("modelsLatest").unwrap_or(&whole["models"]);
        assert_eq!(context(session, &latest)["models"], *models, "{name}: latest models of {leaf:?}");
    }
}

/// The text of a context message: its content if a string, else its first text block.
fn text(message: &Value) -> Value {
    match &message["content"] {
        Value::Array(blocks) => {
            blocks.iter().find(|block| block["type"] == "text").map_or(Value::Null, |b| b["text"].clone())
        }
        content => content.clone(),
    }
}

#[test]
fn robust_cases() {
    let dir = tempfile::tempdir().unwrap();
    for case in cases("robust.json") {
        let name = case["name"].as_str().unwrap();
        let (records, session) = read(dir.path(), &case);
        assert_eq!(!records.is_empty(), case["loads"] == true, "{name}: loads");
        let session = session.unwrap_or_else(|| panic!("{name}: does not open"));
        let shown = Shown { session: &session, fresh: false };
        let ids: Value = (0..session.len() as u32).map(|number| shown.entry(number)).collect();
        let messages = session.messages(&session.context(Leaf::Id(&session.leaf_id().unwrap())).unwrap()).unwrap();
        let expect = |key: &str, found: Value| {
            if let Some(expected) = case.get(key) {
                assert_eq!(found, *expected, "{name}: {key}");
            }
        };
        expect("ids", ids);
        expect("leaf", json!(session.leaf_id()));
        expect("branch", shown.branch());
        expect("tree", shown.tree());
        expect("usage", usage(&session));
        expect("title", json!(session.title()));
        let parsed = messages.iter().map(|message| serde_json::from_str::<Value>(message).unwrap());
        expect("texts", parsed.map(|message| text(&message)).collect());
        if let Some(held) = case.get("contains").and_then(Value::as_str) {
            assert!(messages.iter().any(|message| message.contains(held)), "{name}: contains {held}");
        }
        let report = serde_json::to_value(session.diagnostics().unwrap()).unwrap();
        for (key, expected) in case.get("diagnostics").and_then(Value::as_object).into_iter().flatten() {
            let found = report[key].as_array().unwrap();
            let found = match key.as_str() {
                "malformedLines" => found.iter().map(|at| at["line"].clone()).collect(),
                _ => json!(found.len()),
            };
            assert_eq!(found, *expected, "{name}: diagnostics {key}");
        }
    }
}
