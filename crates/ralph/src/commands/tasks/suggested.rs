//! Follow-up tasks that agents suggested: listed, and taken over by their numbers.
//!
//! A suggestion is untrusted text and never becomes a task by itself.

use ralph_core::sanitize::one_line;
use ralph_engine::store::Suggestion;

use super::add::{Args, Destination};
use crate::{
    error::CommandError,
    output,
    project::{self, Project},
    view::{Tone, paint},
};

/// Longest title that is taken over, in columns.
const MOST_TITLE: usize = 200;

/// Prints the suggestions that nobody has taken, each with its number.
pub(super) fn list(project: &Project) -> Result<(), CommandError> {
    let all = project::block_on(async {
        match project.journal().await? {
            Some((mut journal, repository)) => Ok(journal.all_suggestions(&repository).await?),
            None => Ok(Vec::new()),
        }
    })?;
    let mut text = String::new();
    for (at, one) in all.iter().enumerate() {
        if one.taken_as.is_some() {
            continue;
        }
        let number = paint(Tone::Heading, &format!("{:>3}", at + 1));
        let from = paint(Tone::Faint, &format!("iteration {}", one.iteration));
        text.push_str(&format!(
            "{number}  {}  {from}\n",
            one_line(&one.title, 100)
        ));
        if !one.description.trim().is_empty() {
            text.push_str(&format!("     {}\n", one_line(&one.description, 200)));
        }
    }
    if text.is_empty() {
        text.push_str("no suggestions\n");
    } else {
        text.push_str("\n`ralph tasks add --from-suggestions N` adds one as a task\n");
    }
    output::print(&text);
    Ok(())
}

/// Makes tasks of the suggestions with these numbers; all of them, or none.
pub(super) fn take(project: &Project, numbers: &[usize], args: &Args) -> Result<(), CommandError> {
    project::block_on(async {
        let Some((mut journal, repository)) = project.journal().await? else {
            return Err(CommandError::user(
                "there are no suggestions: ralph has not run here yet",
            ));
        };
        let all = journal.all_suggestions(&repository).await?;
        let mut place = Destination::find(project, args.to())?;
        let mut chosen: Vec<&Suggestion> = Vec::new();
        let mut tasks = Vec::new();
        for number in numbers {
            let one = find(&all, *number)?;
            if chosen.iter().any(|other| other.id == one.id) {
                continue;
            }
            chosen.push(one);
            let title = one_line(&one.title, MOST_TITLE);
            tasks.push(place.checked(args, &title, &one.description)?);
        }
        for (one, task) in chosen.iter().zip(&tasks) {
            place.add(project, task)?;
            journal.take_suggestion(one.id, task.id.as_str()).await?;
        }
        place.warn_of_scope(project)
    })
}

fn find(all: &[Suggestion], number: usize) -> Result<&Suggestion, CommandError> {
    let found = number.checked_sub(1).and_then(|at| all.get(at));
    match found {
        Some(one) => match &one.taken_as {
            None => Ok(one),
            Some(task) => Err(CommandError::user(format!(
                "suggestion {number} is task {task} already"
            ))),
        },
        None => Err(
            CommandError::user(format!("there is no suggestion {number}"))
                .hint("`ralph tasks add --from-suggestions` lists them"),
        ),
    }
}
