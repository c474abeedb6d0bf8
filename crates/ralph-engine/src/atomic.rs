//! Replaces a file as a whole: a reader sees the old text or the new one, also after a power
//! cut.
//!
//! A kill can leave the new text beside the file, under a name that says whose it is; `sweep` takes
//! it away. Follows a link, so that the file it points to changes and the link stays.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, fchown},
    path::{Path, PathBuf},
};

const MARK: &str = ".ralph-";
const ENDING: &str = ".tmp";

/// Temporary file, its data written out, rename, fsync of the folder. Rights and owner stay.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("/"));
    let new = new_name(&target)?;
    // What is in the way has this process's number and is not its own: an agent's, or long dead.
    crate::plain_file::make_room(&new)?;
    let _ = fs::remove_file(&new);
    let done = write_new(&new, &target, bytes).and_then(|()| fs::rename(&new, &target));
    if done.is_err() {
        let _ = fs::remove_file(&new);
    }
    done?;
    File::open(folder)?.sync_all()
}

fn write_new(new: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    crate::failpoint::fault("file")?;
    let mut file = File::options().write(true).create_new(true).open(new)?;
    if let Ok(old) = fs::metadata(target) {
        // Only root can give a file away; for other users it is theirs already, or they can't.
        let _ = fchown(&file, Some(old.uid()), Some(old.gid()));
        file.set_permissions(old.permissions())?;
    }
    file.write_all(bytes)?;
    crate::durable::write_out(&file)
}

/// `.NAME.ralph-PID.tmp`, beside the file.
fn new_name(target: &Path) -> io::Result<PathBuf> {
    let Some(name) = target.file_name() else {
        return Err(io::ErrorKind::InvalidFilename.into());
    };
    let mut new = OsString::from(".");
    new.push(name);
    new.push(format!("{MARK}{}{ENDING}", std::process::id()));
    Ok(target.with_file_name(new))
}

/// Takes away what killed processes left in `folder`. What a live one is writing stays.
pub fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_left(&entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Lists what killed processes left in `folder`.
pub fn left(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let left = entries.filter(|entry| is_left(&entry.file_name()));
    left.map(|entry| entry.path()).collect()
}

fn is_left(name: &OsStr) -> bool {
    owner(name).is_some_and(|pid| rustix::process::test_kill_process(pid).is_err())
}

/// The process that a name says is writing it.
fn owner(name: &OsStr) -> Option<rustix::process::Pid> {
    let name = name.to_str()?.strip_prefix('.')?.strip_suffix(ENDING)?;
    let (_, pid) = name.rsplit_once(MARK)?;
    rustix::process::Pid::from_raw(pid.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn names(folder: &Path) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_text_changes_and_the_rights_and_the_link_stay() {
        let top = tempfile::tempdir().unwrap();
        let (real, link) = (top.path().join("real"), top.path().join("link"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(link.is_symlink());
        assert_eq!(
            fs::metadata(&real).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(names(top.path()), ["link", "real"]);
    }

    #[test]
    fn what_a_dead_process_left_is_swept_and_what_others_made_is_not() {
        let top = tempfile::tempdir().unwrap();
        let mut dead = std::process::Command::new("true").spawn().unwrap();
        dead.wait().unwrap();
        let left = format!(".prd.json.ralph-{}.tmp", dead.id());
        let live = format!(".prd.json.ralph-{}.tmp", std::process::id());
        let others = [
            ".prd.json.backup",
            ".prd.json.ralph-x.tmp",
            "prd.json",
            &live,
        ];
        for name in others.iter().copied().chain([left.as_str()]) {
            fs::write(top.path().join(name), "x").unwrap();
        }
        sweep(top.path()).unwrap();
        let mut expected: Vec<OsString> = others.iter().map(OsString::from).collect();
        expected.sort();
        assert_eq!(names(top.path()), expected);
    }

    #[test]
    fn a_link_in_the_place_of_the_new_text_is_not_written_through() {
        let top = tempfile::tempdir().unwrap();
        let (file, precious) = (top.path().join("file"), top.path().join("precious"));
        fs::write(&file, "old").unwrap();
        fs::write(&precious, "mine").unwrap();
        std::os::unix::fs::symlink(&precious, new_name(&file).unwrap()).unwrap();
        write(&file, b"new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    }
}
