//! The address of a team's store, as a person gave it, with the variables that may hold its password.
//!
//! Never shown with a password, never written down.

#![cfg_attr(
    not(feature = "team"),
    allow(dead_code, reason = "only the server asks for a password")
)]

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use ralph_core::config::{Origin, Resolved, split_password};

use super::TeamError;

/// The variable that may hold a URL with its password.
const STORE_URL: &str = "RALPH_STORE_URL";

/// The place where a URL was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlPlace {
    Environment,
    CommandLine,
    File(PathBuf),
}

/// A server, and how to get in.
#[derive(Clone)]
pub struct StoreAddress {
    /// With its password where that is part of it.
    pub(super) url: String,
    pub(super) place: UrlPlace,
    /// Variables that may name a password.
    pub(super) variables: Vec<(OsString, OsString)>,
}

impl std::fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreAddress")
            .field("url", &split_password(&self.url).0)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl StoreAddress {
    /// The address that the configuration or its variable names.
    pub fn configured(
        resolved: &Resolved,
        variables: &[(OsString, OsString)],
    ) -> Result<Self, TeamError> {
        let url = resolved.config.store.url.as_ref();
        let url = url.ok_or(TeamError::NoServer)?.as_str().to_owned();
        let (url, place) = match resolved.origin("store.url") {
            Origin::Env { .. } => (
                // Only there it has its password still.
                variable(variables, STORE_URL).unwrap_or(url),
                UrlPlace::Environment,
            ),
            Origin::File { path, .. } => (url, UrlPlace::File(path.clone())),
            Origin::Default | Origin::Flag { .. } => (url, UrlPlace::CommandLine),
        };
        Ok(Self {
            url,
            place,
            variables: variables.to_vec(),
        })
    }

    /// The address that an argument names. All processes of a machine can read arguments: no password stands in one.
    pub fn argument(url: &str, variables: &[(OsString, OsString)]) -> Result<Self, TeamError> {
        if split_password(url).1.is_some() {
            return Err(TeamError::Users {
                line: "--url holds a password, which every process of this machine could read".to_owned(),
                hint: Some(
                    "leave it out, and set PGPASSWORD or RALPH_STORE_PASSWORD_FILE, write it into ~/.pgpass, or set \
                     the whole URL as RALPH_STORE_URL"
                        .to_owned(),
                ),
            });
        }
        Ok(Self {
            url: url.to_owned(),
            place: UrlPlace::CommandLine,
            variables: variables.to_vec(),
        })
    }

    /// The URL without a password.
    pub fn shown(&self) -> String {
        split_password(&self.url).0
    }
}

fn variable(variables: &[(OsString, OsString)], name: &str) -> Option<String> {
    let found = variables.iter().find(|(n, _)| n == OsStr::new(name));
    found.and_then(|(_, value)| value.clone().into_string().ok())
}
