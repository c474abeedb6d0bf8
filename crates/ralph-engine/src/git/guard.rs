//! Remembers what an agent must not change in the git folder, and puts it back.
//!
//! Ralph's own calls do not read these files; the person's next `git status` does. A snapshot is kept
//! on disk until it is released, so that it also holds over a crash of ralph. A `.git` that was
//! replaced is an error: nothing is written into what took its place.

mod objects;
mod refs;
mod snapshot;

pub use refs::{ChangedBy, GuardedFiles, RefGuard};

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::objects::{ObjectGuard, open_subfolders};
use self::snapshot::{FolderIdentity, FolderNow, Kept, hex_path};
use super::refs::{HeadFile, parse_head, read_branch, read_head};
use super::reset::make_writable;
use super::{GitError, Repo};
use crate::plain_file;

const FILE: &str = "git-guard.json";

/// Files of the worktree's git folder.
const OF_WORKTREE: &[&str] = &[
    "HEAD",
    "config.worktree",
    "info/sparse-checkout",
    "commondir",
    "gitdir",
];
/// The file with the id that ralph knows the repository by.
const OWN_ID: &str = "ralph/id";
/// Files of the folder that all worktrees share.
const OF_REPOSITORY: &[&str] = &[
    "config",
    OWN_ID,
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "shallow",
];
/// Operations that a person would have to finish; none was in progress when the loop began.
const OPERATIONS: &[&str] = &[
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

#[derive(Debug, Serialize, Deserialize)]
pub struct Guard {
    #[serde(skip)]
    state_dir: PathBuf,
    #[serde(skip)]
    origin: SnapshotOrigin,
    #[serde(with = "hex_path")]
    dot_git: PathBuf,
    /// What `.git` is: a folder, or a file with this content.
    dot_git_was: Kept,
    folders: Vec<FolderIdentity>,
    files: Vec<(String, Kept)>,
    #[serde(with = "hex_path")]
    hooks: PathBuf,
    hooks_were: Vec<(String, Kept)>,
}

/// The process that took a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SnapshotOrigin {
    /// This one: its disk is not mounted again while it runs.
    ThisProcess,
    /// One that was killed, maybe before a restart of the machine.
    #[default]
    Earlier,
}

/// Where HEAD is, as against the branch that it was on when the watch began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadNow {
    AsItWas,
    Elsewhere {
        branch: String,
        found: String,
    },
    /// Elsewhere, and the branch is not there any more.
    BranchGone,
}

/// Something in the git folder that was changed behind ralph's back, and put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tampered {
    pub path: PathBuf,
    pub how: TamperedHow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TamperedHow {
    Created,
    Changed,
    Removed,
}

impl std::fmt::Display for TamperedHow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Created => "was created in the git folder and is removed",
            Self::Changed => "was changed in the git folder and is put back",
            Self::Removed => "was removed from the git folder and is put back",
        })
    }
}

impl Guard {
    /// Takes a snapshot, once the branch is switched to and before an agent runs.
    pub fn take(repo: &Repo) -> Result<Self, GitError> {
        let dot_git = repo.root.join(".git");
        let hooks = repo.common_dir.join("hooks");
        let guard = Self {
            state_dir: repo.state_dir.clone(),
            origin: SnapshotOrigin::ThisProcess,
            dot_git_was: Kept::of(&dot_git)?,
            dot_git,
            folders: vec![
                FolderIdentity::of(&repo.git_dir)?,
                FolderIdentity::of(&repo.common_dir)?,
            ],
            files: guarded_files(repo)
                .map(|path| Ok((snapshot::hex(path.as_os_str().as_bytes()), Kept::of(&path)?)))
                .collect::<Result<_, GitError>>()?,
            hooks_were: snapshot::hooks_in(&hooks)?,
            hooks,
        };
        guard.write()?;
        Ok(guard)
    }

    /// The snapshot that a run of ralph left which did not end well.
    pub fn load(state_dir: &Path) -> Result<Option<Self>, GitError> {
        let guard = snapshot::load::<Self>(&state_dir.join(FILE))?;
        Ok(guard.map(|guard| Self {
            state_dir: state_dir.to_owned(),
            ..guard
        }))
    }

    /// Returns whether a snapshot is on disk, so that an agent may have run since the last clean end.
    pub fn is_in_force(state_dir: &Path) -> bool {
        state_dir.join(FILE).exists()
    }

    /// Returns whether HEAD left its branch. After a crash it is unknown who did that, and the files in the
    /// working tree went with it.
    pub fn head_now(&self) -> Result<HeadNow, GitError> {
        self.reopen_places()?;
        let (git_dir, common_dir) = (self.folders[0].path(), self.folders[1].path());
        let path = git_dir.join("HEAD");
        let was = self.kept(&path).and_then(Kept::bytes);
        match was.map(|b| parse_head(&b)) {
            Some(HeadFile::Branch(branch)) => head_against(git_dir, common_dir, &branch),
            _ => Ok(HeadNow::AsItWas),
        }
    }

    /// Leaves HEAD where it was moved to.
    #[must_use]
    pub fn without_head(mut self) -> Self {
        let head = self.folders[0].path().join("HEAD");
        self.files
            .retain(|(path, _)| snapshot::unhex_path(path) != head);
        self
    }

    fn kept(&self, path: &Path) -> Option<&Kept> {
        let found = self
            .files
            .iter()
            .find(|(p, _)| snapshot::unhex_path(p) == path);
        found.map(|(_, kept)| kept)
    }

    /// Puts back what changed and says what it was. A file that is taken away is kept beside the
    /// snapshot: after a crash it may be a person's.
    pub fn restore_changed(&self) -> Result<Vec<Tampered>, GitError> {
        self.reopen_places()?;
        self.restore_checked()
    }

    /// The same for a caller that has just checked the places.
    pub fn restore_checked(&self) -> Result<Vec<Tampered>, GitError> {
        let mut tampered = Vec::new();
        for (path, was) in &self.files {
            let path = snapshot::unhex_path(path);
            tampered.extend(self.restore(&path, was)?);
        }
        for (name, now) in snapshot::hooks_in(&self.hooks)? {
            let path = self.hooks.join(snapshot::unhex_path(&name));
            let known = self.hooks_were.iter().any(|(was, _)| *was == name);
            if !known && now != Kept::Absent {
                tampered.extend(self.restore(&path, &Kept::Absent)?);
            }
        }
        for (name, was) in &self.hooks_were {
            tampered.extend(self.restore(&self.hooks.join(snapshot::unhex_path(name)), was)?);
        }
        Ok(tampered)
    }

    /// Ends the watch, after a clean end.
    pub fn release(self) -> Result<(), GitError> {
        ObjectGuard::new(self.folders[1].path(), &self.state_dir).release()?;
        super::repo::remove_if_there(&self.state_dir.join(FILE))
    }

    fn restore(&self, path: &Path, was: &Kept) -> Result<Option<Tampered>, GitError> {
        let now = Kept::of(path)?;
        if now == *was {
            return Ok(None);
        }
        if let (Some(bytes), Some(name)) = (now.bytes(), path.file_name()) {
            let mut taken = std::ffi::OsString::from("taken-away-");
            taken.push(name);
            let aside = self.state_dir.join(taken);
            fs::write(&aside, bytes).map_err(GitError::io("write", &aside))?;
        }
        if let (Kept::Folder, Some(name)) = (&now, path.file_name()) {
            // A rebase that a person has begun since, say. On another device it is moved aside where it is.
            let mut taken = std::ffi::OsString::from("taken-away-");
            taken.push(name);
            let _ = fs::rename(path, plain_file::free_name(&self.state_dir, &taken));
        }
        let how = match (&now, was) {
            (_, Kept::Absent) => TamperedHow::Created,
            (Kept::Absent, _) => TamperedHow::Removed,
            _ => TamperedHow::Changed,
        };
        was.put_back(path)?;
        Ok(Some(Tampered {
            path: path.to_owned(),
            how,
        }))
    }

    /// Gives the owner back the rights on git's folders: without them nothing can be looked at.
    fn open_folders(&self) {
        // One and the same folder, but for a linked worktree.
        let mut tops: Vec<&Path> = self.folders.iter().map(FolderIdentity::path).collect();
        tops.dedup();
        let names = [
            "hooks",
            "info",
            "logs",
            "logs/refs",
            "refs",
            "worktrees",
            "objects",
        ];
        for top in tops {
            make_writable(top);
            for path in names.map(|name| top.join(name)) {
                // A file in the place of a folder stops git as well.
                if path.symlink_metadata().is_ok() && !path.is_dir() {
                    let _ = fs::remove_file(&path).and_then(|()| fs::create_dir(&path));
                }
                make_writable(&path);
            }
            // Git makes a new index where there is none, and fails at anything but a file.
            let index = top.join("index");
            if index.symlink_metadata().is_ok() && !index.is_file() {
                let _ = Kept::Absent.put_back(&index);
            }
        }
    }

    /// Gives the owner back the rights on git's folders, and refuses a `.git` that is not the one that the
    /// snapshot is of.
    pub fn reopen_places(&self) -> Result<(), GitError> {
        self.open_folders();
        for top in &self.folders {
            open_subfolders(&top.path().join("objects"), |_| true);
        }
        self.compare_places()
    }

    /// The same for a caller that puts refs back next, and with them the folders of objects.
    pub fn reopen_places_but_objects(&self) -> Result<(), GitError> {
        self.open_folders();
        self.compare_places()
    }

    /// The same for one that only looks: changes nothing.
    pub fn compare_places(&self) -> Result<(), GitError> {
        let replaced = |found: String| GitError::ReplacedGitDir {
            path: self.dot_git.clone(),
            found,
        };
        let now = Kept::of(&self.dot_git)?;
        if now != self.dot_git_was {
            return Err(replaced(format!(
                "it is {} now, and was {}",
                now.kind(),
                self.dot_git_was.kind()
            )));
        }
        for place in &self.folders {
            let is_same = match (place.now(), self.origin) {
                (FolderNow::Same, _) => true,
                (FolderNow::Remounted, SnapshotOrigin::Earlier) => true,
                (FolderNow::OnOtherDevice, SnapshotOrigin::Earlier) => self.has_own_id()?,
                (FolderNow::Remounted | FolderNow::OnOtherDevice, SnapshotOrigin::ThisProcess)
                | (FolderNow::Another, _) => false,
            };
            if !is_same {
                return Err(replaced(format!(
                    "{} is another folder now",
                    place.path().display()
                )));
            }
        }
        Ok(())
    }

    /// Tells whether the id that ralph knows the repository by is as it was.
    fn has_own_id(&self) -> Result<bool, GitError> {
        let path = self.folders[1].path().join(OWN_ID);
        let now = Kept::of(&path)?;
        Ok(matches!(now, Kept::File { .. }) && self.kept(&path) == Some(&now))
    }

    /// Takes the snapshots of a worktree out of force, whatever they say: what is there now is right. They are
    /// kept beside their places. Returns whether there was one.
    pub fn set_aside(state_dir: &Path) -> Result<bool, GitError> {
        let mut found = false;
        for name in [FILE, refs::FILE] {
            let path = state_dir.join(name);
            let aside = state_dir.join(format!("{name}.set-aside"));
            match fs::rename(&path, aside) {
                Ok(()) => found = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(GitError::io("set aside", &path)(error)),
            }
        }
        Ok(found)
    }

    fn write(&self) -> Result<(), GitError> {
        let path = self.state_dir.join(FILE);
        let text = serde_json::to_vec(self).map_err(|e| GitError::io("write", &path)(e.into()))?;
        let temporary = self.state_dir.join(format!("{FILE}.new"));
        fs::write(&temporary, text)
            .and_then(|()| fs::File::open(&temporary)?.sync_all())
            .and_then(|()| fs::rename(&temporary, &path))
            .map_err(GitError::io("write", &path))
    }
}

impl Repo {
    /// Looks where HEAD is, as against a branch that it was on.
    pub fn head_against(&self, branch: &str) -> Result<HeadNow, GitError> {
        head_against(&self.git_dir, &self.common_dir, branch)
    }
}

fn head_against(git_dir: &Path, common_dir: &Path, branch: &str) -> Result<HeadNow, GitError> {
    let found = match read_head(git_dir)? {
        HeadFile::Branch(found) if found == branch => return Ok(HeadNow::AsItWas),
        HeadFile::Branch(found) => format!("branch {found}"),
        HeadFile::Detached(oid) => format!("commit {oid}"),
        HeadFile::Other(found) => found,
    };
    let branch = branch.to_owned();
    Ok(match read_branch(common_dir, &branch)? {
        Some(_) => HeadNow::Elsewhere { branch, found },
        None => HeadNow::BranchGone,
    })
}

fn guarded_files(repo: &Repo) -> impl Iterator<Item = PathBuf> {
    let of = |folder: &Path, names: &[&str]| -> Vec<PathBuf> {
        names.iter().map(|name| folder.join(name)).collect()
    };
    let mut files = of(&repo.git_dir, OF_WORKTREE);
    files.extend(of(&repo.git_dir, OPERATIONS));
    files.extend(of(&repo.common_dir, OF_REPOSITORY));
    files.into_iter()
}
