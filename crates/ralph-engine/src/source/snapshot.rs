//! The task files as they were before an agent ran, kept where no agent writes, so that a claim
//! made in them is not believed either when ralph did not live to see it.
//!
//! A file of entries that is added to: only what changed is written again. An entry that was cut
//! off ends it. Not synced: it has to survive the end of ralph, not of the machine. It holds what people wrote, byte
//! for byte, secrets included: only its owner can read it, and it is gone when the loop has ended.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::File,
    io::{self, BufRead as _, BufWriter, Read as _, Write as _},
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::OpenOptionsExt as _,
    },
    path::{Path, PathBuf},
};

use ralph_core::{
    secret::Redaction,
    task::{
        TaskId,
        format::{self, Splice, Tampering},
    },
};
use serde::{Deserialize, Serialize};

use super::{Source, SourceError, SourceFile, TaskFiles, write_atomically};
use crate::plain_file::{self, FileStamp};

const FILE: &str = "task-files";
/// Below this size, out-of-date data costs nothing.
const SMALL: u64 = 1024 * 1024;

/// Writes the snapshots of one loop.
#[derive(Debug, Default)]
pub struct Snapshots {
    /// What the entries say of each file, by its path: where they are the same, none is added. Not by a path as such,
    /// which is taken apart each time that it is looked up.
    written: HashMap<OsString, Option<FileStamp>>,
    bytes: u64,
    /// The bytes of the entries when all were last written.
    all_bytes: u64,
    /// The task files that were there before the last run.
    pub(crate) known: Option<TaskFiles>,
}

#[derive(Serialize, Deserialize)]
enum SnapshotEntry {
    File {
        path: Vec<u8>,
        name: String,
        link: Option<Vec<u8>>,
        len: usize,
    },
    /// The file is as the entries before say, with these changes.
    Edits { path: Vec<u8>, splices: Vec<Splice> },
    /// All is as it was when this began.
    Mark(String),
}

/// A task file that an agent had changed when ralph was killed.
#[derive(Debug)]
pub struct RestoredTaskFile {
    pub path: PathBuf,
    pub tampering: Vec<Tampering>,
}

impl Snapshots {
    /// Notes how the files of `source` are, under a mark.
    pub fn take(&mut self, source: &Source, folder: &Path, mark: &str) -> Result<(), SourceError> {
        let path = folder.join(FILE);
        self.append(source, &path, mark)
            .map_err(|error| SourceError::Write {
                path,
                source: error,
            })
    }

    /// Removes the notes of a loop that has ended.
    pub fn discard(&mut self, folder: &Path) -> io::Result<()> {
        self.written.clear();
        plain_file::remove(&folder.join(FILE))
    }

    fn append(&mut self, source: &Source, path: &Path, mark: &str) -> io::Result<()> {
        let afresh = self.written.is_empty() || self.bytes > 2 * self.all_bytes + SMALL;
        if afresh {
            self.written.clear();
        }
        let new = path.with_extension("new");
        let out = if afresh {
            plain_file::remove(&new)?;
            let mut options = File::options();
            options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&new)?
        } else {
            File::options().append(true).open(path)?
        };
        // A large file goes past the buffer.
        let mut out = BufWriter::new(out);
        for file in &source.files {
            let before = self.written.get(file.path.as_os_str());
            if before == Some(&file.stamp) {
                continue;
            }
            let edits = before.and_then(|before| edits_since(file, *before));
            let path = file.path.clone().into_os_string();
            self.written.insert(path, file.stamp);
            if let Some(splices) = edits {
                let path = file.path.as_os_str().as_bytes().to_vec();
                write_entry(&mut out, &SnapshotEntry::Edits { path, splices })?;
                continue;
            }
            let entry = SnapshotEntry::File {
                path: file.path.as_os_str().as_bytes().to_vec(),
                name: file.name.clone(),
                link: file
                    .link
                    .as_ref()
                    .map(|l| l.as_os_str().as_bytes().to_vec()),
                len: file.bytes.len(),
            };
            write_entry(&mut out, &entry)?;
            out.write_all(&file.bytes)?;
            out.write_all(b"\n")?;
        }
        write_entry(&mut out, &SnapshotEntry::Mark(mark.to_owned()))?;
        out.flush()?;
        if afresh {
            std::fs::rename(&new, path)?;
        }
        self.bytes = path.metadata()?.len();
        if afresh {
            self.all_bytes = self.bytes;
        }
        Ok(())
    }
}

/// The changes that a file has had since it was in a state, where nothing else has happened to it.
fn edits_since(file: &SourceFile, stamp: Option<FileStamp>) -> Option<Vec<Splice>> {
    let edits = file.edits.as_ref()?;
    let from = edits.iter().rposition(|edit| edit.from == stamp)?;
    let splices = edits[from..].iter().flat_map(|edit| edit.splices.clone());
    stamp.map(|_| splices.collect())
}

/// Undoes what a run of an agent on `own` did to the files since `mark`, as far as it is not the
/// agent's to do. What is undone is kept in `folder`, as a person may have had a hand in it. Secrets that were not
/// there before are hidden in both.
pub fn put_back_since(
    folder: &Path,
    mark: &str,
    own: &TaskId,
    redaction: &Redaction,
) -> Result<Vec<RestoredTaskFile>, SourceError> {
    let mut restored = Vec::new();
    for mut file in read(&folder.join(FILE), mark).into_values() {
        file.clear_what_took_its_place()?;
        let now = plain_file::read(&file.path).unwrap_or_default();
        let put = format::undo_tampering(&file.name, &file.bytes, &now, own);
        let hidden = |text: &[u8]| redaction.hide_added(&file.bytes, text);
        let bytes = hidden(&put.bytes).map_or(put.bytes, |(hidden, _)| hidden);
        if bytes == now {
            continue;
        }
        let now = hidden(&now).map_or(now, |(hidden, _)| hidden);
        if let Some(name) = file.path.file_name() {
            let mut aside = OsString::from("taken-away-");
            aside.push(name);
            write_atomically(&folder.join(aside), &now)?;
        }
        file.replace(bytes)?;
        restored.push(RestoredTaskFile {
            path: file.path,
            tampering: put.tampering,
        });
    }
    Ok(restored)
}

fn write_entry(out: &mut impl io::Write, entry: &SnapshotEntry) -> io::Result<()> {
    serde_json::to_writer(&mut *out, entry)?;
    out.write_all(b"\n")
}

/// Returns whether `mark` is the last one that was set.
pub fn has_mark(folder: &Path, mark: &str) -> bool {
    read_all(&folder.join(FILE)).1.as_deref() == Some(mark)
}

/// The files as they were at `mark`, if that is the last one.
fn read(path: &Path, mark: &str) -> HashMap<PathBuf, SourceFile> {
    match read_all(path) {
        (files, Some(last)) if last == mark => files,
        _ => HashMap::new(),
    }
}

/// The files, and the last mark.
fn read_all(path: &Path) -> (HashMap<PathBuf, SourceFile>, Option<String>) {
    let mut files = HashMap::new();
    let mut last = None;
    let Ok(file) = File::open(path) else {
        return (files, last);
    };
    let mut input = io::BufReader::new(file);
    let mut line = Vec::new();
    while let Ok(1..) = input.read_until(b'\n', &mut line) {
        match serde_json::from_slice(&line) {
            Ok(SnapshotEntry::Mark(mark)) => last = Some(mark),
            Ok(SnapshotEntry::Edits { path, splices }) => {
                let file: Option<&mut SourceFile> = files.get_mut(&path_of(path));
                let performed = file.and_then(|file| {
                    let mut splices = splices.iter();
                    splices.try_for_each(|splice| splice.perform(&mut file.bytes).map(drop))
                });
                if performed.is_none() {
                    break;
                }
            }
            Ok(SnapshotEntry::File {
                path,
                name,
                link,
                len,
            }) => {
                let path = path_of(path);
                let mut bytes = vec![0; len + 1];
                if input.read_exact(&mut bytes).is_err() {
                    break;
                }
                bytes.truncate(len);
                let file = SourceFile {
                    path: path.clone(),
                    inside: None,
                    name,
                    format: format::Format::Native,
                    meta: format::Meta::default(),
                    warnings: Vec::new(),
                    reading: None,
                    checks: Vec::new(),
                    link: link.map(path_of),
                    bytes,
                    stamp: None,
                    syntax: format::Syntax::Yaml,
                    edits: None,
                };
                files.insert(path, file);
            }
            Err(_) => break,
        }
        line.clear();
    }
    (files, last)
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> (tempfile::TempDir, PathBuf, Source) {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("tasks.yaml");
        std::fs::write(&path, "- {id: a, title: a, status: open}\n").unwrap();
        let (source, _) = Source::read(&path, top.path()).unwrap();
        (top, path, source)
    }

    #[test]
    fn a_claim_made_since_the_mark_is_undone_and_kept_for_a_look() {
        let (top, path, mut source) = scratch();
        let own = TaskId::parse("a").unwrap();
        let mut snapshots = Snapshots::default();
        snapshots.take(&source, top.path(), "one").unwrap();
        std::fs::write(&path, "- {id: a, title: a, status: open, notes: x}\n").unwrap();
        let written = source.written();
        source
            .put_back(&written, &own, &Default::default())
            .unwrap();
        snapshots.take(&source, top.path(), "two").unwrap();
        let forged = "- {id: a, title: a, status: completed, notes: x}\n";
        let redaction = Redaction::default();
        std::fs::write(&path, forged).unwrap();
        assert!(
            put_back_since(top.path(), "one", &own, &redaction)
                .unwrap()
                .is_empty()
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), forged);
        let restored = put_back_since(top.path(), "two", &own, &redaction).unwrap();
        assert_eq!(restored.len(), 1);
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "- {id: a, title: a, status: open, notes: x}\n"
        );
        let aside = top.path().join("taken-away-tasks.yaml");
        assert_eq!(std::fs::read_to_string(aside).unwrap(), forged);
    }

    #[test]
    fn a_change_that_ralph_made_is_noted_without_the_rest_of_the_file() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("tasks.json");
        let text = "[{\"id\": \"a\", \"status\": \"open\"}, {\"id\": \"b\", \"status\": \"open\"}]";
        std::fs::write(&path, text).unwrap();
        let (mut source, tasks) = Source::read(&path, top.path()).unwrap();
        let mut snapshots = Snapshots::default();
        snapshots.take(&source, top.path(), "one").unwrap();
        let file = top.path().join(FILE);
        let before = std::fs::read(&file).unwrap().len();
        for task in &tasks {
            let edit = format::Edit {
                task: task.id.clone(),
                change: format::Change::Status(ralph_core::task::Status::Blocked),
            };
            source.write(&[edit], &|_| Some(task.place)).unwrap();
        }
        snapshots.take(&source, top.path(), "two").unwrap();
        let after = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&after[before..]).contains("\"id\""));
        let kept = read(&file, "two");
        let expected = text.replace("open", "blocked");
        assert_eq!(kept[&path].bytes, expected.as_bytes());
        // A change by another program is noted as a whole.
        std::fs::write(&path, text.replace("open", "skipped")).unwrap();
        let (source, _) = Source::read(&path, top.path()).unwrap();
        snapshots.take(&source, top.path(), "three").unwrap();
        let kept = read(&file, "three");
        assert_eq!(
            kept[&path].bytes,
            text.replace("open", "skipped").as_bytes()
        );
        for len in before..after.len() - 1 {
            std::fs::write(&file, &after[..len]).unwrap();
            assert!(read(&file, "two").is_empty(), "{len}");
        }
    }

    #[test]
    fn many_small_files_are_noted_once() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("tasks");
        std::fs::create_dir(&folder).unwrap();
        let long = "x".repeat(200);
        for n in 0..1_500 {
            let text = format!("{{\"id\": \"t{n}\", \"title\": \"t\"}}");
            std::fs::write(folder.join(format!("{long}{n}.json")), text).unwrap();
        }
        let (source, _) = Source::read(&folder, top.path()).unwrap();
        let mut snapshots = Snapshots::default();
        snapshots.take(&source, top.path(), "one").unwrap();
        let file = top.path().join(FILE);
        let before = std::fs::read(&file).unwrap();
        assert!(before.len() as u64 > SMALL, "as many as it takes");
        snapshots.take(&source, top.path(), "two").unwrap();
        let after = std::fs::read(&file).unwrap();
        assert_eq!(after[..before.len()], before);
        assert_eq!(&after[before.len()..], b"{\"Mark\":\"two\"}\n");
        assert_eq!(read(&file, "two").len(), 1_500);
    }

    #[test]
    fn an_entry_that_was_cut_off_is_none() {
        let (top, _, source) = scratch();
        Snapshots::default()
            .take(&source, top.path(), "one")
            .unwrap();
        let file = top.path().join(FILE);
        let bytes = std::fs::read(&file).unwrap();
        for len in 0..bytes.len() - 1 {
            std::fs::write(&file, &bytes[..len]).unwrap();
            assert!(read(&file, "one").is_empty(), "{len}");
        }
    }
}
