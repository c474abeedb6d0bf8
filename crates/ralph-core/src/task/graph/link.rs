//! Resolves the links that tasks name by id, and says what is wrong with them.
//!
//! Every link is looked at once. What can't be resolved is left out of the shape, never guessed.

use std::collections::{HashMap, HashSet, hash_map::Entry};

use super::{
    Problem,
    cycle::{parent_cycles, waiting_cycles},
    shape::{ContainerTree, Flaw, Lists, Node, Shape},
};
use crate::task::{Task, TaskId};

/// Suggestions are looked for this often at most: each one looks at all ids.
const MAX_SUGGESTIONS: usize = 8;

/// Resolves all links, and says what is wrong with them, in the order of the file.
pub(super) fn link(tasks: &[Task]) -> (Shape, Vec<Problem>) {
    let mut linker = Linker {
        tasks,
        ids: tasks.iter().map(|task| task.id.clone()).collect(),
        index: HashMap::with_capacity(tasks.len()),
        flaws: HashMap::new(),
        missing: HashMap::new(),
        problems: Vec::new(),
        suggestions: 0,
    };
    linker.index_ids();
    let parent = linker.resolve_parents();
    let pairs: Vec<(Node, Node)> = parent
        .iter()
        .enumerate()
        .filter_map(|(at, parent)| parent.map(|parent| (parent, Node::new(at))))
        .collect();
    let children = Lists::new(tasks.len(), &pairs);
    let tree = ContainerTree::new(&parent, &children);
    let pairs = linker.resolve_dependencies();
    let turned: Vec<(Node, Node)> = pairs.iter().map(|(task, on)| (*on, *task)).collect();
    let Linker {
        ids,
        index,
        flaws,
        missing,
        mut problems,
        ..
    } = linker;
    let shape = Shape {
        ids,
        index,
        parent,
        children,
        depends: Lists::new(tasks.len(), &pairs),
        dependants: Lists::new(tasks.len(), &turned),
        missing,
        flaws,
        tree,
    };
    problems.extend(waiting_problems(&shape, tasks, &pairs));
    problems.sort_by_key(Problem::place);
    (shape, problems)
}

struct Linker<'t> {
    tasks: &'t [Task],
    ids: Vec<TaskId>,
    index: HashMap<TaskId, Node>,
    flaws: HashMap<Node, Flaw>,
    missing: HashMap<Node, Vec<TaskId>>,
    problems: Vec<Problem>,
    suggestions: usize,
}

impl Linker<'_> {
    fn index_ids(&mut self) {
        let mut again: Vec<(Node, Node)> = Vec::new();
        for node in (0..self.ids.len()).map(Node::new) {
            match self.index.entry(self.ids[node.at()].clone()) {
                Entry::Vacant(free) => {
                    free.insert(node);
                }
                Entry::Occupied(first) => {
                    again.push((*first.get(), node));
                    self.flaws.insert(node, Flaw::Shadowed);
                }
            }
        }
        again.sort_unstable();
        for same in again.chunk_by(|a, b| a.0 == b.0) {
            let first = same[0].0;
            let nodes = std::iter::once(first).chain(same.iter().map(|(_, node)| *node));
            self.problems.push(Problem::DuplicateId {
                id: self.ids[first.at()].clone(),
                places: nodes.map(|node| self.tasks[node.at()].place).collect(),
            });
        }
    }

    fn resolve_parents(&mut self) -> Vec<Option<Node>> {
        let mut parent = vec![None; self.tasks.len()];
        for (at, task) in self.tasks.iter().enumerate() {
            let Some(wanted) = &task.links.parent_id else {
                continue;
            };
            if self.flaws.contains_key(&Node::new(at)) {
                continue;
            }
            parent[at] = self.index.get(wanted).copied();
            if parent[at].is_none() {
                let did_you_mean = self.suggest(wanted);
                self.problems.push(Problem::UnknownParent {
                    task: task.id.clone(),
                    place: task.place,
                    missing: wanted.clone(),
                    did_you_mean,
                });
            }
        }
        for circle in parent_cycles(&parent) {
            for node in &circle {
                parent[node.at()] = None;
                self.flaws.insert(*node, Flaw::InParentCycle);
            }
            self.problems.push(Problem::ParentCycle {
                place: self.tasks[circle[0].at()].place,
                path: closed(&circle, &self.ids),
            });
        }
        parent
    }

    /// Each `(task, dependency)` once, however often the file says it.
    fn resolve_dependencies(&mut self) -> Vec<(Node, Node)> {
        let mut pairs = Vec::with_capacity(self.tasks.len());
        let mut last_named_by: Vec<Option<Node>> = vec![None; self.tasks.len()];
        for (at, task) in self.tasks.iter().enumerate() {
            let node = Node::new(at);
            if self.flaws.get(&node) == Some(&Flaw::Shadowed) {
                continue;
            }
            let mut unknown_to_task = HashSet::new();
            for wanted in &task.links.depends_on {
                if let Some(on) = self.index.get(wanted).copied() {
                    if last_named_by[on.at()].replace(node) != Some(node) {
                        pairs.push((node, on));
                    }
                    continue;
                }
                if !unknown_to_task.insert(wanted) {
                    continue;
                }
                self.missing.entry(node).or_default().push(wanted.clone());
                let did_you_mean = self.suggest(wanted);
                self.problems.push(Problem::UnknownDependency {
                    task: task.id.clone(),
                    place: task.place,
                    missing: wanted.clone(),
                    did_you_mean,
                });
            }
        }
        pairs
    }

    fn suggest(&mut self, wanted: &TaskId) -> Option<TaskId> {
        self.suggestions += 1;
        if self.suggestions > MAX_SUGGESTIONS {
            return None;
        }
        nearest(wanted.as_str(), &self.ids).cloned()
    }
}

/// Dependencies that can never be met, because what they ask for waits in turn for the task.
fn waiting_problems(shape: &Shape, tasks: &[Task], pairs: &[(Node, Node)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (node, on) in pairs.iter().copied() {
        let task = shape.id(node).clone();
        let place = tasks[node.at()].place;
        if node == on {
            problems.push(Problem::SelfDependency { task, place });
        } else if shape.is_within(node, on) {
            let ancestor = shape.id(on).clone();
            problems.push(Problem::DependsOnAncestor {
                task,
                place,
                ancestor,
            });
        } else if shape.is_within(on, node) {
            let descendant = shape.id(on).clone();
            problems.push(Problem::DependsOnDescendant {
                task,
                place,
                descendant,
            });
        }
    }
    for circle in waiting_cycles(shape) {
        problems.push(Problem::DependencyCycle {
            place: tasks[circle[0].at()].place,
            path: closed(&circle, &shape.ids),
        });
    }
    problems
}

fn closed(circle: &[Node], ids: &[TaskId]) -> Vec<TaskId> {
    circle
        .iter()
        .chain(&circle[..1])
        .map(|node| ids[node.at()].clone())
        .collect()
}

/// The id nearest to what was written, if it is near enough to be meant. Ties go to the first.
///
/// Looks at every id once a question, so callers in bulk must put a limit on it.
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
