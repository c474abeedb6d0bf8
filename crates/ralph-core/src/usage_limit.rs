//! Recognises a usage-limit notice of an agent's program, and reads when the limit resets.
//!
//! A notice is the whole of a final message: short, alone, and made of nothing but such sentences. The
//! same words inside an answer, a quotation or a file are none. Looks at no clock and no system zone.

mod moment;

use std::sync::LazyLock;

use jiff::{Timestamp, tz::TimeZone};
use regex::Regex;

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
    let head = HEAD.find(&text)?;
    let alone = RESET_ALONE.is_match(&text);
    let rest = if alone { &text } else { &text[head.end()..] };
    if !CONTINUES.is_match(rest) || !clauses(rest).all(is_part_of_a_notice) {
        return None;
    }
    let resets_at = moment::read(&text, now, zone);
    // "Your limit will reset the counter": without a time, these words can be anyone's.
    if alone && resets_at.is_none() {
        return None;
    }
    Some(Notice {
        resets_at,
        which: window(&text),
    })
}

/// When a limit resets, by words that are known to be about one: an error of an API, say.
pub fn reset_time(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    moment::read(text, now, zone)
}

/// The words that a notice begins with.
static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)^(?:
        you(?:'ve|\ have)\ (?:hit|reached|exceeded)\ your\ (?:(?:[a-z][\w'-]*|\d{1,2}[-\ ](?:hour|day))\ ){0,4}?limits?
      | you(?:'re|\ are)\ out\ of\ (?:extra\ )?usage
      | (?:you(?:'ve|\ have)\ reached\ your\ )?
        (?:(?:claude|ai|code|opus|sonnet|haiku|session|weekly|daily|monthly|usage|\d{1,2}[-\ ]hour|five[-\ ]hour)\ )+
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
        | until\b | for\ [\w.-]+ (?:$|[.,\s]) | your\ (?:usage\ )?limit )",
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
        r"(?: {again} | wait\ (?:{when}|for\ (?:it|(?:the|your)\ (?:\w+\ ){{0,2}}(?:limit|reset))\b)
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

#[cfg(test)]
mod tests;
