//! Attempts that did not pass, kept under refs of their own.
//!
//! They carry no trailers and are no branches: nothing may take one for landed work.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use ralph_core::id::IterationId;

use super::call::Index;
use super::refs::{check_ref_name, read_ref};
use super::{GitError, Oid, Repo};

const ATTEMPTS: &str = "refs/ralph/attempts/";

/// The ref that the attempt of an iteration is kept under.
pub fn attempt_ref(iteration_id: &IterationId) -> String {
    format!("{ATTEMPTS}{iteration_id}")
}

impl Repo {
    /// Keeps a tree under `refs/ralph/attempts/<iteration id>` and returns the name of the ref.
    pub async fn save_attempt(
        &self,
        iteration_id: &IterationId,
        base: &Oid,
        tree: &Oid,
    ) -> Result<String, GitError> {
        let name = attempt_ref(iteration_id);
        check_ref_name(&name)?;
        let _state = self.in_order().await;
        let message = format!("attempt {iteration_id}\n");
        let commit = self.commit_tree(tree, base, &message).await?;
        let found = read_ref(&self.common_dir, &name)?;
        self.move_ref(&name, &commit, found.as_ref(), "ralph: attempt")
            .await?;
        Ok(name)
    }

    /// Keeps files that are no part of an attempt's tree beside it: each a path of the repository, and where it
    /// is to be read. Returns the name of the ref.
    pub async fn save_beside(
        &self,
        iteration_id: &IterationId,
        base: &Oid,
        files: &[(PathBuf, PathBuf)],
    ) -> Result<String, GitError> {
        let name = format!("{}-untracked", attempt_ref(iteration_id));
        check_ref_name(&name)?;
        let _state = self.in_order().await;
        let mut lines = Vec::new();
        for (path, from) in files {
            let bytes = std::fs::read(from).map_err(GitError::io("read", from))?;
            let call = self.git(["hash-object", "-w", "--no-filters", "--stdin"]);
            let blob = call.stdin(bytes).run_oid().await?;
            lines.extend(format!("100644 {blob}\t").into_bytes());
            lines.extend(path.as_os_str().as_bytes());
            lines.push(0);
        }
        let side = Index::Side;
        self.git(["read-tree", "--empty"]).index(side).run().await?;
        let call = self.git(["update-index", "--add", "-z", "--index-info"]);
        call.index(side).stdin(lines).run().await?;
        let tree = self.write_tree(side).await?;
        let message = format!("files of attempt {iteration_id} that git does not track\n");
        let commit = self.commit_tree(&tree, base, &message).await?;
        let found = read_ref(&self.common_dir, &name)?;
        self.move_ref(&name, &commit, found.as_ref(), "ralph: attempt")
            .await?;
        Ok(name)
    }

    /// The commit that an attempt is kept as.
    pub fn attempt_commit(&self, attempt: &str) -> Result<Option<Oid>, GitError> {
        check_ref_name(attempt)?;
        read_ref(&self.common_dir, attempt)
    }

    /// Puts what an attempt changed into the working tree, which must be at `base` (see `reset_to`).
    /// Index and HEAD stay at the base, so that the attempt is seen as change. Where the branch went
    /// on since, what landed stays; an attempt that does not fit to it is an error. Gives the tree, or
    /// a commit of it, that the working tree then equals.
    pub async fn start_from_attempt(&self, attempt: &str, base: &Oid) -> Result<Oid, GitError> {
        check_ref_name(attempt)?;
        let mut state = self.in_order().await;
        state.staged = None;
        self.shadow.set_head(base)?;
        self.ensure_index(base).await?;
        self.copy_base_to_stage()?;
        let commit = read_ref(&self.common_dir, attempt)?.ok_or_else(|| GitError::Unexpected {
            command: format!("read {attempt}"),
            answer: "there is no such ref".into(),
        })?;
        let tree = self.attempt_on(&commit, base).await?;
        let args = ["read-tree", "-m", "-u", base.as_str(), tree.as_str()];
        self.git(args).index(Index::Stage).run().await?;
        Ok(tree)
    }

    /// The attempt as it would be if it had been made on `base`.
    pub(super) async fn attempt_on(&self, attempt: &Oid, base: &Oid) -> Result<Oid, GitError> {
        let parent = format!("{attempt}^");
        let made_on = self
            .git(["rev-parse", "--verify", &parent])
            .run_oid()
            .await?;
        if made_on == *base {
            return Ok(attempt.clone());
        }
        let made_on = format!("--merge-base={made_on}");
        let args = [
            "merge-tree",
            "--write-tree",
            "--no-messages",
            &made_on,
            base.as_str(),
            attempt.as_str(),
        ];
        self.git(args).run_oid().await
    }
}
