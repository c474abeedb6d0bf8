//! Puts a person's uncommitted work aside and brings it back.
//!
//! Never drops a stash that could not be brought back whole.

use std::ffi::OsString;
use std::path::PathBuf;

use super::call::Index;
use super::refs::read_ref;
use super::{GitError, Oid, Repo};

/// Work that was put aside; `git stash list` shows it too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stash(pub Oid);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unstashed {
    Back,
    /// It does not fit what is there now; the stash was kept and nothing was lost.
    Kept {
        reason: String,
    },
}

impl Repo {
    /// `None` if there was nothing to put aside. `own_paths` stay where they are.
    pub async fn stash_user_work(
        &self,
        message: &str,
        own_paths: &[PathBuf],
    ) -> Result<Option<Stash>, GitError> {
        let mut state = self.state.lock().await;
        let (head, _) = self.current()?;
        self.adopt_real_index(&mut state)?;
        self.shadow.set_head(&head)?;
        self.ensure_index(&head).await?;
        let before = read_ref(&self.common_dir, "refs/stash")?;
        let mut call = self
            .git([
                "stash",
                "push",
                "--quiet",
                "--include-untracked",
                "-m",
                message,
            ])
            .magic_pathspecs();
        if !own_paths.is_empty() {
            call = call.arg("--").arg(":/");
            for own in own_paths {
                let mut pathspec = OsString::from(":(top,exclude,literal)");
                pathspec.push(own);
                call = call.arg(pathspec);
            }
        }
        call.index(Index::Base).run().await?;
        self.publish_index(&mut state).await?;
        let after = read_ref(&self.common_dir, "refs/stash")?;
        Ok(after
            .filter(|after| Some(after) != before.as_ref())
            .map(Stash))
    }

    pub async fn unstash_user_work(&self, stash: &Stash) -> Result<Unstashed, GitError> {
        let mut state = self.state.lock().await;
        let (head, _) = self.current()?;
        self.adopt_real_index(&mut state)?;
        self.shadow.set_head(&head)?;
        self.ensure_index(&head).await?;
        let list = self.git(["stash", "list", "--format=%H"]).run().await?;
        let list = String::from_utf8_lossy(&list);
        let place = list
            .lines()
            .position(|oid| oid == stash.0.as_str())
            .ok_or_else(|| GitError::StashGone(stash.0.clone()))?;
        let name = format!("stash@{{{place}}}");
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
}
