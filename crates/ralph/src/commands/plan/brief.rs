//! What is to be planned: a text file, standard input, or the Markdown files of a folder.
//!
//! Bounded: so many files, so many bytes of each. What is left out is said.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use ralph_core::plan::Brief;
use ralph_engine::plain_file;

use crate::{error::CommandError, output, project::Project};

/// Files that are taken from a folder.
const MOST_FILES: usize = 40;
/// Folders that are looked into, one within the other.
const DEEPEST: usize = 4;
/// Of standard input this much is read; of files, as much goes into the prompt.
const MOST_BYTES: u64 = 1024 * 1024;

/// Where a brief is looked for if none is named.
const USUAL: [&str; 6] = [
    "PRD.md",
    "prd.md",
    "SPEC.md",
    "spec.md",
    "specs",
    "docs/PRD.md",
];

pub(super) fn read(project: &Project, named: Option<&Path>) -> Result<Vec<Brief>, CommandError> {
    let briefs = match named {
        Some(path) if path == Path::new("-") => vec![from_stdin()?],
        Some(path) => from_path(project, &project.surroundings.start.join(path))?,
        None => from_path(project, &find(project)?)?,
    };
    if briefs.iter().all(|brief| brief.text.trim().is_empty()) {
        let names: Vec<&str> = briefs.iter().map(|brief| brief.name.as_str()).collect();
        let message = format!("there is nothing in {}", names.join(", "));
        return Err(CommandError::user(message).hint("say what is wanted, in your own words"));
    }
    Ok(briefs)
}

fn find(project: &Project) -> Result<PathBuf, CommandError> {
    let mut found: Vec<PathBuf> = Vec::new();
    for name in USUAL {
        // Two names of one file, where case makes no difference, are one.
        if let Ok(path) = project.root().join(name).canonicalize()
            && !found.contains(&path)
        {
            found.push(path);
        }
    }
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        0 => Err(CommandError::user("there is no brief to plan from")
            .hint("name one: `ralph plan FILE`, or `ralph plan -` to type it")),
        _ => {
            let names: Vec<String> = found.iter().map(|path| project.shown(path)).collect();
            let message = format!("found more than one brief: {}", names.join(", "));
            Err(CommandError::user(message).hint(format!("name one: `ralph plan {}`", names[0])))
        }
    }
}

fn from_stdin() -> Result<Brief, CommandError> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| CommandError::user(format!("can't read standard input: {error}")))?;
    Ok(Brief {
        name: "standard input".to_owned(),
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn from_path(project: &Project, path: &Path) -> Result<Vec<Brief>, CommandError> {
    let name = project.shown(path);
    if path.is_dir() {
        return from_folder(project, path, &name);
    }
    let ending = path.extension().and_then(|ending| ending.to_str());
    if matches!(ending, Some("json" | "yaml" | "yml")) {
        return Err(
            CommandError::user(format!("{name} is a task file, not a brief")).hint(format!(
                "`ralph run {name}` works on it; `ralph import` converts it"
            )),
        );
    }
    Ok(vec![text(project, path)?])
}

fn text(project: &Project, path: &Path) -> Result<Brief, CommandError> {
    let name = project.shown(path);
    let bytes = plain_file::read(path)
        .map_err(|error| CommandError::user(format!("can't read {name}: {error}")))?;
    Ok(Brief {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        name,
    })
}

fn from_folder(project: &Project, path: &Path, name: &str) -> Result<Vec<Brief>, CommandError> {
    let mut files = Vec::new();
    markdown_in(path, DEEPEST, &mut files);
    files.sort();
    if files.is_empty() {
        return Err(CommandError::user(format!(
            "there are no .md files in {name}"
        )));
    }
    if files.len() > MOST_FILES {
        let left = files.len() - MOST_FILES;
        output::print_warning(&format!(
            "{name} has {} .md files: {left} are left out",
            files.len()
        ));
        files.truncate(MOST_FILES);
    }
    files.iter().map(|file| text(project, file)).collect()
}

/// Hidden folders and links are not followed.
fn markdown_in(folder: &Path, deep: usize, into: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if hidden {
            continue;
        }
        if kind.is_dir() && deep > 1 {
            markdown_in(&path, deep - 1, into);
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "md") {
            into.push(path);
        }
    }
}
