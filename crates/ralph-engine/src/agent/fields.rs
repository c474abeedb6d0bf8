//! Reads fields of an agent's events whatever stands in them: one odd field must not lose its event.
//!
//! A field of another kind, or null, is as if it were missing. Never fails, and guesses nothing but
//! what a number can be written as.

#[cfg(test)]
pub(super) mod mutation;

use jiff::Timestamp;

use super::json::Json;

/// Parses a JSON text without what is under these keys: also one whose characters were cut in the
/// middle, by an end of a buffer or between the halves of a pair.
pub(super) fn parse<'a>(text: &'a [u8], skipped: &'static [&'static str]) -> Option<Json<'a>> {
    match Json::parse(text, skipped) {
        Ok(value) => Some(value),
        Err(_) => {
            let mended = mended(text)?;
            let value = Json::parse(mended.as_bytes(), skipped).ok()?;
            Some(value.into_owned())
        }
    }
}

/// A text, where it is one.
pub(super) fn word(value: &Json<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A text; empty where it is none.
pub(super) fn text_of(value: &Json<'_>) -> String {
    word(value).unwrap_or_default()
}

/// A number of something; 0 where it is none.
pub(super) fn count(value: &Json<'_>) -> u64 {
    number(value).unwrap_or(0)
}

/// A number of something, where it is one.
pub(super) fn number<N: TryFrom<u64>>(value: &Json<'_>) -> Option<N> {
    // Exact below the bound, and rounded towards zero.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = amount(value)? as u64;
    N::try_from(whole).ok()
}

/// A moment: as text, in seconds, or in milliseconds.
pub(super) fn moment(value: &Json<'_>) -> Option<Timestamp> {
    /// More seconds than this are milliseconds: it is the year 5138.
    const SECONDS: i64 = 100_000_000_000;
    if let Some(time) = value.as_str().and_then(|text| text.parse().ok()) {
        return Some(time);
    }
    match i64::try_from(number::<u64>(value)?).ok()? {
        0 => None,
        seconds @ ..SECONDS => Timestamp::from_second(seconds).ok(),
        millis => Timestamp::from_millisecond(millis).ok(),
    }
}

/// The elements of a list that are objects.
pub(super) fn objects<'j, 'a>(value: &'j Json<'a>) -> impl Iterator<Item = &'j Json<'a>> {
    let all = value.elements().iter();
    all.filter(|element| element.is_object())
}

/// The texts that a message says, which is a text or has blocks; thoughts and calls of tools are not
/// said.
pub(super) fn said_texts<'j>(content: &'j Json<'_>) -> impl Iterator<Item = &'j str> {
    let blocks = objects(content).filter(|block| block["type"] == "text");
    content
        .as_str()
        .into_iter()
        .chain(blocks.filter_map(|block| block["text"].as_str()))
}

/// More than this is no count of anything, and sums of it would run over.
const MOST: f64 = 1e15;

/// A number that is not below zero, also one written as text.
pub(super) fn amount(value: &Json<'_>) -> Option<f64> {
    let number = match value {
        Json::Text(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    number.filter(|n| (0.0..=MOST).contains(n))
}

/// Replaces what can't be read in the characters of a text; `None` if there is nothing such.
fn mended(text: &[u8]) -> Option<String> {
    let has_bad_bytes = std::str::from_utf8(text).is_err();
    if !has_bad_bytes && memchr::memmem::find(text, br"\ud").is_none() {
        return None;
    }
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (taken, written) = match (surrogate(escape), escape.get(6..).and_then(surrogate)) {
            (Some(SurrogateHalf::First), Some(SurrogateHalf::Second)) => (12, &escape[..12]),
            (Some(_), _) => (6, r"\ufffd"),
            (None, _) => {
                // The backslash and what it escapes, which can be another one.
                let next = escape.chars().nth(1).map_or(0, char::len_utf8);
                (1 + next, &escape[..1 + next])
            }
        };
        out.push_str(written);
        rest = &escape[taken..];
    }
    out.push_str(rest);
    Some(out)
}

/// One of the two escapes that make one character.
enum SurrogateHalf {
    First,
    Second,
}

fn surrogate(escape: &str) -> Option<SurrogateHalf> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(SurrogateHalf::First),
        0xDC00..=0xDFFF => Some(SurrogateHalf::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_character_and_bad_bytes_are_replaced_and_the_rest_stays() {
        let read = |text: &[u8]| {
            let value = parse(text, &[])?;
            let fields = value
                .fields()
                .iter()
                .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("?")));
            Some(fields.collect::<Vec<_>>().join(" "))
        };
        for (text, is) in [
            (&br#"{"a":"x\ud83dy"}"#[..], Some("a=x\u{fffd}y")),
            (br#"{"a":"\ude00"}"#, Some("a=\u{fffd}")),
            (br#"{"a":"\ud83d\ude00 \ud83d"}"#, Some("a=😀 \u{fffd}")),
            // An escaped backslash before the letters is text.
            (
                br#"{"a":"\\ud83d","b":"\ud83d"}"#,
                Some("a=\\ud83d b=\u{fffd}"),
            ),
            (b"{\"a\":\"\xff\"}", Some("a=\u{fffd}")),
            (br#"{"a":"\ud83d"#, None),
            (b"{\"a\":\"\\", None),
        ] {
            assert_eq!(
                read(text).as_deref(),
                is,
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }

    #[test]
    fn a_number_is_one_however_it_is_written_and_nonsense_is_none() {
        for (json, is) in [
            ("7", Some(7_u64)),
            ("7.0", Some(7)),
            ("7.9", Some(7)),
            ("\"7\"", Some(7)),
            ("-1", None),
            ("1e300", None),
            ("null", None),
            ("[7]", None),
            ("true", None),
            ("\"seven\"", None),
            ("\"NaN\"", None),
        ] {
            assert_eq!(number(&serde_json::from_str(json).unwrap()), is, "{json}");
        }
    }

    #[test]
    fn a_moment_is_read_as_text_seconds_or_milliseconds() {
        for json in [
            "\"2026-11-15T09:07:20Z\"",
            "1794733640",
            "1794733640000",
            "1794733640.0",
        ] {
            let value: Json<'_> = serde_json::from_str(json).unwrap();
            let time = moment(&value).map(|time| time.to_string());
            assert_eq!(time.as_deref(), Some("2026-11-15T09:07:20Z"), "{json}");
        }
        for json in ["null", "0", "{}", "\"noon\"", "-5"] {
            let value: Json<'_> = serde_json::from_str(json).unwrap();
            assert_eq!(moment(&value), None, "{json}");
        }
    }
}
