//! The ready leaves in the order they are to be worked at.
//!
//! The order is worked out once, as a rank for each leaf; after that everything is small ordered
//! sets of ranks, one over all and one an area. Doesn't know why a leaf is ready.

use std::collections::{BTreeSet, HashMap};

use crate::task::Task;
use crate::task::graph::Node;

#[derive(Debug, Clone)]
pub(super) struct Queue {
    /// By rank.
    entries: Vec<Entry>,
    /// By node. Leaves out of scope have none, and are never asked for.
    ranks: Vec<u32>,
    areas: HashMap<String, usize>,
    ready: BTreeSet<u32>,
    ready_in_area: Vec<BTreeSet<u32>>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    node: Node,
    /// Equal for leaves of equal priority.
    tier: u32,
    area: Option<usize>,
}

impl Queue {
    /// `ready` is by node.
    pub(super) fn new(tasks: &[Task], mut candidates: Vec<Node>, ready: &[bool]) -> Self {
        let task = |node: &Node| &tasks[node.at()];
        candidates.sort_by(|a, b| {
            let (a, b) = (task(a), task(b));
            urgency(a)
                .cmp(&urgency(b))
                .then_with(|| age(a).cmp(&age(b)))
                .then_with(|| a.place.cmp(&b.place))
                .then_with(|| a.id.cmp(&b.id))
        });
        let mut queue = Self {
            entries: Vec::with_capacity(candidates.len()),
            ranks: vec![u32::MAX; tasks.len()],
            areas: HashMap::new(),
            ready: BTreeSet::new(),
            ready_in_area: Vec::new(),
        };
        // The sets are made of lists in order: much quicker than one by one.
        let mut ready_ranks = Vec::with_capacity(candidates.len());
        let mut ranks_in_area: Vec<Vec<u32>> = Vec::new();
        let mut tier = 0;
        let mut before: Option<&Task> = None;
        for (rank, node) in (0_u32..).zip(candidates) {
            let task = task(&node);
            if before.is_some_and(|before| urgency(before) != urgency(task)) {
                tier += 1;
            }
            before = Some(task);
            let area = task.area.as_deref().map(|area| queue.area(area));
            ranks_in_area.resize(queue.areas.len(), Vec::new());
            queue.ranks[node.at()] = rank;
            queue.entries.push(Entry { node, tier, area });
            if ready[node.at()] {
                ready_ranks.push(rank);
                if let Some(area) = area {
                    ranks_in_area[area].push(rank);
                }
            }
        }
        queue.ready = ready_ranks.into_iter().collect();
        queue.ready_in_area = ranks_in_area.into_iter().map(BTreeSet::from_iter).collect();
        queue
    }

    pub(super) fn insert(&mut self, node: Node) {
        let rank = self.ranks[node.at()];
        self.ready.insert(rank);
        if let Some(area) = self.entries[rank as usize].area {
            self.ready_in_area[area].insert(rank);
        }
    }

    pub(super) fn remove(&mut self, node: Node) {
        let rank = self.ranks[node.at()];
        self.ready.remove(&rank);
        if let Some(area) = self.entries[rank as usize].area {
            self.ready_in_area[area].remove(&rank);
        }
    }

    /// The first ready leaf that is free; among those of the best priority one of this area, if
    /// there is one. Steps over each leaf that is not free.
    pub(super) fn first(&self, area: Option<&str>, is_free: impl Fn(Node) -> bool) -> Option<Node> {
        let first_of = |ranks: &BTreeSet<u32>| {
            ranks
                .iter()
                .map(|rank| self.entries[*rank as usize])
                .find(|entry| is_free(entry.node))
        };
        let best = first_of(&self.ready)?;
        let near = area
            .and_then(|area| self.areas.get(area))
            .and_then(|area| first_of(&self.ready_in_area[*area]))
            .filter(|near| near.tier == best.tier);
        Some(near.unwrap_or(best).node)
    }

    /// The place of a leaf in the order, lowest first.
    pub(super) fn rank(&self, node: Node) -> u32 {
        self.ranks[node.at()]
    }

    /// The ready leaves in order.
    pub(super) fn ready(&self) -> impl Iterator<Item = Node> {
        let entries = self.ready.iter();
        entries.map(|rank| self.entries[*rank as usize].node)
    }

    /// Leaves in scope in order, ready or not.
    pub(super) fn in_order(&self) -> impl Iterator<Item = Node> {
        self.entries.iter().map(|entry| entry.node)
    }

    /// The number of an area, a new one where it has none yet.
    fn area(&mut self, name: &str) -> usize {
        if let Some(area) = self.areas.get(name) {
            return *area;
        }
        let area = self.areas.len();
        self.areas.insert(name.to_owned(), area);
        area
    }
}

/// Lower first; tasks without a priority after all that have one, and equal to each other.
fn urgency(task: &Task) -> (bool, i64) {
    (
        task.priority.is_none(),
        task.priority.unwrap_or_default(),
    )
}

/// Older first; tasks that don't say come last.
fn age(task: &Task) -> (bool, jiff::Timestamp) {
    (
        task.created_at.is_none(),
        task.created_at.unwrap_or_default(),
    )
}
