//! Checkpoints of one loop as a chain: each holds the hash of the one before, and is hashed with it.
//!
//! Finds what was changed, left out, put in or put elsewhere. It is no signature: who can write all of
//! the journal can also hash all of it again.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::Checkpoint;
use crate::id::{CheckpointId, LoopId};

/// A checkpoint as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub checkpoint: Checkpoint,
    /// Its canonical form.
    pub body: String,
    /// SHA-256 of the body, in hexadecimal.
    pub hash: String,
}

/// Gives a checkpoint its body and its hash.
pub fn seal(checkpoint: Checkpoint) -> Result<Sealed, serde_json::Error> {
    let body = canonical(&checkpoint)?;
    let hash = hash(&body);
    Ok(Sealed {
        checkpoint,
        body,
        hash,
    })
}

fn hash(body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A checkpoint as it was found: its body, and what stands beside it for looking it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    pub id: CheckpointId,
    pub loop_id: LoopId,
    pub n: u64,
    pub iteration: Option<u64>,
    pub phase: String,
    pub at: String,
    pub commit: String,
    #[serde(skip)]
    pub body: String,
    pub hash: String,
    #[serde(skip)]
    pub prev_hash: Option<String>,
}

impl From<&Sealed> for Link {
    fn from(sealed: &Sealed) -> Self {
        let Checkpoint {
            metadata,
            execution,
            recovery,
            previous,
            ..
        } = &sealed.checkpoint;
        Self {
            id: metadata.checkpoint_id.clone(),
            loop_id: metadata.loop_id.clone(),
            n: metadata.n,
            iteration: metadata.iteration,
            phase: execution.phase.as_str().to_owned(),
            at: metadata.at.to_string(),
            commit: recovery.commit.clone(),
            body: sealed.body.clone(),
            hash: sealed.hash.clone(),
            prev_hash: previous.clone(),
        }
    }
}

impl Link {
    /// The checkpoint, if it is whole by itself. Whether it is in its place, only its chain can tell.
    pub fn read(&self) -> Result<Checkpoint, Damage> {
        let (id, n) = (self.id.clone(), self.n);
        let found = hash(&self.body);
        if found != self.hash {
            let expected = self.hash.clone();
            return Err(Damage::Content {
                id,
                n,
                expected,
                found,
            });
        }
        let checkpoint: Checkpoint = match serde_json::from_str(&self.body) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                let why = error.to_string();
                return Err(Damage::Unreadable { id, n, why });
            }
        };
        match odd_column(self, &checkpoint) {
            Some(column) => Err(Damage::Column { id, n, column }),
            None => Ok(checkpoint),
        }
    }
}

/// The first checkpoint that does not fit, and how.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error(
        "checkpoint {id} (number {n}) was changed: its content has the hash {found}, not {expected}"
    )]
    Content {
        id: CheckpointId,
        n: u64,
        expected: String,
        found: String,
    },
    #[error("checkpoint {id} (number {n}) can't be read: {why}")]
    Unreadable {
        id: CheckpointId,
        n: u64,
        why: String,
    },
    #[error("checkpoint {id} (number {n}) was changed: its {column} is not what its content says")]
    Column {
        id: CheckpointId,
        n: u64,
        column: &'static str,
    },
    #[error(
        "checkpoint {id} has number {n}, but number {expected} is due: one is missing, or out of place"
    )]
    Order {
        id: CheckpointId,
        n: u64,
        expected: u64,
    },
    #[error("checkpoint {id} (number {n}) does not follow from the one before it")]
    Link { id: CheckpointId, n: u64 },
    #[error(
        "the newest checkpoint is missing: iteration {iteration} has none (the last is number {n})"
    )]
    End { n: u64, iteration: u64 },
    #[error(
        "the newest checkpoint is missing: the loop was given {made}, and the last is number {n}"
    )]
    Cut { n: u64, made: u64 },
}

impl Damage {
    /// The checkpoint that does not fit; none where it is the missing one.
    pub fn id(&self) -> Option<&CheckpointId> {
        match self {
            Self::Content { id, .. }
            | Self::Unreadable { id, .. }
            | Self::Column { id, .. }
            | Self::Order { id, .. }
            | Self::Link { id, .. } => Some(id),
            Self::End { .. } | Self::Cut { .. } => None,
        }
    }

    /// Its number, or the one after which something is missing.
    pub fn n(&self) -> u64 {
        match self {
            Self::Content { n, .. }
            | Self::Unreadable { n, .. }
            | Self::Column { n, .. }
            | Self::Order { n, .. }
            | Self::Link { n, .. }
            | Self::End { n, .. }
            | Self::Cut { n, .. } => *n,
        }
    }
}

/// A chain that is looked through from its beginning, a part at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain {
    length: u64,
    tip: Option<String>,
    newest_iteration: Option<u64>,
}

impl Chain {
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Takes the next link in, if it fits.
    pub fn take(&mut self, link: &Link) -> Result<(), Damage> {
        let (id, n) = (link.id.clone(), link.n);
        let expected = self.length + 1;
        if n != expected {
            return Err(Damage::Order { id, n, expected });
        }
        let checkpoint = link.read()?;
        if checkpoint.previous != self.tip {
            return Err(Damage::Link { id, n });
        }
        self.length = n;
        self.tip = Some(link.hash.clone());
        self.newest_iteration = self.newest_iteration.max(link.iteration);
        Ok(())
    }

    /// Returns whether the chain reaches as far as the iterations of its loop that have a record, and as the
    /// number of checkpoints that the loop was given. A loop that began before there were checkpoints may have
    /// none at all.
    pub fn end(&self, newest_record: Option<u64>, made: u64) -> Result<(), Damage> {
        let n = self.length;
        match newest_record {
            Some(iteration) if n > 0 && self.newest_iteration < Some(iteration) => {
                Err(Damage::End { n, iteration })
            }
            Some(_) | None if n < made => Err(Damage::Cut { n, made }),
            Some(_) | None => Ok(()),
        }
    }
}

/// Looks through all of a loop's checkpoints, in their order.
pub fn verify(chain: &[Link]) -> Result<(), Damage> {
    let mut seen = Chain::default();
    chain.iter().try_for_each(|link| seen.take(link))
}

/// Checks the columns beside the content, which must say the same: lists and look-ups go by it.
fn odd_column(link: &Link, checkpoint: &Checkpoint) -> Option<&'static str> {
    let (metadata, at) = (&checkpoint.metadata, checkpoint.metadata.at.to_string());
    let same = [
        ("id", link.id == metadata.checkpoint_id),
        ("loop", link.loop_id == metadata.loop_id),
        ("number", link.n == metadata.n),
        ("iteration", link.iteration == metadata.iteration),
        ("phase", link.phase == checkpoint.execution.phase.as_str()),
        ("time", link.at == at),
        ("commit", link.commit == checkpoint.recovery.commit),
        ("previous hash", link.prev_hash == checkpoint.previous),
    ];
    same.into_iter()
        .find(|(_, same)| !same)
        .map(|(column, _)| column)
}

/// A checkpoint's canonical form: JSON without white space, the keys of every object in the order of
/// their bytes, strings escaped only where JSON demands it, numbers whole.
///
/// For what a checkpoint can hold that is RFC 8785. A number that is not whole has no canonical form
/// here: the types of a checkpoint have none.
pub fn canonical(checkpoint: &Checkpoint) -> Result<String, serde_json::Error> {
    let mut value = serde_json::to_value(checkpoint)?;
    value.sort_all_objects();
    serde_json::to_string(&value)
}
