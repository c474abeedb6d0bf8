//! Later changes to the commits of iterations: reverted, or squashed.

use std::collections::{HashMap, HashSet};

use ralph_core::{id::IterationId, metrics::Since, record::IterationRecord};
use ralph_engine::store::{Journal, JournalError, RepositoryId, RewriteKind};

/// By the iterations' ids.
#[derive(Default)]
pub(super) struct Fates {
    pub(super) reverted: HashSet<IterationId>,
    /// The commit that holds each of them by now.
    pub(super) squashed: HashMap<IterationId, String>,
}

impl Fates {
    pub(super) fn since(&self, record: &IterationRecord) -> Since {
        if self.reverted.contains(&record.iteration_id) {
            Since::TakenBack
        } else {
            Since::Stands
        }
    }

    pub(super) async fn read(
        journal: &mut dyn Journal,
        repository: &RepositoryId,
    ) -> Result<Self, JournalError> {
        let mut fates = Self::default();
        // Oldest first: of two squashes the later one holds it.
        for row in journal.rewrites(repository).await? {
            match (row.kind, row.made) {
                (RewriteKind::Revert, _) => fates.reverted.extend(row.body.iterations),
                (RewriteKind::Squash, Some(made)) => {
                    let ids = row.body.iterations.into_iter();
                    fates.squashed.extend(ids.map(|id| (id, made.clone())));
                }
                (RewriteKind::Squash, None) => {}
            }
        }
        Ok(fates)
    }
}
