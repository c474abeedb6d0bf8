//! Tells people where a journal was lost: deleted, emptied, or put back from an older copy.
//!
//! A new journal counts from one again, and its iterations would write over the logs of the old one. Those are
//! set aside first; nothing is deleted.

use std::path::{Path, PathBuf};

use super::{LoopError, LoopRunner};
use crate::{error::file_error, iteration::LOGS, loop_files, plain_file};

impl LoopRunner {
    /// Sets logs aside that the journal does not know, and says what was lost.
    pub(super) async fn keep_unknown_logs(&mut self) -> Result<Vec<String>, LoopError> {
        let mut warnings = Vec::new();
        let data_dir = &self.place.data_dir;
        let loops = loop_files::count(data_dir);
        if loops > 0 && !self.journal.has_loops().await? {
            let copies = copies_of_journal(data_dir);
            let copies = match copies.as_slice() {
                [] => String::new(),
                copies => format!(" (there is {})", copies.join(", ")),
            };
            warnings.push(format!(
                "the journal {} is new, but there are files of earlier loops ({loops}): it was deleted or \
                 emptied. Attempts, costs, budgets, questions and checkpoints of before are not known any more; \
                 to have them back, stop and put back a copy of the journal{copies}",
                data_dir.join("ralph.db").display()
            ));
        }
        let next = self.journal.next_iteration(&self.place.repository).await?;
        let logs = self.place.root.join(LOGS);
        let unknown = logs_from(&logs, next);
        let numbers = unknown.iter().map(|(n, _)| *n);
        if let (Some(first), Some(last)) = (numbers.clone().min(), numbers.max()) {
            let aside = plain_file::free_name(&logs, "earlier".as_ref());
            let moved = std::fs::create_dir(&aside).and_then(|()| {
                unknown.iter().try_for_each(|(_, log)| {
                    std::fs::rename(log, aside.join(log.file_name().unwrap_or_default()))
                })
            });
            moved.map_err(|e| file_error("set aside the logs in", &logs, e))?;
            let shown = aside.strip_prefix(&self.place.root).unwrap_or(&aside);
            warnings.push(format!(
                "the journal knows nothing of iterations {first} to {last}, whose logs are here: it was deleted, \
                 emptied or put back from an older copy, or this folder was copied. Their logs are kept in {}",
                shown.display()
            ));
        }
        Ok(warnings)
    }
}

/// The logs of iterations from this number on.
fn logs_from(logs: &Path, first: u64) -> Vec<(u64, PathBuf)> {
    let entries = std::fs::read_dir(logs).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| {
        let name = entry.file_name();
        let rest = name.to_str()?.strip_prefix("iteration-")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((digits.parse::<u64>().ok()?, entry.path()))
    });
    numbered.filter(|(n, _)| *n >= first).collect()
}

/// The copies of a journal that ralph itself made beside it.
pub fn copies_of_journal(data_dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data_dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut copies: Vec<String> = names
        .filter(|name| name.starts_with("ralph.db.schema-") && name.ends_with(".backup"))
        .collect();
    copies.sort();
    copies
}
