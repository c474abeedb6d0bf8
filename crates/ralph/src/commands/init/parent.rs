//! The parent task of a project, by its id or by a text in it.

use ralph_core::{
    sanitize::one_line,
    task::{Task, TaskId, graph::Graph},
};
use ralph_engine::source::Source;

use crate::{error::CommandError, view::figures::count};

/// Matches that are listed.
const MOST_LISTED: usize = 20;

pub(super) fn by_id(graph: &Graph, source: &Source, text: &str) -> Result<TaskId, CommandError> {
    let found = TaskId::parse(text)
        .ok()
        .filter(|id| graph.get(id).is_some());
    found.ok_or_else(|| {
        let hint = match graph.did_you_mean(text) {
            Some(near) => format!("did you mean {near}?"),
            None => "`ralph tasks list` shows all ids".to_owned(),
        };
        let id = one_line(text, 120);
        CommandError::user(format!("there is no task {id} in {}", source.name())).hint(hint)
    })
}

/// The one task that has the term in its title or description, whatever the case.
pub(super) fn by_text(graph: &Graph, source: &Source, term: &str) -> Result<TaskId, CommandError> {
    let wanted = term.trim().to_lowercase();
    if wanted.is_empty() {
        return Err(CommandError::user("the search text is empty"));
    }
    let has = |task: &&Task| {
        task.text.title.to_lowercase().contains(&wanted)
            || task.text.description.to_lowercase().contains(&wanted)
    };
    let found: Vec<&Task> = graph.tasks().iter().filter(has).collect();
    match found.as_slice() {
        [one] => Ok(one.id.clone()),
        [] => {
            let message = format!("no task in {} has {term:?} in it", source.name());
            Err(CommandError::user(message).hint("`ralph tasks list` shows all titles"))
        }
        several => Err(list(graph, several, term)),
    }
}

fn list(graph: &Graph, found: &[&Task], term: &str) -> CommandError {
    let line = |task: &&Task| {
        let below = graph.descendants(&task.id).count();
        let size = match below {
            0 => String::new(),
            n => format!(" ({} below it)", count(n, "task", "tasks")),
        };
        format!("  {} {}{size}", task.id, one_line(&task.text.title, 72))
    };
    let mut lines: Vec<String> = found.iter().take(MOST_LISTED).map(line).collect();
    if found.len() > MOST_LISTED {
        lines.push(format!("  … {} more", found.len() - MOST_LISTED));
    }
    let many = found.len();
    let message = format!("{many} tasks have {term:?} in them:\n{}", lines.join("\n"));
    CommandError::user(message).hint("choose one: `ralph init --parent ID`")
}
