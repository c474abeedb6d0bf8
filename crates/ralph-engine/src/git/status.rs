//! What differs between HEAD, the index and the working tree, in one call.
//!
//! Looks and changes nothing a person can see. Does not look into submodules: a git call in there
//! would read settings that an agent can write.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::refs::{HeadFile, read_branch, read_head};
use super::repo::State;
use super::{GitError, Oid, Repo};

pub(super) const SCAN: [&str; 6] = [
    "status",
    "--porcelain=v2",
    "-z",
    "--untracked-files=all",
    "--no-renames",
    "--ignore-submodules=dirty",
];

/// The repository as a person would see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub head: Oid,
    /// `None` if HEAD is detached.
    pub branch: Option<String>,
    /// Tracked paths that differ, staged or not.
    pub changed: Vec<StatusEntry>,
    /// Files that git neither tracks nor ignores, one by one; a nested repository is one path.
    pub untracked: Vec<PathBuf>,
}

impl Status {
    pub fn is_clean(&self) -> bool {
        self.changed.is_empty() && self.untracked.is_empty()
    }
}

/// One tracked path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusEntry {
    pub path: PathBuf,
    /// Index against HEAD, as `git status` writes it; `.` for no difference.
    pub staged: u8,
    /// Working tree against index.
    pub worktree: u8,
}

impl Repo {
    pub async fn status(&self) -> Result<Status, GitError> {
        let mut state = self.state.lock().await;
        let (head, branch) = self.current()?;
        let early = state.finish_early().await;
        let beside = match state.beside.take() {
            Some(scan) => scan.finish().await,
            None => None,
        };
        let is_index_adopted = self.adopt_real_index(&mut state)?;
        let is_usable = |(_, of): &(Seen, Oid)| *of == head && !is_index_adopted;
        let early = early.filter(is_usable);
        // An index of ralph's own may have been seen beside, which says nothing of what a person staged.
        let had_staged = early.is_none() && state.real_has_staged;
        let (seen, had_staged) = match early.or(beside.filter(is_usable)) {
            Some((seen, _)) => (seen, had_staged),
            None => {
                self.shadow.set_head(&head)?;
                self.ensure_index(&head).await?;
                (self.scan().await?, false)
            }
        };
        let has_staged = seen.changed.iter().any(|entry| entry.staged != b'.');
        state.real_has_staged = has_staged || had_staged;
        let (changed, untracked) = (seen.changed, seen.untracked);
        Ok(Status {
            head,
            branch,
            changed,
            untracked,
        })
    }

    /// The commit that is checked out, and the branch if there is one.
    pub(super) fn current(&self) -> Result<(Oid, Option<String>), GitError> {
        match read_head(&self.git_dir)? {
            HeadFile::Detached(oid) => Ok((oid, None)),
            HeadFile::Branch(branch) => {
                let tip = read_branch(&self.common_dir, &branch)?.ok_or(GitError::NoCommit)?;
                Ok((tip, Some(branch)))
            }
            HeadFile::Other(found) => Err(GitError::Unexpected {
                command: "read HEAD".into(),
                answer: found,
            }),
        }
    }

    /// Compares the base index with HEAD of the shadow and with the working tree.
    pub(super) async fn scan(&self) -> Result<Seen, GitError> {
        read_seen(&self.git(SCAN).run().await?)
    }

    /// Makes the base index what the person's is, over HEAD.
    pub(super) async fn take_over_index(
        &self,
        state: &mut State,
        head: &Oid,
    ) -> Result<(), GitError> {
        self.adopt_real_index(state)?;
        self.shadow.set_head(head)?;
        self.ensure_index(head).await
    }

    /// Makes the base index if there is none.
    pub(super) async fn ensure_index(&self, base: &Oid) -> Result<(), GitError> {
        if self.shadow.index().exists() {
            Ok(())
        } else {
            self.read_base(base).await
        }
    }

    /// Puts the base index at `base`, whatever it held. What it knows of unchanged files stays.
    pub(super) async fn read_base(&self, base: &Oid) -> Result<(), GitError> {
        self.git(["read-tree", "--reset", base.as_str()])
            .run()
            .await
            .map(drop)
    }

    /// Sees the working tree against `base` by an index that is known to equal `base`.
    pub(super) async fn scan_against(
        &self,
        base: &Oid,
        state: &mut State,
    ) -> Result<Seen, GitError> {
        state.staged = None;
        state.verified = None;
        self.shadow.set_head(base)?;
        self.ensure_index(base).await?;
        // The index is not written back: it was before the agent ran, and will be once this landed.
        let look = ["--no-optional-locks"].into_iter().chain(SCAN);
        let seen = read_seen(&self.git(look).run().await?)?;
        if seen.changed.iter().all(|entry| entry.staged == b'.') {
            return Ok(seen);
        }
        self.read_base(base).await?;
        state.base_index = Some(base.clone());
        self.scan().await
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) changed: Vec<StatusEntry>,
    pub(super) untracked: Vec<PathBuf>,
}

pub(super) fn read_seen(output: &[u8]) -> Result<Seen, GitError> {
    parse_status(output).ok_or_else(|| GitError::Unexpected {
        command: "git status".into(),
        answer: "a record that git does not document".into(),
    })
}

/// Reads `git status --porcelain=v2 -z`.
fn parse_status(output: &[u8]) -> Option<Seen> {
    let mut seen = Seen::default();
    let mut records = output.split(|byte| *byte == 0);
    while let Some(record) = records.next() {
        // How many fields stand before the path, which may itself hold spaces.
        let fields = match record.first() {
            None => continue,
            Some(b'1') => 8,
            Some(b'2') => 9,
            Some(b'u') => 10,
            Some(b'?') => {
                let path = record.get(2..)?;
                seen.untracked
                    .push(path_of(path.strip_suffix(b"/").unwrap_or(path)));
                continue;
            }
            Some(b'!' | b'#') => continue,
            Some(_) => return None,
        };
        let mut parts = record.splitn(fields + 1, |byte| *byte == b' ');
        let states = parts.nth(1)?;
        let path = path_of(parts.nth(fields - 2)?);
        let [staged, worktree] = *states else {
            return None;
        };
        if record[0] == b'2' {
            records.next()?;
        }
        seen.changed.push(StatusEntry {
            path,
            staged,
            worktree,
        });
    }
    Some(seen)
}

pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_kind_of_record_and_odd_paths() {
        let oid = "0".repeat(40);
        let output = format!(
            "# branch.oid x\x001 .M N... 100644 100644 100644 {oid} {oid} a b\n\"c\x00\
             1 D. N... 100644 000000 000000 {oid} {oid} gone\x00\
             2 R. N... 100644 100644 100644 {oid} {oid} R100 new\x00old\x00\
             u UU N... 100644 100644 100644 100644 {oid} {oid} {oid} both\x00\
             ? un tracked\x00? nested/\x00! ignored\x00"
        );
        let seen = parse_status(output.as_bytes()).unwrap();
        let entries: Vec<(String, String)> = seen
            .changed
            .iter()
            .map(|e| {
                let states = [e.staged, e.worktree];
                (
                    e.path.display().to_string(),
                    String::from_utf8_lossy(&states).into_owned(),
                )
            })
            .collect();
        let expected = [
            ("a b\n\"c", ".M"),
            ("gone", "D."),
            ("new", "R."),
            ("both", "UU"),
        ];
        assert_eq!(
            entries,
            expected.map(|(path, xy)| (path.to_owned(), xy.to_owned()))
        );
        assert_eq!(
            seen.untracked,
            [PathBuf::from("un tracked"), PathBuf::from("nested")]
        );
        assert_eq!(parse_status(b"9 new kind\0"), None);
    }
}
