//! Figures for people: durations, tokens, money, counts. Short, and everywhere of the same shape.
//!
//! Makes text, never JSON. Exact amounts of money have their own form: `Dollars` shows itself.

use jiff::Timestamp;

use crate::{agent::Usage, dollars::Dollars, economics::KnownCost};

/// `0.4s`, `42s`, `1m 12s`, `2h 05m`
pub fn duration(seconds: f64) -> String {
    // What would be rounded up to ten is shown as ten.
    if seconds < 9.95 {
        return format!("{:.1}s", seconds.max(0.0));
    }
    whole_seconds(seconds.round() as u64)
}

/// Like [`duration`], for a clock that runs: `4s`, `42s`, `1m 12s`, `2h 05m`
pub fn whole_seconds(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600.. => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns how long ago, no more exact than is of use: `just now`, `42s ago`, `5m ago`, `3h 20m ago`, `4d ago`
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = u64::try_from(now.as_second() - then.as_second()).unwrap_or(0);
    match seconds {
        0..5 => "just now".into(),
        5..120 => format!("{seconds}s ago"),
        120..3600 => format!("{}m ago", seconds / 60),
        3600..172_800 => format!("{} ago", whole_seconds(seconds)),
        172_800.. => format!("{}d ago", seconds / 86_400),
    }
}

/// [`ago`] for a time in text; one that can't be read is shown as it is.
pub fn ago_text(then: &str, now: Timestamp) -> String {
    then.parse()
        .map_or_else(|_| then.to_owned(), |then| ago(then, now))
}

/// The first of many names: `a, b and 3 more`.
pub fn first_of(names: &[String], most: usize) -> String {
    let shown = names[..names.len().min(most)].join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A large number in short: `999`, `12.3k`, `123k`, `1.2M`
pub fn compact(count: u64) -> String {
    let n = count as f64;
    match count {
        0..1_000 => count.to_string(),
        1_000..99_950 => format!("{:.1}k", n / 1e3),
        99_950..999_500 => format!("{:.0}k", n / 1e3),
        999_500.. => format!("{:.1}M", n / 1e6),
    }
}

/// `812 kB`, `1.4 GB`: space on a disk.
pub fn bytes(count: u64) -> String {
    let steps = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    let step = steps.into_iter().find(|(size, _)| count >= *size);
    match step {
        Some((size, unit)) if count < 10 * size => {
            format!("{:.1} {unit}", count as f64 / size as f64)
        }
        Some((size, unit)) => format!("{} {unit}", count / size),
        None => format!("{count} bytes"),
    }
}

/// `$0.42`; what is less than a cent is not shown as nothing.
pub fn usd(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 {
        "<$0.01".into()
    } else {
        format!("${:.2}", amount.max(0.0))
    }
}

/// `12.3k tokens` and `$0.42`, as far as they are known.
pub fn usage(usage: &Usage) -> Vec<String> {
    let used = usage.total_tokens();
    let used = (used > 0).then(|| format!("{} tokens", compact(used)));
    used.into_iter().chain(usage.cost_usd.map(usd)).collect()
}

/// `12.3k tokens` and `$0.42`, of which an estimate is marked; nothing for a cost that is not known.
pub fn used(usage: &Usage, cost: &KnownCost) -> Vec<String> {
    let tokens = usage.total_tokens();
    let is_known = cost.spent_usd > Dollars::NOTHING || usage.cost_usd.is_some();
    let tokens = (tokens > 0).then(|| format!("{} tokens", compact(tokens)));
    let cost = is_known.then(|| cost.with(|amount| usd(amount.usd())));
    tokens.into_iter().chain(cost).collect()
}

/// A share of one: `40 %`
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `1 task`, `2 tasks`
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The beginning of a commit's name, as git shows it.
pub fn short_commit(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
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
    fn the_past_is_as_exact_as_is_of_use() {
        let now: Timestamp = "2026-01-05T03:04:05Z".parse().unwrap();
        for (then, expected) in [
            ("2026-01-05T03:05:05Z", "just now"),
            ("2026-01-05T03:04:01Z", "just now"),
            ("2026-01-05T03:02:06Z", "119s ago"),
            ("2026-01-05T02:59:05Z", "5m ago"),
            ("2026-01-04T23:44:05Z", "3h 20m ago"),
            ("2026-01-02T20:00:00Z", "2d ago"),
        ] {
            assert_eq!(ago_text(then, now), expected);
        }
        assert_eq!(ago_text("yesterday", now), "yesterday");
    }

    #[test]
    fn large_numbers_never_round_into_the_next_unit() {
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
            assert_eq!(compact(count), expected);
        }
    }

    #[test]
    fn money_has_two_digits_and_a_trace_of_it_is_said() {
        assert_eq!(usd(0.0), "$0.00");
        assert_eq!(usd(0.004), "<$0.01");
        assert_eq!(usd(0.42), "$0.42");
        assert_eq!(usd(1234.5), "$1234.50");
    }

    #[test]
    fn money_is_not_made_up() {
        let mut used = Usage {
            input_tokens: 900,
            output_tokens: 11_400,
            ..Usage::default()
        };
        assert_eq!(usage(&used), ["12.3k tokens"]);
        used.cost_usd = Some(0.125);
        assert_eq!(usage(&used), ["12.3k tokens", "$0.12"]);
        assert_eq!(usage(&Usage::default()), [""; 0]);
    }

    #[test]
    fn a_cost_that_is_not_known_is_never_shown_as_nothing() {
        let used_tokens = Usage {
            input_tokens: 900,
            ..Usage::default()
        };
        let cost = |usd: f64, estimated: f64, unknown_tokens| KnownCost {
            spent_usd: Dollars::told(usd),
            estimated_usd: Dollars::told(estimated),
            unknown_tokens,
        };
        for (cost, shown, in_line) in [
            (cost(0.425, 0.0, 0), "$0.4250", Some("$0.42")),
            (cost(0.425, 0.1, 0), "~$0.4250", Some("~$0.42")),
            (cost(0.42, 0.0, 7), "$0.42 + ?", Some("$0.42 + ?")),
            (cost(0.42, 0.42, 7), "~$0.42 + ?", Some("~$0.42 + ?")),
            (cost(0.0, 0.0, 900), "?", None),
        ] {
            assert_eq!(cost.to_string(), shown);
            let expected: Vec<&str> = ["900 tokens"].into_iter().chain(in_line).collect();
            assert_eq!(used(&used_tokens, &cost), expected);
        }
        assert_eq!(used(&Usage::default(), &KnownCost::default()), [""; 0]);
    }

    #[test]
    fn only_one_is_singular() {
        assert_eq!(count(0, "entry", "entries"), "0 entries");
        assert_eq!(count(1, "entry", "entries"), "1 entry");
        assert_eq!(count(2, "entry", "entries"), "2 entries");
    }
}
