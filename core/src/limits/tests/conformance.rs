//! `tests/conformance/write.json`: what the agent's file has for what was appended.

use super::{Blobs, base64};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const CASES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/conformance/write.json"));

/// Strings built as the README of the cases says.
fn built(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(built).collect(),
        Value::Object(map) => {
            if let Some(spec) = map.get("$repeat") {
                return spec[0].as_str().unwrap().repeat(spec[1].as_u64().unwrap() as usize).into();
            }
            if let Some(count) = map.get("$base64") {
                let count = count.as_u64().unwrap();
                return base64(&(0..count).map(|i| ((7 * i + count) % 256) as u8).collect::<Vec<_>>()).into();
            }
            if let Some(parts) = map.get("$concat") {
                let parts = parts.as_array().unwrap().iter().map(|part| built(part).as_str().unwrap().to_owned());
                return parts.collect::<String>().into();
            }
            Value::Object(map.iter().map(|(key, value)| (key.clone(), built(value))).collect())
        }
        other => other.clone(),
    }
}

/// Long strings shown as the cases show them.
fn shown(value: &Value) -> Value {
    match value {
        Value::String(text) if text.encode_utf16().count() > 2_000 => {
            let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"$utf16": text.encode_utf16().count(), "$sha256": hash})
        }
        Value::Array(items) => items.iter().map(shown).collect(),
        Value::Object(map) => Value::Object(map.iter().map(|(key, value)| (key.clone(), shown(value))).collect()),
        other => other.clone(),
    }
}

/// The line that the op makes in memory: the expected one with the op's own value in its place.
fn appended(op: &Value, expected: &str) -> Option<String> {
    let mut line: Value = serde_json::from_str(expected).unwrap();
    match op[0].as_str()? {
        "appendMessage" => line["message"] = built(&op[1]),
        "appendCustomEntry" => line["data"] = built(&op[2]),
        "appendCustomMessageEntry" => line["content"] = built(&op[2]),
        _ => return None,
    }
    Some(line.to_string())
}

#[test]
fn lines_are_those_of_the_recorded_cases() {
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    let mine = ["truncate-", "signatures-", "transient-", "image-", "deep-and-odd-values"];
    let (mut lines, mut names) = (0, 0);
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        if !mine.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        names += 1;
        let file = case["file"].as_array().unwrap()[1..].iter().map(|line| line.as_str().unwrap());
        for (op, expected) in case["ops"].as_array().unwrap().iter().zip(file) {
            let line = appended(op, expected).unwrap_or_else(|| panic!("{name}: {op}"));
            let mut blobs = Blobs::default();
            let form = blobs.persist(&line);
            assert_eq!(shown(&serde_json::from_str(&form).unwrap()).to_string(), expected, "{name}");
            if name.starts_with("image-") {
                assert_eq!(blobs.resolve(&form), line, "{name}: and back");
            }
            lines += 1;
        }
    }
    assert_eq!((names, lines), (10, 25));
}
