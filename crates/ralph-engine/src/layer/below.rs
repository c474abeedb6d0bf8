//! The folders below an upper folder, as one: what a program in a layer sees where it wrote nothing.
//!
//! Reads folders that no agent could write. What a person changes in the last of them meanwhile shows.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::upper::{Descent, FolderEntries, FolderLook, UpperFolder, UpperKind};
use crate::process::OverlayXattrs;

/// Folders that are laid over each other.
#[derive(Debug, Clone)]
pub struct Below {
    /// Top first; the last one is the user's.
    pub folders: Vec<PathBuf>,
    /// The attributes that the marks in them have.
    pub xattrs: OverlayXattrs,
}

/// A file or a link that shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BelowFile {
    /// From the root of the layer.
    pub path: PathBuf,
    /// The place where it really is.
    pub from: PathBuf,
    /// As long as it is; 0 for a link.
    pub size: u64,
}

impl Below {
    /// Lists the files and links that show below a folder. Special files are left out.
    pub fn files(
        &self,
        folder: &Path,
        mut descend: impl FnMut(&Path) -> Descent,
    ) -> io::Result<Vec<BelowFile>> {
        let mut open = Vec::new();
        for path in &self.folders {
            open.push((path.as_path(), UpperFolder::open(path, self.xattrs)?));
        }
        let mut on_the_way: Vec<&Path> = folder.ancestors().skip(1).collect();
        on_the_way.reverse();
        let mut all: Vec<usize> = (0..open.len()).collect();
        for above in on_the_way {
            let looks = looks(&open, &all, above)?;
            all = looks.into_iter().map(|(at, _)| at).collect();
        }
        let mut found = Vec::new();
        let mut pending = vec![(folder.to_owned(), all)];
        while let Some((folder, among)) = pending.pop() {
            let looks = looks(&open, &among, &folder)?;
            let showing: Vec<usize> = looks.iter().map(|(at, _)| *at).collect();
            let mut seen = BTreeSet::new();
            for (position, (at, entries)) in looks.into_iter().enumerate() {
                for (name, kind) in entries {
                    if !seen.insert(name.clone()) {
                        continue;
                    }
                    let path = folder.join(name);
                    match kind {
                        None if descend(&path) == Descent::Enter => {
                            let below = showing.get(position..).unwrap_or_default();
                            pending.push((path, below.to_vec()));
                        }
                        Some(UpperKind::File { size, .. }) => found.push((at, path, size)),
                        Some(UpperKind::Symlink) => found.push((at, path, 0)),
                        _ => {}
                    }
                }
            }
        }
        let files = found.into_iter().filter_map(|(at, path, size)| {
            let from = open.get(at)?.0.join(&path);
            Some(BelowFile { path, from, size })
        });
        Ok(files.collect())
    }
}

/// The folders of which something shows at a path, top first, with what they have there.
fn looks(
    open: &[(&Path, UpperFolder)],
    among: &[usize],
    path: &Path,
) -> io::Result<Vec<(usize, FolderEntries)>> {
    let mut found = Vec::new();
    for &at in among {
        let Some((_, folder)) = open.get(at) else {
            continue;
        };
        match folder.look(path)? {
            FolderLook::Absent => {}
            FolderLook::Hiding => break,
            FolderLook::Folder { entries, is_opaque } => {
                found.push((at, entries));
                if is_opaque {
                    break;
                }
            }
        }
    }
    Ok(found)
}
