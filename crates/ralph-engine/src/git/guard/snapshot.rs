//! One path as it stood: absent, a file with its bytes, a link, a folder.
//!
//! Follows no symlink, neither when it looks nor when it puts back.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::super::GitError;
use crate::plain_file;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kept {
    Absent,
    /// Bytes, written as hexadecimal digits.
    File {
        hex: String,
        mode: u32,
    },
    Link {
        hex: String,
    },
    Folder,
    Special,
}

impl Kept {
    pub(super) fn of(path: &Path) -> Result<Self, GitError> {
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(error) if plain_file::is_absence(&error) => return Ok(Self::Absent),
            Err(error) => return Err(GitError::io("look at", path)(error)),
        };
        let read_error = |error| GitError::io("read", path)(error);
        Ok(if meta.is_symlink() {
            Self::Link {
                hex: hex(fs::read_link(path)
                    .map_err(read_error)?
                    .as_os_str()
                    .as_bytes()),
            }
        } else if meta.is_dir() {
            Self::Folder
        } else if meta.is_file() {
            match fs::read(path) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Self::Special,
                read => Self::File {
                    hex: hex(&read.map_err(read_error)?),
                    mode: meta.mode() & 0o7777,
                },
            }
        } else {
            Self::Special
        })
    }

    /// Returns what is in it, if it is a file.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::File { hex, .. } => Some(unhex(hex)),
            Self::Absent | Self::Link { .. } | Self::Folder | Self::Special => None,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Absent => "not there",
            Self::File { .. } => "a file",
            Self::Link { .. } => "a symlink",
            Self::Folder => "a folder",
            Self::Special => "a special file",
        }
    }

    pub(super) fn put_back(&self, path: &Path) -> Result<(), GitError> {
        let write_error = |error| GitError::io("put back", path)(error);
        match self {
            Self::Absent => remove(path).map_err(write_error),
            Self::File { hex, mode } => write(path, hex, *mode).map_err(write_error),
            Self::Link { hex } => remove(path)
                .and_then(|()| std::os::unix::fs::symlink(unhex_path(hex), path))
                .map_err(write_error),
            Self::Folder => remove(path)
                .and_then(|()| fs::create_dir_all(path))
                .map_err(write_error),
            // Neither git nor ralph makes one of these.
            Self::Special => Ok(()),
        }
    }
}

/// Which folder it is, not just what it is called.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FolderIdentity {
    #[serde(with = "hex_path")]
    path: PathBuf,
    device: u64,
    inode: u64,
    /// When it was made, where the file system knows: an inode is used again.
    #[serde(default)]
    born: Option<SystemTime>,
}

impl FolderIdentity {
    pub(super) fn of(path: &Path) -> Result<Self, GitError> {
        let meta = fs::symlink_metadata(path).map_err(GitError::io("look at", path))?;
        Ok(Self {
            path: path.to_owned(),
            device: meta.dev(),
            inode: meta.ino(),
            born: meta.created().ok(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Tells which folder is at its path now. The number of a device is that of a mount: another one after a
    /// remount or a restart, with the same folder.
    pub(super) fn now(&self) -> FolderNow {
        let Ok(now) = Self::of(&self.path) else {
            return FolderNow::Another;
        };
        let is_older = self.born.is_none() || now.born.is_none();
        let is_same = now.inode == self.inode && (is_older || now.born == self.born);
        match (is_same, now.device == self.device) {
            (true, true) => FolderNow::Same,
            (true, false) => FolderNow::Remounted,
            (false, false) if now.is_where_its_parent_is() => FolderNow::OnOtherDevice,
            (false, _) => FolderNow::Another,
        }
    }

    fn is_where_its_parent_is(&self) -> bool {
        let parent = self.path.parent().map(Self::of);
        parent.is_some_and(|parent| parent.is_ok_and(|parent| parent.device == self.device))
    }
}

/// The folder that is at a path, as against the one that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderNow {
    Same,
    /// The same on a device with another number.
    Remounted,
    /// It lies on another device, with what is around it: as after a restore from a backup. Programs that can't
    /// mount can't bring that about for this folder alone.
    OnOtherDevice,
    Another,
}

/// Returns what git would run: all that lies in the folder but the samples, which it does not.
pub(super) fn hooks_in(folder: &Path) -> Result<Vec<(String, Kept)>, GitError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if plain_file::is_absence(&error) => return Ok(Vec::new()),
        Err(error) => return Err(GitError::io("list", folder)(error)),
    };
    entries
        .flatten()
        .filter(|entry| !entry.file_name().as_bytes().ends_with(b".sample"))
        .map(|entry| Ok((hex(entry.file_name().as_bytes()), Kept::of(&entry.path())?)))
        .collect()
}

/// Reads a snapshot from disk; none if there is none.
pub(super) fn load<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, GitError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(GitError::io("read", path)(error)),
    };
    let read = serde_json::from_slice(&text);
    read.map(Some)
        .map_err(|error| GitError::io("read", path)(error.into()))
}

fn write(path: &Path, hex: &str, mode: u32) -> io::Result<()> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    if !is_file {
        remove(path)?;
    }
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let temporary = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(temporary.path(), unhex(hex))?;
    fs::set_permissions(temporary.path(), fs::Permissions::from_mode(mode))?;
    temporary.persist(path)?;
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        // After a crash it may be a person's: what is in it is kept.
        Ok(meta) if meta.is_dir() => plain_file::make_room(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if plain_file::is_absence(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Bytes as text that JSON can hold.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|half| DIGITS[usize::from(half)]);
    bytes.iter().flat_map(digits).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    digits
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

pub(super) fn unhex_path(text: &str) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&unhex(text)))
}

pub(super) mod hex_path {
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        path: &Path,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::hex(path.as_os_str().as_bytes()))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<PathBuf, D::Error> {
        Ok(super::unhex_path(&String::deserialize(from)?))
    }
}
