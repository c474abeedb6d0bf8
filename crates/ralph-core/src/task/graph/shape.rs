//! The links of a graph without the tasks: what a plan needs to hold, shared with it.
//!
//! Nodes are in the order the tasks came in. Answers questions only; holds no status.

use std::collections::HashMap;

use super::link::nearest;
use crate::task::TaskId;

#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(super) ids: Vec<TaskId>,
    pub(super) index: HashMap<TaskId, Node>,
    pub(super) parent: Vec<Option<Node>>,
    pub(super) children: Lists,
    pub(super) depends: Lists,
    pub(super) dependants: Lists,
    /// Dependencies that don't exist.
    pub(super) missing: HashMap<Node, Vec<TaskId>>,
    pub(super) flaws: HashMap<Node, Flaw>,
    pub(super) tree: ContainerTree,
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
        nearest(text, &self.ids)
    }

    /// All nodes, parents before their children.
    pub(crate) fn preorder(&self) -> &[Node] {
        &self.tree.preorder
    }

    pub(crate) fn descendants(&self, node: Node) -> &[Node] {
        &self.tree.preorder[self.tree.enter(node) + 1..self.tree.leave(node)]
    }

    /// Returns true if `node` is `top` or somewhere below it.
    pub(crate) fn is_within(&self, node: Node, top: Node) -> bool {
        (self.tree.enter(top)..self.tree.leave(top)).contains(&self.tree.enter(node))
    }
}

/// The nodes in preorder, so that everything below a node is one slice.
#[derive(Debug, Clone)]
pub(super) struct ContainerTree {
    preorder: Vec<Node>,
    /// Where each node, and the end of what is below it, stands in `preorder`.
    span: Vec<(u32, u32)>,
}

impl ContainerTree {
    pub(super) fn new(parent: &[Option<Node>], children: &Lists) -> Self {
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

/// A task by its position in the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node(u32);

impl Node {
    pub(crate) fn new(at: usize) -> Self {
        Self(u32::try_from(at).expect("a task list has fewer than 2^32 tasks"))
    }

    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// A list of nodes for every node, all in two arrays: 100,000 tasks must not be 100,000
/// allocations.
#[derive(Debug, Clone)]
pub(super) struct Lists {
    /// Where the list of each node begins in `items`, and at the end where the last one ends.
    starts: Vec<u32>,
    items: Vec<Node>,
}

impl Lists {
    /// For each pair `(of, item)`, `item` is in the list of `of`; order is kept.
    pub(super) fn new(nodes: usize, pairs: &[(Node, Node)]) -> Self {
        let mut starts = vec![0_u32; nodes + 1];
        for (of, _) in pairs {
            starts[of.at() + 1] += 1;
        }
        for at in 0..nodes {
            starts[at + 1] += starts[at];
        }
        let mut free = starts.clone();
        let mut items = vec![Node(0); pairs.len()];
        for (of, item) in pairs {
            let slot = &mut free[of.at()];
            items[*slot as usize] = *item;
            *slot += 1;
        }
        Self { starts, items }
    }

    pub(super) fn of(&self, node: Node) -> &[Node] {
        let at = node.at();
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}
