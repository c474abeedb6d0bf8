//! Deletes a folder of ralph's that holds what an agent made.
//!
//! Every step is by a descriptor of a folder and a plain name, and opens folders with `O_NOFOLLOW`:
//! no symbolic link is followed, nothing outside is reached. Not `std::fs::remove_dir_all`, which is
//! as safe, but fails at a folder without permissions (an overlay leaves one, and so does a cache of Go
//! modules), and holds a descriptor open for every level of depth.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, fchmod, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// Deletes a folder and all in it. One that is not there is deleted already.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match openat(CWD, parent, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    remove_tree_at(parent.as_fd(), name)
}

/// Deletes a folder by its name in an open one, and all in it.
pub(super) fn remove_tree_at(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let Some(top) = open_folder(parent, name)? else {
        return Ok(());
    };
    // A folder in a folder is moved up and waits its turn, so that depth costs nothing. Each pass
    // deletes what the one before has found or moved.
    let mut moved = 0_u64;
    while empty_once(&top, &mut moved)? {}
    Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

/// Goes once through a folder; `false` if nothing was in it.
fn empty_once(top: &OwnedFd, moved: &mut u64) -> io::Result<bool> {
    let mut held_something = false;
    for name in names(top)? {
        held_something = true;
        if is_folder(top.as_fd(), &name)? {
            if let Some(folder) = open_folder(top.as_fd(), OsStr::from_bytes(&name))? {
                flatten(&folder, top, moved)?;
            }
            unlinkat(top, OsStr::from_bytes(&name), AtFlags::REMOVEDIR)?;
        } else {
            unlinkat(top, OsStr::from_bytes(&name), AtFlags::empty())?;
        }
    }
    Ok(held_something)
}

/// Empties a folder: files are deleted, folders move to `top`.
fn flatten(folder: &OwnedFd, top: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    for name in names(folder)? {
        let name_os = OsStr::from_bytes(&name);
        if !is_folder(folder.as_fd(), &name)? {
            unlinkat(folder, name_os, AtFlags::empty())?;
            continue;
        }
        // To move a folder is to write to it.
        chmodat(folder, name_os, Mode::RWXU, AtFlags::empty())?;
        loop {
            *moved += 1;
            match renameat(folder, name_os, top, format!(".removed-{moved}").as_str()) {
                Ok(()) => break,
                // A name that the agent has used.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

fn names(folder: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_bytes().to_owned();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    Ok(names)
}

fn is_folder(parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<bool> {
    let stat = statat(parent, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

/// Opens a folder such that entries can be deleted from it; `None` if it is not there.
fn open_folder(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let opened = match openat(parent, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::ACCESS) => {
            // `EACCES` was for a folder: a symbolic link would have given ENOTDIR.
            chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            openat(parent, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    fchmod(&opened, Mode::RWXU)?;
    Ok(Some(opened))
}
