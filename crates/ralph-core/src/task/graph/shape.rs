//! The links of a graph without the tasks: what a plan needs to hold, shared with it.
//!
//! Resolves ids to nodes once. Nodes are in the order the tasks came in. Holds no status.

use std::collections::{HashMap, HashSet};

use super::cycle::{parent_cycles, waiting_cycles};
use super::lists::{Lists, Node};
use super::problem::Problem;
use super::suggest;
use crate::task::{Task, TaskId};

/// Suggestions are looked for this often at most: each one looks at all ids.
const MAX_SUGGESTIONS: usize = 8;

#[derive(Debug, Clone)]
pub(crate) struct Shape {
    ids: Vec<TaskId>,
    index: HashMap<TaskId, Node>,
    parent: Vec<Option<Node>>,
    children: Lists,
    depends: Lists,
    dependants: Lists,
    /// Dependencies that don't exist.
    missing: HashMap<Node, Vec<TaskId>>,
    flaws: HashMap<Node, Flaw>,
    tree: Tree,
}

/// Why a task can never be ready, whatever the others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// An earlier task has the same id.
    Shadowed,
    /// The task is its own ancestor.
    InParentCycle,
}

impl Shape {
    pub(crate) fn id(&self, node: Node) -> &TaskId {
        &self.ids[node.at()]
    }

    pub(crate) fn node(&self, id: &TaskId) -> Option<Node> {
        self.index.get(id).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.ids.len()).map(Node::new)
    }

    pub(crate) fn parent(&self, node: Node) -> Option<Node> {
        self.parent[node.at()]
    }

    pub(crate) fn children(&self, node: Node) -> &[Node] {
        self.children.of(node)
    }

    pub(crate) fn is_leaf(&self, node: Node) -> bool {
        self.children(node).is_empty()
    }

    pub(crate) fn depends(&self, node: Node) -> &[Node] {
        self.depends.of(node)
    }

    pub(crate) fn dependants(&self, node: Node) -> &[Node] {
        self.dependants.of(node)
    }

    pub(crate) fn missing(&self, node: Node) -> &[TaskId] {
        self.missing.get(&node).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn flaw(&self, node: Node) -> Option<Flaw> {
        self.flaws.get(&node).copied()
    }

    pub(crate) fn did_you_mean(&self, text: &str) -> Option<&TaskId> {
        suggest::nearest(text, &self.ids)
    }

    /// All nodes, parents before their children.
    pub(crate) fn preorder(&self) -> &[Node] {
        &self.tree.preorder
    }

    pub(crate) fn descendants(&self, node: Node) -> &[Node] {
        &self.tree.preorder[self.tree.enter(node) + 1..self.tree.leave(node)]
    }

    /// Whether `node` is `top` or somewhere below it.
    pub(crate) fn is_within(&self, node: Node, top: Node) -> bool {
        (self.tree.enter(top)..self.tree.leave(top)).contains(&self.tree.enter(node))
    }
}

/// The nodes in preorder, so that everything below a node is one slice.
#[derive(Debug, Clone)]
struct Tree {
    preorder: Vec<Node>,
    /// Where each node, and the end of what is below it, stands in `preorder`.
    span: Vec<(u32, u32)>,
}

impl Tree {
    fn new(parent: &[Option<Node>], children: &Lists) -> Self {
        let mut preorder = Vec::with_capacity(parent.len());
        let mut span = vec![(0, 0); parent.len()];
        let mut stack = Vec::new();
        for root in (0..parent.len()).map(Node::new) {
            if parent[root.at()].is_some() {
                continue;
            }
            stack.push(root);
            while let Some(node) = stack.pop() {
                let enter = preorder.len() as u32;
                span[node.at()] = (enter, enter + 1);
                preorder.push(node);
                stack.extend(children.of(node).iter().rev());
            }
        }
        for node in preorder.iter().rev() {
            if let Some(parent) = parent[node.at()] {
                let end = span[node.at()].1;
                let around = &mut span[parent.at()].1;
                *around = end.max(*around);
            }
        }
        Self { preorder, span }
    }

    fn enter(&self, node: Node) -> usize {
        self.span[node.at()].0 as usize
    }

    fn leave(&self, node: Node) -> usize {
        self.span[node.at()].1 as usize
    }
}

/// Resolves all links, and says what is wrong with them, in the order of the file.
pub(super) fn link(tasks: &[Task]) -> (Shape, Vec<Problem>) {
    let mut linker = Linker {
        tasks,
        ids: tasks.iter().map(|task| task.id.clone()).collect(),
        index: HashMap::with_capacity(tasks.len()),
        flaws: HashMap::new(),
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
    let tree = Tree::new(&parent, &children);
    let (pairs, missing) = linker.resolve_dependencies();
    let turned: Vec<(Node, Node)> = pairs.iter().map(|(task, on)| (*on, *task)).collect();
    let Linker {
        ids,
        index,
        flaws,
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
    problems: Vec<Problem>,
    suggestions: usize,
}

impl Linker<'_> {
    fn index_ids(&mut self) {
        let mut again: Vec<(Node, Node)> = Vec::new();
        for (at, id) in self.ids.iter().enumerate() {
            let node = Node::new(at);
            match self.index.get(id) {
                None => {
                    self.index.insert(id.clone(), node);
                }
                Some(first) => {
                    again.push((*first, node));
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
    fn resolve_dependencies(&mut self) -> (Vec<(Node, Node)>, HashMap<Node, Vec<TaskId>>) {
        let mut pairs = Vec::with_capacity(self.tasks.len());
        let mut missing: HashMap<Node, Vec<TaskId>> = HashMap::new();
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
                missing.entry(node).or_default().push(wanted.clone());
                let did_you_mean = self.suggest(wanted);
                self.problems.push(Problem::UnknownDependency {
                    task: task.id.clone(),
                    place: task.place,
                    missing: wanted.clone(),
                    did_you_mean,
                });
            }
        }
        (pairs, missing)
    }

    fn suggest(&mut self, wanted: &TaskId) -> Option<TaskId> {
        self.suggestions += 1;
        if self.suggestions > MAX_SUGGESTIONS {
            return None;
        }
        suggest::nearest(wanted.as_str(), &self.ids).cloned()
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
