//! Any lines as entries: from every entry there is a way to a root and a context, the one that SPEC section 7 gives.
#![no_main]

#[path = "../../tests/support/plain.rs"]
mod plain;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use xcsh_session::fuzzing::millis;
use xcsh_session::{Leaf, ModelResolution, ReadOptions, Session, json};

/// Leaves looked at, and entries up to which the plain form, which is quadratic, is asked too.
const LEAVES: u32 = 12;
const PLAIN: usize = 24;

fuzz_target!(|bytes: &[u8]| {
    let text = [&br#"{"type":"session","version":3,"id":"s"}"#[..], b"\n", bytes].concat();
    let session = Session::parse(text, "fuzz.jsonl", ReadOptions::default()).unwrap();
    let values = session.entries().map(|entry| serde_json::from_str(entry.unwrap().line()).ok());
    // serde_json has no value for lone surrogates and numbers that are too large.
    let plain = if session.len() <= PLAIN { values.collect::<Option<Vec<Value>>>().map(plain::Plain) } else { None };
    let time = |entry: &Value| millis(entry["timestamp"].as_str()?);
    let ids = (0..session.len() as u32).take(LEAVES as usize).filter_map(|entry| session.id_of(entry)).map(Leaf::Id);
    for leaf in ids.chain([Leaf::Last, Leaf::None, Leaf::Id("nobody")]) {
        if let Leaf::Id(id) = leaf {
            let _ = (session.branch(Some(id)), session.children(id));
        }
        for (resolution, latest) in [(ModelResolution::ModelChange, false), (ModelResolution::Latest, true)] {
            let plan = session.context_with(leaf, resolution).unwrap();
            let context = session.context_json(&plan).unwrap();
            json::check(context.as_bytes()).unwrap();
            if let Some(plain) = &plain {
                let last = plain.0.len().checked_sub(1);
                let entry = match leaf {
                    Leaf::None => None,
                    Leaf::Last => last,
                    Leaf::Id(id) => plain.find(id).or(last),
                };
                assert_eq!(serde_json::from_str::<Value>(&context).unwrap(), plain.context(entry, latest, time));
            }
        }
    }
});
