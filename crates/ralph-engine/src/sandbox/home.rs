//! The home of a program in a sandbox: an empty folder, with what its agent logs in with.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::view::SandboxView;
use crate::{
    atomic,
    layer::{ProgramFolder, sweep},
    process::{SandboxMeans, ShownAs},
};

/// The largest file that is copied into a home.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A folder in which an agent keeps what it is set up by.
#[derive(Debug, Clone, Copy)]
pub struct AgentFolder {
    /// Names another folder instead, where it is set.
    pub variable: Option<&'static str>,
    /// Below the home; empty for the home itself.
    pub folder: &'static str,
    pub files: &'static [AgentFile],
}

/// A file or folder that an agent needs of the user's.
#[derive(Debug, Clone, Copy)]
pub struct AgentFile {
    pub name: &'static str,
    pub kind: AgentFileKind,
}

impl AgentFile {
    pub const fn login(name: &'static str) -> Self {
        let kind = AgentFileKind::Login;
        Self { name, kind }
    }

    pub const fn copy(name: &'static str) -> Self {
        let kind = AgentFileKind::Copy;
        Self { name, kind }
    }

    pub const fn shown(name: &'static str) -> Self {
        let kind = AgentFileKind::Shown;
        Self { name, kind }
    }
}

/// The way in which an agent gets it.
#[derive(Debug, Clone, Copy)]
pub enum AgentFileKind {
    /// A copy with the key to its model. A new one, which the agent fetches when the old one ends, is written
    /// back: the old one is worth nothing then.
    Login,
    /// A copy that it may change, and no one else sees.
    Copy,
    /// A copy of what it holds about this repository; other projects are left out.
    State(fn(&[u8], &Path) -> Option<Vec<u8>>),
    /// To read.
    Shown,
}

pub(super) struct HomeRequest<'a> {
    pub(super) home: Option<&'a Path>,
    pub(super) homes: &'a Path,
    pub(super) vars: &'a [(OsString, OsString)],
    pub(super) root: &'a Path,
    /// The file of hosts that leads to its doors.
    pub(super) hosts: Option<&'a str>,
}

/// The home of one program. Dropping it deletes it.
#[derive(Debug)]
pub(crate) struct SandboxHome {
    means: SandboxMeans,
    /// The folder of ralph's, if there is one: a verify command's is in memory.
    folder: Option<ProgramFolder>,
    home: Option<PathBuf>,
    /// Folders of the agent's outside of the home, and those of ralph's in their place.
    others: Vec<(PathBuf, PathBuf)>,
    shown: Vec<PathBuf>,
    logins: Vec<CopiedLogin>,
    has_hosts: bool,
}

#[derive(Debug)]
struct CopiedLogin {
    original: PathBuf,
    copy: PathBuf,
    bytes: Vec<u8>,
}

impl SandboxHome {
    pub(super) fn make(
        request: &HomeRequest<'_>,
        means: SandboxMeans,
        folders: &[AgentFolder],
    ) -> io::Result<Self> {
        let mut made = Self {
            means,
            folder: None,
            home: request.home.map(Path::to_owned),
            others: Vec::new(),
            shown: Vec::new(),
            logins: Vec::new(),
            has_hosts: false,
        };
        let is_in_memory = matches!(means, SandboxMeans::Namespaces | SandboxMeans::Bwrap);
        if folders.is_empty() && request.hosts.is_none() && is_in_memory {
            return Ok(made);
        }
        let own = ProgramFolder::make(request.homes)?;
        let folder = own.path().to_owned();
        made.folder = Some(own);
        for part in ["home", "tmp"] {
            make_private(&folder.join(part))?;
        }
        if let Some(hosts) = request.hosts {
            fs::write(folder.join("hosts"), hosts)?;
            made.has_hosts = true;
        }
        for (index, agent) in folders.iter().enumerate() {
            let named = agent.variable.and_then(|variable| {
                let (_, value) = request.vars.iter().find(|(name, _)| name == variable)?;
                Path::new(value).canonicalize().ok()
            });
            let (from, to) = match (named, request.home) {
                (Some(named), _) => {
                    let to = folder.join(format!("other-{index}"));
                    make_private(&to)?;
                    made.others.push((named.clone(), to.clone()));
                    (named, to)
                }
                (None, Some(home)) => (
                    home.join(agent.folder),
                    folder.join("home").join(agent.folder),
                ),
                (None, None) => continue,
            };
            for file in agent.files {
                made.take(
                    &from.join(file.name),
                    &to.join(file.name),
                    file.kind,
                    request.root,
                )?;
            }
        }
        Ok(made)
    }

    /// Gives a program one file of the user's, if it is there.
    fn take(&mut self, from: &Path, to: &Path, kind: AgentFileKind, root: &Path) -> io::Result<()> {
        let Ok(meta) = from.metadata() else {
            return Ok(());
        };
        if let AgentFileKind::Shown = kind {
            self.shown.push(from.to_owned());
            return Ok(());
        }
        if !meta.is_file() || meta.len() > LARGEST {
            return Ok(());
        }
        let bytes = fs::read(from)?;
        let content = match kind {
            AgentFileKind::State(trim) => trim(&bytes, root).unwrap_or_default(),
            AgentFileKind::Login | AgentFileKind::Copy | AgentFileKind::Shown => bytes,
        };
        if let Some(folder) = to.parent() {
            make_private(folder)?;
        }
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(to)?;
        file.write_all(&content)?;
        if let AgentFileKind::Login = kind {
            self.logins.push(CopiedLogin {
                original: from.to_owned(),
                copy: to.to_owned(),
                bytes: content,
            });
        }
        Ok(())
    }

    pub(super) fn show(&self, view: &mut SandboxView) {
        let hosts = Path::new("/etc/hosts");
        if let Some(folder) = self
            .folder
            .as_ref()
            .filter(|_| self.has_hosts && hosts.exists())
        {
            let from = folder.path().join("hosts");
            view.set(hosts, ShownAs::Instead { from });
        }
        if self.home.as_deref().is_some_and(|home| view.has(home)) {
            // The person's word: they get the real one.
            return;
        }
        match (self.means.has_own_root(), &self.folder, &self.home) {
            (true, Some(folder), Some(home)) => view.set(
                home,
                ShownAs::Instead {
                    from: folder.path().join("home"),
                },
            ),
            (true, None, Some(home)) => view.set(home, ShownAs::Memory),
            // The program is told of the folder instead.
            (false, Some(folder), _) => view.set(folder.path(), ShownAs::ReadWrite),
            (true, _, None) | (false, None, _) => {}
        }
        if self.means.has_own_root() {
            for (path, folder) in &self.others {
                let from = folder.clone();
                view.set(path, ShownAs::Instead { from });
            }
        }
        for path in &self.shown {
            view.add(path, &ShownAs::ReadOnly);
        }
    }

    /// The folder of ralph's that is there as long as the program.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(ProgramFolder::path)
    }

    /// Names the home where it can't be at its own path.
    pub(super) fn change_environment(&self, env: &mut Vec<(OsString, OsString)>) {
        let (false, Some(folder)) = (self.means.has_own_root(), &self.folder) else {
            return;
        };
        let mut set = |name: &str, value: &Path| {
            env.retain(|(key, _)| key != name);
            env.push((name.into(), value.into()));
        };
        set("HOME", &folder.path().join("home"));
        set("TMPDIR", &folder.path().join("tmp"));
    }

    /// Writes back a key that the agent renewed, where the user's own is still the one that it was given.
    pub(crate) fn keep_logins(&self) -> io::Result<()> {
        for login in &self.logins {
            let meta = fs::symlink_metadata(&login.copy);
            if !meta.is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST) {
                continue;
            }
            let renewed = fs::read(&login.copy)?;
            let is_same = renewed == login.bytes;
            let is_ours = fs::read(&login.original).is_ok_and(|now| now == login.bytes);
            if !is_same && is_ours && has_same_shape(&login.bytes, &renewed) {
                let original = login.original.canonicalize()?;
                atomic::write(&original, &renewed)?;
            }
        }
        Ok(())
    }
}

/// Tells whether two files are objects of JSON with the same names in them.
fn has_same_shape(before: &[u8], after: &[u8]) -> bool {
    let names = |bytes: &[u8]| -> Option<Vec<String>> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let mut names: Vec<String> = value.as_object()?.keys().cloned().collect();
        names.sort();
        Some(names)
    };
    names(before).is_some_and(|before| names(after) == Some(before))
}

fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// Deletes the homes of programs whose ralph is gone.
pub(crate) fn sweep_homes(data_dir: &Path) {
    // What can't be deleted now is tried again by the next command.
    let _ = sweep(&data_dir.join("homes"), &|_| false);
}
