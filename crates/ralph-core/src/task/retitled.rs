//! Tells from the ids that a list of tasks had, and from the list now, which task had its title edited.
//!
//! An id that is made of the title changes with it. If exactly one item of the list changed, it is the same
//! task under a new id. Two and more could be anything: they are new tasks. Moves no histories.

use std::collections::HashSet;

use super::{Task, TaskId, format};

/// Describes what became of ids that are made of titles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Retitled {
    /// No id went, or none came.
    #[default]
    Nothing,
    /// One title was edited: the old id of the task and its new one, then those that follow from that.
    One(Vec<(TaskId, TaskId)>),
    /// More changed than one title: ids that went, and tasks that are new.
    Several { gone: Vec<TaskId>, new: Vec<TaskId> },
}

/// Compares the ids that a list had with the tasks that it has now, both in the order of the file.
pub fn retitled(before: &[TaskId], now: &[Task]) -> Retitled {
    let had: HashSet<&TaskId> = before.iter().collect();
    let has: HashSet<&TaskId> = now.iter().map(|task| &task.id).collect();
    let is_new = |task: &&Task| !had.contains(&task.id) && format::has_derived_id(task);
    let new: Vec<TaskId> = now
        .iter()
        .filter(is_new)
        .map(|task| task.id.clone())
        .collect();
    let gone: Vec<TaskId> = before
        .iter()
        .filter(|id| !has.contains(id))
        .cloned()
        .collect();
    if new.is_empty() || gone.is_empty() {
        return Retitled::Nothing;
    }
    let moved: Vec<(TaskId, TaskId)> = before
        .iter()
        .zip(now)
        .filter(|(was, is)| **was != is.id)
        .map(|(was, is)| (was.clone(), is.id.clone()))
        .collect();
    match one_title(&moved) {
        Some(first) if before.len() == now.len() => {
            let mut moved = moved;
            moved.swap(0, first);
            Retitled::One(moved)
        }
        _ => Retitled::Several { gone, new },
    }
}

/// The place of the only change that does not follow from another one.
fn one_title(moved: &[(TaskId, TaskId)]) -> Option<usize> {
    (0..moved.len()).find(|first| {
        let (was, is) = &moved[*first];
        !only_counts(was, is)
            && moved.iter().enumerate().all(|(n, (old, new))| {
                n == *first || only_counts(old, new) || is_within((old, new), (was, is))
            })
    })
}

/// Returns true for ids of equal titles that differ in their count among them.
fn only_counts(was: &TaskId, is: &TaskId) -> bool {
    fn base(id: &TaskId) -> &str {
        let text = id.as_str();
        match text.rsplit_once('-') {
            Some((base, count)) if count.bytes().all(|b| b.is_ascii_digit()) => base,
            _ => text,
        }
    }
    base(was) == base(is)
}

/// Returns true for the id of a task in a container whose id changed.
fn is_within((old, new): (&TaskId, &TaskId), (was, is): (&TaskId, &TaskId)) -> bool {
    let rest = |id: &str, outer: &str| {
        let rest = id.strip_prefix(outer)?;
        rest.starts_with('.').then(|| rest.to_owned())
    };
    let old = rest(old.as_str(), was.as_str());
    old.is_some() && old == rest(new.as_str(), is.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(list: &[&str]) -> Vec<TaskId> {
        list.iter().map(|id| TaskId::parse(id).unwrap()).collect()
    }

    fn read(titles: &[&str]) -> Vec<Task> {
        let item = |title: &&str| serde_json::json!({"title": title, "done": false});
        let items: Vec<_> = titles.iter().map(item).collect();
        let text = serde_json::json!(items).to_string();
        format::parse("a.json", 0, text.as_bytes()).unwrap().tasks
    }

    fn compared(before: &[&str], now: &[&str]) -> Retitled {
        let before: Vec<TaskId> = read(before).into_iter().map(|task| task.id).collect();
        retitled(&before, &read(now))
    }

    fn one(moved: &[(&str, &str)]) -> Retitled {
        let id = |text: &str| TaskId::parse(text).unwrap();
        Retitled::One(moved.iter().map(|(a, b)| (id(a), id(b))).collect())
    }

    #[test]
    fn one_edited_title_is_the_same_task() {
        assert_eq!(
            compared(&["One", "Tow", "Three"], &["One", "Two", "Three"]),
            one(&[("tow", "two")])
        );
    }

    #[test]
    fn two_edited_titles_are_new_tasks() {
        assert_eq!(
            compared(&["Oen", "Tow", "Three"], &["One", "Two", "Three"]),
            Retitled::Several {
                gone: ids(&["oen", "tow"]),
                new: ids(&["one", "two"]),
            }
        );
    }

    #[test]
    fn an_edit_together_with_another_task_is_not_guessed_at() {
        assert_eq!(
            compared(&["Tow", "Three"], &["Two", "Three", "Four"]),
            Retitled::Several {
                gone: ids(&["tow"]),
                new: ids(&["two", "four"]),
            }
        );
    }

    #[test]
    fn added_removed_and_moved_tasks_are_no_edits() {
        for now in [
            &["One", "Two", "Three"][..],
            &["Two"],
            &["Two", "One"],
            &["One", "Two"],
        ] {
            assert_eq!(compared(&["One", "Two"], now), Retitled::Nothing, "{now:?}");
        }
    }

    #[test]
    fn equal_titles_that_are_counted_again_follow_the_edited_one() {
        assert_eq!(
            compared(&["Test", "Test", "Test"], &["Fix", "Test", "Test"]),
            one(&[("test", "fix"), ("test-2", "test"), ("test-3", "test-2")])
        );
    }

    #[test]
    fn tasks_in_a_container_follow_its_title() {
        let read = |name: &str| {
            let text = format!(
                r#"{{"phases": [{{"name": "{name}", "tasks": [{{"id": 1, "title": "a", "done": false}}]}}]}}"#
            );
            format::parse("a.json", 0, text.as_bytes()).unwrap().tasks
        };
        let before: Vec<TaskId> = read("Biuld").into_iter().map(|task| task.id).collect();
        assert_eq!(
            retitled(&before, &read("Build")),
            one(&[("biuld", "build"), ("biuld.1", "build.1")])
        );
    }

    #[test]
    fn an_id_that_is_written_is_another_task() {
        let read = |id: &str| {
            let text = format!(r#"[{{"id": "{id}", "title": "A task", "done": false}}]"#);
            format::parse("a.json", 0, text.as_bytes()).unwrap().tasks
        };
        assert_eq!(retitled(&ids(&["T-1"]), &read("T-2")), Retitled::Nothing);
    }
}
