//! Reads fields of an agent's events whatever stands in them: one odd field must not lose its event.
//!
//! A field of another kind, or null, is as if it were missing. Never fails, and guesses nothing but
//! what a number can be written as.

#[cfg(test)]
pub(super) mod odd;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// A JSON text as a value: also one whose characters were cut in the middle, by an end of a buffer or
/// between the halves of a pair. Of a field that stands twice, the last counts.
pub(super) fn parse(text: &[u8]) -> Option<Value> {
    match serde_json::from_slice(text) {
        Ok(value) => Some(value),
        Err(_) => serde_json::from_str(&mended(text)?).ok(),
    }
}

/// What stands there, or nothing.
pub(super) fn any<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(from)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// A list, without the elements that are none of its kind.
pub(super) fn list<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(elements(Value::deserialize(from)?))
}

/// The elements of a list, as far as they are of its kind.
pub(super) fn elements<T: DeserializeOwned>(value: Value) -> Vec<T> {
    match value {
        Value::Array(all) => all.into_iter().filter_map(|v| T::deserialize(v).ok()),
        _ => return Vec::new(),
    }
    .collect()
}

/// A table by names, without the entries that are none of its kind.
pub(super) fn table<'de, D, T>(from: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Value::Object(all) = Value::deserialize(from)? else {
        return Ok(BTreeMap::new());
    };
    let entry = |(name, value)| Some((name, T::deserialize(value).ok()?));
    Ok(all.into_iter().filter_map(entry).collect())
}

/// How many of something; 0 where it does not say.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Ok(whole(&Value::deserialize(from)?).unwrap_or(0))
}

/// How many of something, where it says so.
pub(super) fn number<'de, D, N>(from: D) -> Result<Option<N>, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<u64>,
{
    let number = whole(&Value::deserialize(from)?);
    Ok(number.and_then(|n| N::try_from(n).ok()))
}

/// Money.
pub(super) fn amount<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Ok(figure(&Value::deserialize(from)?))
}

/// A moment: as text, in seconds, or in milliseconds.
pub(super) fn moment<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let value = Value::deserialize(from)?;
    if let Some(time) = value.as_str().and_then(|text| text.parse().ok()) {
        return Ok(Some(time));
    }
    /// More seconds than this are milliseconds: it is the year 5138.
    const SECONDS: u64 = 100_000_000_000;
    Ok(whole(&value).filter(|n| *n > 0).and_then(|number| {
        let signed = i64::try_from(number).ok()?;
        match number < SECONDS {
            true => Timestamp::from_second(signed).ok(),
            false => Timestamp::from_millisecond(signed).ok(),
        }
    }))
}

/// More than this is no count of anything, and sums of it would run over.
const MOST: f64 = 1e15;

fn whole(value: &Value) -> Option<u64> {
    // Exact below the bound, and rounded towards zero.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    figure(value).map(|n| n as u64)
}

/// A number that is not below zero, also one written as text.
fn figure(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    number.filter(|n| (0.0..=MOST).contains(n))
}

/// The text with what can't be read in its characters replaced; `None` if there is nothing such.
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
            (Some(Half::First), Some(Half::Second)) => (12, &escape[..12]),
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
enum Half {
    First,
    Second,
}

fn surrogate(escape: &str) -> Option<Half> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(Half::First),
        0xDC00..=0xDFFF => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_character_and_bad_bytes_are_replaced_and_the_rest_stays() {
        let read = |text: &[u8]| parse(text).map(|value| value.to_string());
        for (text, is) in [
            (&br#"{"a":"x\ud83dy"}"#[..], Some("{\"a\":\"x\u{fffd}y\"}")),
            (br#"{"a":"\ude00"}"#, Some("{\"a\":\"\u{fffd}\"}")),
            (
                br#"{"a":"\ud83d\ude00 \ud83d"}"#,
                Some("{\"a\":\"😀 \u{fffd}\"}"),
            ),
            // An escaped backslash before the letters is text.
            (
                br#"{"a":"\\ud83d","b":"\ud83d"}"#,
                Some("{\"a\":\"\\\\ud83d\",\"b\":\"\u{fffd}\"}"),
            ),
            (b"{\"a\":\"\xff\"}", Some("{\"a\":\"\u{fffd}\"}")),
            (br#"{"a":1,"a":2}"#, Some(r#"{"a":2}"#)),
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
            ("7", Some(7)),
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
            assert_eq!(whole(&serde_json::from_str(json).unwrap()), is, "{json}");
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
            let value: Value = serde_json::from_str(json).unwrap();
            let time = moment(value).unwrap().map(|time| time.to_string());
            assert_eq!(time.as_deref(), Some("2026-11-15T09:07:20Z"), "{json}");
        }
        for json in ["null", "0", "{}", "\"noon\"", "-5"] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(moment(value).unwrap(), None, "{json}");
        }
    }
}
