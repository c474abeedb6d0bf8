//! Reads the moment that a notice names: a number of seconds, a date, a time of day, or a while.
//!
//! Only what stands in the words. A time that does not exist on its day is the next one that does.

use std::sync::LazyLock;

use jiff::{
    SignedDuration, Timestamp, Zoned,
    civil::{Date, DateTime, Time, Weekday},
    tz::{TimeZone, TimeZoneDatabase},
};
use regex::{Captures, Regex};

use super::compiled;

/// The database that is built in, so that the same words mean the same time on every machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

static EPOCH: LazyLock<Regex> = LazyLock::new(|| compiled(r"\|\s*(\d{9,13})\b"));

static ISO: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\b(\d{4}-\d\d-\d\d)(?:t| (?:at )?)(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)\s?(z|utc|[+-]\d\d:?\d\d)?",
    )
});

/// The words after which a text is about the reset.
static KEYWORD: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)\b(?:resets?|try again|retry|until|regain access)\b"));

static WHILE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)\bin\s+(?:about\s+|approximately\s+|less\ than\s+|~\s*)?
          ((?:(?:\d{1,6}(?:\.\d{1,9})?|an?)\s*[a-z]+(?:\s+and\s+|[\s,]+|\b|$))+ | (?:\d{1,6}[a-z])+)",
    )
});

static PART: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)(\d{1,6}(?:\.\d{1,9})?|\ban?\b)\s*([a-z]+)"));

static DAY: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)\b(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+
          (?P<day>\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year>\d{4})\b)?",
    )
});

static WEEKDAY: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?i)\b(mon|tue|wed|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday|s|rs)?\b")
});

static TOMORROW: LazyLock<Regex> = LazyLock::new(|| compiled(r"(?i)\btomorrow\b"));

static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)(?:^|[\s,])(?P<h>\d{1,2})(?::(?P<m>\d\d))?(?::\d\d)?\s?(?P<half>[ap])\.?m\b
          | (?:^|[\s,])(?P<h24>\d{1,2}):(?P<m24>\d\d)\b",
    )
});

static ZONE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"\(([A-Za-z][\w+\-]*(?:/[\w+\-]+)*)\)|\b(UTC|GMT|[A-Z][A-Za-z]+/[A-Z][\w/+\-]+)\b")
});

pub(super) fn read(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    if let Some(found) = EPOCH.captures(text) {
        return from_epoch(&found[1]);
    }
    let zone = named_zone(text).unwrap_or_else(|| zone.clone());
    if let Some(found) = ISO.captures(text) {
        return from_iso(&found, &zone);
    }
    let after = &text[KEYWORD.find_iter(text).last()?.end()..];
    if let Some(found) = WHILE.captures(after)
        && let Some(time) = length(&found[1])
    {
        return now.checked_add(time).ok();
    }
    let now = now.to_zoned(zone);
    if let Some(found) = DAY.captures(after) {
        return on_date(&found, clock(after), &now);
    }
    let time = clock(after)?;
    if let Some(found) = WEEKDAY.captures(after) {
        return on_weekday(weekday(&found[1])?, time, &now);
    }
    if TOMORROW.is_match(after) {
        return at(now.date().tomorrow().ok()?, time, &now);
    }
    next_time_of_day(time, &now)
}

/// Thirteen digits are milliseconds.
fn from_epoch(digits: &str) -> Option<Timestamp> {
    let number: i64 = digits.parse().ok()?;
    match digits.len() {
        12.. => Timestamp::from_millisecond(number).ok(),
        _ => Timestamp::from_second(number).ok(),
    }
}

fn from_iso(found: &Captures<'_>, zone: &TimeZone) -> Option<Timestamp> {
    let local = format!("{}T{}", &found[1], &found[2]);
    match found.get(3).map(|offset| offset.as_str()) {
        None => {
            let local: DateTime = local.parse().ok()?;
            Some(local.to_zoned(zone.clone()).ok()?.timestamp())
        }
        Some(offset) if offset.eq_ignore_ascii_case("utc") => format!("{local}Z").parse().ok(),
        Some(offset) => format!("{local}{}", offset.to_uppercase()).parse().ok(),
    }
}

fn named_zone(text: &str) -> Option<TimeZone> {
    ZONE.captures_iter(text).find_map(|found| {
        let name = found.get(1).or(found.get(2))?.as_str();
        match name.to_ascii_uppercase().as_str() {
            "UTC" | "GMT" => Some(TimeZone::UTC),
            _ => ZONES.get(name).ok(),
        }
    })
}

/// `3h 20m`, `2 days 3 hours`, `a minute`: all of it, or nothing.
fn length(text: &str) -> Option<SignedDuration> {
    let mut whole = SignedDuration::ZERO;
    let mut parts = 0;
    for part in PART.captures_iter(text) {
        let Some(unit) = unit_seconds(&part[2].to_ascii_lowercase()) else {
            break;
        };
        let number: f64 = part[1].parse().unwrap_or(1.0);
        let time = SignedDuration::try_from_secs_f64(number * unit).ok()?;
        whole = whole.checked_add(time)?;
        parts += 1;
    }
    (parts > 0).then_some(whole)
}

fn unit_seconds(word: &str) -> Option<f64> {
    match word {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600.0),
        "d" | "day" | "days" => Some(86_400.0),
        "w" | "week" | "weeks" => Some(604_800.0),
        _ => None,
    }
}

fn clock(text: &str) -> Option<Time> {
    let found = CLOCK.captures(text)?;
    let number = |name: &str| found.name(name).and_then(|n| n.as_str().parse::<i8>().ok());
    if let Some(hour) = number("h24") {
        return Time::new(hour, number("m24")?, 0, 0).ok();
    }
    let hour = number("h").filter(|h| (1..=12).contains(h))? % 12;
    let afternoon = found["half"].eq_ignore_ascii_case("p");
    let hour = if afternoon { hour + 12 } else { hour };
    Time::new(hour, number("m").unwrap_or(0), 0, 0).ok()
}

fn on_date(found: &Captures<'_>, time: Option<Time>, now: &Zoned) -> Option<Timestamp> {
    let month = month(&found["month"])?;
    let day: i8 = found["day"].parse().ok()?;
    let time = time.unwrap_or(Time::midnight());
    if let Some(year) = found.name("year") {
        let date = Date::new(year.as_str().parse().ok()?, month, day).ok()?;
        return at(date, time, now);
    }
    let this_year = at(Date::new(now.year(), month, day).ok()?, time, now)?;
    if is_over(this_year, now) {
        let date = Date::new(now.year().checked_add(1)?, month, day).ok()?;
        return at(date, time, now);
    }
    Some(this_year)
}

fn on_weekday(day: Weekday, time: Time, now: &Zoned) -> Option<Timestamp> {
    if now.weekday() == day {
        let today = at(now.date(), time, now)?;
        if !is_over(today, now) {
            return Some(today);
        }
    }
    at(now.date().nth_weekday(1, day).ok()?, time, now)
}

/// A time of day that is over means tomorrow's.
fn next_time_of_day(time: Time, now: &Zoned) -> Option<Timestamp> {
    let today = at(now.date(), time, now)?;
    if is_over(today, now) {
        at(now.date().tomorrow().ok()?, time, now)
    } else {
        Some(today)
    }
}

/// Programs write no seconds: within its minute, a time is not over.
fn is_over(moment: Timestamp, now: &Zoned) -> bool {
    moment.as_second().saturating_add(60) <= now.timestamp().as_second()
}

fn at(date: Date, time: Time, now: &Zoned) -> Option<Timestamp> {
    let local = date.to_datetime(time);
    let zoned = local.to_zoned(now.time_zone().clone()).ok()?;
    Some(zoned.timestamp())
}

fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let word = word.to_ascii_lowercase();
    let at = MONTHS.iter().position(|month| *month == word)?;
    i8::try_from(at + 1).ok()
}

fn weekday(word: &str) -> Option<Weekday> {
    match word.to_ascii_lowercase().as_str() {
        "mon" => Some(Weekday::Monday),
        "tue" => Some(Weekday::Tuesday),
        "wed" => Some(Weekday::Wednesday),
        "thu" => Some(Weekday::Thursday),
        "fri" => Some(Weekday::Friday),
        "sat" => Some(Weekday::Saturday),
        "sun" => Some(Weekday::Sunday),
        _ => None,
    }
}
