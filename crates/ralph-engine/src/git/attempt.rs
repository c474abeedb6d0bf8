//! Attempts that did not pass, kept under refs of their own.
//!
//! They carry no trailers and are no branches: nothing may take one for landed work. Secrets that an agent wrote are
//! hidden in them, by the same rule that keeps them from landing: a ref may travel.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use ralph_core::{
    change::{CompiledPolicy, hide_refused, shown},
    id::IterationId,
    secret::{Certainty, hidden_flag},
};

use super::call::Index;
use super::refs::{check_ref_name, read_ref};
use super::status::path_of;
use super::{GitError, Oid, Repo};

/// A larger file is not searched for secrets.
const LARGEST_SEARCHED: usize = 50 * 1024 * 1024;
/// The bytes of files that are read from git at once.
const READ_AT_ONCE: usize = 16 * 1024 * 1024;
const SYMLINK: &str = "120000";
const SUBMODULE: &str = "160000";

/// An attempt that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAttempt {
    /// The ref that keeps it.
    pub reference: String,
    /// Its tree, without secrets.
    pub tree: Oid,
    /// Sentences about what was hidden.
    pub hidden: Vec<String>,
}

/// A path in which an attempt differs from its base.
struct AttemptFile {
    path: PathBuf,
    mode: String,
    /// `None`: it was not there.
    before: Option<String>,
    /// `None`: it is not there any more.
    now: Option<String>,
}

const ATTEMPTS: &str = "refs/ralph/attempts/";

/// The ref that the attempt of an iteration is kept under.
pub fn attempt_ref(iteration_id: &IterationId) -> String {
    format!("{ATTEMPTS}{iteration_id}")
}

impl Repo {
    /// Keeps a tree under `refs/ralph/attempts/<iteration id>`.
    pub async fn save_attempt(
        &self,
        iteration_id: &IterationId,
        base: &Oid,
        tree: &Oid,
        policy: &CompiledPolicy,
    ) -> Result<KeptAttempt, GitError> {
        let reference = attempt_ref(iteration_id);
        check_ref_name(&reference)?;
        let _state = self.in_order().await;
        let (tree, hidden) = self.without_new_secrets(base, tree, policy).await?;
        let message = format!("attempt {iteration_id}\n");
        let commit = self.commit_tree(&tree, base, &message).await?;
        let found = read_ref(&self.common_dir, &reference)?;
        self.move_ref(&reference, &commit, found.as_ref(), "ralph: attempt")
            .await?;
        Ok(KeptAttempt {
            reference,
            tree,
            hidden,
        })
    }

    /// The tree of an attempt as it may be kept, and what to say of the difference.
    async fn without_new_secrets(
        &self,
        base: &Oid,
        tree: &Oid,
        policy: &CompiledPolicy,
    ) -> Result<(Oid, Vec<String>), GitError> {
        let mut files = self.attempt_files(base, tree).await?;
        files.retain(|file| !policy.expects_secrets(&file.path));
        let found = self.find_secrets(&files, policy).await?;
        if found.is_empty() {
            return Ok((tree.clone(), Vec::new()));
        }
        let before: Vec<&str> = files.iter().filter_map(|f| f.before.as_deref()).collect();
        let mut base = Vec::new();
        self.read_blobs(&before, &mut |_, bytes| base.push(bytes))
            .await?;
        let (mut lines, mut said) = (Vec::new(), Vec::new());
        for (file, bytes) in found {
            let name = file.path.to_string_lossy();
            let in_name = policy.secrets.find(name.as_bytes()).into_iter();
            let in_name: Vec<String> = in_name
                .filter(|finding| finding.certainty == Certainty::Secret)
                .map(|finding| finding.rule)
                .collect();
            let line = if file.before.is_none() && !in_name.is_empty() {
                said.push(format!(
                    "the kept attempt is without a file whose name held what looks like a secret ({})",
                    in_name.join(", ")
                ));
                format!("0 {}\t", tree.zero_like())
            } else if let Some((hidden, rules)) = hide_refused(&bytes, &base, &policy.secrets) {
                said.push(format!(
                    "in the kept attempt {}",
                    hidden_flag(&shown(&file.path), &rules)
                ));
                let blob = self.store_blob(hidden).await?;
                format!("{} {blob}\t", file.mode)
            } else {
                continue;
            };
            lines.extend(line.into_bytes());
            lines.extend(file.path.as_os_str().as_bytes());
            lines.push(0);
        }
        if lines.is_empty() {
            return Ok((tree.clone(), said));
        }
        let side = Index::Side;
        let call = self.git(["read-tree", tree.as_str()]);
        call.index(side).run().await?;
        let call = self.git(["update-index", "--add", "-z", "--index-info"]);
        call.index(side).stdin(lines).run().await?;
        Ok((self.write_tree(side).await?, said))
    }

    /// The files of an attempt that hold a secret, by their content or, where they are new, by their name.
    async fn find_secrets<'f>(
        &self,
        files: &'f [AttemptFile],
        policy: &CompiledPolicy,
    ) -> Result<Vec<(&'f AttemptFile, Vec<u8>)>, GitError> {
        let is_secret = |text: &[u8]| {
            let mut found = policy.secrets.find(text).into_iter();
            found.any(|finding| finding.certainty == Certainty::Secret)
        };
        let there: Vec<&AttemptFile> = files.iter().filter(|f| f.now.is_some()).collect();
        let blobs: Vec<&str> = there.iter().filter_map(|f| f.now.as_deref()).collect();
        let mut found = Vec::new();
        self.read_blobs(&blobs, &mut |at, bytes| {
            let file = there[at];
            let name = file.path.to_string_lossy();
            if is_secret(&bytes) || file.before.is_none() && is_secret(name.as_bytes()) {
                found.push((file, bytes));
            }
        })
        .await?;
        Ok(found)
    }

    /// The files and links in which a tree differs from its base.
    async fn attempt_files(&self, base: &Oid, tree: &Oid) -> Result<Vec<AttemptFile>, GitError> {
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            "--ignore-submodules=dirty",
            base.as_str(),
            tree.as_str(),
        ];
        let output = self.git(args).run().await?;
        let mut records = output.split(|byte| *byte == 0);
        let mut files = Vec::new();
        while let (Some(facts), Some(path)) = (records.next(), records.next()) {
            let facts = String::from_utf8_lossy(facts).into_owned();
            let facts: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
            let [mode_before, mode, before, now, ..] = facts[..] else {
                continue;
            };
            let is_blob = |mode: &str| mode.starts_with("100") || mode == SYMLINK;
            if mode == SUBMODULE || mode_before == SUBMODULE {
                continue;
            }
            files.push(AttemptFile {
                path: path_of(path),
                mode: mode.to_owned(),
                before: is_blob(mode_before).then(|| before.to_owned()),
                now: is_blob(mode).then(|| now.to_owned()),
            });
        }
        Ok(files)
    }

    /// Reads the contents of blobs, each with its place in the list; those that are too large are left out.
    async fn read_blobs(
        &self,
        blobs: &[&str],
        each: &mut dyn FnMut(usize, Vec<u8>),
    ) -> Result<(), GitError> {
        if blobs.is_empty() {
            return Ok(());
        }
        let list = |all: &[usize]| -> String {
            let lines = all.iter().map(|at| format!("{}\n", blobs[*at]));
            lines.collect()
        };
        let all: Vec<usize> = (0..blobs.len()).collect();
        let args = ["cat-file", "--batch-check=%(objectsize)"];
        let output = self.git(args).stdin(list(&all)).run().await?;
        let output = String::from_utf8_lossy(&output).into_owned();
        let sizes: Vec<usize> = output
            .lines()
            .map(|line| line.parse().unwrap_or(usize::MAX))
            .collect();
        let size = |at: &usize| sizes.get(*at).copied().unwrap_or(usize::MAX);
        let mut left: Vec<usize> = all;
        left.retain(|at| size(at) <= LARGEST_SEARCHED);
        while !left.is_empty() {
            let mut bytes = 0;
            let fits = left.iter().take_while(|at| {
                let is_first = bytes == 0;
                bytes += size(at) + 1;
                is_first || bytes <= READ_AT_ONCE
            });
            let count = fits.count();
            let now: Vec<usize> = left.drain(..count).collect();
            let call = self.git(["cat-file", "--batch=%(objectname)"]);
            let output = call.stdin(list(&now)).run().await?;
            let mut rest = output.as_slice();
            for at in now {
                // A line with its name, the content, and the end of a line.
                let begin = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
                let end = begin.saturating_add(size(&at)).min(rest.len());
                each(at, rest[begin.min(end)..end].to_vec());
                rest = rest.get(end + 1..).unwrap_or_default();
            }
        }
        Ok(())
    }

    async fn store_blob(&self, bytes: Vec<u8>) -> Result<Oid, GitError> {
        let call = self.git(["hash-object", "-w", "--no-filters", "--stdin"]);
        call.stdin(bytes).run_oid().await
    }

    /// Keeps files that are no part of an attempt's tree beside it, without secrets: each a path of the repository,
    /// and where it is to be read. Returns the name of the ref.
    pub async fn save_beside(
        &self,
        iteration_id: &IterationId,
        base: &Oid,
        files: &[(PathBuf, PathBuf)],
        policy: &CompiledPolicy,
    ) -> Result<String, GitError> {
        let name = format!("{}-untracked", attempt_ref(iteration_id));
        check_ref_name(&name)?;
        let _state = self.in_order().await;
        let mut lines = Vec::new();
        for (path, from) in files {
            let mut bytes = std::fs::read(from).map_err(GitError::io("read", from))?;
            if !policy.expects_secrets(path)
                && let Some((hidden, _)) = hide_refused(&bytes, &[], &policy.secrets)
            {
                bytes = hidden;
            }
            let blob = self.store_blob(bytes).await?;
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
