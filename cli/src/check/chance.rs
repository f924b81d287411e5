//! Numbers by chance, the same in each run.

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// In [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Below `len`.
    pub fn below(&mut self, len: usize) -> usize {
        // Less than 1 times `len`, and the product is rounded at 53 bits: the bound is for that.
        ((self.uniform() * len as f64) as usize).min(len.saturating_sub(1))
    }

    /// Arrivals where so many are expected.
    #[cfg(test)]
    pub fn poisson(&mut self, expected: f64) -> f64 {
        let mut arrivals = 0.0;
        let mut passed = -self.uniform().max(f64::MIN_POSITIVE).ln();
        while passed < expected {
            arrivals += 1.0;
            passed -= self.uniform().max(f64::MIN_POSITIVE).ln();
        }
        arrivals
    }
}
