//! The task source of a run: found, or asked for at the terminal where there are only lists that are not
//! chosen yet.
//!
//! Asks nothing where no person can answer: without a terminal, with `--json` or `--quiet`, and in CI.

use std::io::{self, IsTerminal as _};

use ralph_core::sanitize::terminal_safe;
use ralph_engine::source::{FindError, FoundBy, FoundSource, OfferedList, is_markdown};

use super::{Order, RunTarget, SourceArg};
use crate::{
    error::CommandError,
    output,
    project::{Project, SourceUse},
};

/// Finds the source of an order that works on one. `None`: the order has tasks of its own.
pub(super) fn find(
    order: &mut Order,
    project: &Project,
) -> Result<Option<FoundSource>, CommandError> {
    let RunTarget::Source(source) = &order.target else {
        return Ok(None);
    };
    if let SourceArg::Again(path) = source {
        return Ok(Some(FoundSource {
            path: path.clone(),
            by: FoundBy::Given,
        }));
    }
    let named = match source {
        SourceArg::Named(path) => Some(path.as_path()),
        SourceArg::Unnamed | SourceArg::Again(_) => None,
    };
    let found = match project.find_source(named) {
        Err(FindError::Offered { lists }) if can_ask(order, project) => {
            let list = ask(&lists)?;
            // Not asked for again where the run starts over.
            order.target = RunTarget::Source(SourceArg::Named(list.path.clone()));
            Ok(FoundSource {
                path: list.path.clone(),
                by: FoundBy::Named,
            })
        }
        found => found,
    };
    let usage = if order.options.dry_run {
        SourceUse::Look("ralph run --dry-run")
    } else {
        SourceUse::Work("ralph run")
    };
    let found = project.look_at_offered(found, usage)?;
    // Prose that was named is said before anything is looked up for a run.
    if is_markdown(&found.path) {
        project.read_source(&found.path)?;
    }
    Ok(Some(found))
}

fn can_ask(order: &Order, project: &Project) -> bool {
    let is_ci = project.variable("CI").is_some_and(|ci| ci != "false");
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    is_terminal && !is_ci && !order.options.dry_run && order.options.look.is_for_talking()
}

/// Asks which list is to be worked on. Anything but a clear yes is a no.
fn ask(lists: &[OfferedList]) -> Result<&OfferedList, CommandError> {
    let question = match lists {
        [only] => format!("work on {only}? [y/N] "),
        several => {
            let numbered = several.iter().zip(1..);
            let lines = numbered.map(|(list, n)| format!("  {n}  {list}\n"));
            format!(
                "found lists of tasks that are not chosen yet:\n{}work on which one? [1-{}, none] ",
                lines.collect::<String>(),
                several.len()
            )
        }
    };
    output::print_to_stderr(&terminal_safe(&question));
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    if !line.ends_with('\n') {
        output::print_to_stderr("\n");
    }
    answered(line.trim(), lists).ok_or_else(|| {
        let error = FindError::Offered {
            lists: lists.to_vec(),
        };
        CommandError::user("no tasks were chosen, so nothing was started")
            .hint(error.hint("ralph run"))
    })
}

fn answered<'a>(line: &str, lists: &'a [OfferedList]) -> Option<&'a OfferedList> {
    if let [only] = lists {
        let is_yes = ["y", "yes"]
            .iter()
            .any(|yes| line.eq_ignore_ascii_case(yes));
        return is_yes.then_some(only);
    }
    let number: usize = line.parse().ok()?;
    lists.get(number.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(name: &str) -> OfferedList {
        OfferedList {
            name: name.into(),
            path: name.into(),
            tasks: 2,
            open: 1,
        }
    }

    #[test]
    fn only_a_clear_yes_or_the_number_of_a_list_is_a_choice() {
        let one = [list("TODO.md")];
        for (line, is_yes) in [
            ("y", true),
            ("Y", true),
            ("yes", true),
            ("", false),
            ("n", false),
            ("no", false),
            ("1", false),
            ("yep", false),
        ] {
            assert_eq!(answered(line, &one).is_some(), is_yes, "{line:?}");
        }
        let two = [list("TODO.md"), list("fix_plan.md")];
        for (line, chosen) in [
            ("1", Some("TODO.md")),
            ("2", Some("fix_plan.md")),
            ("0", None),
            ("3", None),
            ("y", None),
            ("", None),
            ("-1", None),
        ] {
            let found = answered(line, &two).map(|list| list.name.as_str());
            assert_eq!(found, chosen, "{line:?}");
        }
    }
}
