//! Arbitrary sequences of calls of the C ABI, on handles that are alive: whatever is given, a function returns a status
//! that is known and no panic, an error object where there is an error, and nothing in the places for results then.
//! Sessions are in memory; the prompt history, a file, is left out.

#![no_main]

mod calls_of;
mod given;
mod place;

use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut input = Unstructured::new(data);
    let mut world = given::World::new();
    for _ in 0..200 {
        if input.is_empty() || calls_of::one(&mut input, &mut world).is_err() {
            break;
        }
    }
});
