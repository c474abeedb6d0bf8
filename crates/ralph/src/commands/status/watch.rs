//! `status --watch`: the same text, kept on the screen and up to date.
//!
//! Looks at the task file and the journal once a second, and reads them again only when they changed.
//! Needs a terminal, and leaves it as it was, whichever way it ends.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use ralph_engine::lock::Lock;

use super::{facts, show};
use crate::{
    error::CommandError,
    project::{Project, SourceUse},
    view::screen,
};

pub(super) async fn watch(project: &Project, source: Option<&Path>) -> Result<(), CommandError> {
    // What is wrong with the project is said on the screen that stays.
    let first = text(project, source).await?;
    let mut seen = look(project, source)?;
    screen::keep("ralph status", first, async || {
        let now = look(project, source)?;
        if now == seen {
            return Ok(None);
        }
        seen = now;
        Ok(Some(current(project, source).await))
    })
    .await
}

/// What is drawn; a file that is wrong for a moment, while somebody edits it, ends nothing.
async fn current(project: &Project, source: Option<&Path>) -> String {
    match text(project, source).await {
        Ok(text) => text,
        Err(error) => {
            let mut text = String::new();
            for sentence in error.sentences() {
                text.push_str(&ralph_core::sanitize::terminal_safe(&sentence));
                text.push('\n');
            }
            text
        }
    }
}

async fn text(project: &Project, source: Option<&Path>) -> Result<String, CommandError> {
    let facts = facts::gather(project, source).await?;
    Ok(show::render(&facts, Project::now()))
}

/// All that a change of would show: sizes and times of the files, who holds the lock, and the minute,
/// because text such as `5m ago` grows old by itself.
type Look = (Vec<Option<(u64, u64, i64, i64)>>, bool, i64);

fn look(project: &Project, source: Option<&Path>) -> Result<Look, CommandError> {
    let data = project.data_dir()?;
    let mut paths: Vec<PathBuf> = ["ralph.db", "ralph.db-wal"].map(|f| data.join(f)).into();
    paths.push(project.parent_file());
    if let Ok(path) = project.source_path(source, SourceUse::Look("ralph status")) {
        // The files of a folder are replaced, which changes the folder.
        paths.push(path);
    }
    let stamp = |path: &PathBuf| {
        let meta = std::fs::metadata(path).ok()?;
        Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
    };
    let running = Lock::is_held(&data, project.root());
    let minute = Project::now().as_second() / 60;
    Ok((paths.iter().map(stamp).collect(), running, minute))
}
