//! The user that programs of root's run as: one of this machine that owns nothing.
//!
//! Mounts that swap an owner and this user show the repository, the home and downloads as theirs, so that on the
//! disk everything stays the owner's. The system is shown as it is.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::view::{SandboxView, ViewSource};
use crate::{
    layer::ProgramFolder,
    process::{
        MountPlan, MountStep, MountTrial, OverlayMount, OverlayOptions, OverlaySync, OverlayXattrs,
        OwnedPath, OwnerNeed, SandboxIdentity, ShownAs, TrialFailure,
    },
};

/// Ids that no distribution gives to anyone: above those of users and services, below those that `useradd` sets
/// aside for containers, and short enough for every format of archives.
const FIRST_ID: u32 = 80_000;
const ID_COUNT: u32 = 8_000;
/// The most files of a repository that are looked at for their owners.
const MOST_LOOKED_AT: usize = 50_000;
const NAME: &str = "ralph";
const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";

/// The files that say who has which id, with the number of the column.
const DATABASES: [(&str, usize); 4] = [
    (PASSWD, 2),
    (GROUP, 2),
    ("/etc/subuid", 1),
    ("/etc/subgid", 1),
];

/// The user of the programs of one ralph.
#[derive(Debug)]
pub(super) struct ProgramUser {
    id: u32,
    name: String,
    /// Holds `passwd` and `group`, in which the user has an entry.
    folder: ProgramFolder,
}

impl ProgramUser {
    /// Chooses a user, and writes down who it is. `Err` where there can be none: the reason.
    pub(super) fn choose(homes: &Path, home: Option<&Path>, root: &Path) -> Result<Self, String> {
        if let Some(other) = file_of_another_owner(root) {
            return Err(format!(
                "{} belongs to another user than the repository",
                other.display()
            ));
        }
        let taken = DATABASES.map(|(path, column)| {
            let text = fs::read_to_string(path).unwrap_or_default();
            taken_ids(&text, column)
        });
        let id = free_id(std::process::id(), &taken.concat())
            .ok_or_else(|| format!("all ids from {FIRST_ID} on are taken"))?;
        Self::write_down(id, homes, home).map_err(|error| error.to_string())
    }

    fn write_down(id: u32, homes: &Path, home: Option<&Path>) -> io::Result<Self> {
        let folder = ProgramFolder::make(homes)?;
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (users, groups) = (read(PASSWD), read(GROUP));
        let is_taken = has_name(&users, NAME) || has_name(&groups, NAME);
        let name = if is_taken {
            format!("{NAME}-{id}")
        } else {
            NAME.to_owned()
        };
        let home = home.unwrap_or(Path::new("/")).display();
        let user = format!("{name}:x:{id}:{id}:{name}:{home}:/bin/sh");
        let group = format!("{name}:x:{id}:");
        for (file, text, line) in [("passwd", users, user), ("group", groups, group)] {
            let mut options = fs::OpenOptions::new();
            let path = folder.path().join(file);
            let mut file = options
                .write(true)
                .create_new(true)
                .mode(0o644)
                .open(path)?;
            // The mask of this process may have taken away what all must read.
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
            file.write_all(with_line(&text, &line).as_bytes())?;
        }
        Ok(Self { id, name, folder })
    }

    /// Plans that a program becomes this user. `view` is all that it sees.
    pub(super) fn plan(&self, view: &SandboxView, mounts: Option<&MountPlan>) -> SandboxIdentity {
        let mut owned: Vec<OwnedPath> = view
            .sources()
            .filter_map(|source| match source {
                ViewSource::Writable(path) => owned_path(path, path, OwnerNeed::Must),
                ViewSource::Readable(path) => owned_path(path, path, OwnerNeed::MayStay),
            })
            .collect();
        for step in mounts.iter().flat_map(|plan| &plan.steps) {
            if let MountStep::Overlay(overlay) = step {
                let lowers = overlay.lowers.iter();
                owned.extend(lowers.filter_map(|path| owned_path(path, path, OwnerNeed::Must)));
                // The kernel wants both on one mount.
                let both = overlay.upper.parent();
                let both = both.filter(|folder| overlay.work.parent() == Some(*folder));
                let needs = both.and_then(|path| owned_path(path, &overlay.upper, OwnerNeed::Must));
                owned.extend(needs);
            }
        }
        SandboxIdentity {
            id: self.id,
            owned: without_covered(owned),
        }
    }

    /// Lets programs find the user where they ask for its name and home.
    pub(super) fn show(&self, view: &mut SandboxView) {
        for (path, file) in [(PASSWD, "passwd"), (GROUP, "group")] {
            let is_plain = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
            if is_plain {
                let from = self.folder.path().join(file);
                view.set(path, ShownAs::Instead { from });
            }
        }
    }

    pub(super) fn change_environment(&self, env: &mut [(OsString, OsString)]) {
        let named = env
            .iter_mut()
            .filter(|(name, _)| name == "USER" || name == "LOGNAME");
        for (_, value) in named {
            *value = OsString::from(&self.name);
        }
    }

    /// Prepares a trial: an overlay over a folder of root's alone, which the user must be able to work in.
    pub(super) fn trial(&self, homes: &Path) -> io::Result<OwnerTrial> {
        OwnerTrial::make(homes)
    }
}

/// A folder with an overlay for a trial.
pub(super) struct OwnerTrial {
    folder: ProgramFolder,
}

impl OwnerTrial {
    fn make(homes: &Path) -> io::Result<Self> {
        let folder = ProgramFolder::make(homes)?;
        for name in ["lower", "lower/folder", "upper", "work", "at"] {
            fs::create_dir(folder.path().join(name))?;
        }
        for name in ["changed", "renamed", "deleted"] {
            fs::write(folder.path().join("lower").join(name), "before\n")?;
        }
        Ok(Self { folder })
    }

    pub(super) fn overlay(&self) -> MountStep {
        let [target, lower, upper, work] =
            ["at", "lower", "upper", "work"].map(|name| self.folder.path().join(name));
        MountStep::Overlay(OverlayMount {
            target,
            lowers: vec![lower],
            upper,
            work,
            options: OverlayOptions {
                xattrs: OverlayXattrs::Trusted,
                sync: OverlaySync::Durable,
            },
        })
    }

    pub(super) fn mount_trial(&self) -> MountTrial {
        MountTrial {
            folder: self.folder.path().join("at"),
            opened: None,
        }
    }

    /// Tells whether what the user made and changed belongs to root on the disk.
    pub(super) fn check(&self) -> Result<(), TrialFailure> {
        for name in ["created", "changed", "moved"] {
            let path = self.folder.path().join("upper").join(name);
            let owner = fs::symlink_metadata(path).map(|meta| (meta.uid(), meta.gid()));
            if !matches!(owner, Ok((0, 0))) {
                return Err(TrialFailure {
                    step: "keeping the owner of files".to_owned(),
                    source: io::Error::other(format!("{name}: {owner:?}")),
                });
            }
        }
        Ok(())
    }
}

/// `like` has the owner in whose place the user is shown.
fn owned_path(path: &Path, like: &Path, need: OwnerNeed) -> Option<OwnedPath> {
    let meta = fs::metadata(like).ok()?;
    Some(OwnedPath {
        path: path.to_owned(),
        user: meta.uid(),
        group: meta.gid(),
        need,
    })
}

/// Leaves out what lies in a folder that is shown with the same owners, and brings paths before what lies in them.
fn without_covered(mut owned: Vec<OwnedPath>) -> Vec<OwnedPath> {
    owned.sort_by(|a, b| {
        let depth = |owned: &OwnedPath| owned.path.components().count();
        let is_optional = |owned: &OwnedPath| owned.need == OwnerNeed::MayStay;
        (depth(a), &a.path, is_optional(a)).cmp(&(depth(b), &b.path, is_optional(b)))
    });
    let mut kept: Vec<OwnedPath> = Vec::new();
    for path in owned {
        let mut above = kept.iter().rev();
        let nearest = above.find(|kept| path.path.starts_with(&kept.path));
        let is_covered = nearest.is_some_and(|kept| {
            let has_same_owner = (kept.user, kept.group) == (path.user, path.group);
            let is_sure = kept.need == OwnerNeed::Must || path.need == OwnerNeed::MayStay;
            kept.path == path.path || has_same_owner && is_sure
        });
        if !is_covered {
            kept.push(path);
        }
    }
    kept
}

/// The first file of another user's repository that is not that user's: only root could change it.
fn file_of_another_owner(root: &Path) -> Option<PathBuf> {
    let owner = fs::metadata(root).ok()?.uid();
    if owner == 0 {
        return None;
    }
    let mut folders = vec![root.to_owned()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.uid() != owner {
                return Some(entry.path());
            }
            if meta.is_dir() {
                folders.push(entry.path());
            }
            looked_at += 1;
            if looked_at > MOST_LOOKED_AT {
                return None;
            }
        }
    }
    None
}

/// The ids that a file of users or groups names, as first ones and counts.
fn taken_ids(text: &str, column: usize) -> Vec<(u32, u32)> {
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split(':').skip(column);
        let first = words.next()?.trim().parse().ok()?;
        // `/etc/subuid` has the count behind it.
        let count = words.next().filter(|_| column == 1);
        let count = count.and_then(|count| count.trim().parse().ok());
        Some((first, count.unwrap_or(1)))
    });
    lines.collect()
}

/// An id that is free. Two ralphs at a time have different ones, most likely: the kernel counts processes by user.
fn free_id(seed: u32, taken: &[(u32, u32)]) -> Option<u32> {
    let is_free = |id: u32| {
        !taken
            .iter()
            .any(|(first, count)| id >= *first && id - first < *count)
    };
    let ids = (0..ID_COUNT).map(|more| FIRST_ID + (seed % ID_COUNT + more) % ID_COUNT);
    ids.into_iter().find(|id| is_free(*id))
}

fn has_name(text: &str, name: &str) -> bool {
    let names: BTreeSet<&str> = text.lines().filter_map(|l| l.split(':').next()).collect();
    names.contains(name)
}

fn with_line(text: &str, line: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{text}{end}{line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_named_anywhere_is_not_taken() {
        let passwd = taken_ids(
            "root:x:0:0:root:/root:/bin/sh\nbad\nu:x:80005:80005::/:/x\n",
            2,
        );
        assert_eq!(passwd, [(0, 1), (80_005, 1)]);
        let sub = taken_ids("u:80006:10\n1000:100000:65536\n", 1);
        assert_eq!(sub, [(80_006, 10), (100_000, 65_536)]);
        let taken = [passwd, sub].concat();
        assert_eq!(free_id(4, &taken), Some(80_004));
        assert_eq!(free_id(5, &taken), Some(80_016));
        assert_eq!(free_id(8_004, &taken), Some(80_004));
        assert_eq!(free_id(7_999, &[(87_999, 1)]), Some(80_000));
        assert_eq!(free_id(1, &[(70_000, 100_000)]), None);
    }

    #[test]
    fn a_folder_stands_for_what_lies_in_it_if_the_owners_are_the_same() {
        let owned = |path: &str, user, need| OwnedPath {
            path: PathBuf::from(path),
            user,
            group: user,
            need,
        };
        let left = |all: Vec<OwnedPath>| -> Vec<String> {
            let left = without_covered(all).into_iter();
            left.map(|owned| owned.path.display().to_string()).collect()
        };
        let (must, may) = (OwnerNeed::Must, OwnerNeed::MayStay);
        let all = vec![
            owned("/repo/.git", 0, must),
            owned("/repo", 0, must),
            owned("/repo/others", 7, must),
            owned("/repo/others/mine", 0, must),
            owned("/repository", 0, must),
        ];
        assert_eq!(
            left(all),
            ["/repo", "/repository", "/repo/others", "/repo/others/mine"]
        );
        let all = vec![
            owned("/tools", 0, may),
            owned("/tools/read", 0, may),
            owned("/tools/written", 0, must),
        ];
        assert_eq!(left(all), ["/tools", "/tools/written"]);
        let both = vec![owned("/repo", 0, may), owned("/repo", 0, must)];
        assert_eq!(without_covered(both), [owned("/repo", 0, must)]);
    }

    #[test]
    fn the_user_has_a_line_at_the_end() {
        assert_eq!(with_line("a:x\n", "b:x"), "a:x\nb:x\n");
        assert_eq!(with_line("a:x", "b:x"), "a:x\nb:x\n");
        assert_eq!(with_line("", "b:x"), "b:x\n");
        assert!(has_name("root:x:0\nralph:x:1\n", "ralph"));
        assert!(!has_name("root:x:0\nralph2:x:1\n", "ralph"));
    }
}
