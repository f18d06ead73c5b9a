//! What a block holds, by registers of 32 and of 64 bytes.

use super::{BEFORE, BLOCK, Bits, Block, End, Window};
use std::arch::x86_64::*;

/// A value for each nibble.
type Table = [i8; 16];

/// Characters that may follow a `\`, by their two nibbles: one that may has a bit in both entries. The look-up
/// gives 0 for bytes of 0x80 and over.
const ESCAPE: [Table; 2] = {
    let mut tables = [[0; 16]; 2];
    let (mut i, known) = (0, b"\"\\/bfnrtu");
    while i < known.len() {
        let (high, low) = (known[i] as usize >> 4, known[i] as usize & 15);
        tables[0][low] |= 1 << high;
        tables[1][high] |= 1 << high;
        i += 1;
    }
    tables
};

/// What two bytes that follow each other must not be, as sets of nibbles: the high and the low one of the first
/// byte, the high one of the second. The last rule is none where a third or fourth byte is due.
const NOT_UTF8: [[u16; 3]; 8] = [
    [0xf000, 0xffff, 0xf0ff], // the first byte of a character, and no further one
    [0x00ff, 0xffff, 0x0f00], // ASCII and a further byte
    [0x1000, 0x0003, 0x0f00], // C0, C1: would fit one byte
    [0x4000, 0x0001, 0x0300], // E0 80 to E0 9F: would fit two
    [0x8000, 0xffe1, 0x0100], // F0 80 to F0 8F: would fit three; F5 and over
    [0x8000, 0xfff0, 0x0e00], // F4 90 and over: beyond U+10FFFF
    [0x4000, 0x2000, 0x0c00], // ED A0 to ED BF: surrogates
    [0x0f00, 0xffff, 0x0f00], // two further bytes
];
const FURTHER: i8 = i8::MIN;

/// What is taken from the first byte of a long character, so that the highest bit stays where a third or a fourth
/// byte is due.
const THIRD: i8 = 0x60;
const FOURTH: i8 = 0x70;

/// The bits of the rules that each nibble is in.
const UTF8: [Table; 3] = {
    let mut tables = [[0; 16]; 3];
    let mut i = 0;
    while i < 8 * 3 * 16 {
        let (rule, part, nibble) = (i / 48, i / 16 % 3, i % 16);
        tables[part][nibble] |= (((NOT_UTF8[rule][part] >> nibble & 1) as u8) << rule) as i8;
        i += 1;
    }
    tables
};

#[target_feature(enable = "avx2")]
pub(super) fn ahead_avx2(block: &mut Block, text: &[u8], slash: u64) -> Option<End> {
    block.ahead_with(text, slash, |window| bits_avx2(window), |window| is_utf8_avx2(window))
}

#[target_feature(enable = "avx512bw")]
pub(super) fn ahead_avx512(block: &mut Block, text: &[u8], slash: u64) -> Option<End> {
    block.ahead_with(text, slash, |window| bits_avx512(window), |window| is_utf8_avx512(window))
}

#[target_feature(enable = "sse2")]
#[inline]
fn register(t: Table) -> __m128i {
    _mm_setr_epi8(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], t[15])
}

#[target_feature(enable = "avx2")]
#[inline]
fn look_up_avx2(table: Table, nibbles: __m256i) -> __m256i {
    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(register(table)), nibbles)
}

#[target_feature(enable = "avx2")]
#[inline]
fn high_nibbles_avx2(x: __m256i) -> __m256i {
    _mm256_and_si256(_mm256_srli_epi16::<4>(x), _mm256_set1_epi8(15))
}

/// Half of the block of a window, or what stands `back` bytes before it.
#[target_feature(enable = "avx2")]
#[inline]
#[allow(unsafe_code)]
fn half_avx2(window: &Window, half: usize, back: usize) -> __m256i {
    let bytes = &window[BEFORE + half * 32 - back..][..32];
    // SAFETY: the unaligned load reads the 32 bytes of the slice.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn bits_avx2(window: &Window) -> Bits {
    let halves = [half_avx2(window, 0, 0), half_avx2(window, 1, 0)];
    let is = |x: __m256i, byte: u8| _mm256_cmpeq_epi8(x, _mm256_set1_epi8(byte as i8));
    let escape =
        |x: __m256i| _mm256_and_si256(look_up_avx2(ESCAPE[0], x), look_up_avx2(ESCAPE[1], high_nibbles_avx2(x)));
    let join = |of: [__m256i; 2]| {
        let [low, high] = of.map(|half| u64::from(_mm256_movemask_epi8(half) as u32));
        low | high << 32
    };
    Bits {
        quote: join(halves.map(|x| is(x, b'"'))),
        slash: join(halves.map(|x| is(x, b'\\'))),
        control: join(halves.map(|x| _mm256_cmpeq_epi8(_mm256_min_epu8(x, _mm256_set1_epi8(0x1f)), x))),
        high: join(halves),
        no_escape: join(halves.map(|x| is(escape(x), 0))),
        u: join(halves.map(|x| is(x, b'u'))),
    }
}

#[target_feature(enable = "avx2")]
#[inline(never)]
pub(super) fn is_utf8_avx2(window: &Window) -> bool {
    let wrong = [0, 1].map(|half| {
        let back = |back: usize| half_avx2(window, half, back);
        let first = _mm256_and_si256(
            look_up_avx2(UTF8[0], high_nibbles_avx2(back(1))),
            look_up_avx2(UTF8[1], _mm256_and_si256(back(1), _mm256_set1_epi8(15))),
        );
        let rules = _mm256_and_si256(first, look_up_avx2(UTF8[2], high_nibbles_avx2(back(0))));
        let third = _mm256_subs_epu8(back(2), _mm256_set1_epi8(THIRD));
        let fourth = _mm256_subs_epu8(back(3), _mm256_set1_epi8(FOURTH));
        let due = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(FURTHER));
        _mm256_xor_si256(rules, due)
    });
    let wrong = _mm256_or_si256(wrong[0], wrong[1]);
    _mm256_testz_si256(wrong, wrong) == 1
}

#[target_feature(enable = "avx512bw")]
#[inline]
fn look_up_avx512(table: Table, nibbles: __m512i) -> __m512i {
    _mm512_shuffle_epi8(_mm512_broadcast_i32x4(register(table)), nibbles)
}

#[target_feature(enable = "avx512bw")]
#[inline]
fn high_nibbles_avx512(x: __m512i) -> __m512i {
    _mm512_and_si512(_mm512_srli_epi16::<4>(x), _mm512_set1_epi8(15))
}

/// The block of a window, or what stands `back` bytes before it.
#[target_feature(enable = "avx512bw")]
#[inline]
#[allow(unsafe_code)]
fn block_avx512(window: &Window, back: usize) -> __m512i {
    let bytes = &window[BEFORE - back..][..BLOCK];
    // SAFETY: the unaligned load reads the 64 bytes of the slice.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512bw")]
#[inline]
pub(super) fn bits_avx512(window: &Window) -> Bits {
    let x = block_avx512(window, 0);
    let is = |byte: u8| _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(byte as i8));
    let (low, high) = (look_up_avx512(ESCAPE[0], x), look_up_avx512(ESCAPE[1], high_nibbles_avx512(x)));
    Bits {
        quote: is(b'"'),
        slash: is(b'\\'),
        control: _mm512_cmplt_epu8_mask(x, _mm512_set1_epi8(0x20)),
        high: _mm512_movepi8_mask(x),
        no_escape: _mm512_testn_epi8_mask(low, high),
        u: is(b'u'),
    }
}

#[target_feature(enable = "avx512bw")]
#[inline(never)]
pub(super) fn is_utf8_avx512(window: &Window) -> bool {
    let back = |back: usize| block_avx512(window, back);
    let first = _mm512_and_si512(
        look_up_avx512(UTF8[0], high_nibbles_avx512(back(1))),
        look_up_avx512(UTF8[1], _mm512_and_si512(back(1), _mm512_set1_epi8(15))),
    );
    let rules = _mm512_and_si512(first, look_up_avx512(UTF8[2], high_nibbles_avx512(back(0))));
    let third = _mm512_subs_epu8(back(2), _mm512_set1_epi8(THIRD));
    let fourth = _mm512_subs_epu8(back(3), _mm512_set1_epi8(FOURTH));
    let due = _mm512_and_si512(_mm512_or_si512(third, fourth), _mm512_set1_epi8(FURTHER));
    _mm512_test_epi8_mask(_mm512_xor_si512(rules, due), _mm512_set1_epi8(-1)) == 0
}
