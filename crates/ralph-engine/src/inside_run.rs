//! Tells whether this process runs inside a run: started, however indirectly, by an agent or a verify command.
//!
//! An agent must not speak as a person, and it can change or unset every variable, copy the program and leave its
//! session. What it can't change is who keeps its processes: a keeper's name says which data folder and which
//! worktree its run is of. A run of another data folder, in another repository, is none of ours: the tests of a
//! program that drives ralph may be what is verified.

use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use sha2::Digest as _;

use crate::{
    lock::Lock,
    process::{Ancestor, KeeperName, ancestors, pid_namespace},
};

/// The sign by which a process is known to be inside a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InsideRun {
    /// A keeper of the run is above it.
    Kept,
    /// The loop itself is above it.
    BelowLoop { pid: u32 },
    /// The data folder can't be written here, as in all programs of a run.
    ReadOnlyData { path: PathBuf },
    /// The processes above it can't be seen, or a loop works in this worktree that can't.
    Hidden,
}

/// The data folder and the worktree that a command is about.
#[derive(Debug, Clone, Copy)]
pub struct CommandPlace<'a> {
    pub data_dir: Option<&'a Path>,
    pub worktree: Option<&'a Path>,
}

/// The file that holds the name of the keeper in a container, where the keeper itself can't be seen.
pub(crate) const RUN_MARK: &str = "/run/ralph-run";

/// Before the marks in the name of a run's keeper.
const PREFIX: &str = "ralph";
const MARK_CHARS: usize = 5;
/// In place of what is not known.
const NO_MARK: &str = "-----";

impl CommandPlace<'_> {
    /// The name for keepers of runs here.
    pub fn keeper_name(&self) -> KeeperName {
        let marks = [self.data_mark(), self.worktree_mark()];
        let [data, worktree] = marks.map(|mark| mark.unwrap_or_else(|| NO_MARK.to_owned()));
        KeeperName::new(&format!("{PREFIX}{data}{worktree}"))
    }

    /// By its inode, which is the same wherever the folder is mounted.
    fn data_mark(&self) -> Option<String> {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::metadata(self.data_dir?).ok()?;
        Some(mark(format!("{}:{}", found.dev(), found.ino()).as_bytes()))
    }

    /// By its path: in a layer its inode is another.
    fn worktree_mark(&self) -> Option<String> {
        let real = self.worktree?.canonicalize().ok()?;
        Some(mark(real.as_os_str().as_encoded_bytes()))
    }

    /// Returns the first sign that this process is inside a run of the data folder or in the worktree.
    pub fn inside_run(&self) -> Option<InsideRun> {
        let above = ancestors();
        if self.is_kept(above.as_deref().unwrap_or_default()) {
            return Some(InsideRun::Kept);
        }
        let below_loop = above.as_ref().and_then(|above| self.loop_above(above));
        below_loop
            .map(|pid| InsideRun::BelowLoop { pid })
            .or_else(|| {
                Some(InsideRun::ReadOnlyData {
                    path: self.read_only_data()?,
                })
            })
            .or_else(|| self.is_hidden(above.is_some()).then_some(InsideRun::Hidden))
    }

    fn is_kept(&self, above: &[Ancestor]) -> bool {
        let (data, worktree) = (self.data_mark(), self.worktree_mark());
        let in_container = std::fs::read_to_string(RUN_MARK).ok();
        above
            .iter()
            .map(|one| one.name.as_str())
            .chain(in_container.as_deref())
            .filter_map(marks_of)
            .any(|marks| {
                data.as_deref() == Some(marks.data) || worktree.as_deref() == Some(marks.worktree)
            })
    }

    /// The process of a loop that is above this one, with no keeper in between: where there are no keepers, or
    /// not any more. What has a keeper that names no run was started by ralph for a person, as a notification is.
    fn loop_above(&self, above: &[Ancestor]) -> Option<u32> {
        let own = pid_namespace();
        let holders = Lock::holders(self.data_dir?);
        let mut unkept = above.iter().take_while(|one| !is_keeper(&one.name));
        let found = unkept.find(|one| {
            holders
                .iter()
                .any(|held| held.pid == one.pid && held.namespace == own)
        });
        found.map(|one| one.pid)
    }

    /// The part of the data folder that is mounted such that it can't be written.
    fn read_only_data(&self) -> Option<PathBuf> {
        let folder = self.data_dir?;
        let is_read_only = |path: &PathBuf| {
            statvfs(path).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
        };
        [folder.to_owned(), folder.join("ralph.db")]
            .into_iter()
            .find(is_read_only)
    }

    /// A program can make a namespace of its own in which nothing above it is seen.
    fn is_hidden(&self, sees_above: bool) -> bool {
        if !sees_above {
            return true;
        }
        let (Some(data_dir), Some(worktree)) = (self.data_dir, self.worktree) else {
            return false;
        };
        let holder = Lock::holder(data_dir, worktree);
        holder.is_some_and(|holder| {
            let is_elsewhere = holder.namespace.is_some() && holder.namespace != pid_namespace();
            is_elsewhere && !holder.is_below()
        })
    }
}

struct KeeperMarks<'a> {
    data: &'a str,
    worktree: &'a str,
}

fn marks_of(name: &str) -> Option<KeeperMarks<'_>> {
    let marks = name.strip_prefix(PREFIX)?;
    let (data, worktree) = marks.split_at_checked(MARK_CHARS)?;
    (worktree.len() == MARK_CHARS).then_some(KeeperMarks { data, worktree })
}

fn is_keeper(name: &str) -> bool {
    name == "ralph-keeper" || marks_of(name).is_some()
}

/// A few characters that stand for a text.
fn mark(text: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
    let hash = sha2::Sha256::digest(text);
    let letter = |byte: &u8| char::from(LETTERS[usize::from(byte % 32)]);
    hash.iter().take(MARK_CHARS).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn above(names: &[&str]) -> Vec<Ancestor> {
        let named = (100..).zip(names);
        named
            .map(|(pid, name)| Ancestor {
                pid,
                name: (*name).to_owned(),
            })
            .collect()
    }

    /// The name as the kernel shows it.
    fn shown(place: &CommandPlace<'_>) -> String {
        let name = format!("{:?}", place.keeper_name());
        name.split('"').nth(1).unwrap().to_owned()
    }

    #[test]
    fn a_keeper_counts_where_it_is_of_this_data_folder_or_of_this_worktree() {
        let top = tempfile::tempdir().unwrap();
        let folders =
            ["data", "repo", "other-data", "other-repo"].map(|name| top.path().join(name));
        for folder in &folders {
            std::fs::create_dir(folder).unwrap();
        }
        let [data, repo, other_data, other_repo] = &folders;
        let place = |data_dir, worktree| CommandPlace { data_dir, worktree };
        let name = shown(&place(Some(data.as_path()), Some(repo.as_path())));
        assert_eq!(name.len(), KeeperName::LONGEST);
        let kept = above(&["bash", "agent", &name, "ralph", "zsh"]);
        assert!(place(Some(data), Some(other_repo)).is_kept(&kept));
        assert!(place(Some(other_data), Some(repo)).is_kept(&kept));
        assert!(place(None, Some(repo)).is_kept(&kept));
        assert!(!place(Some(other_data), Some(other_repo)).is_kept(&kept));
        assert!(!place(None, None).is_kept(&kept));
        let link = top.path().join("link");
        std::os::unix::fs::symlink(data, &link).unwrap();
        assert!(place(Some(&link), None).is_kept(&kept));
        let unmarked = above(&["bash", "ralph-keeper", "ralph", "ralph------"]);
        assert!(!place(Some(data), Some(repo)).is_kept(&unmarked));
    }

    #[test]
    fn a_loop_counts_where_no_keeper_is_in_between() {
        let data = tempfile::tempdir().unwrap();
        let lock =
            Lock::acquire(data.path(), Path::new("/repo"), crate::lock::LockUse::Loop).unwrap();
        let place = CommandPlace {
            data_dir: Some(data.path()),
            worktree: None,
        };
        let own = std::process::id();
        let chain = |between: &str| {
            let mut all = above(&["sh", between]);
            all.push(Ancestor {
                pid: own,
                name: "ralph".into(),
            });
            all
        };
        assert_eq!(place.loop_above(&chain("node")), Some(own));
        assert_eq!(place.loop_above(&chain("ralph-keeper")), None);
        assert_eq!(place.inside_run(), None);
        drop(lock);
        assert_eq!(place.loop_above(&chain("node")), None);
    }
}
