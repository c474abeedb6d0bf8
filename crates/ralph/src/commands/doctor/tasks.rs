//! Checks of the configuration, the tasks and the verify commands.

use ralph_core::{
    allowlist::Allowlist, board::Board, task::VerifyCommand, verify::required_programs,
};
use ralph_engine::{lock::Lock, loop_runner::check_configured_paths, source::FindError};

use super::{Check, programs};
use crate::{commands::run::explain, project::Project, view::figures::count};

pub(super) fn checks(project: &Project) -> Vec<Check> {
    let mut checks = config(project);
    checks.push(tasks(project));
    checks.extend(verify(project));
    checks.push(lock(project));
    checks
}

fn config(project: &Project) -> Vec<Check> {
    let settings = &project.settings;
    let mut checks = vec![match &settings.config_file {
        Some(file) => Check::ok("config", format!("{} is valid", project.shown(file))),
        None => Check::note(
            "config",
            "there is no ralph.yaml, the defaults are in force",
        )
        .hint("`ralph init` writes one"),
    }];
    let resolved = &settings.resolved;
    let notes = resolved.notes.iter().map(ToString::to_string);
    let unbuilt = resolved.not_in_force.iter().map(ToString::to_string);
    checks.extend(
        notes
            .chain(unbuilt)
            .map(|said| Check::warning("config", said)),
    );
    if let Err(error) = check_configured_paths(project.config(), project.root()) {
        let error = explain(error);
        let hint = error.hint_text().unwrap_or_default().to_owned();
        checks.push(Check::problem("config", error.sentences().join(": ")).hint(hint));
    }
    checks
}

fn tasks(project: &Project) -> Check {
    let path = match project.find_source(None) {
        Ok(found) => found.path,
        Err(error @ FindError::Offered { .. }) => {
            return Check::note("tasks", error.to_string())
                .hint("`ralph run FILE` works on one, and remembers it");
        }
        Err(error @ FindError::Prose { .. }) => {
            let hint = error.hint("ralph run");
            return Check::warning("tasks", error.to_string()).hint(hint);
        }
        Err(error @ FindError::Nothing { .. }) => {
            return Check::warning("tasks", error.to_string())
                .hint("`ralph tasks add TITLE` makes a first one");
        }
        Err(error @ FindError::Several { .. }) => {
            return Check::problem("tasks", error.to_string())
                .hint("`ralph run FILE` works on one, and remembers it; or set `tasks.source` in ralph.yaml");
        }
        Err(error) => {
            let hint = error.hint("ralph run");
            return Check::problem("tasks", error.to_string()).hint(hint);
        }
    };
    let (source, graph, problems) = match project.read_source(&path) {
        Ok(read) => read,
        Err(error) => return Check::problem("tasks", error.sentences().join(": ")),
    };
    if let Some(first) = problems.first() {
        let more = match problems.len() {
            1 => String::new(),
            n => format!(", and {} more", n - 1),
        };
        return Check::problem("tasks", format!("{}: {first}{more}", source.name()))
            .hint("`ralph lint` lists all");
    }
    let counts = Board::of_all(graph).counts();
    let many = count(counts.total, "task", "tasks");
    let said = format!("{many} in {}, {} ready", source.name(), counts.ready);
    if counts.total == 0 {
        return Check::warning("tasks", said).hint("`ralph tasks add TITLE` makes a first one");
    }
    Check::ok("tasks", said)
}

fn verify(project: &Project) -> Vec<Check> {
    let commands = &project.config().verification.commands;
    if commands.is_empty() {
        let check = Check::warning("verify", "no verify commands are configured");
        let hint = "tasks without their own are completed as unverified; \
                    add `verification.commands` to ralph.yaml";
        return vec![check.hint(hint)];
    }
    let list = Allowlist::new(&project.config().safety.allowed_commands);
    let check = |command: &VerifyCommand| {
        let refusal = list.as_ref().map(|list| list.check_command(command));
        if let Some(Err(refusal)) = refusal {
            return Check::problem("verify", format!("`{command}`: {refusal}"))
                .hint("add what it needs to `safety.allowed_commands`, or change the command");
        }
        // In a container the programs are those of its image, which `ralph run` asks.
        let is_elsewhere = project.config().safety.container.is_some();
        let found =
            |program: &str| is_elsewhere || programs::find(program, project.root()).is_some();
        let mut needed = required_programs(command).into_iter();
        let missing = needed.find(|program| !found(program));
        match (missing, command) {
            (None, _) => Check::ok("verify", format!("`{command}`")),
            (Some(program), VerifyCommand::Argv(_)) => Check::problem(
                "verify",
                format!("`{command}`: {program} is not on the PATH"),
            )
            .hint("install it, or correct `verification.commands`"),
            // A shell may know what we don't: a function, a builtin.
            (Some(program), VerifyCommand::Shell(_)) => Check::warning(
                "verify",
                format!("`{command}`: {program} is not on the PATH"),
            )
            .hint("install it, or correct `verification.commands`"),
        }
    };
    commands.iter().map(check).collect()
}

fn lock(project: &Project) -> Check {
    let held = project
        .data_dir()
        .is_ok_and(|folder| Lock::is_held(&folder, project.root()));
    if held {
        return Check::warning("lock", "another ralph is at work here")
            .hint("a second one is refused until it has ended");
    }
    Check::ok("lock", "no other ralph is at work here")
}
