//! The environment that git calls see, captured once before any agent has run.
//!
//! Drops every `GIT_*` of the caller but the identity, and every place on the `PATH` that is not
//! absolute: a `git` in the folder one happens to stand in must never be run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ralph_core::secret::Redaction;

use crate::{environment::leads_into, programs::find_program};

const IDENTITY: &[&str] = &[
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
];

/// Where settings come from; needed only while they are read, once.
const SETTINGS: &[&str] = &[
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_PARAMETERS",
];

#[derive(Debug, Clone)]
pub struct GitEnvironment {
    vars: Vec<(OsString, OsString)>,
    settings: Vec<(OsString, OsString)>,
    places: Vec<PathBuf>,
    /// Takes secrets out of the messages of commits.
    redaction: Redaction,
}

impl GitEnvironment {
    pub fn from_vars(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut kept = Vec::new();
        let mut settings = Vec::new();
        let mut places = Vec::new();
        for (name, value) in vars {
            let text = name.to_string_lossy();
            if text == "PATH" {
                places = std::env::split_paths(&value)
                    .filter(|p| p.is_absolute())
                    .collect();
            } else if SETTINGS.contains(&text.as_ref()) || is_counted_setting(&text) {
                settings.push((name, value));
            } else if IDENTITY.contains(&text.as_ref()) || !text.starts_with("GIT_") {
                kept.push((name, value));
            }
        }
        Self {
            vars: kept,
            settings,
            places,
            redaction: Redaction::default(),
        }
    }

    /// Has values hidden in the messages of commits, besides what is found by its format.
    #[must_use]
    pub fn hiding(mut self, redaction: &Redaction) -> Self {
        self.redaction = redaction.clone();
        self
    }

    pub(super) fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// Takes places within `folder` off the path: what lies there, an agent can write.
    pub(super) fn without_places_in(&self, folder: &Path) -> Self {
        let mut rest = self.clone();
        rest.places.retain(|place| !leads_into(place, folder));
        rest
    }

    /// The first program of this name on the path, by its absolute name.
    pub(super) fn find(&self, program: &str) -> Option<PathBuf> {
        find_program(program, &self.places)
    }

    pub(super) fn vars(&self) -> impl Iterator<Item = (&OsStr, OsString)> {
        let path = std::env::join_paths(&self.places).unwrap_or_default();
        let vars = self
            .vars
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.clone()));
        vars.chain([(OsStr::new("PATH"), path)])
    }

    pub(super) fn settings(&self) -> &[(OsString, OsString)] {
        &self.settings
    }
}

fn is_counted_setting(name: &str) -> bool {
    ["GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"]
        .iter()
        .any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_identity_and_drops_the_rest_of_gits_variables() {
        let vars = [
            ("GIT_DIR", "/x"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_EXTERNAL_DIFF", "/evil"),
            ("GIT_CONFIG_COUNT", "1"),
            ("HOME", "/h"),
            ("PATH", "bin:/usr/bin::./x:/bin"),
        ];
        let environment =
            GitEnvironment::from_vars(vars.map(|(name, value)| (name.into(), value.into())));
        let mut seen: Vec<String> = environment
            .vars()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        seen.sort();
        assert_eq!(seen, ["GIT_AUTHOR_NAME=A", "HOME=/h", "PATH=/usr/bin:/bin"]);
        assert_eq!(environment.settings().len(), 1);
    }
}
