//! Commits and moved refs: what landing, attempts and single-file commits share.
//!
//! A ref is moved only from the value that was seen: one who moved it meanwhile wins, and is named.
//! One that is there is moved by hand; making one is left to git, which knows what may not stand
//! beside it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::call::Index;
use super::lock::clear_stale;
use super::object::ObjectKind;
use super::refs::{branch_ref, lock_of, read_ref};
use super::tree::IndexTree;
use super::{GitError, Oid, Repo};

impl Repo {
    pub(super) async fn commit_tree(
        &self,
        tree: &Oid,
        parent: &Oid,
        message: &str,
    ) -> Result<Oid, GitError> {
        let tree = IndexTree {
            oid: tree.clone(),
            new: Vec::new(),
        };
        self.commit_new_tree(tree, parent, message, None).await
    }

    /// Stores the commit together with what is new in its tree, durably once this returns; where a ref that is there
    /// is to be moved to it next, once that is done.
    pub(super) async fn commit_new_tree(
        &self,
        tree: IndexTree,
        parent: &Oid,
        message: &str,
        next_moved: Option<&str>,
    ) -> Result<Oid, GitError> {
        let IndexTree { oid: tree, mut new } = tree;
        let message = &*self.environment.redaction().hide(message);
        let ref_folder = next_moved.map(|name| self.common_dir.join(name));
        let ref_folder = ref_folder.as_ref().and_then(|path| path.parent());
        if let Some(objects) = &self.objects
            // Git refuses such a message, and says so.
            && !message.contains('\0')
        {
            let identity = self.identity().await?;
            let when = self.now();
            let content = format!(
                "tree {tree}\nparent {parent}\nauthor {} {when}\ncommitter {} {when}\n\n{message}",
                identity.author, identity.committer
            );
            let content = content.into_bytes();
            let commit = objects.oid_of(ObjectKind::Commit, &content);
            new.push((ObjectKind::Commit, content));
            match ref_folder {
                Some(folder) => objects.write_before_swap(&new, folder)?,
                None => objects.write_durably(&new)?,
            }
            return Ok(commit);
        }
        if let Some(objects) = &self.objects {
            objects.write_durably(&new)?;
        }
        let args = [
            "commit-tree",
            "-p",
            parent.as_str(),
            "-F",
            "-",
            tree.as_str(),
        ];
        self.git(args).stdin(message).run_oid().await
    }

    /// Compare-and-swap; `None` means that the ref must not be there yet.
    pub(super) async fn move_ref(
        &self,
        name: &str,
        to: &Oid,
        from: Option<&Oid>,
        why: &str,
    ) -> Result<(), GitError> {
        if let (Some(_), Some(from)) = (&self.objects, from) {
            return self.swap_ref(name, to, from, why).await;
        }
        let old = from.map_or_else(|| to.zero_like(), ToString::to_string);
        let args = [
            "update-ref",
            "--no-deref",
            "-m",
            why,
            name,
            to.as_str(),
            &old,
        ];
        let mut answer = self.git(args).answer().await?;
        let found = read_ref(&self.common_dir, name)?;
        if answer.code != Some(0) && found.as_ref() == from {
            // Not moved, so in the way is a lock, perhaps a stale one.
            self.clear_lock(&self.common_dir.join(name)).await?;
            answer = self.git(args).answer().await?;
        }
        if answer.code == Some(0) {
            return Ok(());
        }
        let found = read_ref(&self.common_dir, name)?;
        if found.as_ref() == from {
            return Err(answer.into_error());
        }
        Err(GitError::RefMoved {
            name: name.to_owned(),
            expected: old,
            found: found.map_or_else(|| "nothing".to_owned(), |oid| oid.to_string()),
        })
    }

    pub(super) async fn clear_lock(&self, of: &Path) -> Result<(), GitError> {
        clear_stale(&lock_of(of), &self.folders()).await
    }

    /// Commits the given paths as they are in the working tree, and nothing else that is changed or
    /// staged: for a task file that a person's command has just written. `None` if nothing differs.
    pub async fn commit_paths(
        &self,
        message: &str,
        paths: &[PathBuf],
    ) -> Result<Option<Oid>, GitError> {
        let mut state = self.in_order().await;
        state.staged = None;
        state.base_index = None;
        let (head, branch) = self.current()?;
        let name =
            branch
                .map(|branch| branch_ref(&branch))
                .ok_or_else(|| GitError::Unsupported {
                    what: "a detached HEAD, on which nothing can be committed".into(),
                })?;
        self.take_over_index(&mut state, &head).await?;
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        // The commit is put together from HEAD, so that what a person staged stays out of it.
        self.copy_base_to_stage()?;
        let reset = ["read-tree", "--reset", head.as_str()];
        self.git(reset).index(Index::Stage).run().await?;
        self.update_stage(&self.in_root(&paths)).await?;
        let tree = self.write_tree(Index::Stage).await?;
        let args = ["rev-parse", "--verify", &format!("{head}^{{tree}}")];
        if self.git(args).run_oid().await? == tree {
            return Ok(None);
        }
        let commit = self.commit_tree(&tree, &head, message).await?;
        self.move_ref(&name, &commit, Some(&head), "ralph: task file")
            .await?;
        // The person's index gets these paths too, and keeps what else it holds.
        let args = ["update-index", "--add", "--remove", "--replace", "--"];
        let names = paths.iter().map(|path| path.as_os_str());
        self.git(args.iter().map(OsStr::new).chain(names))
            .run()
            .await?;
        self.shadow.set_head(&commit)?;
        self.publish_index(&mut state).await?;
        Ok(Some(commit))
    }
}
