//! Writes the files of a project, and says of each what became of it.

use std::path::{Path, PathBuf};

use ralph_core::{
    config::{Guess, GuessKind, InitPlan, guess_prepare, guess_verify, render_ralph_yaml},
    sanitize::one_line,
    task::TaskId,
};
use ralph_engine::{
    dot_ralph,
    settings::read_project_files,
    source::{Source, write_atomically},
};

use super::Args;
use crate::{
    error::CommandError,
    output,
    project::Project,
    view::{Table, Tone, cell, paint},
};

/// `ralph.yaml`, unless there is one that is to be kept.
pub(super) fn config(
    project: &Project,
    args: &Args,
    tasks: Option<&Source>,
) -> Result<(), CommandError> {
    let file = config_file(project);
    if file.exists() && !args.force {
        say("kept", &project.shown(&file), "`--force` overwrites it");
        if args.tasks.is_some() {
            output::print_warning("ralph.yaml is kept, so `--tasks` has no effect");
        }
        return Ok(());
    }
    let folder = &project.settings.project.root;
    let files = read_project_files(folder)
        .map_err(|error| CommandError::user(format!("can't read {}: {error}", folder.display())))?;
    let mut guesses = guess_verify(&files);
    for file in tasks.iter().flat_map(|source| source.files()) {
        for check in &file.checks {
            if !guesses
                .iter()
                .any(|known| known.command.is_same_as(&check.command))
            {
                guesses.push(Guess {
                    command: check.command.clone(),
                    kind: GuessKind::Test,
                    why: format!("{} names it", file.name),
                });
            }
        }
    }
    let plan = InitPlan {
        guesses,
        prepare: guess_prepare(&files),
        agent: None,
        tasks_source: args.tasks.as_ref().map(|path| relative(project, path)),
    };
    write(&file, &render_ralph_yaml(&plan))?;
    say("wrote", &project.shown(&file), "");
    if plan.guesses.is_empty() {
        output::print(
            "        no verify commands were found: tasks are completed as unverified\n        until ralph.yaml has some\n",
        );
        return Ok(());
    }
    let mut table = Table::new(2, 8);
    for guess in plan.guesses.iter().chain(&plan.prepare) {
        table.row([
            cell(Tone::Careful, "guessed"),
            cell(Tone::Name, guess.command.to_string()),
            cell(Tone::Faint, &guess.why),
        ]);
    }
    output::print(&table.render(output::width()));
    output::print("        these are guesses: check them before you rely on them\n");
    Ok(())
}

/// `.ralph/` with its `.gitignore`.
pub(super) fn folder(project: &Project) -> Result<(), CommandError> {
    let file = project.root().join(dot_ralph::FOLDER).join(".gitignore");
    let was_there = file.exists();
    dot_ralph::ensure(project.root()).map_err(|error| {
        CommandError::user(format!("can't create {}: {error}", project.shown(&file)))
    })?;
    let done = if was_there { "kept" } else { "wrote" };
    say(done, &project.shown(&file), "");
    Ok(())
}

/// The file that names the parent task.
pub(super) fn parent(project: &Project, id: &TaskId, title: &str) -> Result<(), CommandError> {
    let file = project.parent_file();
    let was = std::fs::read_to_string(&file).unwrap_or_default();
    let note = format!("{id} {}", one_line(title, 72));
    if was.trim() == id.as_str() {
        say("kept", &project.shown(&file), &note);
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            CommandError::user(format!("can't create {}: {error}", folder.display()))
        })?;
    }
    write(&file, &format!("{id}\n"))?;
    say("wrote", &project.shown(&file), &note);
    Ok(())
}

/// The file there is, under either of its names, else the one to be made.
fn config_file(project: &Project) -> PathBuf {
    let root = &project.settings.project.root;
    let there = project.settings.config_file.as_ref();
    let own = there.filter(|file| file.parent() == Some(root));
    own.cloned().unwrap_or_else(|| root.join("ralph.yaml"))
}

/// A path as ralph.yaml names it: from the project's root, where it lies below it.
fn relative(project: &Project, path: &Path) -> PathBuf {
    let whole = project.surroundings.start.join(path);
    let whole = whole.canonicalize().unwrap_or(whole);
    let root = &project.settings.root;
    whole
        .strip_prefix(root)
        .map(Path::to_owned)
        .unwrap_or(whole)
}

pub(super) fn write(file: &Path, text: &str) -> Result<(), CommandError> {
    write_atomically(file, text.as_bytes()).map_err(CommandError::user)
}

pub(super) fn say(done: &str, file: &str, note: &str) {
    let tone = match done {
        "wrote" => Tone::Good,
        _ => Tone::Faint,
    };
    let done = paint(tone, &format!("{done:<6}"));
    let note = paint(Tone::Faint, note);
    output::print(format!("{done}  {file}  {note}").trim_end());
    output::print("\n");
}
