//! Sixteen bytes of a string at a time: what every processor can do, and what finds out what is wrong with a string.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
