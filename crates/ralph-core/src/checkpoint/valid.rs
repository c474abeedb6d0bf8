//! Which of the newest checkpoints can be gone on from: those that are whole, and follow from the one
//! before.

use super::{Checkpoint, Damage, Link};

/// The valid ones of these links, newest first as they are, and the first damage that was met.
pub fn valid(newest_first: &[Link]) -> (Vec<Checkpoint>, Option<Damage>) {
    let mut damage = None;
    let mut found = Vec::new();
    for (at, link) in newest_first.iter().enumerate() {
        let before = newest_first.get(at + 1);
        match link.read().and_then(|one| follows(one, link, before)) {
            Ok(checkpoint) => found.push(checkpoint),
            Err(wrong) => {
                damage.get_or_insert(wrong);
            }
        }
    }
    (found, damage)
}

/// Returns the chain before the oldest of the links, which is not checked.
fn follows(one: Checkpoint, link: &Link, before: Option<&Link>) -> Result<Checkpoint, Damage> {
    match before {
        Some(before)
            if before.loop_id == link.loop_id
                && before.n + 1 == link.n
                && one.previous.as_ref() != Some(&before.hash) =>
        {
            Err(Damage::Link {
                id: link.id.clone(),
                n: link.n,
            })
        }
        Some(_) | None => Ok(one),
    }
}
