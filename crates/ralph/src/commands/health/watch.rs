//! `health --watch`: the same, kept up to date: on the screen, or as a line for each change.
//!
//! Looks once a second, and needs nothing of the loops. Goes on when none is left: the next one may
//! come.

use std::time::Duration;

use serde::Serialize;

use ralph_core::id::LoopId;

use super::{
    Reach,
    facts::{HealthFacts, LoopHealth, Sources},
    show,
};
use crate::{
    error::CommandError,
    output,
    project::Project,
    view::screen::{self, Ends, every},
};

const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// The form of lines about changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchForm {
    Lines,
    Json,
}

/// A line of `--watch --json`; a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Changed {
        #[serde(flatten)]
        one: &'a LoopHealth,
    },
    Over {
        id: &'a LoopId,
        worktree: &'a str,
    },
}

pub(super) async fn on_screen(project: &Project, reach: Reach) -> Result<(), CommandError> {
    let mut sources = Sources::new(project, reach);
    let first = show::render(&sources.gather().await?, Project::now());
    screen::keep("ralph health", first, async || {
        let facts = sources.gather().await?;
        Ok(Some(show::render(&facts, Project::now())))
    })
    .await
}

pub(super) async fn in_lines(
    project: &Project,
    reach: Reach,
    form: WatchForm,
) -> Result<(), CommandError> {
    let mut ends = Ends::listen()?;
    let mut ticks = every(LOOKS_EVERY);
    let mut sources = Sources::new(project, reach);
    let mut known: Option<HealthFacts> = None;
    loop {
        tokio::select! {
            _ = ends.come() => return Ok(()),
            _ = ticks.tick() => {
                let facts = sources.gather().await?;
                tell(known.as_ref(), &facts, form)?;
                known = Some(facts);
            }
        }
    }
}

/// Says what has changed.
fn tell(
    before: Option<&HealthFacts>,
    now: &HealthFacts,
    form: WatchForm,
) -> Result<(), CommandError> {
    if before.is_none() && now.loops.is_empty() && form == WatchForm::Lines {
        output::print(&show::render(now, Project::now()));
    }
    let before = before.map_or(&[][..], |facts| &facts.loops);
    for one in &now.loops {
        let known = before.iter().find(|known| known.row.id == one.row.id);
        if known.is_some_and(|known| known.without_pulse() == one.without_pulse()) {
            continue;
        }
        match form {
            WatchForm::Json => output::print_json_line(&Line::Changed { one })?,
            WatchForm::Lines => {
                output::print(&format!("{}\n", show::line(one, Project::now())));
            }
        }
    }
    let gone = before
        .iter()
        .filter(|known| !now.loops.iter().any(|one| one.row.id == known.row.id));
    for one in gone {
        let (id, worktree) = (&one.row.id, one.row.worktree.as_str());
        match form {
            WatchForm::Json => output::print_json_line(&Line::Over { id, worktree })?,
            WatchForm::Lines => output::print(&format!("{}\n", show::over(one))),
        }
    }
    Ok(())
}
