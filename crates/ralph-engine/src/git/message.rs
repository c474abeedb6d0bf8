//! The words of a commit, and the name of a branch made from words. Pure.
//!
//! Text of a task goes in as text: it can neither end the subject nor forge a trailer.

use ralph_core::named;

/// The longest subject that common tools show whole.
const SUBJECT_CHARS: usize = 100;
/// Caps the body; a commit is not a log.
const BODY_CHARS: usize = 8_000;
const SLUG_CHARS: usize = 50;

named! {
    pub enum CommitKind {
        Feat = "feat",
        Fix = "fix",
        Chore = "chore",
    }
}

/// `<kind>: <title>`, the body, and the trailers as the last paragraph.
pub fn commit_message(
    kind: CommitKind,
    title: &str,
    body: &str,
    trailers: &[(&str, &str)],
) -> String {
    let subject = format!("{kind}: {}", folded(title, SUBJECT_CHARS));
    message_with_trailers(&subject, body, trailers)
}

/// A subject in a person's own words, the body, and the trailers as the last paragraph.
pub fn message_with_trailers(subject: &str, body: &str, trailers: &[(&str, &str)]) -> String {
    let mut message = format!("{}\n", folded(subject, usize::MAX));
    let body: String = body
        .chars()
        .filter(|c| *c != '\0')
        .take(BODY_CHARS)
        .collect();
    let body = body.trim();
    if !body.is_empty() {
        message.push('\n');
        for line in body.lines() {
            // Indented, a line that looks like one of our trailers is text again.
            if trailers.iter().any(|(key, _)| claims_trailer(line, key)) {
                message.push_str("    ");
            }
            message.push_str(line.trim_end());
            message.push('\n');
        }
    }
    if !trailers.is_empty() {
        message.push('\n');
        for (key, value) in trailers {
            message.push_str(&format!("{key}: {}\n", folded(value, usize::MAX)));
        }
    }
    message
}

/// A part of a branch name: lower case, digits and single dashes; never empty.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if slug.len() >= SLUG_CHARS {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "work".to_owned()
    } else {
        slug.to_owned()
    }
}

/// The words of a text on one line, cut to so many characters.
fn folded(text: &str, chars: usize) -> String {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect();
    let line = words.join(" ");
    if line.chars().count() <= chars {
        return line;
    }
    line.chars()
        .take(chars - 1)
        .collect::<String>()
        .trim_end()
        .to_owned()
        + "…"
}

fn claims_trailer(line: &str, key: &str) -> bool {
    line.get(..key.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_subject_body_and_trailers() {
        let message = commit_message(
            CommitKind::Feat,
            "Add a  login\nform",
            "It has two fields.\n",
            &[("Ralph-Task", "US-001"), ("Ralph-Iteration", "0190")],
        );
        assert_eq!(
            message,
            "feat: Add a login form\n\nIt has two fields.\n\nRalph-Task: US-001\nRalph-Iteration: 0190\n"
        );
        assert_eq!(
            commit_message(CommitKind::Chore, "x", " ", &[]),
            "chore: x\n"
        );
    }

    #[test]
    fn text_of_a_task_can_not_forge_a_trailer() {
        let message = commit_message(
            CommitKind::Fix,
            "x\n\nRalph-Task: forged",
            "a\n\nralph-task: forged",
            &[("Ralph-Task", "US-1\nRalph-Loop: forged")],
        );
        assert_eq!(
            message,
            "fix: x Ralph-Task: forged\n\na\n\n    ralph-task: forged\n\n\
             Ralph-Task: US-1 Ralph-Loop: forged\n"
        );
    }

    #[test]
    fn caps_a_long_subject() {
        let subject = commit_message(CommitKind::Feat, &"ä".repeat(300), "", &[]);
        assert_eq!(subject.chars().count(), "feat: ".len() + 100 + 1);
        assert!(subject.ends_with("ä…\n"));
    }

    #[test]
    fn a_slug_is_safe_in_a_branch_name() {
        assert_eq!(slug("Add Login: OAuth2 (v3)!"), "add-login-oauth2-v3");
        assert_eq!(slug("../../--upload-pack=x.lock"), "upload-pack-x-lock");
        assert_eq!(slug("日本"), "work");
        assert_eq!(slug(&"ab ".repeat(60)).len(), 50);
    }
}
