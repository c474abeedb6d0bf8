//! Lands a verified tree on the branch, and finds it again.
//!
//! The parent is always the recorded base, so commits that an agent made on top of it are squashed.
//! Lands nothing that was not staged before verification, but the files of ralph's own it is told of.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::call::Index;
use super::index_file::copy_index;
use super::refs::{branch_ref, check_ref_name, lock_of};
use super::repo::StageIndex;
use super::status::path_of;
use super::tree::IndexTree;
use super::{GitError, LockOwner, Oid, Repo};

/// The number of times a person may write their index while ralph brings it along, before that is left for later.
const TRIES: usize = 20;

pub struct LandRequest<'a> {
    pub branch: &'a str,
    /// The tree that was verified.
    pub tree: &'a Oid,
    /// The recorded base.
    pub parent: &'a Oid,
    /// Where the branch was seen when the tree was staged.
    pub tip: &'a Oid,
    pub message: &'a str,
    /// Files of ralph's own, such as the task file, taken as they are now.
    pub also: &'a [PathBuf],
    pub changed_index: ChangedIndex,
    /// The paths that are ralph's: the folder has them already.
    pub own: &'a [PathBuf],
}

/// The owner of what was staged in the real index since ralph last wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedIndex {
    /// The agent's: the index of the commit takes its place.
    Agents,
    /// A person's: only the paths of the commit change in it.
    Persons,
}

#[derive(Debug, thiserror::Error)]
pub enum LandError {
    /// Someone else moved the branch: nothing was landed.
    #[error("the branch moved while the work was verified: expected {expected}, found {found}")]
    Moved { expected: String, found: String },
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A commit that carries a trailer of ralph's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    pub oid: Oid,
    pub tree: Oid,
    pub parents: Vec<Oid>,
}

impl Repo {
    /// Commits, and moves the branch. The user's folder and index then follow by `finish_following`, but for an
    /// index that the agent shares with the user.
    pub async fn land(&self, landing: &LandRequest<'_>) -> Result<Oid, LandError> {
        check_ref_name(landing.branch)?;
        let mut state = self.in_order().await;
        let staged = state.staged.take();
        let verified = state.verified.take();
        let mut files = None;
        let mut index = match staged.filter(|staged| staged.tree == *landing.tree) {
            Some(staged) => {
                files = staged.files;
                staged.index
            }
            None => self.read_staged(landing).await?,
        };
        let mut tree = IndexTree {
            oid: landing.tree.clone(),
            new: Vec::new(),
        };
        if !landing.also.is_empty() {
            let also: Vec<&Path> = landing.also.iter().map(PathBuf::as_path).collect();
            (index, tree) = self.add_own(index, &also).await?;
        }
        let name = branch_ref(landing.branch);
        let commit = self
            .commit_new_tree(tree, landing.parent, landing.message, Some(&name))
            .await?;
        let before = self.note_following(landing.branch, landing.parent, &commit, landing.own)?;
        let moved = self
            .move_ref(&name, &commit, Some(landing.tip), "ralph: land")
            .await;
        if let Err(error) = moved {
            self.write_following(before.as_ref())?;
            return Err(match error {
                GitError::RefMoved {
                    expected, found, ..
                } => LandError::Moved { expected, found },
                other => LandError::Git(other),
            });
        }
        self.make_base(&index)?;
        state.base_index = Some(commit.clone());
        // Where the folder is behind by more than this commit, its files are not all that is to follow.
        let files = files.filter(|_| before.is_none());
        // Git would have to read large files again and again.
        let looked = verified.filter(|look| files.is_some() && look.tree == *landing.tree);
        state.landed = files.map(|files| (commit.clone(), files));
        self.shadow.set_head(&commit)?;
        if landing.changed_index == ChangedIndex::Agents {
            match self.publish_index(&mut state).await {
                Ok(()) => {
                    self.write_following(None)?;
                    if let Some(look) = looked {
                        state.know_landed(&commit, look, landing.also);
                    }
                }
                // The commit stands, and the index follows later.
                Err(GitError::Locked { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(commit)
    }

    /// Brings the real index from one commit to another, and leaves all that a person staged. Returns the paths
    /// among those of the commits that a person had staged otherwise.
    pub(super) async fn bring_index_along(
        &self,
        from: &Oid,
        to: &Oid,
    ) -> Result<Vec<PathBuf>, GitError> {
        let mut state = self.in_order().await;
        if state.base_index.as_ref() == Some(to)
            && !self.may_have_staged(&state)
            && self.publish_over_seen(&mut state).await?
        {
            return Ok(Vec::new());
        }
        state.staged = None;
        state.forget_real_index();
        for _ in 0..TRIES {
            if let Some(kept) = self.add_to_real_index(from, to).await? {
                return Ok(kept);
            }
        }
        Err(GitError::Locked {
            path: lock_of(&self.real_index()),
            owner: LockOwner::Unknown,
        })
    }

    /// `None` if the person wrote their index meanwhile.
    async fn add_to_real_index(
        &self,
        parent: &Oid,
        commit: &Oid,
    ) -> Result<Option<Vec<PathBuf>>, GitError> {
        let real = self.real_index();
        let stamp = self.stamp_of_real_index();
        let (mut kept, mut lines) = (Vec::new(), Vec::new());
        match copy_index(&real, &self.shadow.stage_index()) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Some(kept)),
            Err(error) => return Err(GitError::io("copy", &real)(error)),
        }
        let staged = self.git(["ls-files", "--stage", "-z"]).index(Index::Stage);
        let staged = staged.run().await?;
        let staged: HashMap<&[u8], &[u8]> = staged
            .split(|byte| *byte == 0)
            .filter_map(|record| {
                let tab = record.iter().position(|byte| *byte == b'\t')?;
                Some((record.get(tab + 1..)?, record.get(..tab)?))
            })
            .collect();
        let output = self.raw_diff(parent, commit).await?;
        let mut fields = output.split(|byte| *byte == 0);
        while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
            let head = String::from_utf8_lossy(head);
            let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
            let [old_mode, mode, old, oid, ..] = words.as_slice() else {
                continue;
            };
            let entry = |mode: &str, oid: &str| match mode {
                "000000" => None,
                _ => Some(format!("{mode} {oid} 0").into_bytes()),
            };
            let now = staged.get(path).copied();
            if now != entry(old_mode, old).as_deref() {
                if now != entry(mode, oid).as_deref() {
                    kept.push(path_of(path));
                }
                continue;
            }
            // A mode of 0 takes the path out.
            let mode = if *mode == "000000" { "0" } else { mode };
            lines.extend(format!("{mode} {oid}\t").into_bytes());
            lines.extend(path);
            lines.push(0);
        }
        if lines.is_empty() {
            return Ok(Some(kept));
        }
        let call = self.git(["update-index", "-z", "--index-info"]);
        call.index(Index::Stage).stdin(lines).run().await?;
        // Files that have followed are not looked at again by the user's git.
        let refresh = ["update-index", "-q", "--refresh"];
        let _ = self.git(refresh).index(Index::Stage).answer().await?;
        let staged = self.shadow.stage_index();
        let done = self.publish(&staged, |now| now == stamp).await?;
        Ok(done.then_some(kept))
    }

    /// The index of a tree that this process did not stage, or not last.
    async fn read_staged(&self, landing: &LandRequest<'_>) -> Result<StageIndex, GitError> {
        self.ensure_index(landing.parent).await?;
        self.copy_base_to_stage()?;
        let args = ["read-tree", "--reset", landing.tree.as_str()];
        self.git(args).index(Index::Stage).run().await?;
        Ok(StageIndex::OnDisk)
    }

    /// Adds files of ralph's own as they are now; what is new in the tree is not stored yet.
    async fn add_own(
        &self,
        index: StageIndex,
        paths: &[&Path],
    ) -> Result<(StageIndex, IndexTree), GitError> {
        let taken = match &index {
            StageIndex::Held(held) => self.take_by_hand(held, &self.in_root(paths)).await?,
            StageIndex::OnDisk => self.take_from(Index::Stage, &self.in_root(paths)).await?,
        };
        if let Some(taken) = taken {
            return Ok((StageIndex::Held(taken.index), taken.tree));
        }
        if let StageIndex::Held(held) = &index {
            held.write(&self.shadow.stage_index())?;
        }
        self.update_stage(&self.in_root(paths)).await?;
        Ok((StageIndex::OnDisk, self.make_tree(Index::Stage).await?))
    }

    /// Makes what has landed the state that later calls compare with.
    fn make_base(&self, index: &StageIndex) -> Result<(), GitError> {
        let (from, to) = (self.shadow.stage_index(), self.shadow.index());
        match index {
            StageIndex::Held(held) => held.write(&to),
            StageIndex::OnDisk => {
                std::fs::rename(&from, &to).map_err(GitError::io("rename", &from))
            }
        }
    }

    /// After a crash between the commit and the index: makes the index match HEAD again.
    pub async fn match_index_to_head(&self) -> Result<(), GitError> {
        let mut state = self.in_order().await;
        let (head, _) = self.current()?;
        self.adopt_real_index(&mut state)?;
        state.base_index = None;
        self.shadow.set_head(&head)?;
        self.read_base(&head).await?;
        self.publish_index(&mut state).await?;
        self.write_following(None)
    }

    /// The commit between base and branch that has this trailer with this very value. The caller
    /// compares tree and parent with its intent, as an agent can write trailers too.
    pub async fn find_commit_with_trailer(
        &self,
        base: &Oid,
        branch: &str,
        key: &str,
        value: &str,
    ) -> Result<Option<Landed>, GitError> {
        check_ref_name(branch)?;
        let is_key = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !is_key {
            return Err(GitError::BadRefName {
                name: key.to_owned(),
            });
        }
        let format = format!("--format=%H%n%T%n%P%n%(trailers:key={key},valueonly,unfold)");
        let grep = format!("--grep={value}");
        let range = format!("{base}..{}", branch_ref(branch));
        let args = ["log", "-z", &format, "--fixed-strings", &grep, &range, "--"];
        let output = self.git(args).run().await?;
        for record in output.split(|byte| *byte == 0) {
            let text = String::from_utf8_lossy(record);
            let mut lines = text.lines();
            let (Some(oid), Some(tree), Some(parents)) = (lines.next(), lines.next(), lines.next())
            else {
                continue;
            };
            if lines.any(|found| found == value) {
                return parse_landed(oid, tree, parents).map(Some);
            }
        }
        Ok(None)
    }
}

fn parse_landed(oid: &str, tree: &str, parents: &str) -> Result<Landed, GitError> {
    let parse = |text: &str| {
        Oid::parse(text).map_err(|bad| GitError::Unexpected {
            command: "git log".into(),
            answer: bad.0,
        })
    };
    let parents = parents
        .split_whitespace()
        .map(parse)
        .collect::<Result<_, _>>()?;
    Ok(Landed {
        oid: parse(oid)?,
        tree: parse(tree)?,
        parents,
    })
}
