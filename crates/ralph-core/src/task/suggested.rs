//! Tasks that an agent wrote: suggestions, until a person takes them or the rules of `tasks.accept_new` do.
//!
//! Only says what may become part of the graph, and why something may not.

use serde::{Deserialize, Serialize};

use super::{
    Status, Task,
    format::NewTask,
    graph::{Graph, Problem},
};

/// A task that an agent wrote into a task file. It was taken out of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SuggestedTask {
    /// As the agent wrote it.
    pub task: Task,
    /// The file that it was in.
    pub file: String,
    /// The reason why it was not taken at once, where `tasks.accept_new` asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_taken: Option<String>,
}

// A task that is read again is the same: it has no numbers that differ from themselves.
impl Eq for SuggestedTask {}

impl SuggestedTask {
    /// The title; the id where it has none.
    pub fn title(&self) -> &str {
        let title = self.task.text.title.trim();
        if title.is_empty() {
            self.task.id.as_str()
        } else {
            title
        }
    }

    /// The task to be written, without what is not an agent's to say: its status, its place below another.
    pub fn to_new(&self) -> NewTask {
        let Task {
            id, text, links, ..
        } = &self.task;
        let line = self.title().replace(['\n', '\r'], " ");
        NewTask {
            id: id.clone(),
            title: line,
            description: text.description.clone(),
            acceptance: text.acceptance.clone(),
            verify: self.task.verify.clone(),
            depends_on: links.depends_on.clone(),
            labels: self.task.labels.clone(),
            priority: self.task.priority,
        }
    }
}

/// Takes those that leave the graph of `tasks` right; the others are told why not. One may depend on another.
pub fn accept(tasks: &[Task], suggested: &mut [SuggestedTask]) -> Vec<NewTask> {
    let (_, known_problems) = Graph::build(tasks.to_vec());
    let mut tasks = tasks.to_vec();
    let mut accepted = Vec::new();
    let mut left: Vec<&mut SuggestedTask> = suggested.iter_mut().collect();
    loop {
        let before = left.len();
        left.retain_mut(|one| match problem_of(&tasks, &known_problems, one) {
            None => {
                let mut task = one.task.clone();
                task.status = Status::Open;
                task.links.parent_id = None;
                tasks.push(task);
                accepted.push(one.to_new());
                one.not_taken = None;
                false
            }
            Some(reason) => {
                one.not_taken = Some(reason);
                true
            }
        });
        if left.len() == before {
            return accepted;
        }
    }
}

/// The rule that a suggested task breaks.
fn problem_of(tasks: &[Task], known: &[Problem], one: &SuggestedTask) -> Option<String> {
    let task = &one.task;
    if tasks.iter().any(|other| other.id == task.id) {
        return Some(format!("there is a task {} already", task.id));
    }
    if let Some(parent) = &task.links.parent_id {
        return Some(format!(
            "it is below {parent}, which would count as done with it"
        ));
    }
    if !task.status.is_workable() {
        return Some(format!("it was added as {}", task.status));
    }
    let mut all = tasks.to_vec();
    all.push(task.clone());
    let (_, problems) = Graph::build(all);
    let new = problems
        .into_iter()
        .find(|problem| !known.contains(problem));
    new.map(|problem| problem.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::format::parse_loosely;

    fn tasks(yaml: &str) -> Vec<Task> {
        parse_loosely("t.yaml", yaml.as_bytes())
    }

    fn suggested(yaml: &str) -> Vec<SuggestedTask> {
        let file = "t.yaml".to_owned();
        let all = tasks(yaml).into_iter();
        all.map(|task| SuggestedTask {
            task,
            file: file.clone(),
            not_taken: None,
        })
        .collect()
    }

    /// The ids that are taken, and the reasons of the others.
    fn accepted(yaml: &str) -> (Vec<String>, Vec<String>) {
        let there = tasks("- {id: a, title: A}\n- {id: b, title: B, dependsOn: [a]}\n");
        let mut suggested = suggested(yaml);
        let taken = accept(&there, &mut suggested);
        let reasons = suggested.into_iter().filter_map(|one| one.not_taken);
        (
            taken.iter().map(|task| task.id.to_string()).collect(),
            reasons.collect(),
        )
    }

    #[test]
    fn a_task_that_leaves_the_graph_right_is_taken() {
        let (taken, reasons) =
            accepted("- {id: d, title: D, dependsOn: [c]}\n- {id: c, title: C, dependsOn: [b]}\n");
        assert_eq!(taken, ["c", "d"]);
        assert_eq!(reasons, Vec::<String>::new());
    }

    #[test]
    fn one_that_breaks_a_rule_stays_a_suggestion_with_the_reason() {
        for (yaml, reason) in [
            ("- {id: a, title: X}\n", "there is a task a already"),
            (
                "- {id: c, title: C, parentId: b}\n",
                "it is below b, which would count as done with it",
            ),
            (
                "- {id: c, title: C, status: completed}\n",
                "it was added as completed",
            ),
            (
                "- {id: c, title: C, status: skipped}\n",
                "it was added as skipped",
            ),
            (
                "- {id: c, title: C, dependsOn: [zzzzz]}\n",
                "task c depends on zzzzz, which does not exist",
            ),
            (
                "- {id: c, title: C, dependsOn: [c]}\n",
                "task c depends on itself",
            ),
        ] {
            let (taken, reasons) = accepted(yaml);
            assert_eq!(taken, Vec::<String>::new(), "{yaml}");
            assert_eq!(reasons, [reason], "{yaml}");
        }
        let circle = "- {id: c, title: C, dependsOn: [d]}\n- {id: d, title: D, dependsOn: [c]}\n";
        let (taken, reasons) = accepted(circle);
        assert_eq!(taken, Vec::<String>::new());
        assert_eq!(reasons.len(), 2);
    }
}
