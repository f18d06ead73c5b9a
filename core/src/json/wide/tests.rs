use super::*;
use proptest::prelude::*;

type Ahead = fn(&mut Block, &[u8], u64) -> Option<End>;

fn plain_bits(window: &Window) -> Bits {
    let of = |is: fn(u8) -> bool| {
        window[BEFORE..].iter().enumerate().fold(0, |bits, (i, &byte)| bits | u64::from(is(byte)) << i)
    };
    Bits {
        quote: of(|byte| byte == b'"'),
        slash: of(|byte| byte == b'\\'),
        control: of(|byte| byte < 0x20),
        high: of(|byte| byte >= 0x80),
        no_escape: of(|byte| !b"\"\\/bfnrtu".contains(&byte)),
        u: of(|byte| byte == b'u'),
    }
}

/// Every form that this machine can run.
fn forms() -> Vec<Ahead> {
    // The plain form says of no text outside of ASCII that it is UTF-8.
    let mut forms: Vec<Ahead> = vec![|block, text, slash| block.ahead_with(text, slash, plain_bits, |_| false)];
    forms.extend(wide_forms());
    forms
}

#[cfg(not(target_arch = "x86_64"))]
fn wide_forms() -> Vec<Ahead> {
    Vec::new()
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn wide_forms() -> Vec<Ahead> {
    let mut forms: Vec<Ahead> = Vec::new();
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        forms.push(|block, text, slash| unsafe { x86::ahead_avx2(block, text, slash) });
    }
    if is_x86_feature_detected!("avx512bw") {
        // SAFETY: the processor has AVX-512BW.
        forms.push(|block, text, slash| unsafe { x86::ahead_avx512(block, text, slash) });
    }
    forms
}

/// Where a string ends, one byte after the other.
fn plain_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += match text.get(at)? {
            b'"' => return Some(at),
            0..0x20 => return None,
            b'\\' => match text.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                b'u' if text.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                _ => return None,
            },
            _ => 1,
        };
    }
}

/// Every string of a text, found by a block that goes on from one to the next, is what a byte by byte look says.
fn agree(text: &[u8]) {
    for (form, &ahead) in forms().iter().enumerate() {
        let mut block = Block::default();
        let mut at = 0;
        while let Some(open) = text[at..].iter().position(|&byte| byte == b'"') {
            let inner = at + open + 1;
            // Outside of strings no `\` may stand, and nothing that is not ASCII.
            if text[at..inner].iter().any(|&byte| byte == b'\\' || byte >= 0x80) {
                break;
            }
            let found = block.string_end_by(text, inner, ahead);
            let Some(end) = plain_end(text, inner) else {
                assert!(found.is_none(), "form {form}: {}", text.escape_ascii());
                break;
            };
            let string = &text[inner..end];
            let found = found.map(|found| (found.quote, found.escapes));
            assert_eq!(found, Some((end, string.contains(&b'\\'))), "form {form}: {}", text.escape_ascii());
            assert!(!block.not_utf8 || !text.is_ascii(), "form {form}: {}", text.escape_ascii());
            assert!(block.not_utf8 || std::str::from_utf8(string).is_ok(), "form {form}: {}", text.escape_ascii());
            let is_wide = form > 0;
            assert!(!is_wide || !block.not_utf8 || std::str::from_utf8(text).is_err(), "{}", text.escape_ascii());
            at = end + 1;
        }
    }
}

#[test]
fn escaped_bytes_are_those_of_a_byte_by_byte_look() {
    let mut slash = 0x1234_5678_9abc_def1_u64;
    for round in 0..20_000 {
        slash = slash.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let dense = [slash, slash | slash >> 3, !(slash & slash >> 1), slash & slash << 7][round % 4];
        for first in [0, 1] {
            let (mut expected, mut is_escaped) = (0u64, first == 1);
            for bit in 0..64 {
                expected |= u64::from(is_escaped) << bit;
                is_escaped = !is_escaped && dense >> bit & 1 == 1;
            }
            assert_eq!(escaped(dense, first), (expected, u64::from(is_escaped)), "{dense:x} {first}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn every_form_tells_the_same_of_every_byte_in_every_place() {
    for byte in 0..=255u8 {
        for place in 0..BEFORE + BLOCK {
            for fill in [b'a', b'"', b'\\', b'u', 0x80, 0xff, 0] {
                let mut window = [fill; BEFORE + BLOCK];
                window[place] = byte;
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2.
                    assert_eq!(unsafe { x86::bits_avx2(&window) }, plain_bits(&window), "{byte} at {place}");
                }
                if is_x86_feature_detected!("avx512bw") {
                    // SAFETY: the processor has AVX-512BW.
                    assert_eq!(unsafe { x86::bits_avx512(&window) }, plain_bits(&window), "{byte} at {place}");
                }
            }
        }
    }
}

#[test]
fn every_byte_in_every_place_of_a_string_escaped_and_not() {
    for byte in 0..=255u8 {
        for place in 0..2 * BLOCK + 3 {
            for slashes in 0..4 {
                let string =
                    [&vec![b'a'; place][..], &vec![b'\\'; slashes], &[byte], b"0a1fb\" , \"next\\n\""].concat();
                agree(&[&b"\""[..], &string].concat());
                agree(&[&b"{\"k\":\""[..], &string].concat());
            }
        }
    }
}

#[test]
fn texts_of_every_length_end_where_they_end() {
    for len in 0..3 * BLOCK {
        let inner = "\u{e9}".repeat(len / 2) + &"b".repeat(len % 2);
        for end in ["", "\"", "\\", "\\\"", "\\u", "\\u00", "\\u0041", "\\u0041\"", "\",\"\""] {
            agree(format!("\"{inner}{end}").as_bytes());
        }
    }
}

/// Bytes on both sides of every border that UTF-8 has.
const BORDERS: [u8; 24] = [
    0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0,
    0xf1, 0xf3, 0xf4, 0xf5, 0xff,
];

#[test]
fn utf8_is_told_from_what_is_not_on_every_border() {
    let sequences = (0..24usize.pow(4)).map(|n| [n, n / 24, n / 576, n / 13824].map(|digit| BORDERS[digit % 24]));
    for (round, sequence) in sequences.enumerate() {
        // All places over a block's border come round, and all sequences of up to three bytes in each of them.
        let before = 57 + round % 7 + if round / 7 % 2 == 0 { 0 } else { 32 };
        for len in 1..=4 {
            let mut text = vec![b'a'; before + len + 80];
            text[0] = b'"';
            text[before..before + len].copy_from_slice(&sequence[..len]);
            text.push(b'"');
            for &ahead in &wide_forms() {
                let mut block = Block::default();
                assert!(block.string_end_by(&text, 1, ahead).is_some());
                assert_eq!(!block.not_utf8, std::str::from_utf8(&text).is_ok(), "{}", text.escape_ascii());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn strings_end_where_a_byte_by_byte_look_says(
        pieces in prop::collection::vec(
            prop_oneof![
                12 => "[a-zA-Z0-9 u/]{1,40}",
                4 => Just("\\n".to_owned()), 4 => Just("\\\\".to_owned()), 4 => Just("\\\"".to_owned()),
                2 => Just("\\u00e9".to_owned()), 2 => Just("\u{e9}".to_owned()), 1 => Just("\u{1f600}".to_owned()),
                4 => Just("\"".to_owned()), 4 => Just("\",\"".to_owned()), 1 => Just("\\".to_owned()),
                1 => Just("\\u12g4".to_owned()), 1 => Just("\n".to_owned()), 1 => Just("\\x".to_owned()),
            ],
            0..60,
        ),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut text = format!("\"{}", pieces.concat()).into_bytes();
        if let Some((place, byte)) = damage {
            let place = place.index(text.len());
            text[place] = byte;
        }
        agree(&text);
    }
}
