//! Sums over observations.

/// Sums over observations of one sort. Those of 0 need not be added: their number is known elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sums {
    /// Sum of the values.
    pub value: f64,
    /// Sum of their squares.
    pub squares: f64,
    /// Sum of each times what the same observation cost in all.
    pub products: f64,
}

impl Sums {
    /// Adds an observation that cost `value`, and in all `whole`.
    pub fn add(&mut self, value: f64, whole: f64) {
        self.value += value;
        self.squares += value * value;
        self.products += value * whole;
    }

    /// Adds `count` observations of `value` together, each of which cost nothing else.
    pub fn add_alike(&mut self, value: f64, count: f64) {
        if count > 0.0 {
            self.value += value;
            self.squares += value * value / count;
            self.products += value * value / count;
        }
    }
}

/// What something cost one side.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// In requests, one observation each.
    pub requests: Sums,
    /// In samples that belong to none, one observation each.
    pub alone: Sums,
    /// Sum of the squares of what single samples stand for, where their number is known: the sum's variance, were samples
    /// independent. 0 where it is not known.
    pub by_chance: f64,
    /// Samples, where their number is known.
    pub samples: i128,
}

impl Cost {
    /// All of it.
    pub fn value(&self) -> f64 {
        self.requests.value + self.alone.value
    }

    /// Sum of the squares of all observations.
    pub fn squares(&self) -> f64 {
        self.requests.squares + self.alone.squares
    }

    /// Sum of the products of all observations.
    pub fn products(&self) -> f64 {
        self.requests.products + self.alone.products
    }

    /// Whether each observation is a single sample.
    pub fn is_of_samples(&self) -> bool {
        self.requests.squares == 0.0
    }
}
