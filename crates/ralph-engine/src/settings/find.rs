//! Finds the project around a folder.
//!
//! Looks for marks in the file system alone; whether git accepts the repository is for git to say.

use std::io;
use std::path::{Path, PathBuf};

/// The project that a command was started in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The repository's root, or where the search began if there is none around it. Absolute, with
    /// symbolic links followed, as git itself names it.
    pub root: PathBuf,
    pub kind: ProjectKind,
    /// Where the search began, absolute, with symbolic links followed.
    pub start: PathBuf,
}

/// What a project's root is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectKind {
    /// The top of a git working tree.
    Repository,
    /// A folder that no repository is around.
    Folder,
}

/// The project around a folder.
pub fn find_project(start: &Path) -> io::Result<Project> {
    let start = std::fs::canonicalize(start)?;
    let found = start.ancestors().find(|folder| is_repository(folder));
    let (root, kind) = match found {
        Some(root) => (root.to_owned(), ProjectKind::Repository),
        None => (start.clone(), ProjectKind::Folder),
    };
    Ok(Project { root, kind, start })
}

fn is_repository(folder: &Path) -> bool {
    let git = folder.join(".git");
    // A file in a linked worktree or a submodule; a folder without HEAD is none of git's.
    git.is_file() || git.join("HEAD").is_file()
}
