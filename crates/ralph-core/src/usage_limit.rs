//! Recognises a usage-limit notice of an agent's program, and reads when the limit resets.
//!
//! A notice is the whole of a final message: short, alone, and made of nothing but such sentences. The
//! same words inside an answer, a quotation or a file are none. Looks at no clock and no system zone.

use std::sync::LazyLock;

use jiff::{
    SignedDuration, Timestamp, Zoned,
    civil::{Date, DateTime, Time, Weekday},
    tz::{TimeZone, TimeZoneDatabase},
};
use regex::{Captures, Regex};

/// The longest message that can be a notice.
const MAX_CHARS: usize = 400;

/// A usage limit that a program told of in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// When it resets, where the words say so.
    pub resets_at: Option<Timestamp>,
    pub which: Option<Window>,
}

/// Which of its limits was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// A few hours.
    Session,
    Weekly,
    Monthly,
}

/// The notice that `text` is, if it is one. `now` is what a time of day refers to; `zone` is where it
/// is read if it names none, or one that is unknown.
pub fn notice(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Notice> {
    let text = text.trim().replace(['’', 'ʼ'], "'");
    if text.chars().count() > MAX_CHARS || text.contains(['`', '"', '“', '”', '<', '>', '{']) {
        return None;
    }
    // Nearly all that is said has none of these, and no pattern is compiled for it.
    let lower = text.to_lowercase();
    if !HEAD_WORDS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let head = HEAD.find(&text)?;
    let alone = RESET_ALONE.is_match(&text);
    let rest = if alone { &text } else { &text[head.end()..] };
    if !CONTINUES.is_match(rest) || !clauses(rest).all(is_part_of_a_notice) {
        return None;
    }
    let resets_at = read(&text, now, zone);
    // "Your limit will reset the counter": without a time, these words can be anyone's.
    if alone && resets_at.is_none() {
        return None;
    }
    Some(Notice {
        resets_at,
        which: window(head.as_str()).or_else(|| window(&text)),
    })
}

/// When a limit resets, by words that are known to be about one: an error of an API, say.
pub fn reset_time(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    read(text, now, zone)
}

/// Words of which each beginning of a notice has one.
const HEAD_WORDS: [&str; 4] = ["limit", "budget", "cap", "out of"];

/// The words that a notice begins with.
static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)^(?:
        you(?:'ve|\ have)\ (?:hit|reached|exceeded)\ your\ (?:(?:[a-z][\w'-]*|\d{1,2}[-\ ](?:hour|day)|(?-i:[A-Z][a-z]+)\ \d{1,2}(?:\.\d)?)\ ){0,4}?
        (?:limits?|shared\ budget|spend(?:ing)?\ (?:budget|cap)|credit\ cap)
      | you(?:'re|\ are|'ve\ run|\ have\ run)\ out\ of\ (?:extra\ usage|usage\ credits?|usage)
      | your\ (?:org|organization|team|group|workspace)\ is\ out\ of\ (?:extra\ usage|usage\ credits?|usage)
      | your\ (?:[a-z][\w'-]*\ ){0,3}?(?:spend|spending|usage|usage\ credit)\ (?:limit|cap)\ (?:is|was|has\ been)\ (?:reached|hit|exceeded)
      | (?:you(?:'ve|\ have)\ reached\ your\ )?
        (?:(?:claude|ai|code|opus|sonnet|haiku|session|weekly|daily|monthly|individual|spend|spending|usage|\d{1,2}[-\ ]hour|five[-\ ]hour)\ )+
        limit\ (?:reached|hit|exceeded)
      | your\ (?:usage\ )?limit\ will\ reset
    )",
    )
});

static RESET_ALONE: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)^your (?:usage )?limit will reset"));

/// A head that ends in the middle of a sentence is not one: "your limit screen is done".
static CONTINUES: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)^\s*(?: $ | [.·∙•|,;:!…—–(-] | (?:and\ |it\ )?(?:will\ )?resets?\b | (?:please\ )?try\ again\b
        | until\b | for\ [\w.-]+ (?:$|[.,\s]) | run\ / | your\ (?:usage\ )?limit )",
    )
});

/// The words that can follow in a notice. Each says more than its first word: "wait", "see" and "you can" are
/// anyone's, also of someone who has built a usage limit.
static CLAUSE: LazyLock<Regex> = LazyLock::new(|| {
    // When something happens, as far as it is told in such words at all.
    let when = r"(?: $ | [:(~\d] | (?:at|in|on|by|after|within|until)\ (?:.{0,24}\d|noon|midnight
            |(?:less\ than\ |about\ )?an?\ (?:few\ )?(?:minutes?|hours?|days?|weeks?|month)|a\ while)
        | (?:on\ |next\ )?(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b
        | (?:tomorrow|today|tonight|soon|later|next\ (?:week|month)|every\ \w+)\b )";
    let again = format!(r"(?:try\ again|retry)\ *(?:$|[,(]|or\b|later|{when}|when\b|once\b)");
    let reset = r"(?:it|(?:the|your)\ (?:[\w-]+\ ){0,3}limits?|limits?)";
    let more = r"(?:usage|credits?|access|limits?|plans?|billing|quota)";
    let act = format!(
        r"(?: {again} | wait\ (?:{when}|for\ (?:it|(?:(?:the|your)\ )?(?:\w+\ ){{0,2}}(?:limit|reset))\b)
        | run\ /[a-z][\w-]*\b | raise\ it\ (?:at|in|on|by)\b | add\ more\ (?:at|in|on)\b | view\ your\ usage\b
        | upgrade\ *(?:$|[,(]|to\b|your\b|at\b|now\b) | (?:visit|see)\ (?:https?:|/|[\w-]+\.[a-z]{{2,6}}/)
        | contact\ (?:your|an?|the|sales|support|us)\b | learn\ more\b
        | (?:purchase|buy|add|enable|manage|turn\ on|get|request)\ (?:[\w-]+\ ){{0,3}}{more}\b
        | switch\ to\ .{{0,30}}\b(?:model|plan|opus|sonnet|haiku|api)\b | (?:send|ask)\b.{{0,40}}\badmin )"
    );
    compiled(&format!(
        r"(?ix)^(?: resets?\ *{when} | {reset}\ (?:will\ )?resets?\ *{when}
        | (?:please\ )?{act} | you\ can\ (?:also\ )?{act} | you\ can\ (?:continue|resume|go\ on)\ *{when}
        | you\ (?:will|can)\ (?:re)?gain\ access\ {when}
        | to\ (?:get|increase|continue|keep|use|upgrade|raise)\b.{{0,60}}\b(?:{more}|admin|upgrade|wait|switch|try\ again)\b
        | (?:or|and)\ (?:please\ )?{act} | and\ (?:it\ )?(?:will\ )?resets?\ *{when}
        | until\ {when} | until\ .{{0,40}}\bresets?\b | for\ (?:[\w.-]+\ ?){{1,3}}$
        | /[a-z] | https?: | \d{{9,13}}$ | \d{{1,2}}\s?[ap]\.?m\b )"
    ))
});

static ENDS: LazyLock<Regex> = LazyLock::new(|| compiled(r"[.!](?:\s|$)|[·∙•|…;—–\n]"));

/// Written in this file and tested: a pattern that does not compile fails every test.
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this file")
}

/// The sentences of a text, and what bars and dots part.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    ENDS.split(text)
        .map(|part| part.trim_matches(|c: char| c.is_whitespace() || ",:-(".contains(c)))
        .filter(|part| !part.is_empty())
}

fn is_part_of_a_notice(clause: &str) -> bool {
    CLAUSE.is_match(clause)
}

fn window(text: &str) -> Option<Window> {
    let text = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&["weekly", "7-day", "week limit"]) {
        Some(Window::Weekly)
    } else if says(&["session", "5-hour", "5 hour", "five-hour"]) {
        Some(Window::Session)
    } else if says(&["monthly"]) {
        Some(Window::Monthly)
    } else {
        None
    }
}

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

/// Reads only what stands in the words. A time that does not exist on its day is the next one that
/// does.
fn read(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
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

#[cfg(test)]
mod tests;
