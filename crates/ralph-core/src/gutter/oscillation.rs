//! Work that goes back and forth: an attempt makes the tree what it was before the last one, or mostly
//! undoes what the last one did.
//!
//! One attempt that takes a wrong idea back and tries another one is work, and does not count: what it
//! undoes must be most of what was done, and most of what it does.

use super::{Attempt, Gutter, HunkHash};

/// Fires where the last `limit` attempts in a row each went back.
pub(super) fn evaluate(row: &[&Attempt], limit: u32) -> Option<Gutter> {
    let mut count: u32 = 0;
    for at in (1..row.len()).rev() {
        if !went_back(row, at) {
            break;
        }
        count += 1;
    }
    let last = row.last()?.trace.as_ref()?;
    let other = row
        .len()
        .checked_sub(2)
        .and_then(|at| row[at].trace.as_ref())?;
    (count >= limit).then(|| Gutter::Oscillation {
        count,
        attempts: count + 2,
        trees: [other.tree.clone(), last.tree.clone()],
    })
}

/// Returns true if the attempt at that place took back what the one before it did.
fn went_back(row: &[&Attempt], at: usize) -> bool {
    let (Some(now), Some(before)) = (&row[at].trace, &row[at - 1].trace) else {
        return false;
    };
    let earlier = at.checked_sub(2).and_then(|at| row[at].trace.as_ref());
    let same_tree =
        earlier.is_some_and(|earlier| now.tree == earlier.tree && now.tree != before.tree);
    // To take the very first attempt back is to start again, and no circle.
    same_tree || at >= 2 && undoes(&now.hunks, &before.hunks)
}

/// Returns true if most hunks of one change take back most hunks of the other.
fn undoes(now: &[HunkHash], before: &[HunkHash]) -> bool {
    let mut left: Vec<&HunkHash> = before.iter().collect();
    let mut undone = 0;
    for hunk in now {
        let opposite = |b: &&HunkHash| b.added == hunk.removed && b.removed == hunk.added;
        if let Some(at) = left.iter().position(opposite) {
            left.swap_remove(at);
            undone += 1;
        }
    }
    undone * 2 > before.len() && undone * 2 > now.len()
}
