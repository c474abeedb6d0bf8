//! Tasks that agents suggested, in their closing block or in task files: listed, and taken over by their numbers.
//!
//! A suggestion is untrusted text and never becomes a task by itself.

use ralph_core::{sanitize::one_line, task::suggested::SuggestedTask};
use ralph_engine::store::{Journal, RepositoryId, Suggestion};

use super::add::{Args, Destination};
use crate::{
    error::CommandError,
    output,
    project::{self, Project},
    view::{Tone, paint},
};

/// Longest title that is taken over, in columns.
const MOST_TITLE: usize = 200;

/// A suggestion, with its place in the list of all.
pub(crate) struct NumberedSuggestion {
    pub(crate) number: usize,
    pub(crate) suggestion: Suggestion,
    /// The task as an agent wrote it, where it was in a task file.
    pub(crate) written: Option<SuggestedTask>,
}

/// The suggestions that were not taken yet.
pub(crate) async fn open_suggestions(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
) -> Result<Vec<NumberedSuggestion>, CommandError> {
    let all = journal.all_suggestions(repository).await?;
    let mut open = Vec::new();
    for (at, suggestion) in all.into_iter().enumerate() {
        if suggestion.taken_as.is_none() {
            open.push(NumberedSuggestion {
                number: at + 1,
                written: written(journal, repository, &suggestion).await?,
                suggestion,
            });
        }
    }
    Ok(open)
}

/// The record of the iteration has the whole task.
async fn written(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    suggestion: &Suggestion,
) -> Result<Option<SuggestedTask>, CommandError> {
    let record = journal
        .record(repository, Some(suggestion.iteration))
        .await?;
    let mut tasks = record.into_iter().flat_map(|record| record.suggested);
    Ok(tasks.find(|one| one.title() == suggestion.title))
}

/// Prints the suggestions that were not taken yet, each with its number.
pub(super) fn list(project: &Project) -> Result<(), CommandError> {
    let open = project::block_on(async {
        match project.journal().await? {
            Some((mut journal, repository)) => open_suggestions(&mut *journal, &repository).await,
            None => Ok(Vec::new()),
        }
    })?;
    let mut text = String::new();
    for one in &open {
        let number = paint(Tone::Heading, &format!("{:>3}", one.number));
        let from = paint(
            Tone::Faint,
            &format!("iteration {}", one.suggestion.iteration),
        );
        let title = one_line(&one.suggestion.title, 100);
        text.push_str(&format!("{number}  {title}  {from}\n"));
        let description = &one.suggestion.description;
        if !description.trim().is_empty() && *description != one.suggestion.title {
            text.push_str(&format!("     {}\n", one_line(description, 200)));
        }
        if let Some(written) = &one.written {
            let (id, file) = (&written.task.id, one_line(&written.file, 100));
            let place = paint(Tone::Faint, &format!("written as {id} into {file}"));
            text.push_str(&format!("     {place}\n"));
            if let Some(reason) = &written.not_taken {
                let reason = format!("not taken: {}", one_line(reason, 200));
                text.push_str(&format!("     {}\n", paint(Tone::Careful, &reason)));
            }
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
            let written = written(&mut *journal, &repository, one).await?;
            tasks.push(place.checked(args, &title, &one.description, written.as_ref())?);
        }
        for (one, task) in chosen.iter().zip(&tasks) {
            place.add_and_say(project, task)?;
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
