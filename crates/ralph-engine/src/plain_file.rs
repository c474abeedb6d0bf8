//! Files in places that an agent can write: read without waiting, written without following.
//!
//! An agent can put a named pipe, a folder or a link where ralph expects a file. A pipe would keep
//! whoever opens it waiting for ever; a link would have ralph write somewhere else.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Opens a regular file for reading, through a link if it is one.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
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

/// Takes away what is at `path` unless it is a regular file, so that one can be written there.
pub fn make_room(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if found.is_dir() {
        std::fs::remove_dir_all(path)
    } else if found.is_file() {
        Ok(())
    } else {
        std::fs::remove_file(path)
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
}
