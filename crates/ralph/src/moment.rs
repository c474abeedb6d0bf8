//! A moment in the past, as a person types it.

use std::str::FromStr;

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};

/// A time, or how long ago it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Then(Timestamp),
    Ago(SignedDuration),
}

impl Moment {
    /// The time that it is, seen from now.
    pub(crate) fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Then(at) => at,
            Self::Ago(duration) => now.checked_sub(duration).unwrap_or(Timestamp::MIN),
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const UNITS: [(char, i64); 3] = [('d', 86_400), ('h', 3_600), ('m', 60)];
        for (unit, seconds) in UNITS {
            let number = text.strip_suffix(unit).map(str::parse::<i64>);
            if let Some(Ok(number)) = number
                && (0..=36_500).contains(&number)
            {
                return Ok(Self::Ago(SignedDuration::from_secs(number * seconds)));
            }
        }
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::Then(at));
        }
        // A day begins at midnight in UTC, as days of costs do.
        let day = text.parse::<Date>().ok();
        let day = day.and_then(|day| day.to_zoned(TimeZone::UTC).ok());
        day.map(|day| Self::Then(day.timestamp())).ok_or_else(|| {
            "expected a date like 2026-01-31, a time like 2026-01-31T12:00:00Z, or 7d, 12h or 30m"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_times_and_durations_are_read() {
        let now: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        let cases = [
            ("2026-01-31", Some("2026-01-31T00:00:00Z")),
            ("2026-01-31T12:30:00Z", Some("2026-01-31T12:30:00Z")),
            ("7d", Some("2026-11-11T12:00:00Z")),
            ("12h", Some("2026-11-18T00:00:00Z")),
            ("30m", Some("2026-11-18T11:30:00Z")),
            ("yesterday", None),
            ("-1d", None),
            ("99999d", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let read = text.parse::<Moment>().ok().map(|m| m.at(now).to_string());
            assert_eq!(read.as_deref(), expected, "{text:?}");
        }
    }
}
