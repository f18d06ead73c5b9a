//! Any line on its way to the file and back: JSON stays JSON, what is no JSON stays what it is, and once is enough.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;
use xcsh_session::fuzzing::{blob_refs, persist_form, persist_small, resolve_blobs};
use xcsh_session::json;

fuzz_target!(|line: &[u8]| {
    let sound = json::check(line).is_ok();
    for small in [false, true] {
        let mut blobs = HashMap::new();
        let mut put = |bytes: &[u8]| {
            let hash = format!("{:064x}", blobs.len());
            blobs.insert(hash.clone(), bytes.to_vec());
            Ok(hash)
        };
        let form = if small { persist_small } else { persist_form };
        let Some(persisted) = form(line, &mut put).unwrap() else {
            assert!(blobs.is_empty());
            continue;
        };
        assert!(sound);
        json::check(&persisted).unwrap();
        let again = form(&persisted, &mut |_| panic!("a blob of a line that is persisted already")).unwrap();
        assert_eq!(again, None);
        let resolved = resolve_blobs(&persisted, &mut |hash| blobs.get(hash).cloned());
        json::check(resolved.as_deref().unwrap_or(&persisted)).unwrap();
    }
    let _ = blob_refs(line);
    if let Some(resolved) = resolve_blobs(line, &mut |_| Some(b"blob".to_vec())) {
        json::check(&resolved).unwrap();
    }
});
