//! The address of a team's store, as a person gave it, with the variables that may hold its password.
//!
//! Never shown with a password, never written down.

#![cfg_attr(
    not(feature = "team"),
    allow(dead_code, reason = "only the server asks for a password")
)]

use std::{
    ffi::{OsStr, OsString},
    io::Read as _,
    path::PathBuf,
};

use ralph_core::config::{Origin, Resolved, split_password};

use super::TeamError;
use crate::plain_file;

/// The variable that may hold a URL with its password.
const STORE_URL: &str = "RALPH_STORE_URL";
/// The variables that may hold or name a password alone.
const PASSWORD: &str = "PGPASSWORD";
const PASSWORD_FILE: &str = "RALPH_STORE_PASSWORD_FILE";
/// The longest file with a password that is read.
const MOST_BYTES: u64 = 4096;

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

/// The passwords that variables hold or name, so that they can be hidden wherever a text holds one.
pub fn store_passwords(variables: &[(OsString, OsString)]) -> Vec<String> {
    let in_url = variable(variables, STORE_URL).and_then(|url| split_password(&url).1);
    let decoded = in_url.as_deref().and_then(decoded);
    let in_file = variable(variables, PASSWORD_FILE).and_then(|path| {
        let mut text = String::new();
        let file = plain_file::open(path.as_ref()).ok()?;
        file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
        Some(text.lines().next()?.to_owned())
    });
    let found = [in_url, decoded, variable(variables, PASSWORD), in_file];
    let found = found.into_iter().flatten();
    found.filter(|password| !password.is_empty()).collect()
}

/// A part of a URL with each `%2F` as the character that it stands for.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let code = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(code).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn variable(variables: &[(OsString, OsString)], name: &str) -> Option<String> {
    let found = variables.iter().find(|(n, _)| n == OsStr::new(name));
    found.and_then(|(_, value)| value.clone().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables, and the passwords in them.
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

    #[test]
    fn passwords_are_found_wherever_they_may_stand() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "in-file\nnot this\n").unwrap();
        let path = file.path().to_str().unwrap();
        let cases: [Case<'_>; 5] = [
            (&[], &[]),
            (
                &[(STORE_URL, "postgres://ada:a%2Fb@db/ralph")],
                &["a%2Fb", "a/b"],
            ),
            (&[(STORE_URL, "postgres://ada@db/ralph")], &[]),
            (
                &[(PASSWORD, "alone"), (PASSWORD_FILE, path)],
                &["alone", "in-file"],
            ),
            (&[(PASSWORD_FILE, "/nothing/there")], &[]),
        ];
        for (variables, expected) in cases {
            let variables: Vec<(OsString, OsString)> = variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect();
            assert_eq!(store_passwords(&variables), expected, "{variables:?}");
        }
    }
}
