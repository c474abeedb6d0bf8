//! Which node has which id: a table of node numbers, beside the ids that it is for.
//!
//! A `HashMap` would hold each id once more and hash each with care for strangers; with 100,000
//! tasks that was a tenth of a look at them. Holds no ids, so that whoever asks has to bring them.

use std::hash::BuildHasher as _;

use super::lists::Node;
use crate::task::TaskId;

#[derive(Debug, Clone)]
pub(super) struct Index {
    /// Each at the place of its hash or behind it; at most half of the slots are taken.
    slots: Vec<Slot>,
    /// Another one each time, so that nobody can write ids that all fall on one place.
    seed: u64,
}

/// A node, from 1, below the upper half of its hash: ids are compared only where that is the same.
/// Zero is no node, so that an empty table is memory that nobody has to write.
type Slot = u64;

impl Index {
    pub(super) fn for_nodes(count: usize) -> Self {
        Self {
            slots: vec![0; (2 * count).next_power_of_two()],
            seed: std::hash::RandomState::new().hash_one(0_u8),
        }
    }

    pub(super) fn get(&self, ids: &[TaskId], id: &TaskId) -> Option<Node> {
        self.find(ids, id, self.hash(id)).ok()
    }

    /// Takes a node in, unless there is one with its id: that one is given back.
    pub(super) fn insert(&mut self, ids: &[TaskId], node: Node) -> Option<Node> {
        let id = &ids[node.at()];
        let hash = self.hash(id);
        match self.find(ids, id, hash) {
            Ok(first) => Some(first),
            Err(free) => {
                self.slots[free] = mark(hash) | (node.at() as u64 + 1);
                None
            }
        }
    }

    /// The node with this id, or the place where it would be.
    fn find(&self, ids: &[TaskId], id: &TaskId, hash: u64) -> Result<Node, usize> {
        let last = self.slots.len() - 1;
        let mut place = hash as usize & last;
        loop {
            let slot = self.slots[place];
            let Some(at) = (slot & NODE).checked_sub(1) else {
                return Err(place);
            };
            if slot & !NODE == mark(hash) && ids[at as usize] == *id {
                return Ok(Node::new(at as usize));
            }
            place = (place + 1) & last;
        }
    }

    fn hash(&self, id: &TaskId) -> u64 {
        let bytes = id.as_bytes();
        let mut hash = self.seed ^ bytes.len() as u64;
        for eight in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            hash = mix(hash ^ u64::from_le_bytes(word), self.seed | 1);
        }
        hash
    }
}

/// The bits of a slot that are the node.
const NODE: u64 = u32::MAX as u64;

fn mark(hash: u64) -> u64 {
    hash & !NODE
}

/// Both halves of the product, so that every bit counts for every other.
fn mix(a: u64, b: u64) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let product = u128::from(a ^ ODD) * u128::from(b ^ (ODD << 1));
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_each_of_many_ids_and_the_first_of_equal_ones() {
        let mut ids: Vec<TaskId> = (0..10_000)
            .map(|n| TaskId::parse(&format!("a-task-with-a-number-{n}")).unwrap())
            .collect();
        ids.push(ids[7].clone());
        let mut index = Index::for_nodes(ids.len());
        for at in 0..10_000 {
            assert_eq!(index.insert(&ids, Node::new(at)), None);
        }
        assert_eq!(index.insert(&ids, Node::new(10_000)), Some(Node::new(7)));
        for at in 0..10_000 {
            assert_eq!(index.get(&ids, &ids[at]), Some(Node::new(at)));
        }
        let other = TaskId::parse("a-task-with-a-number-10000").unwrap();
        assert_eq!(index.get(&ids, &other), None);
    }

    #[test]
    fn of_no_tasks_there_is_none() {
        let id = TaskId::parse("a").unwrap();
        assert_eq!(Index::for_nodes(0).get(&[], &id), None);
    }
}
