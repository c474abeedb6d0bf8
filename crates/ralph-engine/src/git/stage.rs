//! Writes the tree as it will be committed, before it is verified.
//!
//! Compares the working tree with the base by an index that no agent can write, so it sees the same
//! whether the agent staged, committed or only wrote files. Runs no hook and no program that the
//! repository names; large files are named, not stored.

use std::collections::HashSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_core::change::{ChangeKind, ChangeSet, Changed, EntryKind};

use super::call::Index;
use super::index_file::IndexFile;
use super::refs::{HeadFile, read_head, read_ref};
use super::repo::{StageIndex, StagedTree, State, remove_if_there};
use super::status::{Seen, path_of};
use super::take::Taken;
use super::untouched::{DiskMoment, StagedLook};
use super::wedge::make_readable;
use super::{GitError, History, Oid, Repo};

pub struct StageSpec<'a> {
    pub base: &'a Oid,
    pub branch: &'a str,
    /// Untracked files from before the agent; a person's, so never committed.
    pub untracked_before: &'a HashSet<PathBuf>,
    /// Files and folders of ralph's own; left as they are at the base.
    pub own_paths: &'a [PathBuf],
    /// Larger files are listed but not stored, as they will be refused.
    pub max_file_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    pub tree: Oid,
    /// Where the branch stands now; differs from the base if the agent committed.
    pub tip: Option<Oid>,
    pub history: History,
    pub change: ChangeSet,
    /// Paths that are in `change` but not in `tree`: too large, special files, repositories without
    /// a commit. An inspection refuses all of them.
    pub left_out: Vec<PathBuf>,
}

impl Repo {
    pub async fn stage(&self, spec: &StageSpec<'_>) -> Result<Staged, GitError> {
        let mut state = self.in_order().await;
        let history = self.history_now(spec.base, spec.branch).await?;
        let since = DiskMoment::now(self.shadow.path());
        let mut seen = self.scan_against(spec.base, &mut state).await?;
        let mut changes = self.changes(&seen, spec);
        if let History::Ahead { tip } = &history {
            self.add_ignored_but_committed(&mut changes, tip, spec)
                .await?;
        }
        let index = self.index_work(&state, &changes, spec).await?;
        changes.extend(index.changes(self));
        for changed in &mut changes {
            let is_file = matches!(changed.entry, EntryKind::File | EntryKind::Executable);
            if is_file && make_readable(&self.root.join(&changed.path)) {
                changed.entry = EntryKind::Unreadable;
            }
        }
        let (kept, left_out) = self.split_off_unstorable(&changes, spec.max_file_bytes);
        let mut tree = self.write_staged(&mut state, &kept, &index).await?;
        // What is written by hand is written whatever there is.
        let by_git = state.staged.as_ref().is_some_and(|s| s.files.is_none());
        if by_git && !self.drop_forged(spec.base, &tree).await?.is_empty() {
            // Git had not written what it took for written.
            tree = self.write_staged(&mut state, &kept, &index).await?;
            if let Some(forged) = self.drop_forged(spec.base, &tree).await?.pop() {
                return Err(GitError::Unexpected {
                    command: format!("read {forged}"),
                    answer: "another object than its name says".into(),
                });
            }
        }
        let is_all_staged = history == History::Unmoved && left_out.is_empty() && index.is_empty();
        if let (Some(staged), Ok(since), true) = (&mut state.staged, since, is_all_staged) {
            let kept: HashSet<&Path> = kept.into_iter().collect();
            seen.changed.retain(|entry| !kept.contains(&*entry.path));
            seen.untracked.retain(|path| !kept.contains(&**path));
            staged.look = Some(StagedLook { since, rest: seen });
        }
        let tip = read_ref(&self.common_dir, &super::refs::branch_ref(spec.branch))?;
        Ok(Staged {
            tree,
            tip,
            history,
            change: ChangeSet { changes },
            left_out,
        })
    }

    /// Makes the tree of what is to be committed, and remembers its index.
    async fn write_staged(
        &self,
        state: &mut State,
        kept: &[&Path],
        index: &IndexWork,
    ) -> Result<Oid, GitError> {
        if kept.is_empty() {
            return self.write_tree(Index::Base).await;
        }
        let files = PathsIn {
            dropped: Some(&index.dropped),
            ..self.in_root(kept)
        };
        let staged = if index.renormalised.is_empty() {
            self.stage_paths(&files).await?
        } else {
            // Git takes what has not changed for stored already, whatever the attributes say now.
            self.copy_base_to_stage()?;
            let again: Vec<&Path> = index.renormalised.iter().map(PathBuf::as_path).collect();
            let args = ["update-index", "--force-remove", "-z", "--stdin"];
            let call = self.git(args).index(Index::Stage);
            call.stdin(joined(&again)).run().await?;
            self.update_stage(&files).await?;
            StagedTree {
                tree: self.write_tree(Index::Stage).await?,
                index: StageIndex::OnDisk,
                files: None,
                look: None,
            }
        };
        Ok(state.staged.insert(staged).tree.clone())
    }

    /// Finds the work that an agent did in the index alone: files that it stopped tracking and ignores, ignored
    /// ones that it added by force, and ones that are stored in another form by new attributes.
    async fn index_work(
        &self,
        state: &State,
        changes: &[Changed],
        spec: &StageSpec<'_>,
    ) -> Result<IndexWork, GitError> {
        let mut work = IndexWork::default();
        if !self.is_real_index_touched(state) {
            return Ok(work);
        }
        let agent_index = self.index_of_agent(Some(&self.real_index()));
        let Some(meant) = agent_index.as_ref().and_then(IndexFile::parse) else {
            return Ok(work);
        };
        // An index without entries was lost, not emptied path by path.
        if meant.entries.is_empty() {
            return Ok(work);
        }
        let known: HashSet<&Path> = changes.iter().map(|c| c.path.as_path()).collect();
        let is_foreign = |path: &Path| {
            spec.own_paths.iter().any(|own| path.starts_with(own))
                || spec.untracked_before.contains(path)
                || known.contains(path)
                || !self.is_there(path)
        };
        let base = self.base_entries().await?;
        let tracked = base.tracked()?;
        let (mut untracked, mut other) = (Vec::new(), Vec::new());
        for file in tracked.all() {
            let found = meant.entries.binary_search_by(|e| e.path.cmp(file.path));
            let entry = found.ok().and_then(|at| meant.entries.get(at));
            let path = path_of(file.path);
            match entry {
                None if !is_foreign(&path) => untracked.push(path),
                Some(entry) if *entry.id != *file.id && !is_foreign(&path) => {
                    other.push((path, Oid::from_bytes(&file.id)));
                }
                None | Some(_) => {}
            }
        }
        for entry in &meant.entries {
            let path = path_of(entry.path);
            if !tracked.holds(&path) && !is_foreign(&path) {
                work.forced.push(path);
            }
        }
        if !untracked.is_empty() {
            let paths: Vec<&Path> = untracked.iter().map(PathBuf::as_path).collect();
            work.dropped = self.check_ignore(&paths, &self.root).await?;
        }
        other.retain(|(path, _)| !path.as_os_str().as_bytes().contains(&b'\n'));
        if !other.is_empty() {
            let mut list = Vec::new();
            for (path, _) in &other {
                list.extend(path.as_os_str().as_bytes());
                list.push(b'\n');
            }
            let hashed = self.git(["hash-object", "--stdin-paths"]).stdin(list);
            let hashed = String::from_utf8_lossy(&hashed.run().await?).into_owned();
            let stored = hashed.lines().zip(other);
            let changed = stored.filter(|(now, (_, was))| *now != was.as_str());
            work.renormalised = changed.map(|(_, (path, _))| path).collect();
        }
        Ok(work)
    }

    /// Removes objects of a tree that are not what their names say, and returns those. A file of that name was
    /// there before git could write it.
    async fn drop_forged(&self, base: &Oid, tree: &Oid) -> Result<Vec<String>, GitError> {
        let base = format!("^{base}^{{tree}}");
        let args = [
            "rev-list",
            "--objects",
            "--verify-objects",
            tree.as_str(),
            &base,
        ];
        let answer = self.git(args).answer().await?;
        let mut forged = Vec::new();
        let is_bad = |line: &&str| {
            ["mismatch", "corrupt", "unpack"]
                .iter()
                .any(|w| line.contains(w))
        };
        let bad = answer.stderr().lines().filter(is_bad);
        for word in bad.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric())) {
            let Ok(oid) = Oid::parse(word) else { continue };
            let (first, rest) = oid.as_str().split_at(2);
            remove_if_there(&self.common_dir.join("objects").join(first).join(rest))?;
            forged.push(oid.to_string());
        }
        if forged.is_empty() && answer.code != Some(0) {
            return Err(answer.into_error());
        }
        Ok(forged)
    }

    /// Makes a tree of the base with these paths as they are, and stores it.
    pub(super) async fn stage_paths(&self, files: &PathsIn<'_>) -> Result<StagedTree, GitError> {
        if let Some(taken) = self.take_from(Index::Base, files).await? {
            if let Some(objects) = &self.objects {
                objects.write(&taken.tree.new)?;
            }
            return Ok(StagedTree {
                tree: taken.tree.oid,
                index: StageIndex::Held(taken.index),
                files: Some(taken.files),
                look: None,
            });
        }
        self.copy_base_to_stage()?;
        self.update_stage(files).await?;
        Ok(StagedTree {
            tree: self.write_tree(Index::Stage).await?,
            index: StageIndex::OnDisk,
            files: None,
            look: None,
        })
    }

    pub(super) async fn take_from(
        &self,
        index: Index,
        files: &PathsIn<'_>,
    ) -> Result<Option<Taken>, GitError> {
        let Some(objects) = &self.objects else {
            return Ok(None);
        };
        match IndexFile::read(&self.shadow.index_of(index), objects.format())? {
            Some(index) => self.take_by_hand(&index, files).await,
            None => Ok(None),
        }
    }

    /// A link will do: an index is never changed, only replaced.
    pub(super) fn copy_base_to_stage(&self) -> Result<(), GitError> {
        let (from, to) = (self.shadow.index(), self.shadow.stage_index());
        remove_if_there(&to)?;
        fs::hard_link(&from, &to).map_err(GitError::io("link", &from))
    }

    /// Takes paths over into the stage index as they are in their folder.
    pub(super) async fn update_stage(&self, files: &PathsIn<'_>) -> Result<(), GitError> {
        let (hidden, plain): (Vec<&Path>, Vec<&Path>) = files
            .paths
            .iter()
            .partition(|path| files.is_dropped(path) || files.is_behind_symlink(path));
        // A path behind what is now a symlink can only be removed by force.
        if !hidden.is_empty() {
            let args = ["update-index", "--force-remove", "-z", "--stdin"];
            self.git(args)
                .index(Index::Stage)
                .stdin(joined(&hidden))
                .run()
                .await?;
        }
        // What is gone comes first: it may make room for a file where a folder was.
        let (mut ordered, there): (Vec<&Path>, Vec<&Path>) =
            plain.iter().partition(|path| !files.is_there(path));
        ordered.extend(there);
        let args = [
            "update-index",
            "--add",
            "--remove",
            "--replace",
            "-z",
            "--stdin",
        ];
        self.git(args)
            .index(Index::Stage)
            .work_tree(files.folder)
            .stdin(joined(&ordered))
            .run()
            .await
            .map(drop)
    }

    fn changes(&self, seen: &Seen, spec: &StageSpec<'_>) -> Vec<Changed> {
        let own = |path: &PathBuf| spec.own_paths.iter().any(|own| path.starts_with(own));
        let tracked = seen
            .changed
            .iter()
            .filter(|entry| entry.worktree != b'.' && !own(&entry.path))
            .map(|entry| (&entry.path, entry.worktree));
        let untracked = seen
            .untracked
            .iter()
            .filter(|path| !spec.untracked_before.contains(*path) && !own(path))
            .map(|path| (path, b'A'));
        tracked
            .chain(untracked)
            .map(|(path, letter)| self.look_at(path, letter))
            .collect()
    }

    fn look_at(&self, path: &Path, letter: u8) -> Changed {
        let full = self.root.join(path);
        let meta = fs::symlink_metadata(&full)
            .ok()
            .filter(|_| !self.is_behind_symlink(path));
        let (entry, size) = match &meta {
            None => (EntryKind::Gone, 0),
            Some(meta) if meta.is_symlink() => {
                let target = fs::read_link(&full).unwrap_or_default();
                (EntryKind::Symlink { target }, meta.len())
            }
            // A folder where a tracked file was: its files are listed on their own.
            Some(meta) if meta.is_dir() && letter == b'D' => (EntryKind::Gone, 0),
            Some(meta) if meta.is_dir() => (EntryKind::Repository, 0),
            Some(meta) if !meta.is_file() => (EntryKind::Special, 0),
            Some(meta) if meta.permissions().mode() & 0o100 != 0 => {
                (EntryKind::Executable, meta.len())
            }
            Some(meta) => (EntryKind::File, meta.len()),
        };
        let kind = match (letter, &entry) {
            (_, EntryKind::Gone) => ChangeKind::Deleted,
            (b'A', _) => ChangeKind::Added,
            (b'T', _) | (_, EntryKind::Special) => ChangeKind::TypeChanged,
            _ => ChangeKind::Modified,
        };
        Changed {
            path: path.to_owned(),
            kind,
            entry,
            size,
        }
    }

    /// An agent that commits a file which is ignored means it: it forced git to.
    async fn add_ignored_but_committed(
        &self,
        changes: &mut Vec<Changed>,
        tip: &Oid,
        spec: &StageSpec<'_>,
    ) -> Result<(), GitError> {
        let range = [spec.base.as_str(), tip.as_str()];
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--name-only",
            "--no-renames",
            "--diff-filter=A",
        ];
        let output = self.git(args.iter().chain(&range)).run().await?;
        let known: HashSet<PathBuf> = changes.iter().map(|changed| changed.path.clone()).collect();
        for name in output
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
        {
            let path = path_of(name);
            let own = spec.own_paths.iter().any(|own| path.starts_with(own));
            let foreign = spec.untracked_before.contains(&path);
            if !own && !foreign && !known.contains(&path) && self.is_there(&path) {
                changes.push(self.look_at(&path, b'A'));
            }
        }
        Ok(())
    }

    fn split_off_unstorable<'c>(
        &self,
        changes: &'c [Changed],
        max_file_bytes: u64,
    ) -> (Vec<&'c Path>, Vec<PathBuf>) {
        let mut left_out = Vec::new();
        let mut kept: Vec<&Path> = Vec::new();
        for changed in changes {
            let storable = match &changed.entry {
                EntryKind::Gone | EntryKind::Symlink { .. } => true,
                EntryKind::File | EntryKind::Executable | EntryKind::Unreadable => {
                    changed.size <= max_file_bytes
                }
                EntryKind::Repository => self.has_commit(&changed.path),
                EntryKind::Special | EntryKind::TooLong => false,
            };
            if storable {
                kept.push(&changed.path);
            } else {
                left_out.push(changed.path.clone());
            }
        }
        (kept, left_out)
    }

    /// Returns whether a nested repository has a commit that a tree could name. A submodule's git folder is
    /// elsewhere, named by a file; those have one.
    fn has_commit(&self, path: &Path) -> bool {
        let git_dir = self.root.join(path).join(".git");
        if git_dir.is_file() {
            return true;
        }
        match read_head(&git_dir) {
            Ok(HeadFile::Detached(_)) => true,
            Ok(HeadFile::Branch(branch)) => {
                read_ref(&git_dir, &super::refs::branch_ref(&branch)).is_ok_and(|oid| oid.is_some())
            }
            Ok(HeadFile::Other(_)) | Err(_) => false,
        }
    }

    pub(super) fn is_there(&self, path: &Path) -> bool {
        self.in_root(&[]).is_there(path)
    }

    fn is_behind_symlink(&self, path: &Path) -> bool {
        self.in_root(&[]).is_behind_symlink(path)
    }

    /// Paths in the user's folder.
    pub(super) fn in_root<'a>(&'a self, paths: &'a [&'a Path]) -> PathsIn<'a> {
        PathsIn {
            folder: &self.root,
            paths,
            dropped: None,
        }
    }
}

/// The work that an agent did in the index alone.
#[derive(Debug, Default)]
struct IndexWork {
    dropped: HashSet<PathBuf>,
    forced: Vec<PathBuf>,
    renormalised: Vec<PathBuf>,
}

impl IndexWork {
    fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.forced.is_empty() && self.renormalised.is_empty()
    }

    fn changes(&self, repo: &Repo) -> Vec<Changed> {
        let dropped = self.dropped.iter().map(|path| Changed {
            path: path.clone(),
            kind: ChangeKind::Deleted,
            entry: EntryKind::Gone,
            size: 0,
        });
        let forced = self.forced.iter().map(|path| repo.look_at(path, b'A'));
        let again = self.renormalised.iter();
        let again = again.map(|path| repo.look_at(path, b'M'));
        dropped.chain(forced).chain(again).collect()
    }
}

/// Paths of the repository, and the folder that they are read from.
pub(super) struct PathsIn<'a> {
    pub(super) folder: &'a Path,
    pub(super) paths: &'a [&'a Path],
    /// Of these, the ones that are not to be tracked any more, whether they are there or not.
    pub(super) dropped: Option<&'a HashSet<PathBuf>>,
}

impl PathsIn<'_> {
    pub(super) fn is_dropped(&self, path: &Path) -> bool {
        self.dropped.is_some_and(|dropped| dropped.contains(path))
    }

    fn is_there(&self, path: &Path) -> bool {
        let full = self.folder.join(path);
        let meta = fs::symlink_metadata(&full);
        let plain = |meta: fs::Metadata| !meta.is_dir() || full.join(".git").exists();
        meta.is_ok_and(plain) && !self.is_behind_symlink(path)
    }

    pub(super) fn is_behind_symlink(&self, path: &Path) -> bool {
        path.ancestors()
            .skip(1)
            .filter(|above| !above.as_os_str().is_empty())
            .any(|above| self.folder.join(above).is_symlink())
    }
}

pub(super) fn joined(paths: &[&Path]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}
