//! JSON text in every spelling that the grammar has, for property tests.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "each user takes a part of it")]

use proptest::collection::vec;
use proptest::prelude::*;

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
    prop::sample::select(texts).prop_map(str::to_owned)
}

/// White space between tokens; no `\n`, which ends a line.
fn white() -> impl Strategy<Value = String> + Clone {
    prop_oneof![8 => Just(String::new()), 1 => Just(" ".to_owned()), 1 => one_of(&["\t", "\r", "  ", " \t\r "])]
}

pub fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        one_of(&["0", "-0", "1", "1.0", "1e400", "-1E+5", "12345678901234567890", "0.1e-7", "5e-324", "100", "2.50"]),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| if number.is_finite() { format!("{number:e}") } else { "3".to_owned() }),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
    ]
}

/// The inside of a string, in pieces that are sound one by one.
fn inside() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zA-Z0-9 .,{}\\[\\]:/']{0,24}",
        3 => one_of(&["\\n", "\\t", "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\r"]),
        2 => one_of(&["\\u0000", "\\u00e9", "\\u2028", "\\ud83d\\ude00", "\\uD83D", "\\ude00", "\\u0022", "\\u005C"]),
        2 => one_of(&["\u{2028}", "\u{85}", "\u{e9}", "\u{1f600}", "\u{7f}", "\u{feff}", "\u{ffff}"]),
        1 => any::<char>().prop_map(|c| if c < ' ' || matches!(c, '"' | '\\') { '_' } else { c }.to_string()),
    ];
    vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

pub fn string() -> impl Strategy<Value = String> {
    prop_oneof![9 => inside(), 1 => (inside(), 1..200usize).prop_map(|(text, times)| text.repeat(times))]
        .prop_map(|inside| format!("\"{inside}\""))
}

fn between(items: Vec<(String, String, String)>, open: char, close: char) -> String {
    let items: Vec<_> = items.into_iter().map(|(before, item, after)| before + &item + &after).collect();
    format!("{open}{}{close}", items.join(","))
}

pub fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![number(), string(), one_of(&["true", "false", "null", "{}", "[]", "{ }", "[\t]"])];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let member =
            (string(), white(), white(), inner.clone()).prop_map(|(key, a, b, value)| key + &a + ":" + &b + &value);
        prop_oneof![
            vec((white(), inner, white()), 1..5).prop_map(|items| between(items, '[', ']')),
            vec((white(), member, white()), 1..5).prop_map(|items| between(items, '{', '}')),
        ]
    })
}

/// A value inside of `depth` arrays and objects.
pub fn nested(depth: usize, objects: u64, value: &str) -> String {
    let object = |level: usize| objects >> (level % 64) & 1 == 1;
    let open = (0..depth).map(|level| if object(level) { "{\"a\":" } else { "[" });
    let close = (0..depth).rev().map(|level| if object(level) { '}' } else { ']' });
    open.collect::<String>() + value + &close.collect::<String>()
}

/// Some spelling of a string of ASCII letters.
fn spelled(name: &'static str) -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        9 => Just(format!("\"{name}\"")),
        1 => (0..name.len()).prop_map(move |at| {
            format!("\"{}\\u{:04x}{}\"", &name[..at], name.as_bytes()[at], &name[at + 1..])
        }),
    ]
}

fn any_spelled(names: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
    prop::sample::select(names).prop_flat_map(spelled)
}

fn object_of(members: impl Strategy<Value = (String, String)>, most: usize) -> impl Strategy<Value = String> {
    let member = (white(), members, white(), white(), white())
        .prop_map(|(before, (key, value), a, b, after)| (before, key + &a + ":" + &b + &value, after));
    vec(member, 0..most).prop_map(|items| between(items, '{', '}'))
}

fn usage() -> impl Strategy<Value = String> {
    let names = &["input", "output", "cacheRead", "cacheWrite", "premiumRequests", "totalTokens"];
    let cost = prop_oneof![object_of((spelled("total"), number()), 3), value()];
    let member = prop_oneof![
        4 => (any_spelled(names), prop_oneof![4 => number().boxed(), 1 => value().boxed()]),
        1 => (spelled("cost"), cost),
    ];
    prop_oneof![6 => object_of(member, 7), 1 => value()]
}

fn message() -> impl Strategy<Value = String> {
    let roles = any_spelled(&["assistant", "toolResult", "hookMessage", "user", "custom"]);
    let details = object_of(prop_oneof![(spelled("usage"), usage().boxed()), (string(), value().boxed())], 3);
    let member = prop_oneof![
        3 => (spelled("role"), roles.boxed()),
        2 => (spelled("usage"), usage().boxed()),
        1 => (spelled("toolName"), any_spelled(&["task", "read"]).boxed()),
        1 => (spelled("details"), details.boxed()),
        2 => (spelled("content"), value().boxed()),
        1 => (string(), value().boxed()),
        1 => (any_spelled(&["role", "usage", "toolName", "details"]), value().boxed()),
    ];
    prop_oneof![8 => object_of(member, 8), 1 => value()]
}

pub const TYPES: &[&str] = &[
    "message",
    "model_change",
    "thinking_level_change",
    "compaction",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "ttsr_injection",
    "session_init",
    "mode_change",
    "service_tier_change",
    "context_change",
    "mcp_tool_selection",
    "something_else",
    "title",
];

/// An object that is a record now and then: the members that records have, in any order, any spelling, repeated and
/// missing, between others.
pub fn record() -> impl Strategy<Value = String> {
    let member = prop_oneof![
        6 => (spelled("type"), any_spelled(TYPES).boxed()),
        3 => (spelled("message"), message().boxed()),
        3 => (any_spelled(&["id", "parentId", "timestamp", "targetId", "label"]), string().boxed()),
        1 => (spelled("timestamp"), Just("\"2026-02-16T10:20:30.000Z\"".to_owned()).boxed()),
        1 => (any_spelled(&["firstKeptEntryIndex", "firstKeptEntryId"]), prop_oneof![number(), string()].boxed()),
        1 => (any_spelled(&["type", "id", "parentId", "timestamp", "targetId", "label"]), value().boxed()),
        2 => (string(), value().boxed()),
        1 => (string(), (0..10_000usize, any::<u64>(), value())
            .prop_map(|(depth, objects, value)| nested(depth / 8, objects, &value)).boxed()),
    ];
    object_of(member, 9)
}

/// A record that has a type and so is an entry.
pub fn entry() -> impl Strategy<Value = String> {
    (record(), spelled("type"), any_spelled(TYPES), any::<bool>()).prop_map(|(record, key, kind, front)| {
        let comma = if record.trim_matches(['{', '}', ' ', '\t', '\r']).is_empty() { "" } else { "," };
        match front {
            true => format!("{{{key}:{kind}{comma}{}", &record[1..]),
            // The type behind everything else, so that it is the one that counts.
            false => format!("{}{comma}{key}:{kind}}}", &record[..record.len() - 1]),
        }
    })
}

/// Bytes of a text changed here and there.
pub fn mutated(text: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => prop::sample::select(&b"{}[]\",:\\ut0-.e1 \n\x00\x1f\x7f"[..]),
        1 => any::<u8>(),
    ];
    (text, vec((any::<prop::sample::Index>(), 0..4u8, byte), 0..4)).prop_map(|(text, changes)| {
        let mut text = text.into_bytes();
        for (at, how, byte) in changes {
            if text.is_empty() {
                break;
            }
            let at = at.index(text.len());
            match how {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                2 => drop(text.remove(at)),
                _ => text.truncate(at),
            }
        }
        text
    })
}
