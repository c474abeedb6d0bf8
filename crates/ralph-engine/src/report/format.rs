//! Figures for people: durations, tokens, money, counts. Short, and always of the same shape.

/// `0.4s`, `42s`, `1m 12s`, `2h 05m`
pub fn duration(seconds: f64) -> String {
    // What would be rounded up to ten is shown as ten.
    if seconds < 9.95 {
        return format!("{:.1}s", seconds.max(0.0));
    }
    whole_seconds(seconds.round() as u64)
}

/// Like `duration`, for a clock that runs: `4s`, `42s`, `1m 12s`, `2h 05m`
pub(super) fn whole_seconds(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600.. => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `999`, `12.3k`, `123k`, `1.2M`
pub fn tokens(count: u64) -> String {
    let n = count as f64;
    match count {
        0..1_000 => count.to_string(),
        1_000..99_950 => format!("{:.1}k", n / 1e3),
        99_950..999_500 => format!("{:.0}k", n / 1e3),
        999_500.. => format!("{:.1}M", n / 1e6),
    }
}

/// `$0.42`; what is less than a cent is not shown as nothing.
pub fn cost(usd: f64) -> String {
    if usd > 0.0 && usd < 0.01 {
        "<$0.01".into()
    } else {
        format!("${:.2}", usd.max(0.0))
    }
}

/// `1 task`, `2 tasks`
pub fn count(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_to_two_units() {
        let cases = [
            (-1.0, "0.0s"),
            (f64::NAN, "0s"),
            (0.04, "0.0s"),
            (0.44, "0.4s"),
            (9.94, "9.9s"),
            (9.96, "10s"),
            (59.4, "59s"),
            (59.6, "1m 00s"),
            (72.0, "1m 12s"),
            (3599.7, "1h 00m"),
            (7_512.0, "2h 05m"),
            (180_000.0, "50h 00m"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(duration(seconds), expected, "{seconds}");
        }
        assert_eq!(whole_seconds(4), "4s");
    }

    #[test]
    fn tokens_never_round_into_the_next_unit() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0k"),
            (12_345, "12.3k"),
            (99_949, "99.9k"),
            (99_950, "100k"),
            (999_499, "999k"),
            (999_500, "1.0M"),
            (1_234_567, "1.2M"),
        ];
        for (count, expected) in cases {
            assert_eq!(tokens(count), expected);
        }
    }

    #[test]
    fn money_has_two_digits_and_a_trace_of_it_is_said() {
        assert_eq!(cost(0.0), "$0.00");
        assert_eq!(cost(0.004), "<$0.01");
        assert_eq!(cost(0.42), "$0.42");
        assert_eq!(cost(1234.5), "$1234.50");
    }

    #[test]
    fn only_one_is_singular() {
        assert_eq!(count(0, "file"), "0 files");
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(2, "file"), "2 files");
    }
}
