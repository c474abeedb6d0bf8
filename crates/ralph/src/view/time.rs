//! Times and spans for a person: short, and never more exact than is of use.

use jiff::Timestamp;

/// How long ago, such as `5 min ago`.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    if seconds < 5 {
        return "just now".into();
    }
    format!("{} ago", span(seconds as f64))
}

/// How long, such as `42 s`, `5 min`, `3 h 20 min` or `4 days`.
pub(crate) fn span(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..3600 => format!("{minutes} min"),
        3600..172_800 => match minutes % 60 {
            0 => format!("{hours} h"),
            rest => format!("{hours} h {rest} min"),
        },
        _ => format!("{} days", hours / 24),
    }
}

/// A time that the journal has; one that can't be read is shown as it stands.
pub(crate) fn ago_text(then: &str, now: Timestamp) -> String {
    then.parse()
        .map_or_else(|_| then.to_owned(), |then| ago(then, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_as_exact_as_is_of_use() {
        let cases = [
            (0.4, "0 s"),
            (119.0, "119 s"),
            (120.0, "2 min"),
            (3600.0, "1 h"),
            (12_000.0, "3 h 20 min"),
            (200_000.0, "2 days"),
        ];
        for (seconds, text) in cases {
            assert_eq!(span(seconds), text);
        }
    }

    #[test]
    fn a_time_that_is_ahead_is_just_now() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        assert_eq!(
            ago("2026-01-02T03:05:05Z".parse().unwrap(), now),
            "just now"
        );
        assert_eq!(ago_text("2026-01-02T02:59:05Z", now), "5 min ago");
    }
}
