//! Commits of a branch, as a list; and new ones from old: on another parent, or with other files.
//!
//! Moves nothing: what is made here hangs in the air until a ref is put on it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::call::Index;
use super::status::path_of;
use super::{GitError, Oid, Repo};

/// A commit as far as ralph has to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    pub oid: Oid,
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub author: String,
    pub subject: String,
    /// `Key: value` lines of its last paragraph.
    pub trailers: Vec<(String, String)>,
}

impl CommitInfo {
    /// The values of one trailer, in their order.
    pub fn trailer<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self
            .trailers
            .iter()
            .filter(move |(k, _)| k.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }
}

/// A file that a tree is to have, or not to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEdit {
    pub path: PathBuf,
    pub to: TreeFile,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeFile {
    /// With this mode, as git writes it.
    Is {
        mode: String,
        bytes: Vec<u8>,
    },
    Gone,
}

/// Which commits count where histories met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// All that the tip holds and the base does not.
    All,
    /// The line of first parents alone.
    FirstParents,
}

impl Repo {
    /// The commits that `tip` has and `base` has not, newest first.
    pub async fn commits_between(
        &self,
        base: &Oid,
        tip: &Oid,
        along: Along,
    ) -> Result<Vec<CommitInfo>, GitError> {
        let range = format!("{base}..{tip}");
        let mut args = vec![
            "log",
            "-z",
            "--topo-order",
            "--format=%H%n%T%n%P%n%an%n%s%n%(trailers:only,unfold)",
        ];
        match along {
            Along::All => {}
            Along::FirstParents => args.push("--first-parent"),
        }
        args.extend([range.as_str(), "--"]);
        let output = self.git(args).run().await?;
        output
            .split(|byte| *byte == 0)
            .filter(|record| !record.is_empty())
            .map(parse_commit)
            .collect()
    }

    /// Returns whether `commit` is there at all, and part of the history of `tip`.
    pub async fn holds(&self, tip: &Oid, commit: &Oid) -> Result<bool, GitError> {
        let name = format!("{commit}^{{commit}}");
        let answer = self.git(["cat-file", "-e", &name]).answer().await?;
        if answer.code != Some(0) {
            return Ok(false);
        }
        self.is_ancestor(commit, tip).await
    }

    /// The first parent of a commit; `None` for one that has none.
    pub async fn parent_of(&self, commit: &Oid) -> Result<Option<Oid>, GitError> {
        let args = ["rev-list", "--parents", "--max-count=1", commit.as_str()];
        let output = self.git(args).run().await?;
        let text = String::from_utf8_lossy(&output);
        let parent = text.split_whitespace().nth(1);
        parent
            .map(|text| parse_oid("git rev-list", text))
            .transpose()
    }

    pub async fn tree_of(&self, commit: &Oid) -> Result<Oid, GitError> {
        let name = format!("{commit}^{{tree}}");
        self.git(["rev-parse", "--verify", &name]).run_oid().await
    }

    /// Stores a commit of a tree that is there already.
    pub async fn make_commit(
        &self,
        tree: &Oid,
        parent: &Oid,
        message: &str,
    ) -> Result<Oid, GitError> {
        let _state = self.in_order().await;
        self.commit_tree(tree, parent, message).await
    }

    /// The same commit on another parent: its tree, author, times and words as they are. `None` for
    /// one that can't be carried over whole: a merge, or one that is signed.
    pub async fn carry_over(&self, commit: &Oid, onto: &Oid) -> Result<Option<Oid>, GitError> {
        self.carry_over_as(commit, onto, None).await
    }

    /// The same, with another tree where one is given.
    pub(super) async fn carry_over_as(
        &self,
        commit: &Oid,
        onto: &Oid,
        tree: Option<&Oid>,
    ) -> Result<Option<Oid>, GitError> {
        let args = ["cat-file", "commit", commit.as_str()];
        let content = self.git(args).run().await?;
        let Some(mut content) = with_parent(&content, onto) else {
            return Ok(None);
        };
        if let Some(tree) = tree {
            let rest = content.iter().position(|byte| *byte == b'\n').unwrap_or(0);
            let line = format!("tree {tree}").into_bytes();
            content.splice(..rest, line);
        }
        let args = ["hash-object", "-t", "commit", "-w", "--stdin"];
        self.git(args).stdin(content).run_oid().await.map(Some)
    }

    /// Returns how a regular file is kept in a commit; `None` if it is not there, or no regular file.
    pub async fn mode_in(&self, commit: &Oid, path: &Path) -> Result<Option<String>, GitError> {
        let args = ["ls-tree", "-z", "--full-tree", commit.as_str(), "--"];
        let output = self.git(args).arg(path).run().await?;
        let mode = output.split(|byte| *byte == b' ').next().unwrap_or(b"");
        let mode = String::from_utf8_lossy(mode).into_owned();
        Ok(mode.starts_with("100").then_some(mode))
    }

    /// The files below a folder, as a commit has them.
    pub async fn files_below(&self, commit: &Oid, folder: &Path) -> Result<Vec<PathBuf>, GitError> {
        let args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree"];
        let call = self.git(args).arg(commit.as_str()).arg("--").arg(folder);
        let output = call.run().await?;
        let names = output.split(|byte| *byte == 0).filter(|n| !n.is_empty());
        Ok(names.map(path_of).collect())
    }

    /// The tree of `base` with these edits made to it.
    pub async fn tree_with(&self, base: &Oid, edits: &[TreeEdit]) -> Result<Oid, GitError> {
        let mut state = self.in_order().await;
        state.staged = None;
        self.ensure_index(base).await?;
        self.copy_base_to_stage()?;
        let args = ["read-tree", "--reset", base.as_str()];
        self.git(args).index(Index::Stage).run().await?;
        let mut list = Vec::new();
        for TreeEdit { path, to } in edits {
            let line = match to {
                TreeFile::Is { mode, bytes } => {
                    let call = self.git(["hash-object", "-w", "--stdin", "--path"]);
                    let oid = call.arg(path).stdin(bytes.clone()).run_oid().await?;
                    format!("{mode} {oid}\t")
                }
                TreeFile::Gone => format!("0 {}\t", base.zero_like()),
            };
            list.extend_from_slice(line.as_bytes());
            list.extend_from_slice(path.as_os_str().as_bytes());
            list.push(0);
        }
        if !list.is_empty() {
            let args = ["update-index", "--add", "-z", "--index-info"];
            let call = self.git(args).index(Index::Stage).stdin(list);
            call.run().await?;
        }
        self.write_tree(Index::Stage).await
    }
}

/// The content of a commit with this one parent instead of its one parent.
fn with_parent(content: &[u8], onto: &Oid) -> Option<Vec<u8>> {
    let end = content.windows(2).position(|pair| pair == b"\n\n")?;
    let (head, rest) = content.split_at(end);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut parents = 0;
    for line in head.split(|byte| *byte == b'\n') {
        if line.starts_with(b"gpgsig") {
            return None;
        }
        if line.starts_with(b"parent ") {
            parents += 1;
            lines.push(format!("parent {onto}").into_bytes());
        } else {
            lines.push(line.to_vec());
        }
    }
    let mut whole = lines.join(&b'\n');
    whole.extend_from_slice(rest);
    (parents == 1).then_some(whole)
}

fn parse_commit(record: &[u8]) -> Result<CommitInfo, GitError> {
    let text = String::from_utf8_lossy(record);
    let mut lines = text.split('\n');
    let mut next = || lines.next().unwrap_or_default().to_owned();
    let (oid, tree, parents) = (next(), next(), next());
    let (author, subject) = (next(), next());
    let parse = |text: &str| parse_oid("git log", text);
    Ok(CommitInfo {
        oid: parse(&oid)?,
        tree: parse(&tree)?,
        parents: parents
            .split_whitespace()
            .map(parse)
            .collect::<Result<_, _>>()?,
        author,
        subject,
        trailers: lines
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
            .collect(),
    })
}

fn parse_oid(command: &str, text: &str) -> Result<Oid, GitError> {
    Oid::parse(text).map_err(|bad| GitError::Unexpected {
        command: command.into(),
        answer: bad.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONTO: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn a_commit_is_carried_over_with_all_but_its_parent() {
        let onto = Oid::parse(ONTO).unwrap();
        let old = b"tree 11\nparent 22\nauthor A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\nparent 33\n\xff\n";
        let new = with_parent(old, &onto).unwrap();
        let expected = b"tree 11\nparent 0123456789abcdef0123456789abcdef01234567\nauthor A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n\nparent 33\n\xff\n";
        assert_eq!(new, expected);
    }

    #[test]
    fn a_merge_and_a_signed_commit_are_not_carried_over() {
        let onto = Oid::parse(ONTO).unwrap();
        let merge = b"tree 11\nparent 22\nparent 33\nauthor A <a@b> 1 +0000\n\nx\n";
        assert_eq!(with_parent(merge, &onto), None);
        let signed = b"tree 11\nparent 22\nauthor A <a@b> 1 +0000\ngpgsig x\n y\n\nx\n";
        assert_eq!(with_parent(signed, &onto), None);
        let first = b"tree 11\nauthor A <a@b> 1 +0000\n\nx\n";
        assert_eq!(with_parent(first, &onto), None);
    }
}
