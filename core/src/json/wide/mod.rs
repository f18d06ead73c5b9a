//! Strings, sixty-four bytes at a time. What is here only runs ahead: it says where a string that is sound for certain
//! ends, and where it cannot, the scanner's own steps, which are the definition, decide.

#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Bytes looked at in one step.
const BLOCK: usize = 64;

/// Bytes before a block that tell whether a character goes on in it.
const BEFORE: usize = 3;

/// A block and the bytes before it.
type Window = [u8; BEFORE + BLOCK];

/// The block that a scanner has come to. The next one begins where it ends, unless no string goes on there.
#[derive(Default)]
pub(super) struct Block {
    /// Where it ends; may lie behind the end of the text.
    end: usize,
    /// Its quotes that no `\` escapes, a bit a byte, the first byte in the lowest bit.
    quote: u64,
    /// What may not be in a string: control characters, wrong escapes, and places behind the end of the text.
    unsound: u64,
    slash: u64,
    /// Whether the byte behind the block is escaped by its last one.
    carry: u64,
    /// Whether one of the last three bytes is 0x80 or over.
    unfinished: bool,
    /// Whether what was looked at, in this block or one before it, is not certain to be UTF-8.
    pub(super) not_utf8: bool,
}

/// The end of a sound string.
pub(super) struct End {
    /// Where its closing quote stands.
    pub(super) quote: usize,
    /// Whether there may be a `\` in it.
    pub(super) escapes: bool,
}

impl Block {
    /// The end of the string whose inside begins at `inner`; `None` where that is for the scanner to find out.
    ///
    /// What was found in the block holds for any string in it, because outside of strings no `\` may stand.
    #[inline(always)]
    pub(super) fn string_end(&mut self, text: &[u8], inner: usize) -> Option<End> {
        self.string_end_by(text, inner, Block::ahead)
    }

    #[inline(always)]
    fn string_end_by(
        &mut self,
        text: &[u8],
        inner: usize,
        ahead: impl Fn(&mut Block, &[u8], u64) -> Option<End>,
    ) -> Option<End> {
        let left = self.end.wrapping_sub(inner);
        if left.wrapping_sub(1) >= BLOCK {
            // Outside of strings is neither a `\` nor a part of a character.
            (self.end, self.carry, self.unfinished) = (inner, 0, false);
            return ahead(self, text, 0);
        }
        let rest = !0 << (BLOCK - left);
        let quote = self.quote & rest;
        if quote == 0 {
            return if self.unsound & rest == 0 { ahead(self, text, self.slash & rest) } else { None };
        }
        let inside = rest & below(quote);
        let end = End { quote: self.end - BLOCK + quote.trailing_zeros() as usize, escapes: self.slash & inside != 0 };
        (self.unsound & inside == 0).then_some(end)
    }

    /// Looks at blocks from `end` on for the end of the string that goes on there; `slash` tells whether there was a
    /// `\` before.
    #[inline(never)]
    #[allow(unsafe_code)]
    fn ahead(&mut self, text: &[u8], slash: u64) -> Option<End> {
        #[cfg(target_arch = "x86_64")]
        {
            // The processors that have VBMI are those that do not become slower by wide registers.
            if is_x86_feature_detected!("avx512vbmi") && is_x86_feature_detected!("avx512bw") {
                // SAFETY: the processor has AVX-512BW (and so AVX-512F).
                return unsafe { x86::ahead_avx512(self, text, slash) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                return unsafe { x86::ahead_avx2(self, text, slash) };
            }
        }
        let _ = (text, slash);
        None
    }

    #[inline(always)]
    fn ahead_with(
        &mut self,
        text: &[u8],
        mut slash: u64,
        bits: impl Fn(&Window) -> Bits,
        is_utf8: impl Fn(&Window) -> bool,
    ) -> Option<End> {
        loop {
            let start = self.end;
            let mut edge = [0; BEFORE + BLOCK];
            let window = match start.checked_sub(BEFORE).and_then(|from| text.get(from..start + BLOCK)) {
                Some(window) => window.try_into().expect("BEFORE + BLOCK bytes"),
                None => at_edge(text, start, &mut edge)?,
            };
            let found = bits(window);
            self.end = start + BLOCK;
            let (escaped, carry) = escaped(found.slash, self.carry);
            self.carry = carry;
            self.quote = found.quote & !escaped;
            self.unsound = found.control | escaped & found.no_escape;
            self.slash = found.slash;
            if self.unfinished || found.high != 0 {
                self.not_utf8 |= !is_utf8(window);
                self.unfinished = found.high >> (BLOCK - BEFORE) != 0;
            }
            let mut unicode = escaped & found.u;
            while unicode != 0 {
                let at = start + unicode.trailing_zeros() as usize;
                let digits = text.get(at + 1..at + 5);
                let sound = digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
                self.unsound |= if sound { 0 } else { unicode & unicode.wrapping_neg() };
                unicode &= unicode - 1;
            }
            if self.quote != 0 {
                let inside = below(self.quote);
                let escapes = (slash | self.slash & inside) != 0;
                let end = End { quote: start + self.quote.trailing_zeros() as usize, escapes };
                return (self.unsound & inside == 0).then_some(end);
            }
            slash |= self.slash;
            if self.unsound != 0 {
                return None;
            }
        }
    }
}

/// The window of a block that is not wholly in the text, or has no three bytes before it; `None` behind the text. NUL,
/// which is a control character, stands for what is not there.
#[cold]
fn at_edge<'a>(text: &[u8], start: usize, window: &'a mut Window) -> Option<&'a Window> {
    let from = start.saturating_sub(BEFORE);
    let rest = text.get(from..).filter(|_| start < text.len())?;
    let there = rest.len().min(start - from + BLOCK);
    window[from + BEFORE - start..][..there].copy_from_slice(&rest[..there]);
    Some(window)
}

/// What a block holds, a bit a byte, the first byte in the lowest bit.
#[derive(Debug, PartialEq)]
struct Bits {
    quote: u64,
    slash: u64,
    control: u64,
    high: u64,
    /// Neither one of `"\/bfnrt` nor `u`: may not follow a `\`.
    no_escape: u64,
    u: u64,
}

/// The bits below the lowest one.
#[inline(always)]
fn below(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// The bytes that a `\` escapes, given whether the first one is, and whether the byte behind the block is.
///
/// In a run of `\` every second one is escaped. Subtracting the escapes from the bits behind them, with all odd
/// bits set, carries through each run and leaves the parity of its start in its end.
#[inline(always)]
fn escaped(slash: u64, first: u64) -> (u64, u64) {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let may_escape = slash & !first;
    let behind = may_escape << 1 | ODD;
    let escapes_and_ends = behind.wrapping_sub(may_escape) ^ ODD;
    let escaped = escapes_and_ends ^ (slash | first);
    (escaped, (escapes_and_ends & slash) >> 63)
}
