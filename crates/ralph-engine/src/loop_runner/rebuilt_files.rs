//! Writes the files of iterations that ended in the journal, where a killed ralph had no time to: the record, the
//! verdict in the readable log, the entry in the progress file.
//!
//! Only where other logs of the iteration are there: what a person deleted stays deleted.

use super::{LoopError, LoopRunner, record::progress_entry};
use crate::iteration::IterationFiles;

impl LoopRunner {
    /// Rebuilds from the journal what is missing of the newest iterations.
    pub(super) async fn rebuild_files(&mut self) -> Result<(), LoopError> {
        let worktree = self.place.root.to_string_lossy().into_owned();
        let newest = self
            .journal
            .last_records(&self.place.repository, &worktree)
            .await?;
        let root = &self.place.root;
        let lost = newest
            .iter()
            .take_while(|record| IterationFiles::lacks_record(root, record.iteration));
        let lost: Vec<_> = lost.collect();
        let max_mb = self.settings.config.logs.max_mb.get();
        for record in lost.into_iter().rev() {
            self.files
                .progress
                .append_missing(&progress_entry(record))?;
            IterationFiles::rebuild(root, record, max_mb)?;
        }
        Ok(())
    }
}
