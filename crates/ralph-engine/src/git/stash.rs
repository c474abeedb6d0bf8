//! Puts a person's uncommitted work aside and brings it back.
//!
//! Makes an ordinary stash, but by plumbing: `git stash push` looks into submodules, and there reads
//! settings that an agent can write. The stash is stored before anything is taken away, and one that
//! could not be brought back whole is never dropped.

use std::path::{Path, PathBuf};

use ralph_core::change::shown;

use super::call::Index;
use super::refs::read_ref;
use super::reset::remove_created;
use super::stage::joined;
use super::status::Seen;
use super::{GitError, Oid, Repo};

/// Work that was put aside; `git stash list` shows it too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stash(pub Oid);

/// A stash in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundStash {
    pub stash: Stash,
    /// The name that git gives it, which changes when others come and go.
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unstashed {
    Back,
    /// It does not fit what is there now; the stash was kept and nothing was lost.
    Kept {
        reason: String,
    },
}

impl Repo {
    /// `None` if there was nothing to put aside. `own_paths` and untracked files stay.
    pub async fn stash_user_work(
        &self,
        message: &str,
        own_paths: &[PathBuf],
    ) -> Result<Option<Stash>, GitError> {
        let mut state = self.in_order().await;
        state.base_index = None;
        state.staged = None;
        let (head, branch) = self.current()?;
        self.take_over_index(&mut state, &head).await?;
        let mut seen = self.scan().await?;
        let own = |path: &Path| own_paths.iter().any(|own| path.starts_with(own));
        seen.changed.retain(|entry| !own(&entry.path));
        if seen.changed.is_empty() {
            return Ok(None);
        }
        let branch = branch.unwrap_or_else(|| "(no branch)".to_owned());
        let message = format!("On {branch}: {message}");
        let stash = self.store_stash(&head, &seen, &message).await?;
        self.take_away(&head, &seen).await?;
        self.publish_index(&mut state).await?;
        Ok(Some(Stash(stash)))
    }

    /// The stashes whose message has this text, newest first.
    pub async fn stashes(&self, text: &str) -> Result<Vec<FoundStash>, GitError> {
        let _state = self.in_order().await;
        if read_ref(&self.common_dir, "refs/stash")?.is_none() {
            return Ok(Vec::new());
        }
        let list = self.git(["stash", "list", "--format=%H %gs"]).run().await?;
        let list = String::from_utf8_lossy(&list);
        let found = list.lines().enumerate().filter_map(|(place, line)| {
            let (oid, message) = line.split_once(' ')?;
            let stash = Stash(Oid::parse(oid).ok()?);
            let name = format!("stash@{{{place}}}");
            message.contains(text).then_some(FoundStash { stash, name })
        });
        Ok(found.collect())
    }

    /// Brings work back that was put aside. Where that would leave conflicts in files, nothing is touched.
    pub async fn unstash_user_work(&self, stash: &Stash) -> Result<Unstashed, GitError> {
        let mut state = self.in_order().await;
        state.base_index = None;
        state.staged = None;
        let (head, _) = self.current()?;
        self.take_over_index(&mut state, &head).await?;
        let list = self.git(["stash", "list", "--format=%H"]).run().await?;
        let list = String::from_utf8_lossy(&list);
        let place = list
            .lines()
            .position(|oid| oid == stash.0.as_str())
            .ok_or_else(|| GitError::StashGone(stash.0.clone()))?;
        let name = format!("stash@{{{place}}}");
        let parent = format!("{}^1", stash.0);
        let args = ["rev-parse", "--verify", parent.as_str()];
        let made_on = self.git(args).run_oid().await?;
        if let Err(conflict) = self.merge_trees(&made_on, &head, &stash.0).await? {
            let paths = conflict.paths.iter().map(|path| shown(path));
            let paths: Vec<String> = paths.collect();
            let reason = format!("{} changed meanwhile", paths.join(", "));
            return Ok(Unstashed::Kept { reason });
        }
        let args = ["stash", "pop", "--quiet", "--index", &name];
        let answer = self.git(args).magic_pathspecs().answer().await?;
        self.publish_index(&mut state).await?;
        Ok(match answer.code {
            Some(0) => Unstashed::Back,
            _ => Unstashed::Kept {
                reason: answer.stderr().to_owned(),
            },
        })
    }

    /// A stash is a commit of the working tree, whose parents are HEAD and the index as a commit.
    async fn store_stash(&self, head: &Oid, seen: &Seen, message: &str) -> Result<Oid, GitError> {
        let index = self.git(["write-tree"]).run_oid().await?;
        let index = self
            .commit_tree(&index, head, &format!("index: {message}\n"))
            .await?;

        let changed = seen.changed.iter().filter(|entry| entry.worktree != b'.');
        let changed: Vec<&Path> = changed.map(|entry| entry.path.as_path()).collect();
        self.copy_base_to_stage()?;
        self.update_stage(&self.in_root(&changed)).await?;
        let work = self
            .git(["write-tree"])
            .index(Index::Stage)
            .run_oid()
            .await?;

        let mut args = vec!["commit-tree", "-p", head.as_str(), "-p", index.as_str()];
        args.extend(["-F", "-", work.as_str()]);
        let stash = self
            .git(args)
            .stdin(format!("{message}\n"))
            .run_oid()
            .await?;
        let args = ["stash", "store", "--quiet", "-m", message, stash.as_str()];
        self.git(args).run().await?;
        Ok(stash)
    }

    /// Puts the given paths back to HEAD, in the index and in the working tree.
    async fn take_away(&self, head: &Oid, seen: &Seen) -> Result<(), GitError> {
        let (added, known): (Vec<_>, Vec<_>) =
            seen.changed.iter().partition(|entry| entry.staged == b'A');
        let added: Vec<&Path> = added.iter().map(|entry| entry.path.as_path()).collect();
        let known: Vec<&Path> = known.iter().map(|entry| entry.path.as_path()).collect();
        for path in &added {
            remove_created(&self.root, path)?;
        }
        if !added.is_empty() {
            let args = ["update-index", "--force-remove", "-z", "--stdin"];
            self.git(args).stdin(joined(&added)).run().await?;
        }
        if !known.is_empty() {
            let args = [
                "checkout",
                "--quiet",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
            ];
            self.git(args)
                .arg(head.as_str())
                .stdin(joined(&known))
                .run()
                .await?;
        }
        Ok(())
    }
}
