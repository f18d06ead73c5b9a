//! The same rules on a tree, where they are easy to read, and what must hold of every line.

use super::super::{Limits, persist_form, refs, resolve_message_blobs};
use super::{Blobs, base64};
use proptest::prelude::*;
use serde_json::{Map, Value};
use std::collections::HashSet;

const SMALL: Limits = Limits { max_chars: 80, min_image: 16 };
const NOTICE: &str = "\n\n[Session persistence truncated large content]";

struct Naive<'a> {
    limits: Limits,
    blobs: &'a mut Blobs,
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct At<'k> {
    /// The key it, or the array that it is in, is the value of; "" where that is no matter.
    key: &'k str,
    item: bool,
    top: bool,
}

impl Naive<'_> {
    /// The value's form in the file, and whether something in it was cut or removed.
    fn value(&mut self, value: &Value, at: At<'_>) -> (Value, bool) {
        match value {
            Value::String(text) => self.string(text, at),
            Value::Array(items) => {
                let signature = at.key.ends_with("Signature");
                let inner = At { key: if at.item && !signature { "" } else { at.key }, item: true, top: false };
                let forms: Vec<_> = items.iter().map(|item| self.value(item, inner)).collect();
                let changed = forms.iter().any(|(_, changed)| *changed);
                (forms.into_iter().map(|(form, _)| form).collect(), changed)
            }
            Value::Object(map) => self.object(map, at),
            other => (other.clone(), false),
        }
    }

    fn string(&mut self, text: &str, at: At<'_>) -> (Value, bool) {
        if at.key == "image_url" && !at.item && text.starts_with("data:image/") && text.contains(";base64,") {
            return (self.reference(text.as_bytes()), false);
        }
        if text.encode_utf16().count() <= self.limits.max_chars {
            return (text.into(), false);
        }
        if at.key.ends_with("Signature") {
            return ("".into(), true);
        }
        let mut kept = String::new();
        for character in text.chars() {
            if kept.encode_utf16().count() + character.len_utf16() > self.limits.max_chars - NOTICE.len() {
                break;
            }
            kept.push(character);
        }
        (format!("{kept}{NOTICE}").into(), true)
    }

    fn reference(&mut self, bytes: &[u8]) -> Value {
        format!("blob:sha256:{}", self.blobs.put(bytes).unwrap()).into()
    }

    fn object(&mut self, map: &Map<String, Value>, at: At<'_>) -> (Value, bool) {
        let image = at.item && at.key == "content" && map.get("type") == Some(&"image".into());
        let (mut form, mut any) = (Map::new(), false);
        for (key, value) in map {
            if key == "partialJson" || key == "jsonlEvents" {
                any = true;
            } else if at.top && ["type", "id", "parentId", "timestamp"].contains(&&**key) && value.is_string() {
                form.insert(key.clone(), value.clone());
            } else if let ("data", true, Value::String(data)) = (&**key, image, value) {
                let moved = self.image(data);
                form.insert(key.clone(), moved.unwrap_or_else(|| value.clone()));
            } else {
                let (member, changed) = self.value(value, At { key, item: false, top: false });
                any |= changed;
                form.insert(key.clone(), member);
            }
        }
        if let (true, Some(Value::String(content)), Some(Value::Number(_))) =
            (any, form.get("content"), form.get("lineCount"))
        {
            let lines = content.split('\n').count();
            form["lineCount"] = lines.into();
        }
        (Value::Object(form), any)
    }

    fn image(&mut self, data: &str) -> Option<Value> {
        let bytes = base64_simd::forgiving_decode_to_vec(data.as_bytes()).ok()?;
        let same = base64(&bytes) == data && data.chars().count() >= self.limits.min_image;
        same.then(|| self.reference(&bytes))
    }
}

fn without_transient(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_transient).collect(),
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !["partialJson", "jsonlEvents"].contains(&key.as_str()));
            Value::Object(kept.map(|(key, value)| (key.clone(), without_transient(value))).collect())
        }
        other => other.clone(),
    }
}

/// Every character of every string and key as `\u` escapes.
fn escaped(value: &Value) -> String {
    let string = |text: &str| {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{units}\"")
    };
    match value {
        Value::String(text) => string(text),
        Value::Array(items) => format!("[ {} ]", items.iter().map(escaped).collect::<Vec<_>>().join(" , ")),
        Value::Object(map) => {
            let members: Vec<_> =
                map.iter().map(|(key, value)| format!("{} : {}", string(key), escaped(value))).collect();
            format!("{{\t{}\r}}", members.join("\t,\t"))
        }
        other => other.to_string(),
    }
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec![
            "type", "id", "parentId", "timestamp", "x", "", "message", "thinkingSignature", "thoughtSignature",
            "textSignature", "image_url", "partialJson", "jsonlEvents", "\u{e9}",
        ]),
        4 => prop::sample::select(vec!["type", "data", "content", "content", "lineCount"]),
    ]
    .prop_map(str::to_owned)
}

fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec!["image", "image", "message", "session", "blob:sha256:../x", "http://x"])
            .prop_map(str::to_owned),
        "[a-c\n\"\\\\\u{e9}\u{4e2d}\u{1f600}]{0,110}",
        "[a\u{1f600}]{75,85}",
        prop::collection::vec(any::<u8>(), 0..80).prop_map(|bytes| base64(&bytes)),
        prop::collection::vec(any::<u8>(), 0..80).prop_map(|bytes| format!("data:image/png;base64,{}", base64(&bytes))),
        "[A-D=\n]{14,100}",
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => string().prop_map(Value::from),
        2 => (0..4u32).prop_map(Value::from),
        1 => Just(Value::Null),
    ]
}

fn block() -> impl Strategy<Value = Value> {
    (string(), scalar(), any::<bool>()).prop_map(|(data, other, first)| {
        let mut map = Map::new();
        if first {
            map.insert("type".into(), "image".into());
        }
        map.insert("data".into(), data.into());
        map.insert("x".into(), other);
        map.insert("type".into(), "image".into());
        Value::Object(map)
    })
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![3 => scalar(), 1 => block()].prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner.clone()), 0..6)
                .prop_map(|all| Value::Object(all.into_iter().collect())),
            (inner, string(), 0..5u32).prop_map(|(inner, content, count)| {
                serde_json::json!({"content": content, "lineCount": count, "y": inner})
            }),
        ]
    })
}

fn line() -> impl Strategy<Value = Value> {
    prop::collection::vec((key(), value()), 0..6).prop_map(|members| Value::Object(members.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn raw_edits_are_the_edits_of_a_tree(line in line()) {
        let mut expected_blobs = Blobs::default();
        let header = line.get("type") == Some(&"session".into());
        let expected = if header { line.clone() } else {
            Naive { limits: SMALL, blobs: &mut expected_blobs }.value(&line, At { key: "", item: false, top: true }).0
        };

        let text = line.to_string();
        let mut blobs = Blobs::default();
        let form = blobs.persist_within(text.as_bytes(), SMALL).unwrap_or_else(|| text.clone().into_bytes());
        prop_assert_eq!(std::str::from_utf8(&form).unwrap(), expected.to_string());
        prop_assert_eq!(&blobs.0, &expected_blobs.0);
        prop_assert_eq!(blobs.persist_within(&form, SMALL), None, "the file's form is final");

        let spelled = escaped(&line);
        let mut blobs = Blobs::default();
        let form = blobs.persist_within(spelled.as_bytes(), SMALL).unwrap_or_else(|| spelled.into_bytes());
        let again: Value = serde_json::from_slice(&form).unwrap();
        prop_assert_eq!(again.to_string(), expected.to_string(), "however it is spelled");
        prop_assert_eq!(&blobs.0, &expected_blobs.0);
    }

    #[test]
    fn reading_puts_back_what_writing_moved_out(content in value()) {
        let line = serde_json::json!({"type": "message", "message": {"content": without_transient(&content)}}).to_string();
        let nothing_is_cut = Limits { max_chars: 1_000, ..SMALL };
        let mut blobs = Blobs::default();
        let form = blobs.persist_within(line.as_bytes(), nothing_is_cut);
        prop_assert_eq!(form.is_some(), !blobs.0.is_empty());
        let form = form.map_or_else(|| line.clone(), |form| String::from_utf8(form).unwrap());
        let mentioned: HashSet<_> = refs::blob_refs(form.as_bytes()).into_iter().filter_map(|found| found.hash).collect();
        prop_assert_eq!(mentioned, blobs.0.keys().cloned().collect());
        prop_assert_eq!(blobs.resolve(&form), line);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>()) {
        let sound = br#"{"content":[{"type":"image","data":"AAAAAAAAAAAAAAAAAAAAAAAA"}],"partialJson":"\u0041","image_url":"blob:sha256:"}"#;
        let mut spliced = sound.to_vec();
        spliced.splice(cut.index(sound.len())..cut.index(sound.len()), bytes.iter().take(4).copied());
        for text in [&bytes[..], &spliced, &spliced[..cut.index(spliced.len())]] {
            let mut puts = 0;
            let form = super::persist_within(text, SMALL, &mut |_| { puts += 1; Ok("0".repeat(64)) }).unwrap();
            if crate::json::check(text).is_err() {
                prop_assert_eq!((form, puts), (None, 0));
            } else if let Some(form) = form {
                prop_assert!(crate::json::check(&form).is_ok());
            }
            persist_form(text, &mut |_| Ok(String::new())).unwrap();
            let _ = refs::blob_refs(text);
            let _ = resolve_message_blobs(text, &mut |_| Some(bytes.clone()));
        }
    }
}
