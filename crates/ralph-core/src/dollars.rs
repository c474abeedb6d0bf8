//! An amount of money, in dollars, as agents tell what they cost.
//!
//! Whole millionths, so that two equal amounts compare equal. Never below nothing; knows no prices.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "serde_json::Number")]
pub struct Dollars {
    millionths: u64,
}

impl Dollars {
    pub const NOTHING: Self = Self { millionths: 0 };

    /// The most that is taken: more is a mistake in the unit.
    pub const MAX: u32 = 1_000_000;

    const PER_DOLLAR: f64 = 1_000_000.0;

    /// Returns what an agent said that it cost; nonsense counts as nothing.
    pub fn told(usd: f64) -> Self {
        // A cast from a float stops at both ends, and makes nothing of what is no number.
        Self {
            millionths: (usd * Self::PER_DOLLAR).round() as u64,
        }
    }

    pub fn usd(self) -> f64 {
        self.millionths as f64 / Self::PER_DOLLAR
    }

    pub fn from_millionths(millionths: u64) -> Self {
        Self { millionths }
    }

    pub fn millionths(self) -> u64 {
        self.millionths
    }

    /// Returns what is left of this once `spent` is gone.
    pub fn without(self, spent: Self) -> Self {
        Self {
            millionths: self.millionths.saturating_sub(spent.millionths),
        }
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            millionths: self.millionths.saturating_add(other.millionths),
        }
    }

    pub const fn whole(dollars: u32) -> Self {
        Self {
            millionths: dollars as u64 * 1_000_000,
        }
    }

    /// Returns what `n` of something cost of which a million cost this; rounded to the nearest millionth.
    pub fn for_millionths(self, n: u64) -> Self {
        let exact = u128::from(self.millionths) * u128::from(n);
        Self {
            millionths: u64::try_from((exact + 500_000) / 1_000_000).unwrap_or(u64::MAX),
        }
    }

    /// This share of it; nonsense counts as nothing.
    pub fn times(self, factor: f64) -> Self {
        Self {
            millionths: (self.millionths as f64 * factor).round() as u64,
        }
    }

    /// In parts as large as the weights are; the parts come to exactly this. Without any weight, the
    /// first one takes all.
    pub fn split(self, weights: &[u64]) -> Vec<Self> {
        let all: u128 = weights.iter().map(|w| u128::from(*w)).sum();
        let (mut before, mut given) = (0_u128, 0_u64);
        let mut parts = Vec::with_capacity(weights.len());
        for weight in weights {
            before += u128::from(*weight);
            // Up to here so much is due: what rounding kept back comes with the next one.
            let due = match all {
                0 => self.millionths,
                all => (u128::from(self.millionths) * before / all) as u64,
            };
            parts.push(Self::from_millionths(due - given));
            given = due;
        }
        parts
    }
}

impl TryFrom<f64> for Dollars {
    type Error = String;

    fn try_from(usd: f64) -> Result<Self, String> {
        if !(usd >= 0.0 && usd.is_finite()) {
            return Err(format!("expected an amount of dollars, found {usd}"));
        }
        Ok(Self::told(usd))
    }
}

impl From<Dollars> for serde_json::Number {
    fn from(dollars: Dollars) -> Self {
        if dollars.millionths.is_multiple_of(1_000_000) {
            return Self::from(dollars.millionths / 1_000_000);
        }
        Self::from_f64(dollars.usd()).unwrap_or_else(|| Self::from(0))
    }
}

/// `$4.20`; what is no whole number of cents is shown with its hundredths.
impl std::fmt::Display for Dollars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.millionths.is_multiple_of(10_000) {
            write!(f, "${:.2}", self.usd())
        } else {
            write!(f, "${:.4}", self.usd())
        }
    }
}

schema_of!(Dollars, { "type": "number", "exclusiveMinimum": 0, "maximum": Self::MAX });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_shown_in_cents_or_in_their_hundredths() {
        for (usd, shown) in [
            (0.0, "$0.00"),
            (0.5, "$0.50"),
            (0.0265, "$0.0265"),
            (12.0, "$12.00"),
        ] {
            assert_eq!(Dollars::told(usd).to_string(), shown);
        }
    }

    #[test]
    fn sums_of_cents_are_exact_where_floats_are_not() {
        let tenth = Dollars::told(0.1);
        let sum = tenth.plus(tenth).plus(tenth);
        assert_eq!(sum, Dollars::told(0.3));
        assert_eq!(sum.without(Dollars::told(1.0)), Dollars::NOTHING);
    }

    #[test]
    fn nonsense_counts_as_nothing_and_is_refused_where_it_is_written() {
        for usd in [-1.0, f64::NAN] {
            assert_eq!(Dollars::told(usd), Dollars::NOTHING);
            assert!(Dollars::try_from(usd).is_err());
        }
        let read: Dollars = serde_json::from_str("2").unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), "2");
        let read: Dollars = serde_json::from_str("0.25").unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), "0.25");
    }
}
