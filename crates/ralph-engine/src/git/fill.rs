//! Writes files of a tree into a folder that is not the user's: the upper folder of a layer.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::call::Index;
use super::repo::{StageIndex, State};
use super::rewind::{How, MovedPath};
use super::stage::joined;
use super::take::TakenContent;
use super::{GitError, Oid, Repo};

/// The bytes of a file of rules that are read.
const LONGEST_RULES: u64 = 4 * 1024 * 1024;

impl Repo {
    /// Writes into a folder what `to` has and `from` has not, and these paths besides, as `to` has them.
    /// Returns those of all these paths that `to` does not have.
    pub async fn fill_folder(
        &self,
        from: &Oid,
        to: &Oid,
        besides: &[PathBuf],
        folder: &Path,
    ) -> Result<Vec<PathBuf>, GitError> {
        if besides.is_empty()
            && let Some(gone) = self.fill_by_hand(to, folder).await?
        {
            return Ok(gone);
        }
        let mut paths = besides.to_vec();
        let mut gone = Vec::new();
        for MovedPath { path, how } in self.moved_paths(from, to, &[]).await? {
            match how {
                How::Goes => gone.push(path),
                How::Comes | How::Changes => paths.push(path),
            }
        }
        gone.extend(self.write_files(to, &paths, folder).await?);
        Ok(gone)
    }

    /// Lists what differs between two trees or commits, but for these paths and what is below them.
    pub async fn differing(
        &self,
        from: &Oid,
        to: &Oid,
        besides: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        let moved = self.moved_paths(from, to, besides).await?;
        Ok(moved.into_iter().map(|moved| moved.path).collect())
    }

    /// Returns those of these folders that the rules of a tree ignore.
    pub async fn ignored_folders(
        &self,
        tree: &Oid,
        folders: &[PathBuf],
    ) -> Result<HashSet<PathBuf>, GitError> {
        let rules = self.rules_of(tree, folders).await?;
        for folder in folders {
            let path = rules.path().join(folder);
            fs::create_dir_all(&path).map_err(GitError::io("make", &path))?;
        }
        let paths: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        self.check_ignore(&paths, rules.path()).await
    }

    /// Returns those of these files that the rules of a tree ignore.
    pub(super) async fn ignored_files(
        &self,
        tree: &Oid,
        files: &[PathBuf],
    ) -> Result<HashSet<PathBuf>, GitError> {
        let rules = self.rules_of(tree, files).await?;
        let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        self.check_ignore(&paths, rules.path()).await
    }

    /// Makes a folder that holds those rules of a tree which are about these paths, and nothing else.
    async fn rules_of(&self, tree: &Oid, paths: &[PathBuf]) -> Result<tempfile::TempDir, GitError> {
        let rules = tempfile::tempdir_in(self.shadow.path())
            .map_err(GitError::io("make a folder in", self.shadow.path()))?;
        let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
        let above: HashSet<&Path> = above.collect();
        for folder in above {
            let made = rules.path().join(folder);
            fs::create_dir_all(&made).map_err(GitError::io("make", &made))?;
            let rule = folder.join(".gitignore");
            if let Some(text) = self.read_at(tree, &rule, LONGEST_RULES).await? {
                let path = rules.path().join(rule);
                fs::write(&path, text).map_err(GitError::io("write", &path))?;
            }
        }
        Ok(rules)
    }

    /// The same for a tree that was staged last, of few plain files; `None` for any other.
    async fn fill_by_hand(
        &self,
        tree: &Oid,
        folder: &Path,
    ) -> Result<Option<Vec<PathBuf>>, GitError> {
        let state = self.in_order().await;
        let staged = state.staged.as_ref().filter(|staged| staged.tree == *tree);
        let Some(files) = staged.and_then(|staged| staged.files.as_ref()) else {
            return Ok(None);
        };
        let mut gone = Vec::new();
        for file in files {
            match &file.content {
                Some(content) => {
                    let path = folder.join(&file.path);
                    write_new(&path, content).map_err(GitError::io("write", &path))?;
                }
                None => gone.push(file.path.clone()),
            }
        }
        Ok(Some(gone))
    }

    /// Writes files as a tree has them into a folder. Those that the tree does not have are left out, and
    /// returned.
    pub async fn write_files(
        &self,
        tree: &Oid,
        paths: &[PathBuf],
        folder: &Path,
    ) -> Result<Vec<PathBuf>, GitError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut state = self.in_order().await;
        self.ready_stage(tree, &mut state).await?;
        let mut prefix = OsString::from("--prefix=");
        prefix.push(folder);
        prefix.push("/");
        let list: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let args = ["checkout-index", "--force", "--quiet", "-z", "--stdin"];
        let call = self.git(args).arg(prefix).index(Index::Stage);
        let answer = call.stdin(joined(&list)).answer().await?;
        // A folder at such a path is that of other files.
        let is_missing = |path: &&PathBuf| {
            let found = fs::symlink_metadata(folder.join(path));
            !found.is_ok_and(|found| !found.is_dir())
        };
        let missing: Vec<PathBuf> = paths.iter().filter(is_missing).cloned().collect();
        // Git fails where a path is not in the index, and has then written all others.
        if answer.code == Some(0) || !missing.is_empty() {
            Ok(missing)
        } else {
            Err(answer.into_error())
        }
    }

    /// Makes the stage index hold a tree; what was staged last is there already.
    async fn ready_stage(&self, tree: &Oid, state: &mut State) -> Result<(), GitError> {
        if let Some(staged) = state.staged.as_ref().filter(|staged| staged.tree == *tree) {
            return match &staged.index {
                StageIndex::Held(held) => held.write(&self.shadow.stage_index()),
                StageIndex::OnDisk => Ok(()),
            };
        }
        state.staged = None;
        self.ensure_index(tree).await?;
        self.copy_base_to_stage()?;
        let args = ["read-tree", "--reset", tree.as_str()];
        self.git(args).index(Index::Stage).run().await.map(drop)
    }

    /// Returns the tree of an attempt, as it would be if it had been made on `base`. An attempt that does not
    /// fit to it is an error.
    pub async fn attempt_tree(&self, attempt: &str, base: &Oid) -> Result<Oid, GitError> {
        super::refs::check_ref_name(attempt)?;
        let _state = self.in_order().await;
        let commit = super::refs::read_ref(&self.common_dir, attempt)?;
        let commit = commit.ok_or_else(|| GitError::Unexpected {
            command: format!("read {attempt}"),
            answer: "there is no such ref".into(),
        })?;
        self.attempt_on(&commit, base).await
    }
}

/// Writes a file, and the folders that it lies in.
fn write_new(path: &Path, content: &TakenContent) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mode = if content.executable { 0o777 } else { 0o666 };
    let mut file = fs::File::options()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    file.write_all(&content.bytes)
}
