/// SplitMix64. Our own, so that the bytes of a seed never change with a dependency's version.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// Entry ids that cannot collide: a permutation of a counter, since 32 random bits repeat
/// about a hundred times in a million entries.
pub(crate) struct Ids {
    next: u32,
}

impl Ids {
    pub(crate) fn new(seed: u64) -> Self {
        Self { next: Rng::new(seed).next() as u32 }
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        let mut x = self.next;
        x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
        x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
        x ^ (x >> 16)
    }
}
