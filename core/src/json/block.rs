//! Strings, many bytes at a time. What is here only runs ahead: it says how far a string is sound for certain, and
//! the scanner's own steps, which are the definition, go on from there.

/// Bytes looked at in one step.
pub(super) const BLOCK: usize = 16;

/// What one block holds, a bit a byte, the first byte in the lowest bit.
#[derive(Clone, Copy)]
pub(super) struct Masks {
    /// `"`, `\` and control characters.
    pub(super) stop: u32,
    /// Bytes of 0x80 and over.
    pub(super) high: u32,
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
#[allow(unsafe_code)]
pub(super) fn masks(block: &[u8; BLOCK]) -> Masks {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: SSE2 is compiled in (the cfg above), and the unaligned load reads the 16 bytes of `block`.
    unsafe {
        let x = _mm_loadu_si128(block.as_ptr().cast());
        let quote = _mm_cmpeq_epi8(x, _mm_set1_epi8(b'"' as i8));
        let slash = _mm_cmpeq_epi8(x, _mm_set1_epi8(b'\\' as i8));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);
        Masks {
            stop: _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), control)) as u32,
            high: _mm_movemask_epi8(x) as u32,
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline(always)]
pub(super) fn masks(block: &[u8; BLOCK]) -> Masks {
    naive(block)
}

/// The definition that the fast form is tested against.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
#[inline(always)]
fn naive(block: &[u8; BLOCK]) -> Masks {
    let mut masks = Masks { stop: 0, high: 0 };
    for (i, &byte) in block.iter().enumerate() {
        masks.stop |= u32::from(byte == b'"' || byte == b'\\' || byte < 0x20) << i;
        masks.high |= u32::from(byte >= 0x80) << i;
    }
    masks
}

/// How far a string was found to be sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ahead {
    /// Everything before this place is sound and inside of the string. It is not between a `\` and what that escapes.
    pub(super) pos: usize,
    /// Whether there may be bytes of 0x80 and over before `pos`; certainly none where this is false.
    pub(super) high: bool,
}

/// Runs ahead in the string that `pos` is inside of, not right behind a `\` that escapes.
#[inline]
#[allow(unsafe_code)]
pub(super) fn ahead(text: &[u8], pos: usize) -> Ahead {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { avx2::ahead(text, pos) };
    }
    let _ = text;
    Ahead { pos, high: false }
}

/// Whether the four bytes behind the `u` at `at` are hex digits.
#[cfg(target_arch = "x86_64")]
fn four_hex_digits(text: &[u8], at: usize) -> bool {
    text.get(at + 1..at + 5).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Ahead, four_hex_digits};
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_set1_epi8, _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
    };

    const STEP: usize = 64;
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;

    /// A bit a byte of a step, the first byte in the lowest bit.
    struct Bits {
        quote: u64,
        slash: u64,
        control: u64,
        high: u64,
        /// Neither one of `"\/bfnrt` nor `u`: may not follow a `\`.
        no_escape: u64,
        u: u64,
    }

    /// Classes of characters that may follow a `\`, a bit a high nibble; a character is one of them where the entries
    /// of its two nibbles share a bit. `u` has a bit of its own.
    const LOW: [i8; 16] = {
        let mut table = [0; 16];
        table[0x2] = 1 | 4 | 8;
        table[0xf] = 1;
        table[0xc] = 2;
        table[0x6] = 4;
        table[0xe] = 4;
        table[0x4] = 8;
        table[0x5] = 16;
        table
    };
    const HIGH: [i8; 16] = {
        let mut table = [0; 16];
        table[0x2] = 1;
        table[0x5] = 2;
        table[0x6] = 4;
        table[0x7] = 8 | 16;
        table
    };

    #[target_feature(enable = "avx2")]
    #[inline]
    fn table(t: [i8; 16]) -> __m256i {
        _mm256_setr_epi8(
            t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], t[15], t[0],
            t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], t[15],
        )
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    #[allow(unsafe_code)]
    fn bits(block: &[u8; STEP]) -> Bits {
        // SAFETY: both unaligned loads read from the 64 bytes of `block`.
        let halves =
            unsafe { [_mm256_loadu_si256(block.as_ptr().cast()), _mm256_loadu_si256(block.as_ptr().add(32).cast())] };
        let nibble = _mm256_set1_epi8(0x0f);
        let is = |x: __m256i, byte: u8| _mm256_cmpeq_epi8(x, _mm256_set1_epi8(byte as i8));
        let class = halves.map(|x| {
            let low = _mm256_shuffle_epi8(table(LOW), _mm256_and_si256(x, nibble));
            let high = _mm256_shuffle_epi8(table(HIGH), _mm256_and_si256(_mm256_srli_epi16::<4>(x), nibble));
            _mm256_and_si256(low, high)
        });
        let join = |of: [__m256i; 2]| {
            let [low, high] = of.map(|half| u64::from(_mm256_movemask_epi8(half) as u32));
            low | high << 32
        };
        Bits {
            quote: join(halves.map(|x| is(x, b'"'))),
            slash: join(halves.map(|x| is(x, b'\\'))),
            control: join(halves.map(|x| _mm256_cmpeq_epi8(_mm256_min_epu8(x, _mm256_set1_epi8(0x1f)), x))),
            high: join(halves),
            no_escape: join(class.map(|class| _mm256_cmpeq_epi8(class, _mm256_setzero_si256()))),
            u: join(class.map(|class| is(class, 16))),
        }
    }

    /// The bytes that a `\` escapes, given whether the first one is, and whether the byte behind the step is.
    ///
    /// In a run of `\` every second one is escaped. Subtracting the escapes from the bits behind them, with all odd
    /// bits set, carries through each run and leaves the parity of its start in its end.
    fn escaped(slash: u64, first: u64) -> (u64, u64) {
        let may_escape = slash & !first;
        let behind = may_escape << 1 | ODD;
        let escapes_and_ends = behind.wrapping_sub(may_escape) ^ ODD;
        let escaped = escapes_and_ends ^ (slash | first);
        (escaped, (escapes_and_ends & slash) >> 63)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn ahead(text: &[u8], mut pos: usize) -> Ahead {
        let (mut carry, mut high) = (0, 0);
        while let Some(block) = text.get(pos..pos + STEP) {
            let bits = bits(block.try_into().expect("STEP bytes"));
            let (escaped, next) = escaped(bits.slash, carry);
            let end = bits.quote & !escaped;
            // Everything up to the closing quote, everything where there is none.
            let inside = end.wrapping_sub(1) & !end;
            let mut unicode = escaped & bits.u & inside;
            let mut sound = (bits.control | escaped & bits.no_escape) & inside == 0;
            while sound && unicode != 0 {
                sound = four_hex_digits(text, pos + unicode.trailing_zeros() as usize);
                unicode &= unicode - 1;
            }
            if !sound {
                break;
            }
            high |= bits.high & inside;
            if end != 0 {
                return Ahead { pos: pos + end.trailing_zeros() as usize, high: high != 0 };
            }
            carry = next;
            pos += STEP;
        }
        // A `\` whose other half is not looked at is given back.
        Ahead { pos: pos - carry as usize, high: high != 0 }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

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
        fn what_may_follow_a_backslash_is_told_for_every_byte_in_every_place() {
            if !is_x86_feature_detected!("avx2") {
                return;
            }
            for byte in 0..=255u8 {
                for place in 0..STEP {
                    let mut block = [b'u'; STEP];
                    block[place] = byte;
                    // SAFETY: the processor has AVX2.
                    #[allow(unsafe_code)]
                    let bits = unsafe { bits(&block) };
                    let at = |bits: u64| bits >> place & 1 == 1;
                    assert_eq!(at(bits.no_escape), !b"\"\\/bfnrtu".contains(&byte), "{byte}");
                    assert_eq!(at(bits.u), byte == b'u', "{byte}");
                    assert_eq!(at(bits.quote), byte == b'"', "{byte}");
                    assert_eq!(at(bits.slash), byte == b'\\', "{byte}");
                    assert_eq!(at(bits.control), byte < 0x20, "{byte}");
                    assert_eq!(at(bits.high), byte >= 0x80, "{byte}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fast_masks_are_the_naive_ones_for_every_byte_in_every_place() {
        for byte in 0..=255u8 {
            for place in 0..BLOCK {
                for fill in [b'a', b'"', 0x80, 0] {
                    let mut block = [fill; BLOCK];
                    block[place] = byte;
                    let (fast, slow) = (masks(&block), naive(&block));
                    assert_eq!((fast.stop, fast.high), (slow.stop, slow.high), "{byte} at {place}");
                }
            }
        }
    }

    /// Places up to which the inside of a string is sound, one token after the other.
    fn sound_places(text: &[u8]) -> Vec<usize> {
        let mut places = vec![0];
        let mut at = 0;
        loop {
            at += match text.get(at) {
                None | Some(b'"' | 0..0x20) => return places,
                Some(b'\\') => match text.get(at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                    Some(b'u') if text[at + 2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count() >= 4 => 6,
                    _ => return places,
                },
                Some(_) => 1,
            };
            places.push(at);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn running_ahead_stays_in_what_is_sound(
            pieces in prop::collection::vec(
                prop_oneof![
                    12 => "[a-zA-Z0-9 u/]{1,40}",
                    4 => Just("\\n".to_owned()), 4 => Just("\\\\".to_owned()), 4 => Just("\\\"".to_owned()),
                    2 => Just("\\u00e9".to_owned()), 2 => Just("\u{e9}".to_owned()), 1 => Just("\u{1f600}".to_owned()),
                    1 => Just("\"".to_owned()), 1 => Just("\\".to_owned()), 1 => Just("\\u12g4".to_owned()),
                    1 => Just("\n".to_owned()), 1 => Just("\\x".to_owned()),
                ],
                0..60,
            )
        ) {
            let text = pieces.concat().into_bytes();
            let Ahead { pos, high } = ahead(&text, 0);
            let places = sound_places(&text);
            // Inside of the digits of a sound escape is sound as well.
            prop_assert!(places.contains(&pos) || (pos < *places.last().unwrap() && text[pos].is_ascii_hexdigit()));
            prop_assert!(high || text[..pos].is_ascii());
        }
    }
}
