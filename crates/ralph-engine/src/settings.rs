//! Reads ralph's configuration: finds the project, reads the files and the environment.
//!
//! What the keys are and how layers merge is the core's. Writes nothing, and takes the environment
//! as an argument, so that a test has one of its own.

mod files;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use ralph_core::config::{ConfigErrors, FlagValue, Layers, Note, Origin, Resolved, resolve};

pub(crate) use files::config_paths;
pub use files::read_project_files;

/// Where a command was started, and with which environment.
#[derive(Clone)]
pub struct Surroundings {
    /// The folder that the search for the project begins in.
    pub start: PathBuf,
    pub env: Vec<(OsString, OsString)>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> io::Result<Self> {
        Ok(Self {
            start: std::env::current_dir()?,
            env: std::env::vars_os().collect(),
        })
    }

    fn var(&self, name: &str) -> Option<&OsString> {
        let found = self.env.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value).filter(|v| !v.is_empty())
    }
}

/// The settings of the command line.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// A file to use instead of the project's own.
    pub config_file: Option<PathBuf>,
    pub flags: Vec<FlagValue>,
}

/// The configuration of a project, and where it was found.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder that ralph works in: `repo.root`, absolute. Relative paths of the configuration
    /// start here.
    pub root: PathBuf,
    pub project: Project,
    /// The project's file, if there is one.
    pub config_file: Option<PathBuf>,
    /// The user's own file, if there is one.
    pub user_file: Option<PathBuf>,
    pub resolved: Resolved,
}

/// Why there is no configuration. All of it is for a person to put right: exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not UTF-8 text: byte {offset} is no part of a character", path.display())]
    NotText { path: PathBuf, offset: usize },
    #[error("{} is larger than {limit} bytes, too large for a configuration", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("both {} and {} are there; keep one of them", one.display(), other.display())]
    Twice { one: PathBuf, other: PathBuf },
    #[error("environment variable {name} is not UTF-8 text")]
    BadVariable { name: String },
    #[error("`repo.root` ({origin}) is no folder: {}", path.display())]
    Root {
        path: PathBuf,
        origin: Origin,
        source: io::Error,
    },
}

/// Finds the project around a folder and makes its configuration.
pub fn load(surroundings: &Surroundings, request: Request) -> Result<Settings, SettingsError> {
    let project = find_project(&surroundings.start).map_err(|source| SettingsError::Read {
        path: surroundings.start.clone(),
        source,
    })?;
    let user = match user_folder(surroundings) {
        Some(folder) => files::read_config_in(&folder)?,
        None => None,
    };
    let own = match &request.config_file {
        Some(file) => Some(files::read_config(&surroundings.start.join(file))?),
        None => files::read_config_in(&project.root)?,
    };
    let user_file = user.as_ref().map(|file| file.path.clone());
    let config_file = own.as_ref().map(|file| file.path.clone());
    let mut resolved = resolve(&Layers {
        user,
        project: own,
        env: files::read_env(&surroundings.env)?,
        flags: request.flags,
    })?;
    if request.config_file.is_none() {
        resolved.notes.extend(overlooked(&project));
    }
    Ok(Settings {
        root: root(&project, &resolved)?,
        project,
        config_file,
        user_file,
        resolved,
    })
}

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

/// The folder of the user's own file.
fn user_folder(surroundings: &Surroundings) -> Option<PathBuf> {
    // A relative XDG folder is invalid and counts as not set.
    let xdg = surroundings.var("XDG_CONFIG_HOME").map(PathBuf::from);
    let base = xdg.filter(|path| path.is_absolute()).or_else(|| {
        let home = PathBuf::from(surroundings.var("HOME")?);
        Some(home.join(".config"))
    })?;
    Some(base.join("ralph"))
}

/// Where ralph works: relative to the file that says so, else to the project.
fn root(project: &Project, resolved: &Resolved) -> Result<PathBuf, SettingsError> {
    let origin = resolved.origin("repo.root");
    let base = match origin {
        Origin::File { path, .. } => path.parent().unwrap_or(&project.root),
        Origin::Default | Origin::Env { .. } | Origin::Flag { .. } => &project.root,
    };
    let path = base.join(&resolved.config.repo.root);
    let is_folder = |path: PathBuf| {
        if path.is_dir() {
            Ok(path)
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    };
    std::fs::canonicalize(&path)
        .and_then(is_folder)
        .map_err(|source| SettingsError::Root {
            path,
            origin: origin.clone(),
            source,
        })
}

/// A file below the project's root that a person may believe to be in force.
fn overlooked(project: &Project) -> Option<Note> {
    let below = |folder: &&Path| *folder != project.root && folder.starts_with(&project.root);
    let file = project
        .start
        .ancestors()
        .take_while(below)
        .flat_map(files::config_paths)
        .find(|path| path.is_file())?;
    Some(Note {
        key: None,
        message: format!(
            "{} is not used: the configuration of a project is at its root, {}",
            file.display(),
            project.root.display()
        ),
    })
}
