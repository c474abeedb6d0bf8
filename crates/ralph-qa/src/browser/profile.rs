//! The profile of a browser: a folder that is thrown away with it.
//!
//! Where a browser can have mounts of its own, what it writes is in memory and gone with it, however it ends; an empty
//! folder is left of a killed ralph. Elsewhere the profile is left. Both are deleted by the next ralph: the folder has a
//! lock as long as its ralph lives.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use ralph_engine::{
    layer::{ProgramFolder, sweep},
    process::{MountPlan, MountStep, OverlayXattrs},
};

use crate::{
    program::BrowserError,
    server::{ProgramPlace, Walls},
};

/// The most that a browser writes into a profile that is in memory.
const MOST_WRITTEN: u64 = 1024 * 1024 * 1024;

/// The folder of a browser.
#[derive(Debug)]
pub(super) struct Profile {
    folder: ProgramFolder,
}

impl Profile {
    pub(super) fn make(place: &ProgramPlace) -> Result<Self, BrowserError> {
        let profiles = profiles(place);
        let failed = |source| BrowserError::Profile {
            path: profiles.clone(),
            source,
        };
        check_owner(&profiles).map_err(failed)?;
        // What can't be deleted now is tried again by the next one.
        let _ = sweep(&profiles, &|_| false);
        let folder = ProgramFolder::make(&profiles).map_err(failed)?;
        check_owner(&profiles).map_err(failed)?;
        Ok(Self { folder })
    }

    /// The browser's working folder.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The mounts by which what is written in the folder stays in memory.
    pub(super) fn mounts(&self) -> MountPlan {
        let xattrs = if rustix::process::geteuid().is_root() {
            OverlayXattrs::Trusted
        } else {
            OverlayXattrs::User
        };
        let path = self.folder().canonicalize();
        let scratch = path.map(|path| MountStep::Scratch {
            path,
            xattrs,
            most: Some(MOST_WRITTEN),
        });
        MountPlan {
            steps: scratch.into_iter().collect(),
            ..MountPlan::default()
        }
    }

    pub(super) fn user_data(&self) -> PathBuf {
        self.folder().join("profile")
    }

    /// Variables by which it writes nothing elsewhere.
    pub(super) fn env(&self) -> Vec<(OsString, OsString)> {
        let folder = self.folder();
        let names = ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"];
        let mut env: Vec<(OsString, OsString)> = names
            .iter()
            .map(|name| (name.into(), folder.into()))
            .collect();
        // The browser makes a socket there, whose path must be short: on Linux this one leads to its working folder.
        let temp = if cfg!(target_os = "linux") {
            Path::new("/proc/self/cwd")
        } else {
            folder
        };
        env.push(("TMPDIR".into(), temp.into()));
        env
    }
}

/// The folder of all profiles of this user. A sandbox of ralph's has one in memory, which is gone with it in any case.
fn profiles(place: &ProgramPlace) -> PathBuf {
    let usual = Path::new("/tmp");
    let given = place.env.iter().find(|(name, _)| name == "TMPDIR");
    let temp = match (place.walls, given) {
        (Walls::Ralphs, _) if is_in_memory(usual) => usual,
        (Walls::Ralphs | Walls::None, Some((_, given))) => Path::new(given),
        (Walls::Ralphs | Walls::None, None) => usual,
    };
    profiles_in(temp)
}

/// The folder of all profiles of this user below a temp folder.
fn profiles_in(temp: &Path) -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    temp.join(format!("ralph-browsers-{user}"))
}

fn is_in_memory(folder: &Path) -> bool {
    /// The number of tmpfs.
    const MEMORY: u64 = 0x0102_1994;
    let found = rustix::fs::statfs(folder);
    cfg!(target_os = "linux") && found.is_ok_and(|found| u64::try_from(found.f_type) == Ok(MEMORY))
}

/// Deletes the profiles whose ralph was killed.
pub(crate) fn sweep_profiles(temp: Option<OsString>) {
    let profiles = profiles_in(temp.as_deref().map_or(Path::new("/tmp"), Path::new));
    if check_owner(&profiles).is_ok() {
        // What can't be deleted now is tried again by the next browser.
        let _ = sweep(&profiles, &|_| false);
        // It stays where it holds another.
        let _ = fs::remove_dir(&profiles);
    }
}

/// Refuses a folder that another user has put there: all may write to `/tmp`.
fn check_owner(profiles: &Path) -> io::Result<()> {
    match fs::symlink_metadata(profiles) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(meta) if meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() => Ok(()),
        Ok(_) => Err(io::Error::other("it is not a folder of this user's")),
    }
}
