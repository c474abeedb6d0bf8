//! Files in places that an agent can write: read without waiting, written without following.
//!
//! An agent can put a named pipe, a folder or a link where ralph expects a file. A pipe would keep
//! its reader waiting for ever; a link would have ralph write somewhere else.

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use crate::process::is_placeholder;
pub(crate) use ralph_store::free_name;

/// Opens a regular file for reading, through a link if it is one. What only keeps a program from making a file is not
/// found.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    let opened = File::options().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| {
        if error.kind() != io::ErrorKind::NotFound && is_placeholder(path) {
            return io::ErrorKind::NotFound.into();
        }
        error
    })?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file; `None` where nothing is.
pub fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Tells whether nothing is at a path, as its folder is none or not there.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Writes a file as a whole, in the place of whatever is there.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_room(path)?;
    crate::atomic::write(path, bytes)
}

/// Takes away what is at `path`, if anything is. What is in a folder is kept, as [`make_room`] does.
pub fn remove(path: &Path) -> io::Result<()> {
    make_room(path)?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The state of a file: enough to see that it is another, or was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// Looks at a file by its name in an open folder, through a link if it is one.
    // The types of the fields differ between systems.
    #[allow(clippy::unnecessary_cast)]
    pub(crate) fn at(folder: &File, name: &OsStr) -> Option<Self> {
        let found = rustix::fs::statat(folder, name, rustix::fs::AtFlags::empty()).ok()?;
        Some(Self {
            device: found.st_dev as u64,
            inode: found.st_ino as u64,
            size: found.st_size as u64,
            written: (found.st_mtime as i64, found.st_mtime_nsec as i64),
            changed: (found.st_ctime as i64, found.st_ctime_nsec as i64),
        })
    }

    pub(crate) fn new(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// Takes away what is at `path` unless it is a regular file, so that one can be written there.
///
/// Never deletes what is in a folder: one that holds something is moved aside, into the logs of its
/// project if it has any.
pub fn make_room(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if found.is_file() {
        return Ok(());
    }
    if !found.is_dir() {
        return std::fs::remove_file(path);
    }
    match std::fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => move_aside(path),
        other => other,
    }
}

/// Where folders that are in the way are moved to, below the root of a project.
const ASIDE: &str = ".ralph/logs";

/// Moves a folder to where neither ralph nor git looks at it.
fn move_aside(path: &Path) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut aside = std::ffi::OsString::from("moved-aside-");
    aside.push(name);
    let logs = path
        .ancestors()
        .skip(1)
        .map(|above| above.join(ASIDE))
        .find(|logs| logs.is_dir());
    let beside = path.parent().unwrap_or(path);
    let to = free_name(logs.as_deref().unwrap_or(beside), &aside);
    match std::fs::rename(path, to) {
        // The logs may be on another file system, or inside the folder itself.
        Err(_) if logs.is_some() => std::fs::rename(path, free_name(beside, &aside)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_pipe_is_an_error_and_not_a_wait() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        assert!(read(&pipe).is_err());
        make_room(&pipe).unwrap();
        assert!(!pipe.exists());
    }

    #[test]
    fn room_is_made_without_following_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (precious, link) = (folder.path().join("precious"), folder.path().join("link"));
        std::fs::write(&precious, "x").unwrap();
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        make_room(&link).unwrap();
        make_room(&precious).unwrap();
        assert!(!link.is_symlink());
        assert_eq!(read(&precious).unwrap(), b"x");
    }

    #[test]
    fn a_folder_in_the_way_is_moved_aside_with_all_that_is_in_it() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        std::fs::create_dir_all(root.join(".ralph/logs")).unwrap();
        for text in ["first", "second"] {
            std::fs::create_dir_all(root.join("docs/deep")).unwrap();
            std::fs::write(root.join("docs/deep/precious"), text).unwrap();
            make_room(&root.join("docs")).unwrap();
            assert!(!root.join("docs").exists());
        }
        let kept = |name: &str| read(&root.join(".ralph/logs").join(name)).unwrap();
        assert_eq!(kept("moved-aside-docs/deep/precious"), b"first");
        assert_eq!(kept("moved-aside-docs-2/deep/precious"), b"second");
    }

    #[test]
    fn a_folder_outside_of_a_project_is_moved_aside_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("precious"), "x").unwrap();
        make_room(&path).unwrap();
        let kept = folder.path().join("moved-aside-notes/precious");
        assert_eq!(read(&kept).unwrap(), b"x");
    }
}
