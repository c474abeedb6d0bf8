//! Reads configuration files, the variables that concern them, and the files that guesses about a project are made
//! from.
//!
//! Knows no key: only that a file must be text, of a size that a person could have written.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ralph_core::config::{ConfigFile, ProjectFiles, may_set_key, split_password};

use super::SettingsError;
use crate::plain_file;
use crate::process::is_placeholder;

/// The one variable that may hold a password besides what it sets.
const STORE_URL: &str = "RALPH_STORE_URL";

/// The most that is read of one file.
const MAX_BYTES: u64 = 1024 * 1024;

/// The names that a configuration file can have in its folder; the first is the usual one.
pub(crate) fn config_paths(folder: &Path) -> [PathBuf; 2] {
    [folder.join("ralph.yaml"), folder.join("ralph.yml")]
}

/// The configuration file of a folder, if there is one. Two of them are refused: which one holds
/// would be a guess.
pub(super) fn read_config_in(folder: &Path) -> Result<Option<ConfigFile>, SettingsError> {
    let [one, other] = config_paths(folder);
    let is_there = |path: &Path| match std::fs::symlink_metadata(path) {
        // While programs run in the person's own folder, it keeps them from making one.
        Ok(_) => Ok(!is_placeholder(path)),
        Err(error) if plain_file::is_absence(&error) => Ok(false),
        Err(source) => Err(SettingsError::Read {
            path: path.to_owned(),
            source,
        }),
    };
    match (is_there(&one)?, is_there(&other)?) {
        (false, false) => Ok(None),
        (true, false) => read_config(&one).map(Some),
        (false, true) => read_config(&other).map(Some),
        (true, true) => Err(SettingsError::Twice { one, other }),
    }
}

/// Reads a configuration file that must be there.
pub(super) fn read_config(path: &Path) -> Result<ConfigFile, SettingsError> {
    let failed = |source| SettingsError::Read {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, even one that keeps growing.
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(SettingsError::TooLarge {
            path: path.to_owned(),
            limit: MAX_BYTES,
        });
    }
    let text = String::from_utf8(bytes).map_err(|error| SettingsError::NotText {
        path: path.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    })?;
    Ok(ConfigFile {
        path: path.to_owned(),
        text,
    })
}

/// The variables that may set a key, as text.
pub(super) fn read_env(
    vars: &[(OsString, OsString)],
) -> Result<Vec<(String, String)>, SettingsError> {
    let mut env = Vec::new();
    for (name, value) in vars {
        // A name that is no text cannot be one of ours.
        let Some(name) = name.to_str().filter(|name| may_set_key(name)) else {
            continue;
        };
        let name = name.to_owned();
        match value.to_str() {
            // Its password is asked for where the server is.
            Some(value) if name == STORE_URL => env.push((name, split_password(value).0)),
            Some(value) => env.push((name, value.to_owned())),
            None => return Err(SettingsError::BadVariable { name }),
        }
    }
    Ok(env)
}

/// The names at a project's root, and the text of those that guessing looks into. Nothing is guessed from a file that
/// can't be read as text.
pub fn read_project_files(root: &Path) -> io::Result<ProjectFiles> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(root)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.insert(name);
        }
    }
    let mut texts = BTreeMap::new();
    for name in ProjectFiles::READ {
        if names.contains(name)
            && let Some(text) = read_text(&root.join(name))
        {
            texts.insert(name.to_owned(), text);
        }
    }
    Ok(ProjectFiles { names, texts })
}

fn read_text(path: &Path) -> Option<String> {
    // A fifo of that name would keep its reader waiting.
    if !path.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}
