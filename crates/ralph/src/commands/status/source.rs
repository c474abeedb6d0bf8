//! Which tasks are shown where nobody names any.

use std::path::{Path, PathBuf};

use ralph_engine::store::{Journal, RepositoryId};

use crate::{error::CommandError, project::Project, queue};

/// The tasks that are named; else those of the loop that runs; else those that a run would find, and
/// where it would find none or several, those of the last loop.
pub(super) async fn source_to_show(
    project: &Project,
    journal: Option<&mut (Box<dyn Journal>, RepositoryId)>,
    named: Option<&Path>,
    running: bool,
) -> Result<PathBuf, CommandError> {
    let found = project.source_path(named);
    match (journal, named, &found) {
        (None, _, _) | (_, Some(_), _) => found,
        (Some(_), None, Ok(_)) if !running => found,
        (Some((journal, repository)), None, _) => {
            queue::source_path(project, &mut **journal, repository).await
        }
    }
}
