//! Ids of sessions and entries (SPEC sections 1, 2 and 5).

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::time;

/// 2015-01-01T00:00:00Z in milliseconds since 1970.
const EPOCH: i64 = 1_420_070_400_000;
const SEQUENCE_BITS: u32 = 22;
const SEQUENCE_MASK: u64 = (1 << SEQUENCE_BITS) - 1;
const TRIES: u32 = 100;

/// A session id: 16 lower-case hex digits that sort by time and rise strictly within the process, over all threads
/// and whatever the clock does (SPEC section 1).
pub fn snowflake() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let millis = u64::try_from(time::now() - EPOCH).unwrap_or(0);
    let random = mix(random() ^ u64::from(std::process::id()));
    hex::<16>(rising(&LAST, millis, random & SEQUENCE_MASK))
}

/// The next id after `last`. A sequence that overflows, and a clock that stands still or goes back, run on into the
/// following milliseconds.
fn rising(last: &AtomicU64, millis: u64, sequence: u64) -> u64 {
    let next = |last: u64| match millis > last >> SEQUENCE_BITS {
        true => millis << SEQUENCE_BITS | sequence,
        false => last + 1,
    };
    let previous = last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
    previous.map_or_else(next, next)
}

/// A new entry id: 8 lower-case hex digits that are not `taken`; after 100 tries a [`snowflake`] (SPEC section 2).
pub fn entry_id(taken: impl Fn(&str) -> bool) -> String {
    (0..TRIES).map(|_| hex::<8>(random())).find(|id| !taken(id)).unwrap_or_else(snowflake)
}

/// The id that migration gives to the entry at `index` of a session without ids (SPEC section 5): 8 lower-case hex
/// digits that follow from the session id and the index, so that two processes that migrate the same file agree.
/// `taken` must depend on nothing but the entries before; where 100 ids are taken, the id has 16 digits.
pub fn derived_entry_id(session_id: &str, index: u64, taken: impl Fn(&str) -> bool) -> String {
    let mut salt = 0;
    loop {
        let mut hash = Sha256::new();
        hash.update(index.to_le_bytes());
        hash.update(u32::to_le_bytes(salt));
        hash.update(session_id);
        let digest = hash.finalize();
        let bits = digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        let id = if salt < TRIES { hex::<8>(bits) } else { hex::<16>(bits) };
        if !taken(&id) {
            return id;
        }
        salt += 1;
    }
}

/// The low `DIGITS` hex digits of `bits`.
fn hex<const DIGITS: usize>(bits: u64) -> String {
    let digit = |i: usize| char::from(b"0123456789abcdef"[(bits >> (4 * (DIGITS - 1 - i)) & 15) as usize]);
    let mut text = String::with_capacity(DIGITS);
    text.extend((0..DIGITS).map(digit));
    text
}

/// Fast random bits. The clock goes into every draw, because a forked process starts with a copy of the state and
/// must not repeat the ids of its parent.
fn random() -> u64 {
    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0) };
    }
    STATE.with(|state| {
        let seed = if state.get() == 0 { seed() } else { state.get() };
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        state.set(mix(seed ^ clock));
        mix(state.get())
    })
}

/// Threads have different keys in `RandomState`, also where the system gives no random bits.
fn seed() -> u64 {
    getrandom::u64().unwrap_or_else(|_| RandomState::new().hash_one(std::process::id()))
}

/// The increment and finaliser of SplitMix64: a bijection that spreads every bit over all.
fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn is_hex(id: &str, digits: usize) -> bool {
        id.len() == digits && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }

    #[test]
    fn snowflakes_hold_the_time() {
        let before = time::now();
        let id = snowflake();
        assert!(is_hex(&id, 16), "{id}");
        let millis = (u64::from_str_radix(&id, 16).unwrap() >> SEQUENCE_BITS) as i64 + EPOCH;
        assert!((before..=time::now() + 10_000).contains(&millis), "{id} is of {}", time::format(millis));
        assert_eq!(time::format(EPOCH), "2015-01-01T00:00:00.000Z");
    }

    #[test]
    fn snowflakes_rise_over_threads() {
        let runs: Vec<Vec<String>> = std::thread::scope(|scope| {
            let run = || (0..5_000).map(|_| snowflake()).collect();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(runs.iter().all(|run| run.is_sorted_by(|a, b| a < b)));
        assert_eq!(runs.iter().flatten().collect::<HashSet<_>>().len(), 40_000);
    }

    #[test]
    fn a_full_millisecond_runs_into_the_next() {
        let last = AtomicU64::new(0);
        assert_eq!(rising(&last, 7, SEQUENCE_MASK), 7 << SEQUENCE_BITS | SEQUENCE_MASK);
        assert_eq!(rising(&last, 7, 5), 8 << SEQUENCE_BITS);
        assert_eq!(rising(&last, 8, 5), (8 << SEQUENCE_BITS) + 1);
        assert_eq!(rising(&last, 9, 5), 9 << SEQUENCE_BITS | 5);
    }

    #[test]
    fn entry_ids_avoid_what_is_taken() {
        let mut ids = HashSet::new();
        for _ in 0..20_000 {
            let id = entry_id(|id| ids.contains(id));
            assert!(is_hex(&id, 8), "{id}");
            assert!(ids.insert(id));
        }
        let tries = Cell::new(0);
        let id = entry_id(|_| {
            tries.set(tries.get() + 1);
            true
        });
        assert!(is_hex(&id, 16), "{id}");
        assert_eq!(tries.get(), TRIES);
    }

    #[test]
    fn a_copied_generator_state_does_not_repeat() {
        let copy = 0x1234_5678_9abc_def0_u64;
        let draw = |clock: u64| mix(mix(copy ^ clock)) as u32;
        assert_eq!((0..1000).map(draw).collect::<HashSet<_>>().len(), 1000);
    }

    #[test]
    fn derived_ids_are_the_same_everywhere() {
        let free = |_: &str| false;
        assert_eq!(derived_entry_id("1f9d2a6b9c0d1234", 0, free), "0d6ea892");
        assert_eq!(derived_entry_id("1f9d2a6b9c0d1234", 1, free), "d8d505fc");
        let first = derived_entry_id("s", 3, free);
        let second = derived_entry_id("s", 3, |id| id == first);
        assert!(is_hex(&second, 8) && second != first);
        assert_eq!(derived_entry_id("s", 3, |id| id == first), second);
        let long = derived_entry_id("s", 3, |id| id.len() == 8);
        assert!(is_hex(&long, 16), "{long}");
    }

    #[test]
    fn derived_ids_are_unique_in_a_session() {
        let mut ids = HashSet::new();
        for index in 0..100_000 {
            let id = derived_entry_id("1f9d2a6b9c0d1234", index, |id| ids.contains(id));
            assert!(ids.insert(id));
        }
    }

    proptest! {
        #[test]
        fn ids_rise_whatever_the_clock_does(calls in prop::collection::vec((0..5u64, 0..=SEQUENCE_MASK), 1..100)) {
            let last = AtomicU64::new(0);
            let ids: Vec<_> = calls.iter().map(|&(millis, sequence)| rising(&last, millis, sequence)).collect();
            prop_assert!(ids.is_sorted_by(|a, b| a < b));
        }

        #[test]
        fn hex_is_what_format_prints(bits in any::<u64>()) {
            prop_assert_eq!(hex::<16>(bits), format!("{bits:016x}"));
            prop_assert_eq!(hex::<8>(bits), format!("{:08x}", bits as u32));
        }
    }
}
