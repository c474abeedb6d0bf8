//! Counts, tokens and money for a person.

use ralph_core::agent::Usage;

/// `1 task`, `2 tasks`.
pub(crate) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `950`, `12.3k`, `4.5M`.
pub(crate) fn short(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{:.1}k", n as f64 / 1e3),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}

/// Tokens and, where it is known, what they cost. `None` where nothing was used.
pub(crate) fn usage(usage: &Usage) -> Option<String> {
    let tokens = usage.total_tokens();
    let cost = usage.cost_usd.map(|cost| format!("${cost:.2}"));
    match (tokens, cost) {
        (0, None) => None,
        (0, Some(cost)) => Some(cost),
        (tokens, None) => Some(format!("{} tokens", short(tokens))),
        (tokens, Some(cost)) => Some(format!("{} tokens, {cost}", short(tokens))),
    }
}

/// The beginning of a commit's name, as git shows it.
pub(crate) fn short_commit(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_rounded_and_money_is_not_made_up() {
        let mut used = Usage {
            input_tokens: 900,
            output_tokens: 11_400,
            ..Usage::default()
        };
        assert_eq!(usage(&used).as_deref(), Some("12.3k tokens"));
        used.cost_usd = Some(0.125);
        assert_eq!(usage(&used).as_deref(), Some("12.3k tokens, $0.12"));
        assert_eq!(usage(&Usage::default()), None);
        assert_eq!(short(4_500_000), "4.5M");
    }
}
