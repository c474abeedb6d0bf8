//! Folders that were copied into a layer before a run, so that programs of an ordinary user can rename them.
//!
//! An overlay lets only root rename a folder of the lower one. What was copied and is still as it was copied is
//! no work of the agent's: it is told by the file's number and the time of its last change.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    journal_text::{path_from_text, path_to_text},
    layer::{UpperEntry, UpperKind},
};

/// The file in a layer's folder that lists them.
const NAME: &str = "copied.json";

/// The folders and files that were copied into a layer.
#[derive(Debug, Default)]
pub(super) struct CopiedFiles {
    folders: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, Stamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    number: u64,
    changed: (i64, i64),
}

#[derive(Default, Serialize, Deserialize)]
struct Listed {
    folders: Vec<String>,
    files: Vec<(String, Stamp)>,
}

impl CopiedFiles {
    /// Notes what folders of an upper folder hold, which were just copied there.
    pub(super) fn of(upper: &Path, folders: Vec<PathBuf>) -> io::Result<Self> {
        let mut copied = Self::default();
        let mut pending = folders;
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(upper.join(&folder))? {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                if entry.file_type()?.is_dir() {
                    pending.push(path);
                } else {
                    let stamp = Stamp::of(&entry.path())?;
                    copied.files.insert(path, stamp);
                }
            }
            copied.folders.insert(folder);
        }
        Ok(copied)
    }

    /// Reads what was noted in the folder of a layer; nothing where nothing was.
    pub(super) fn load(layer: &Path) -> Self {
        let text = std::fs::read(layer.join(NAME)).unwrap_or_default();
        let listed: Listed = serde_json::from_slice(&text).unwrap_or_default();
        let files = listed.files.iter();
        Self {
            folders: listed.folders.iter().map(|p| path_from_text(p)).collect(),
            files: files
                .map(|(p, stamp)| (path_from_text(p), *stamp))
                .collect(),
        }
    }

    pub(super) fn save(&self, layer: &Path) -> io::Result<()> {
        let files = self.files.iter();
        let listed = Listed {
            folders: self.folders.iter().map(|p| path_to_text(p)).collect(),
            files: files.map(|(p, stamp)| (path_to_text(p), *stamp)).collect(),
        };
        std::fs::write(layer.join(NAME), serde_json::to_vec(&listed)?)
    }

    /// Makes of what an upper folder holds what it would hold if nothing had been copied.
    pub(super) fn taken_out(&self, upper: &Path, entries: Vec<UpperEntry>) -> Vec<UpperEntry> {
        if self.folders.is_empty() {
            return entries;
        }
        let there: HashSet<PathBuf> = entries.iter().map(|entry| entry.path.clone()).collect();
        let changed = entries.into_iter().filter_map(|mut entry| {
            if let UpperKind::Folder { lower, .. } = &mut entry.kind
                && self.folders.contains(&entry.path)
            {
                *lower = Some(entry.path.clone());
            }
            let stamp = self.files.get(&entry.path);
            let is_as_copied = stamp.is_some_and(|stamp| {
                Stamp::of(&upper.join(&entry.path)).is_ok_and(|s| s == *stamp)
            });
            (!is_as_copied).then_some(entry)
        });
        let gone = self.files.keys().filter(|path| !there.contains(*path));
        let gone = gone.map(|path| UpperEntry {
            path: path.clone(),
            kind: UpperKind::Whiteout,
        });
        changed.chain(gone).collect()
    }
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let meta = std::fs::symlink_metadata(path)?;
        Ok(Self {
            number: meta.ino(),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> UpperEntry {
        UpperEntry {
            path: path.into(),
            kind: UpperKind::File {
                mode: 0o644,
                size: 1,
            },
        }
    }

    #[test]
    fn only_what_was_changed_since_it_was_copied_is_left() {
        let upper = tempfile::tempdir().unwrap();
        let upper = upper.path();
        std::fs::create_dir_all(upper.join("src/deep")).unwrap();
        for path in ["src/same", "src/edited", "src/gone", "src/deep/same"] {
            std::fs::write(upper.join(path), "1").unwrap();
        }
        let copied = CopiedFiles::of(upper, vec!["src".into()]).unwrap();
        copied.save(upper).unwrap();
        let copied = CopiedFiles::load(upper);
        // Written again: another file in the same place.
        std::fs::remove_file(upper.join("src/edited")).unwrap();
        std::fs::write(upper.join("src/other"), "2").unwrap();
        std::fs::write(upper.join("src/edited"), "2").unwrap();
        std::fs::remove_file(upper.join("src/gone")).unwrap();
        let folder = |path: &str, lower: Option<&str>| UpperEntry {
            path: path.into(),
            kind: UpperKind::Folder {
                mode: 0o755,
                lower: lower.map(PathBuf::from),
            },
        };
        let entries = vec![
            folder("src", None),
            file("src/same"),
            file("src/edited"),
            file("src/other"),
            folder("src/deep", None),
            file("src/deep/same"),
        ];
        let gone = UpperEntry {
            path: "src/gone".into(),
            kind: UpperKind::Whiteout,
        };
        assert_eq!(
            copied.taken_out(upper, entries),
            [
                folder("src", Some("src")),
                file("src/edited"),
                file("src/other"),
                folder("src/deep", Some("src/deep")),
                gone,
            ]
        );
    }
}
