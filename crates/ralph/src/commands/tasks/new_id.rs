//! An id for a new task, in the style of those that are there: `US-004` after `US-003`, `T4` after
//! `T3`, else one made from the title.

use ralph_core::task::{Task, TaskId};

/// Longest id that is made from a title, in characters.
const MOST_CHARS: usize = 40;

/// An id that no task has. `None` where a title has nothing to make one from.
pub(super) fn new_id(tasks: &[Task], title: &str) -> Option<TaskId> {
    numbered(tasks).or_else(|| slug(tasks, title))
}

/// The next number, if most ids are one prefix and a number.
fn numbered(tasks: &[Task]) -> Option<TaskId> {
    let mut styles: Vec<(&str, Style)> = Vec::new();
    for task in tasks {
        let id = task.id.as_str();
        let digits = id.len() - id.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, number) = id.split_at(id.len() - digits);
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        let known = styles.iter().position(|(p, _)| *p == prefix);
        let at = known.unwrap_or_else(|| {
            styles.push((prefix, Style::default()));
            styles.len() - 1
        });
        let style = &mut styles[at].1;
        style.count += 1;
        style.highest = style.highest.max(number);
        let padded = id[prefix.len()..].starts_with('0') && digits > 1;
        style.width = style.width.max(if padded { digits } else { 0 });
    }
    // The last of the most frequent: what was written last is what goes on.
    let (prefix, style) = styles.into_iter().max_by_key(|(_, style)| style.count)?;
    if style.count * 2 <= tasks.len() {
        return None;
    }
    let width = style.width;
    let next = style.highest.checked_add(1)?;
    TaskId::parse(&format!("{prefix}{next:0width$}")).ok()
}

#[derive(Default)]
struct Style {
    count: usize,
    highest: u64,
    /// The number of digits numbers are filled up to; 0 for none.
    width: usize,
}

fn slug(tasks: &[Task], title: &str) -> Option<TaskId> {
    let mut slug = String::new();
    for word in title.split(|c: char| !c.is_alphanumeric()) {
        let word = word.to_lowercase();
        if word.is_empty() {
            continue;
        }
        let fits = slug.chars().count() + word.chars().count() < MOST_CHARS;
        if !fits && !slug.is_empty() {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(MOST_CHARS));
    }
    let taken = |id: &TaskId| tasks.iter().any(|task| task.id == *id);
    let first = TaskId::parse(&slug).ok()?;
    if !taken(&first) {
        return Some(first);
    }
    (2u32..)
        .filter_map(|n| TaskId::parse(&format!("{slug}-{n}")).ok())
        .find(|id| !taken(id))
}

#[cfg(test)]
mod tests {
    use ralph_core::task::format::parse;

    use super::*;

    fn made(ids: &[&str], title: &str) -> Option<String> {
        let yaml: String = ids
            .iter()
            .map(|id| format!("- {{id: \"{id}\", title: t}}\n"))
            .collect();
        let tasks = parse("t.yaml", 0, yaml.as_bytes()).unwrap().tasks;
        new_id(&tasks, title).map(|id| id.to_string())
    }

    #[test]
    fn an_id_follows_the_style_of_the_file() {
        let cases: [(&[&str], &str); 7] = [
            (&["US-001", "US-002", "US-003"], "US-004"),
            (&["T1", "T3"], "T4"),
            (&["1", "2"], "3"),
            (&["US-099"], "US-100"),
            (&["T9", "login", "T10"], "T11"),
            (&["login", "T1"], "add-a-log-in-page"),
            (&[], "add-a-log-in-page"),
        ];
        for (ids, expected) in cases {
            assert_eq!(
                made(ids, "Add a log-in page!").as_deref(),
                Some(expected),
                "{ids:?}"
            );
        }
    }

    #[test]
    fn a_title_that_is_taken_gets_a_number_and_one_without_letters_gets_nothing() {
        assert_eq!(made(&["fix-it"], "Fix it").as_deref(), Some("fix-it-2"));
        assert_eq!(
            made(&["fix-it", "fix-it-2"], "Fix it").as_deref(),
            Some("fix-it-3")
        );
        assert_eq!(made(&[], "!!!"), None);
    }

    #[test]
    fn a_long_title_is_cut_between_words() {
        let id = made(
            &[],
            "Make the exporter write its files atomically, so that none is lost",
        );
        assert_eq!(id.as_deref(), Some("make-the-exporter-write-its-files"));
    }
}
