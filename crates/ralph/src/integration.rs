//! The plugin for Claude Code and the package for Pi: embedded in this program, written to where those agents look.
//!
//! Both agents load a folder of theirs that is there, so that no setting has to be changed. A manifest in the folder
//! says what was written; only that is ever replaced or removed.

mod claude;
mod files;
mod pi;
mod rival;

pub(crate) use rival::rival_plugin;

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use ralph_engine::{plain_file, programs};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use crate::{error::CommandError, project::Project};
use files::EmbeddedFile;

/// Says what `ralph install` wrote: each file with its hash.
const MANIFEST: &str = ".ralph-installed.json";

/// An agent that ralph can live in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Host {
    Claude,
    Pi,
}

/// The facts about an agent that are needed to install ralph into it.
struct HostFacts {
    word: &'static str,
    title: &'static str,
    files: &'static [EmbeddedFile],
    /// The variable that names the folder of its settings, and that folder below the home without it.
    settings: (&'static str, &'static str),
    /// The folder that it loads, below its settings and below a project.
    folders: (&'static str, &'static str),
    /// A file with another program in the place of `ralph`.
    adapt: fn(name: &str, text: &str, program: &str) -> String,
    /// The step by which a person trusts a project.
    trust: &'static str,
    /// The name of an enabled plugin that gets in the way.
    rival: fn(&Path) -> Option<String>,
}

impl Host {
    fn facts(self) -> &'static HostFacts {
        match self {
            Self::Claude => &claude::FACTS,
            Self::Pi => &pi::FACTS,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstallScope {
    User,
    Project,
}

/// The place of ralph inside an agent.
pub(crate) struct Installation {
    host: Host,
    scope: InstallScope,
    folder: PathBuf,
    root: PathBuf,
    /// The program that hooks and commands are to start.
    program: String,
}

/// The changes of `ralph install`; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Installed {
    agent: Host,
    folder: PathBuf,
    written: Vec<String>,
    unchanged: usize,
    removed: Vec<String>,
    /// Files that a person changed, and that were left as they are.
    kept: Vec<String>,
    #[serde(skip)]
    scope: InstallScope,
}

/// The changes of `ralph uninstall`; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Uninstalled {
    agent: Host,
    folder: PathBuf,
    removed: Vec<String>,
    kept: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct InstallManifest {
    version: String,
    /// SHA-256 by path.
    files: BTreeMap<String, String>,
    /// The number of folders above that were made for it.
    #[serde(default)]
    made: usize,
}

impl Installation {
    pub(crate) fn find(
        host: Host,
        scope: InstallScope,
        project: &Project,
    ) -> Result<Self, CommandError> {
        let root = project.root().to_owned();
        let facts = host.facts();
        let folder = match scope {
            InstallScope::User => settings_folder(facts, project)?.join(facts.folders.0),
            InstallScope::Project => root.join(facts.folders.1),
        };
        Ok(Self {
            host,
            scope,
            folder,
            root,
            program: program(project)?,
        })
    }

    /// Writes what is missing or older, and takes away what a newer version has no more.
    pub(crate) fn install(&self) -> Result<Installed, CommandError> {
        let facts = self.host.facts();
        if let Some(name) = (facts.rival)(&self.root) {
            let (title, word) = (facts.title, facts.word);
            return Err(CommandError::user(format!(
                "the plugin {name} is enabled in {title}, and reads the same state file as ralph's"
            ))
            .hint(format!("disable it first: `{word} plugin disable {name}`")));
        }
        let old = self.manifest()?;
        if old.is_none() && self.folder.symlink_metadata().is_ok() && !self.is_empty()? {
            return Err(CommandError::user(format!(
                "{} is there already, and `ralph install` did not make it",
                self.folder.display()
            ))
            .hint("move it away first"));
        }
        let old = old.unwrap_or_else(|| InstallManifest {
            made: self.missing_folders(),
            ..InstallManifest::default()
        });
        let mut done = Installed {
            agent: self.host,
            folder: self.folder.clone(),
            written: Vec::new(),
            unchanged: 0,
            removed: Vec::new(),
            kept: Vec::new(),
            scope: self.scope,
        };
        let mut new = InstallManifest {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            files: BTreeMap::new(),
            made: old.made,
        };
        for (name, text) in facts.files {
            let text = self.adapted(name, text);
            let found = self.hash_of(name)?;
            let wanted = hash(text.as_bytes());
            let was = old.files.get(*name);
            match found {
                Some(found) if found == wanted => done.unchanged += 1,
                Some(found) if was.is_some_and(|was| *was != found) => {
                    done.kept.push((*name).to_owned());
                    // What it was, so that it is still told from what a person made of it.
                    new.files
                        .insert((*name).to_owned(), was.cloned().unwrap_or_default());
                    continue;
                }
                Some(_) | None => {
                    self.write(name, text.as_bytes())?;
                    done.written.push((*name).to_owned());
                }
            }
            new.files.insert((*name).to_owned(), wanted);
            // A kill in the middle leaves a manifest that knows of all that was written.
            if done.written.last().is_some_and(|last| last == name) {
                let mut so_far = old.files.clone();
                so_far.extend(new.files.clone());
                self.write_manifest(&InstallManifest {
                    version: new.version.clone(),
                    files: so_far,
                    made: new.made,
                })?;
            }
        }
        for (name, was) in &old.files {
            if !new.files.contains_key(name) {
                self.take_away(name, was, &mut done.removed, &mut done.kept)?;
            }
        }
        self.write_manifest(&new)?;
        Ok(done)
    }

    /// Takes away what was written, and folders that are empty then.
    pub(crate) fn uninstall(&self) -> Result<Uninstalled, CommandError> {
        let mut done = Uninstalled {
            agent: self.host,
            folder: self.folder.clone(),
            removed: Vec::new(),
            kept: Vec::new(),
        };
        let Some(manifest) = self.manifest()? else {
            return Ok(done);
        };
        for (name, was) in &manifest.files {
            self.take_away(name, was, &mut done.removed, &mut done.kept)?;
        }
        plain_file::remove(&self.folder.join(MANIFEST))
            .map_err(|e| self.error("remove", MANIFEST, &e))?;
        self.remove_empty_folders(&manifest);
        Ok(done)
    }

    fn take_away(
        &self,
        name: &str,
        was: &str,
        removed: &mut Vec<String>,
        kept: &mut Vec<String>,
    ) -> Result<(), CommandError> {
        match self.hash_of(name)? {
            None => {}
            Some(found) if found == was => {
                let path = self.folder.join(name);
                fs::remove_file(&path).map_err(|e| self.error("remove", name, &e))?;
                removed.push(name.to_owned());
            }
            Some(_) => kept.push(name.to_owned()),
        }
        Ok(())
    }

    /// Counts the folders above that are not there yet.
    fn missing_folders(&self) -> usize {
        let above = self.folder.ancestors().skip(1);
        above
            .take_while(|folder| folder.symlink_metadata().is_err())
            .count()
    }

    /// From the deepest up to the folder of this installation, and those that were made for it.
    fn remove_empty_folders(&self, manifest: &InstallManifest) {
        let names = manifest.files.keys();
        let mut folders: Vec<PathBuf> = names
            .flat_map(|name| Path::new(name).ancestors().skip(1))
            .map(|below| self.folder.join(below))
            .collect();
        folders.sort();
        folders.dedup();
        let within = folders.iter().rev().map(PathBuf::as_path);
        let above = self.folder.ancestors().skip(1).take(manifest.made);
        for folder in within.chain(above) {
            // One that holds anything stays.
            let _ = fs::remove_dir(folder);
        }
    }

    fn manifest(&self) -> Result<Option<InstallManifest>, CommandError> {
        let path = self.folder.join(MANIFEST);
        let bytes =
            plain_file::read_if_there(&path).map_err(|e| self.error("read", MANIFEST, &e))?;
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let read = serde_json::from_slice(&bytes);
        read.map(Some).map_err(|error| {
            CommandError::user(format!("{} can't be read: {error}", path.display()))
                .hint(format!("remove {} by hand", self.folder.display()))
        })
    }

    fn write_manifest(&self, manifest: &InstallManifest) -> Result<(), CommandError> {
        let mut text = serde_json::to_string_pretty(manifest)?;
        text.push('\n');
        self.write(MANIFEST, text.as_bytes())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), CommandError> {
        let path = self.folder.join(name);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)
            .and_then(|()| plain_file::replace(&path, bytes))
            .map_err(|e| self.error("write", name, &e))
    }

    fn hash_of(&self, name: &str) -> Result<Option<String>, CommandError> {
        let found = plain_file::read_if_there(&self.folder.join(name));
        let found = found.map_err(|e| self.error("read", name, &e))?;
        Ok(found.map(|bytes| hash(&bytes)))
    }

    fn is_empty(&self) -> Result<bool, CommandError> {
        let mut entries = fs::read_dir(&self.folder).map_err(|e| self.error("read", "", &e))?;
        Ok(entries.next().is_none())
    }

    /// The file with the program that is to be started in the place of `ralph`, where the PATH has another one or none.
    fn adapted(&self, name: &str, text: &str) -> String {
        if self.program == "ralph" {
            return text.to_owned();
        }
        (self.host.facts().adapt)(name, text, &self.program)
    }

    fn error(&self, what: &str, name: &str, error: &io::Error) -> CommandError {
        let path = self.folder.join(name);
        CommandError::user(format!("can't {what} {}: {error}", path.display()))
    }
}

/// The folder of an agent's settings.
fn settings_folder(facts: &HostFacts, project: &Project) -> Result<PathBuf, CommandError> {
    let (variable, below_home) = facts.settings;
    if let Some(folder) = project.variable(variable) {
        return Ok(PathBuf::from(folder));
    }
    let home = project.variable("HOME").ok_or_else(|| {
        let title = facts.title;
        CommandError::user(format!("can't find the folder of {title}: HOME is not set"))
    })?;
    Ok(PathBuf::from(home).join(below_home))
}

/// The name by which this program is started: `ralph` if the PATH leads to it, else its path.
fn program(project: &Project) -> Result<String, CommandError> {
    let own = std::env::current_exe()?;
    let own = own.canonicalize().unwrap_or(own);
    let on_path =
        programs::find_program("ralph", programs::path_folders(&project.surroundings.env));
    let on_path = on_path.and_then(|path| path.canonicalize().ok());
    Ok(if on_path.as_ref() == Some(&own) {
        "ralph".to_owned()
    } else {
        own.to_string_lossy().into_owned()
    })
}

fn hash(bytes: &[u8]) -> String {
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = self.agent.facts();
        let (title, folder) = (facts.title, self.folder.display());
        if self.written.is_empty() && self.removed.is_empty() {
            writeln!(
                f,
                "ralph is in {title} already: {folder} ({} files)",
                self.unchanged
            )?;
        } else {
            let written = self.written.len();
            writeln!(
                f,
                "installed into {title}: {folder} ({written} files written)"
            )?;
            for name in &self.removed {
                writeln!(f, "  removed {name}, which this version does not have")?;
            }
        }
        for name in &self.kept {
            writeln!(f, "  left as it is, as it was changed by hand: {name}")?;
        }
        writeln!(f, "no settings were changed")?;
        let (flag, trust) = match self.scope {
            InstallScope::User => ("", ""),
            InstallScope::Project => (" --project", facts.trust),
        };
        writeln!(f, "next: restart {title}{trust}, then type /ralph-help")?;
        let word = facts.word;
        writeln!(f, "`ralph uninstall {word}{flag}` removes it again")
    }
}

impl fmt::Display for Uninstalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (title, folder) = (self.agent.facts().title, self.folder.display());
        if self.removed.is_empty() && self.kept.is_empty() {
            return writeln!(f, "nothing to remove: ralph is not in {title} ({folder})");
        }
        writeln!(
            f,
            "removed from {title}: {folder} ({} files)",
            self.removed.len()
        )?;
        for name in &self.kept {
            writeln!(f, "  left, as it was changed by hand: {name}")?;
        }
        Ok(())
    }
}
