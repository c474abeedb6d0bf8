//! A list of nodes for every node, all in two arrays: 100,000 tasks must not be 100,000 allocations.
//!
//! Knows nothing of tasks.

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
