//! The place that a sandbox is for: a repository or a folder, with what is configured for it. Loops and commands
//! find their sandbox in the same way.

use std::path::{Path, PathBuf};

use ralph_core::config::Config;

use super::{AllowedHost, SandboxFound, SandboxRequest, missing_paths, sweep_homes};
use crate::{
    environment::Environment, error::LoopError, git::Repo, process::Containment,
    workspace::alternates,
};

/// The facts about the place in which programs are started.
#[derive(Clone, Copy)]
pub struct SandboxPlace<'a> {
    pub config: &'a Config,
    /// The environment that programs get.
    pub environment: &'a Environment,
    /// The folder that they work in.
    pub root: &'a Path,
    /// The repository of that folder, if it is in one.
    pub repo: Option<&'a Repo>,
    pub data_dir: &'a Path,
    pub containment: Containment,
}

impl SandboxPlace<'_> {
    /// Finds the strongest sandbox that works here, and what is to be said about the configuration of it.
    pub async fn find(&self) -> Result<(SandboxFound, Vec<String>), LoopError> {
        sweep_homes(self.data_dir);
        // Files of ralph's own among those of another user are no reason to run programs as root.
        if let Some(repo) = self.repo {
            repo.leave_to_owner();
        }
        let hosts = self.config.safety.allow_hosts.iter();
        let hosts = hosts
            .map(|host| AllowedHost::parse(host))
            .collect::<Result<Vec<_>, _>>();
        let hosts = hosts.map_err(|reason| LoopError::AllowedHost { reason })?;
        let git_folders = self.repo.map(git_folders).unwrap_or_default();
        let mut safety = self.config.safety.clone();
        safety.allow_read.extend(self.browser_folder());
        let request = SandboxRequest {
            safety: &safety,
            allow_hosts: &hosts,
            verify_network: self.config.verification.network,
            vars: &self.environment.vars,
            root: self.root,
            git_folders: &git_folders,
            git_settings: self.repo.map(Repo::personal_settings).unwrap_or_default(),
            data_dir: self.data_dir,
            containment: self.containment,
        };
        let found = SandboxFound::find(&request).await;
        let found = found.map_err(|reason| LoopError::NoSandbox { reason })?;
        Ok((found, missing_paths(&request)))
    }
}

impl SandboxPlace<'_> {
    /// The folder of the browser that is configured for flows: one that was unpacked anywhere has its files there.
    fn browser_folder(&self) -> Option<PathBuf> {
        let browser = self.root.join(self.config.qa.browser.as_ref()?);
        let real = browser.canonicalize().ok()?;
        let folder = real.parent()?;
        let is_seen = [self.root, Path::new("/usr"), Path::new("/opt")]
            .iter()
            .any(|seen| folder.starts_with(seen));
        (!is_seen).then(|| folder.to_owned())
    }
}

/// The folders of a repository besides its work tree.
fn git_folders(repo: &Repo) -> Vec<PathBuf> {
    let mut folders = vec![repo.git_dir().to_owned(), repo.common_dir().to_owned()];
    folders.extend(alternates(&repo.common_dir().join("objects")));
    let real = folders
        .iter()
        .filter_map(|folder| folder.canonicalize().ok());
    real.collect()
}
