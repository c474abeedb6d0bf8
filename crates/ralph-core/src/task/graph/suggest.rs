//! "Did you mean …?" for ids.
//!
//! Looks at every id once a question, so callers in bulk must put a limit on it.

use crate::task::TaskId;

/// The id nearest to what was written, if it is near enough to be meant. Ties go to the first.
pub(super) fn nearest<'a>(written: &str, ids: &'a [TaskId]) -> Option<&'a TaskId> {
    let plain = normalised(written);
    // Of a very short id nothing would be left to tell it by.
    let allowed = (written.chars().count() / 3).min(3);
    let mut best: Option<(usize, &TaskId)> = None;
    for id in ids {
        if id.as_str() == written {
            continue;
        }
        let other = normalised(id.as_str());
        if other == plain {
            return Some(id);
        }
        if other.len().abs_diff(plain.len()) > allowed * 4 {
            continue;
        }
        let distance = strsim::osa_distance(&plain, &other);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, id));
        }
    }
    best.map(|(_, id)| id)
}

/// `us_1` and `US-001` are the same thing to a person: case, zeros in front of a number and the
/// choice of separator don't count.
fn normalised(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut in_number = false;
    for (at, c) in text.char_indices() {
        let next_is_digit = text[at + c.len_utf8()..].starts_with(|n: char| n.is_ascii_digit());
        if c == '0' && !in_number && next_is_digit {
            continue;
        }
        in_number = c.is_ascii_digit();
        match c {
            '_' | ' ' | '.' | ':' => plain.push('-'),
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_and_makes_nothing_up() {
        let ids: Vec<TaskId> = ["US-001", "US-002", "auth-login", "T10"]
            .iter()
            .map(|id| TaskId::parse(id).unwrap())
            .collect();
        for (written, meant) in [
            ("us-1", Some("US-001")),
            ("US_002", Some("US-002")),
            ("auht-login", Some("auth-login")),
            ("auth-logn", Some("auth-login")),
            ("T11", Some("T10")),
            ("deploy", None),
            ("x", None),
            ("T1", None),
            ("", None),
        ] {
            assert_eq!(
                nearest(written, &ids).map(TaskId::as_str),
                meant,
                "{written:?}"
            );
        }
    }
}
