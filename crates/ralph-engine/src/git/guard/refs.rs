//! Remembers where all refs were before programs of an agent ran, and puts them back.
//!
//! Reads and writes the files themselves, so that nothing that was written into one can stop it. The branch of
//! the loop may move: that is history, which is judged elsewhere. So may refs of ralph's own come into being.
//! Like the other snapshot, this one is on disk until it is released.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_core::change::shown;
use serde::{Deserialize, Serialize};

use super::super::lock;
use super::super::refs::branch_ref;
use super::super::reset::make_writable;
use super::super::wedge::{free_wedges, open_file};
use super::super::{GitError, Oid, Repo};
use super::objects::ObjectGuard;
use super::snapshot::{self, Kept, hex_path};

pub(super) const FILE: &str = "git-refs.json";
/// Refs that ralph makes while an iteration runs.
const OWN: &[u8] = b"refs/ralph/";
/// No ref is longer.
const MAX_REF_BYTES: u64 = 4_096;
/// The refs that are named one by one.
const MOST_NAMED: usize = 10;
/// Deeper than any name of a ref.
const MAX_DEPTH: usize = 64;

/// All refs as they were.
#[derive(Debug, Serialize, Deserialize)]
pub struct RefGuard {
    #[serde(skip)]
    state_dir: PathBuf,
    #[serde(skip)]
    begun_at: Option<SystemTime>,
    #[serde(with = "hex_path")]
    root: PathBuf,
    #[serde(with = "hex_path")]
    common_dir: PathBuf,
    /// The loop's own branch, as a whole name.
    branch: String,
    /// By their names, in hexadecimal digits.
    refs: BTreeMap<String, RefValue>,
    /// Files beside them: the list of stashes, the HEADs of other worktrees, settings of agents.
    files: Vec<(String, Kept)>,
    /// The worktree's own git folder.
    #[serde(with = "hex_path", default)]
    git_dir: PathBuf,
    /// Paths of ralph's own, relative to the root.
    #[serde(default)]
    own: Vec<String>,
    /// The folder of the task files, relative to the root, where each task has a file.
    #[serde(default)]
    task_folder: Option<String>,
    /// The folders among these, and those that they lie in, the outer ones first.
    #[serde(default)]
    own_folders: Vec<(String, Kept)>,
}

/// The files of the working tree that ralph guards, relative to the root.
#[derive(Debug, Clone, Copy)]
pub struct GuardedFiles<'a> {
    /// Those that are put back like refs.
    pub besides: &'a [PathBuf],
    /// Those of ralph's own.
    pub own: &'a [PathBuf],
    /// The folder of the task files, where each task has a file: none of them is in `own`.
    pub task_folder: Option<&'a Path>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum RefValue {
    /// The text of it, in a file of its own or among the packed ones.
    Text(String),
    /// No file, or no text.
    Other(Kept),
}

/// The owner of the changes that are put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedBy {
    /// A program of the agent's has just run.
    Programs,
    /// After a crash: what was changed later than this is a person's.
    ProgramsUntil(SystemTime),
}

impl RefGuard {
    /// Takes a snapshot, before programs of an agent run. The objects of git that were there when an earlier one of
    /// this process was begun are known.
    pub fn take(
        repo: &Repo,
        branch: &str,
        guarded: GuardedFiles<'_>,
        earlier: Option<SystemTime>,
    ) -> Result<Self, GitError> {
        let GuardedFiles {
            besides,
            own,
            task_folder,
        } = guarded;
        let path = repo.state_dir.join(FILE);
        let temporary = repo.state_dir.join(format!("{FILE}.new"));
        let failed = || GitError::io("write", &path);
        let mut file = fs::File::create(&temporary).map_err(failed())?;
        let begun_at = file.metadata().and_then(|meta| meta.modified()).ok();
        let mut paths = vec![repo.common_dir.join("logs/refs/stash")];
        paths.extend(other_heads(repo));
        paths.extend(besides.iter().map(|path| repo.root.join(path)));
        let files = paths
            .iter()
            .map(|path| Ok((snapshot::hex(path.as_os_str().as_bytes()), Kept::of(path)?)))
            .collect::<Result<_, GitError>>()?;
        let guard = Self {
            state_dir: repo.state_dir.clone(),
            begun_at,
            root: repo.root.clone(),
            common_dir: repo.common_dir.clone(),
            branch: branch_ref(branch),
            refs: read_all(&repo.common_dir)?,
            files,
            git_dir: repo.git_dir.clone(),
            own: own.iter().map(|path| hex_of(path)).collect(),
            task_folder: task_folder.map(hex_of),
            own_folders: folders_of(&repo.root, own, task_folder)?,
        };
        guard.objects().keep(earlier)?;
        let text =
            serde_json::to_vec(&guard).map_err(|e| GitError::io("write", &path)(e.into()))?;
        file.write_all(&text)
            .and_then(|()| fs::rename(&temporary, &path))
            .map_err(failed())?;
        Ok(guard)
    }

    /// Returns when the snapshot was begun, by the clock of the file system.
    pub fn begun_at(&self) -> Option<SystemTime> {
        self.begun_at
    }

    /// The snapshot that a run of ralph left which did not end well.
    pub fn load(state_dir: &Path) -> Result<Option<Self>, GitError> {
        let guard = snapshot::load::<Self>(&state_dir.join(FILE))?;
        Ok(guard.map(|guard| Self {
            state_dir: state_dir.to_owned(),
            ..guard
        }))
    }

    /// Takes away what would keep git from looking at the working tree, or ralph from its own files; says what it
    /// was. Nothing is written through what an agent put in the place of a folder.
    ///
    /// `changed` is asked for the files in the folder of the tasks that may have been closed, once that folder is
    /// right.
    pub fn free_wedges(
        &self,
        changed: impl FnOnce() -> Vec<PathBuf>,
    ) -> Result<Vec<String>, GitError> {
        let mut said = Vec::new();
        for (path, was) in &self.own_folders {
            let path = snapshot::unhex_path(path);
            let full = self.root.join(&path);
            if let Some(above) = full.parent() {
                make_writable(above);
            }
            let now = Kept::of(&full)?;
            let is_right = match (was, &now) {
                (Kept::Absent, Kept::Absent | Kept::Folder) => true,
                (Kept::Absent, Kept::File { .. }) => !self.has_below(&path),
                (was, now) => was == now,
            };
            if is_right {
                continue;
            }
            was.put_back(&full)?;
            // One that was removed is made again without words.
            if now != Kept::Absent {
                said.push(format!("{} is {} now", shown(&path), now.kind()));
            }
        }
        let own = self.own.iter().chain(&self.task_folder);
        let own: Vec<PathBuf> = own.map(|path| snapshot::unhex_path(path)).collect();
        said.extend(free_wedges(&self.root, self.taken_at(), &own));
        if let Some(folder) = &self.task_folder {
            make_writable(&self.root.join(snapshot::unhex_path(folder)));
            let changed = changed().into_iter();
            said.extend(changed.filter_map(|path| open_file(&self.root, &path)));
        }
        Ok(said)
    }

    /// The files in the folder of the tasks, relative to the root.
    pub fn task_files(&self) -> Vec<PathBuf> {
        let folder = self.task_folder.as_ref().map(|f| snapshot::unhex_path(f));
        let files = folder.into_iter().flat_map(|folder| {
            let entries = fs::read_dir(self.root.join(&folder)).into_iter().flatten();
            entries
                .flatten()
                .map(move |entry| folder.join(entry.file_name()))
        });
        files.collect()
    }

    /// Tells whether a path is a folder of another one of ralph's own.
    fn has_below(&self, folder: &Path) -> bool {
        let own = self.own.iter().chain(&self.task_folder);
        let mut own = own.map(|path| snapshot::unhex_path(path));
        own.any(|path| path != folder && path.starts_with(folder))
    }

    /// Puts back what changed, and says what it was.
    pub fn restore_changed(&self, by: ChangedBy) -> Result<Vec<String>, GitError> {
        let taken_at = self.taken_at();
        if !self.git_dir.as_os_str().is_empty() {
            lock::remove_left(&self.git_dir, &self.common_dir, taken_at);
        }
        let top = self.common_dir.join("refs");
        if top.is_symlink() {
            Kept::Folder.put_back(&top)?;
        }
        self.mend_packed()?;
        let now = read_all(&self.common_dir)?;
        let is_own_branch = |name: &[u8]| name == self.branch.as_bytes();
        let names: BTreeSet<&String> = self.refs.keys().chain(now.keys()).collect();
        let (mut comes, mut goes, mut said) = (Vec::new(), Vec::new(), Vec::new());
        let until = match by {
            ChangedBy::Programs => None,
            ChangedBy::ProgramsUntil(until) => Some(until),
        };
        if let count @ 1.. = self.objects().put_back(taken_at, until)? {
            let files = if count == 1 { "file" } else { "files" };
            said.push(format!(
                "{count} {files} with objects of git were deleted and are put back"
            ));
        }
        for name in names {
            let (was, is) = (self.refs.get(name), now.get(name));
            let bytes = snapshot::unhex_path(name).into_os_string();
            let bytes = bytes.as_bytes();
            let may_move = is_own_branch(bytes) && is.is_none_or(RefValue::is_commit);
            let may_come = was.is_none() && bytes.starts_with(OWN);
            if was == is || may_move || may_come {
                continue;
            }
            let path = PathBuf::from(OsStr::from_bytes(bytes));
            if self.is_later(&path, by) {
                said.push(format!(
                    "{} was changed after the run; it is left as it is",
                    shown(&path)
                ));
                continue;
            }
            said.push(sentence(&path, was, is));
            match was {
                Some(was) => comes.push((path, was)),
                None => goes.push(path),
            }
        }
        // A name that is in the way of another goes first.
        for path in &goes {
            self.remove(path)?;
        }
        self.unpack(&goes)?;
        for (path, was) in comes {
            self.write(&path, was)?;
        }
        for (path, was) in &self.files {
            let path = snapshot::unhex_path(path);
            let is_changed = Kept::of(&path)? != *was;
            if is_changed && !self.is_later(&path, by) {
                was.put_back(&path)?;
                let name = path.strip_prefix(&self.root).unwrap_or(&path);
                said.push(format!("{} was changed and is put back", shown(name)));
            }
        }
        if let Some(more @ 1..) = said.len().checked_sub(MOST_NAMED) {
            said.truncate(MOST_NAMED);
            said.push(format!("{more} more refs were changed and are put back"));
        }
        Ok(said)
    }

    fn objects(&self) -> ObjectGuard {
        ObjectGuard::new(&self.common_dir, &self.state_dir)
    }

    /// Returns when the snapshot was taken, by the clock of the file system.
    pub fn taken_at(&self) -> SystemTime {
        let written = fs::metadata(self.state_dir.join(FILE));
        let written = written.and_then(|meta| meta.modified());
        written.unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Tells whether nothing was made, deleted or renamed in a folder since the snapshot was taken; false where the
    /// folder may have another clock.
    pub fn is_unchanged(&self, folder: &Path) -> bool {
        let (Ok(taken), Ok(folder)) = (
            fs::symlink_metadata(self.state_dir.join(FILE)),
            fs::symlink_metadata(folder),
        ) else {
            return false;
        };
        let written = (taken.mtime(), taken.mtime_nsec());
        taken.dev() == folder.dev() && (folder.ctime(), folder.ctime_nsec()) < written
    }

    /// Ends the watch.
    pub fn release(self) -> Result<(), GitError> {
        super::super::repo::remove_if_there(&self.state_dir.join(FILE))
    }

    /// Tells whether a ref was changed when no program of an agent's was alive any more.
    fn is_later(&self, path: &Path, by: ChangedBy) -> bool {
        let ChangedBy::ProgramsUntil(until) = by else {
            return false;
        };
        let full = self.common_dir.join(path);
        let own = changed_at(&full);
        let changed = own.or_else(|| {
            // Of one that is gone its folder tells, or the file of the packed ones.
            let folder = full.ancestors().skip(1).find_map(changed_at);
            folder.max(changed_at(&self.common_dir.join("packed-refs")))
        });
        changed.is_some_and(|at| at > until)
    }

    fn remove(&self, path: &Path) -> Result<(), GitError> {
        for full in [
            self.common_dir.join(path),
            self.common_dir.join("logs").join(path),
        ] {
            Kept::Absent.put_back(&full)?;
            // Folders that are empty then would be in the way of a shorter name.
            let tops = ["refs/heads", "refs/tags", "logs/refs"];
            for above in full.ancestors().skip(1) {
                let is_below = tops.iter().any(|top| {
                    let top = self.common_dir.join(top);
                    above.starts_with(&top) && above != top
                });
                if !is_below || fs::remove_dir(above).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Makes the file of the packed refs one that git can read: anything else in its place stops every call.
    fn mend_packed(&self) -> Result<(), GitError> {
        let path = self.common_dir.join("packed-refs");
        let kept = Kept::of(&path)?;
        let Some(bytes) = kept.bytes() else {
            return if kept == Kept::Absent {
                Ok(())
            } else {
                Kept::Absent.put_back(&path)
            };
        };
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let is_header = |line: &[u8]| line.starts_with(b"# pack-refs with:");
        let refs: Vec<(&[u8], &[u8])> = lines.iter().filter_map(|line| packed_line(line)).collect();
        let is_right = lines.iter().enumerate().all(|(at, line)| {
            line.ends_with(b"\n")
                && match line.first() {
                    Some(b'#') => at == 0 && is_header(line),
                    Some(b'^') => at > 0 && is_oid(&line[1..line.len() - 1]),
                    Some(_) | None => packed_line(line).is_some_and(|(oid, _)| is_oid(oid)),
                }
        });
        if is_right && refs.is_sorted_by_key(|(_, name)| *name) {
            return Ok(());
        }
        let mut refs: Vec<(&[u8], &[u8])> =
            refs.into_iter().filter(|(oid, _)| is_oid(oid)).collect();
        refs.sort_by_key(|(_, name)| *name);
        let mended: Vec<u8> = refs
            .iter()
            .flat_map(|(oid, name)| [*oid, b" ", *name, b"\n"].concat())
            .collect();
        let mended = Kept::File {
            hex: snapshot::hex(&mended),
            mode: 0o644,
        };
        mended.put_back(&path)
    }

    /// Takes names out of the file of the packed refs.
    fn unpack(&self, names: &[PathBuf]) -> Result<(), GitError> {
        let path = self.common_dir.join("packed-refs");
        let Some(bytes) = Kept::of(&path)?.bytes() else {
            return Ok(());
        };
        let names: BTreeSet<&[u8]> = names.iter().map(|n| n.as_os_str().as_bytes()).collect();
        let mut kept = Vec::with_capacity(bytes.len());
        let mut is_dropped = false;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            // What a tag points to stands below it.
            if !line.starts_with(b"^") {
                let name = packed_line(line).map(|(_, name)| name);
                is_dropped = name.is_some_and(|name| names.contains(name));
            }
            if !is_dropped {
                kept.extend(line);
            }
        }
        if kept.len() == bytes.len() {
            return Ok(());
        }
        let kept = Kept::File {
            hex: snapshot::hex(&kept),
            mode: 0o644,
        };
        kept.put_back(&path)
    }

    fn write(&self, path: &Path, was: &RefValue) -> Result<(), GitError> {
        let mut folder = self.common_dir.clone();
        for part in path.parent().into_iter().flat_map(Path::iter) {
            folder.push(part);
            let is_folder = fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir());
            if !is_folder {
                Kept::Folder.put_back(&folder)?;
            }
        }
        let full = self.common_dir.join(path);
        match was {
            RefValue::Text(text) => {
                let file = Kept::File {
                    hex: snapshot::hex(format!("{text}\n").as_bytes()),
                    mode: 0o644,
                };
                file.put_back(&full)
            }
            RefValue::Other(kept) => kept.put_back(&full),
        }
    }
}

/// The folders among these paths, and those that they lie in, as they are. What is a file is none.
fn folders_of(
    root: &Path,
    own: &[PathBuf],
    task_folder: Option<&Path>,
) -> Result<Vec<(String, Kept)>, GitError> {
    let own = own.iter().map(PathBuf::as_path).chain(task_folder);
    let within = own.filter(|path| path.is_relative());
    let all: BTreeSet<&Path> = within
        .flat_map(|path| path.ancestors())
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    let mut folders = Vec::new();
    for path in all {
        let full = root.join(path);
        let is_file = full.symlink_metadata().is_ok_and(|meta| meta.is_file());
        if !is_file {
            folders.push((hex_of(path), Kept::of(&full)?));
        }
    }
    Ok(folders)
}

fn hex_of(path: &Path) -> String {
    snapshot::hex(path.as_os_str().as_bytes())
}

impl RefValue {
    fn is_commit(&self) -> bool {
        matches!(self, Self::Text(text) if Oid::parse(text).is_ok())
    }

    fn short(&self) -> Option<&str> {
        match self {
            Self::Text(text) if self.is_commit() => text.get(..10),
            Self::Text(_) | Self::Other(_) => None,
        }
    }
}

fn sentence(path: &Path, was: Option<&RefValue>, is: Option<&RefValue>) -> String {
    let name = shown(path);
    let to = is.and_then(RefValue::short);
    match (was, is, to) {
        (None, _, Some(to)) => format!("{name} was made, at {to}, and is removed"),
        (None, _, None) => format!("{name} was made and is removed"),
        (Some(_), None, _) => format!("{name} was deleted and is put back"),
        (Some(_), Some(_), Some(to)) => format!("{name} was moved to {to} and is put back"),
        (Some(_), Some(_), None) => format!("{name} was overwritten and is put back"),
    }
}

/// Everything below `refs`, and what is packed and has no file.
fn read_all(common_dir: &Path) -> Result<BTreeMap<String, RefValue>, GitError> {
    let mut found = BTreeMap::new();
    let packed = Kept::of(&common_dir.join("packed-refs"))?.bytes();
    for line in packed.unwrap_or_default().split(|byte| *byte == b'\n') {
        if let Some((value, name)) = packed_line(line) {
            let value = String::from_utf8_lossy(value).into_owned();
            found.insert(snapshot::hex(name), RefValue::Text(value));
        }
    }
    let mut folders = vec![(PathBuf::from("refs"), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let full = common_dir.join(&folder);
        let entries = fs::read_dir(&full).or_else(|_| {
            make_writable(&full);
            fs::read_dir(&full)
        });
        for entry in entries.into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            } else if !is_folder && !path.as_os_str().as_bytes().ends_with(b".lock") {
                let value = read_one(&entry.path())?;
                found.insert(snapshot::hex(path.as_os_str().as_bytes()), value);
            }
        }
    }
    Ok(found)
}

fn read_one(path: &Path) -> Result<RefValue, GitError> {
    let meta = fs::symlink_metadata(path);
    if meta.is_ok_and(|meta| meta.is_file() && meta.len() > MAX_REF_BYTES) {
        return Ok(RefValue::Other(Kept::Special));
    }
    let kept = Kept::of(path)?;
    let text = kept.bytes().and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(match text {
        Some(text) => RefValue::Text(text.trim_end().to_owned()),
        None => RefValue::Other(kept),
    })
}

fn packed_line(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if line.starts_with(b"#") || line.starts_with(b"^") {
        return None;
    }
    let space = memchr::memchr(b' ', line)?;
    Some((&line[..space], &line[space + 1..]))
}

fn is_oid(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| Oid::parse(text).is_ok())
}

/// HEAD of the main worktree and of the others, but that of this one.
fn other_heads(repo: &Repo) -> Vec<PathBuf> {
    let worktrees = repo.common_dir.join("worktrees");
    let linked = fs::read_dir(worktrees).into_iter().flatten().flatten();
    let folders = linked.map(|entry| entry.path());
    folders
        .chain([repo.common_dir.clone()])
        .filter(|folder| *folder != repo.git_dir)
        .map(|folder| folder.join("HEAD"))
        .collect()
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    let meta = fs::symlink_metadata(path).ok()?;
    let seconds = Duration::from_secs(u64::try_from(meta.ctime()).ok()?);
    let nanos = Duration::from_nanos(u64::try_from(meta.ctime_nsec()).ok()?);
    Some(SystemTime::UNIX_EPOCH + seconds + nanos)
}
