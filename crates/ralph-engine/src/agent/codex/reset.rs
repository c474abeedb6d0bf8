//! When Codex says that a usage limit passes: a time of day, or a date and one, in the time zone of the
//! machine, at the end of a sentence.
//!
//! Reads the sentence alone; what it does not understand is no time.

use jiff::{
    Timestamp, ToSpan as _,
    civil::{Date, Time},
    tz::TimeZone,
};

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The time that follows `try again at `. A time of day alone is the next one after `now`.
pub(super) fn read_reset(
    message: &str,
    now: Option<Timestamp>,
    zone: &TimeZone,
) -> Option<Timestamp> {
    let (_, rest) = message.rsplit_once("try again at ")?;
    let rest = rest.trim().trim_end_matches('.');
    let at = |date: Date, time: Time| {
        let zoned = date.to_datetime(time).to_zoned(zone.clone()).ok()?;
        Some(zoned.timestamp())
    };
    if let Some(time) = time_of_day(rest) {
        let today = now?.to_zoned(zone.clone()).date();
        let reset = at(today, time)?;
        return if reset > now? {
            Some(reset)
        } else {
            at(today.checked_add(1.day()).ok()?, time)
        };
    }
    // `Jan 15th, 2030 6:54 PM`
    let (day, rest) = rest.split_once(", ")?;
    let (month, day) = day.split_once(' ')?;
    let (year, time) = rest.split_once(' ')?;
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let day = day.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let date = Date::new(
        year.parse().ok()?,
        i8::try_from(month).ok()?,
        day.parse().ok()?,
    );
    at(date.ok()?, time_of_day(time)?)
}

/// `6:54 PM`
fn time_of_day(text: &str) -> Option<Time> {
    let (clock, half) = text.split_once(' ')?;
    let (hour, minute) = clock.split_once(':')?;
    let hour: i8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let hour = match half {
        "AM" => hour % 12,
        "PM" => hour % 12 + 12,
        _ => return None,
    };
    Time::new(hour, minute.parse().ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str, now: &str) -> Option<String> {
        let now = now.parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        read_reset(message, Some(now), &zone).map(|at| at.to_string())
    }

    const NOON: &str = "2026-11-15T12:00:00Z";

    #[test]
    fn a_date_is_read_in_the_zone_of_the_machine() {
        let message =
            "You’ve hit your usage limit. Upgrade to Pro or try again at Jan 15th, 2030 6:54 PM.";
        assert_eq!(read(message, NOON).as_deref(), Some("2030-01-15T17:54:00Z"));
    }

    #[test]
    fn a_time_of_day_is_the_next_one() {
        let later = "You've hit your usage limit. Try again later, or try again at 6:54 PM.";
        assert_eq!(read(later, NOON).as_deref(), Some("2026-11-15T17:54:00Z"));
        let midnight = "try again at 12:05 AM.";
        assert_eq!(
            read(midnight, NOON).as_deref(),
            Some("2026-11-15T23:05:00Z")
        );
        let earlier = "try again at 1:00 AM.";
        assert_eq!(read(earlier, NOON).as_deref(), Some("2026-11-16T00:00:00Z"));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "You've hit your usage limit. Try again later.",
            "try again at noon.",
            "try again at Foo 15th, 2030 6:54 PM.",
            "try again at Jan 45th, 2030 6:54 PM.",
            "try again at 25:00 PM.",
        ] {
            assert_eq!(read(text, NOON), None, "{text}");
        }
    }
}
