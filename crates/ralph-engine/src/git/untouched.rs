//! Tells without a git call that nothing in the working tree was changed since a moment.
//!
//! By the times of change that file systems keep for themselves: no program can set them. Where they do not tell,
//! because there is too much to look at, another clock, or a change, git has to look.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Stat, statat};

use super::Repo;
use super::candidate::SUBMODULE;
use super::repo::{StageIndex, StagedTree};
use super::status::{Seen, path_of};

/// The file in ralph's own git folder that is touched to ask for the time.
const FILE: &str = "moment";
/// The most files that are looked at. For more of them git is as quick.
const MOST: usize = 2_000;

/// A moment by the clock of a file system.
#[derive(Debug, Clone, Copy)]
pub(super) struct DiskMoment {
    device: u64,
    at: (i64, i64),
}

impl DiskMoment {
    /// Asks the file system that a folder is on.
    pub(super) fn now(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        // A change of rights, also to the same ones, is marked by the time. Linux marks by its tick, and exactly only
        // what was looked at within the same one: what was changed right before is to be told from this.
        let touch = || {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
            file.metadata()
        };
        touch()?;
        let found = touch()?;
        Ok(Self {
            device: found.dev(),
            at: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// Tells that a file was not changed since; false where that can't be known.
    // The types of the fields differ between systems.
    #[allow(clippy::unnecessary_cast)]
    fn is_after(self, found: &Stat) -> bool {
        let changed = (found.st_ctime as i64, found.st_ctime_nsec as i64);
        found.st_dev as u64 == self.device && changed < self.at
    }
}

/// The working tree as it was looked at when all of its changes were staged.
#[derive(Debug)]
pub(super) struct StagedLook {
    /// Before git looked.
    pub(super) since: DiskMoment,
    /// All that is not staged.
    pub(super) rest: Seen,
}

impl Repo {
    /// Returns the last look at the tree if nothing in it was changed since. What is in folders of ralph's own is not
    /// looked at.
    pub(super) fn untouched<'s>(
        &self,
        staged: &'s StagedTree,
        own: &[PathBuf],
    ) -> Option<&'s StagedLook> {
        let StageIndex::Held(index) = &staged.index else {
            return None;
        };
        let (look, index) = (staged.look.as_ref()?, index.parse()?);
        // The commit of a submodule is noted elsewhere.
        let is_plain = index.entries.len() <= MOST
            && index.entries.iter().all(|entry| entry.mode != SUBMODULE);
        let is_untouched = is_plain && is_untouched(&self.root, look.since, own).unwrap_or(false);
        is_untouched.then_some(look)
    }
}

fn is_untouched(root: &Path, since: DiskMoment, own: &[PathBuf]) -> io::Result<bool> {
    let top = File::open(root)?;
    if !since.is_after(&rustix::fs::fstat(&top)?) {
        return Ok(false);
    }
    let mut count = 0;
    let mut folders = vec![(PathBuf::new(), top)];
    while let Some((folder, open)) = folders.pop() {
        for entry in Dir::read_from(&open)? {
            let entry = entry?;
            let name = entry.file_name();
            let path = folder.join(path_of(name.to_bytes()));
            let is_left_out = [b".".as_slice(), b".."].contains(&name.to_bytes())
                || path.as_os_str().as_bytes() == b".git"
                || own.contains(&path) && entry.file_type() == FileType::Directory;
            if is_left_out {
                continue;
            }
            count += 1;
            let found = statat(&open, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if count > MOST || !since.is_after(&found) {
                return Ok(false);
            }
            if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
                let open = File::open(root.join(&path))?;
                folders.push((path, open));
            }
        }
    }
    Ok(true)
}
