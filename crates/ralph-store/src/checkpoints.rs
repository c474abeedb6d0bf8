//! Checkpoints: written with what they are about, read newest first or as a chain. No row is ever changed.

use async_trait::async_trait;
use ralph_core::{
    checkpoint::{Link, Moment, Sealed},
    id::{CheckpointId, LoopId},
};
use std::collections::HashMap;

use super::{RepositoryId, Result};

/// Checkpoints: one chain for each loop.
#[async_trait]
pub trait CheckpointStore: Send {
    /// Makes a checkpoint. Other processes may write at the same time: the chain is read and continued in one
    /// transaction.
    async fn add_checkpoint(
        &mut self,
        repository: &RepositoryId,
        moment: &Moment,
    ) -> Result<Sealed>;

    /// The newest checkpoints, newest first.
    async fn checkpoints(
        &mut self,
        repository: &RepositoryId,
        of: CheckpointFilter<'_>,
        most: u32,
    ) -> Result<Vec<Link>>;

    /// The newest checkpoint of each iteration of a loop, for its newest iterations.
    async fn checkpoints_after(&mut self, loop_id: &LoopId) -> Result<HashMap<u64, CheckpointId>>;

    /// The id of a loop's newest checkpoint.
    async fn last_checkpoint_id(&mut self, loop_id: &LoopId) -> Result<Option<CheckpointId>>;

    /// The number of the newest checkpoint that a loop was given, also if it is not there any more.
    async fn checkpoints_made(&mut self, loop_id: &LoopId) -> Result<u64>;

    /// The checkpoints whose id begins with this text, or if there is none, ends with it; at most two, which is one too
    /// many.
    async fn checkpoints_like(
        &mut self,
        repository: &RepositoryId,
        part: &str,
    ) -> Result<Vec<Link>>;

    /// A part of a loop's chain, oldest first: at most `most` behind number `after`, or from the very beginning.
    async fn checkpoint_chain(
        &mut self,
        loop_id: &LoopId,
        after: Option<u64>,
        most: u32,
    ) -> Result<Vec<Link>>;

    /// The loops of a repository that were given checkpoints, oldest first.
    async fn checkpointed_loops(&mut self, repository: &RepositoryId) -> Result<Vec<LoopId>>;
}

/// The checkpoints to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointFilter<'a> {
    Loop(&'a LoopId),
    /// Those of one iteration of a loop.
    Iteration(&'a LoopId, u64),
    Repository,
}
