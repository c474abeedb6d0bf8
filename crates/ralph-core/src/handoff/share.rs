//! A share of a whole, as it is written in a configuration: more than nothing, at most all.
//!
//! Compared without rounding: exactly 70 % of something is not more than 70 % of it.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share {
    /// Whole ten-thousandths, so that two equal settings compare equal.
    parts: u32,
}

impl Share {
    const WHOLE: u32 = 10_000;

    /// In percent; what is out of range is brought into it.
    pub const fn percent(percent: u32) -> Self {
        let parts = percent * 100;
        Self {
            parts: match parts {
                0 => 1,
                parts if parts > Self::WHOLE => Self::WHOLE,
                parts => parts,
            },
        }
    }

    pub fn as_f64(self) -> f64 {
        f64::from(self.parts) / f64::from(Self::WHOLE)
    }

    /// Returns true if `part` is more than this share of `whole`; never, where there is no whole.
    pub fn is_exceeded(self, part: u64, whole: u64) -> bool {
        let part = u128::from(part) * u128::from(Self::WHOLE);
        whole > 0 && part > u128::from(whole) * u128::from(self.parts)
    }
}

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(share: f64) -> Result<Self, String> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(format!(
                "expected a share greater than 0 and at most 1, such as 0.7, found {share}"
            ));
        }
        // In range by the check above.
        let parts = (share * f64::from(Self::WHOLE)).round().max(1.0) as u32;
        Ok(Self { parts })
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.as_f64()
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} %", f64::from(self.parts) / 100.0)
    }
}

schema_of!(Share, { "type": "number", "exclusiveMinimum": 0, "maximum": 1 });
