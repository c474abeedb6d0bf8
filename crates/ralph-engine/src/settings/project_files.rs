//! Reads the files that guesses about a project are made from.
//!
//! A file that cannot be read as text is one that nothing is guessed from.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;

use ralph_core::config::ProjectFiles;

/// The most that is read of one file.
const MAX_BYTES: u64 = 1024 * 1024;

/// The names at a project's root, and the text of those that guessing looks into.
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
