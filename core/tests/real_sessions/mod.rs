//! Session files that real agents wrote, and what a right reader finds in each. They are not part of the repository.

use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Each file with what is expected of it; nothing, said on stderr, where the folder is absent.
pub(crate) fn all() -> Vec<(PathBuf, Value)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/sessions");
    let Ok(text) = std::fs::read_to_string(dir.join("expected.json")) else {
        eprintln!("skipped: no real session files in {}", dir.display());
        return Vec::new();
    };
    let expected: Map<String, Value> = serde_json::from_str(&text).unwrap();
    assert!(!expected.is_empty(), "expected.json names no file");
    expected.into_iter().map(|(name, expected)| (dir.join(name), expected)).collect()
}

/// Compares what was found with what is expected, key by key, costs to nine decimals. Found keys that nothing is
/// expected of are fine, but for `title`.
pub(crate) fn check(file: &Path, found: &Value, expected: &Value) {
    for (key, expected) in expected.as_object().unwrap() {
        let found = &found[key];
        if key == "usage" {
            assert_eq!(cents(found), cents(expected), "{}: {key}", file.display());
        } else {
            assert_eq!(found, expected, "{}: {key}", file.display());
        }
    }
    assert_eq!(found.get("title"), expected.get("title"), "{}: title", file.display());
}

fn cents(usage: &Value) -> Vec<(&str, String)> {
    let sums = usage.as_object().unwrap().iter();
    let mut sums: Vec<_> = sums.map(|(key, sum)| (key.as_str(), format!("{:.9}", sum.as_f64().unwrap()))).collect();
    sums.sort();
    sums
}
