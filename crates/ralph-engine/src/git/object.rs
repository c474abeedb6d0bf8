//! Writes git's loose objects without a process.
//!
//! An object's name is the hash of its content, so a file of that name is right or it is damaged: one
//! that is there already is replaced, never trusted. Knows no filters and no line ends: which files
//! are stored as they are is said elsewhere. Stored without compression, as these are small and git
//! packs them later.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::config::{Setting, last_value};
use super::{GitError, Oid};
use crate::durable::{is_flushed_in_order, start_writing_out, write_out};
use crate::failpoint::fault;

/// The longest block that deflate stores as it is.
const STORED_BLOCK: usize = 0xffff;
const ADLER_MODULUS: u32 = 65_521;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Sha1,
    Sha256,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Blob,
    Tree,
    Commit,
}

#[derive(Debug)]
pub(super) struct Objects {
    folder: PathBuf,
    format: Format,
    made: AtomicU64,
}

impl Format {
    /// `None` where git does more than name an object by one hash, or gives files rights of their
    /// own: then objects are left to git.
    pub(super) fn of(settings: &[Setting]) -> Option<Self> {
        let shared = last_value(settings, "core.sharedrepository");
        let is_plain = matches!(shared, None | Some(b"" | b"0" | b"false" | b"umask"));
        if !is_plain || last_value(settings, "extensions.compatobjectformat").is_some() {
            return None;
        }
        match last_value(settings, "extensions.objectformat") {
            None | Some(b"sha1") => Some(Self::Sha1),
            Some(b"sha256") => Some(Self::Sha256),
            Some(_) => None,
        }
    }

    /// Bytes of an object's name.
    pub(super) fn id_bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    pub(super) fn hash(self, parts: &[&[u8]]) -> Vec<u8> {
        fn digest<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
            let mut hash = D::new();
            for part in parts {
                hash.update(part);
            }
            hash.finalize().to_vec()
        }
        match self {
            Self::Sha1 => digest::<Sha1>(parts),
            Self::Sha256 => digest::<Sha256>(parts),
        }
    }

    pub(super) fn id_of(self, kind: ObjectKind, content: &[u8]) -> Vec<u8> {
        self.hash(&[&header(kind, content), content])
    }
}

impl Objects {
    pub(super) fn new(folder: PathBuf, format: Format) -> Self {
        Self {
            folder,
            format,
            made: AtomicU64::new(0),
        }
    }

    pub(super) fn oid_of(&self, kind: ObjectKind, content: &[u8]) -> Oid {
        Oid::from_bytes(&self.format.id_of(kind, content))
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Stores objects. They are durable when something that is stored after them is: see [`write_out`].
    pub(super) fn write(&self, objects: &[(ObjectKind, Vec<u8>)]) -> Result<(), GitError> {
        self.write_and(objects, |_| Ok(()))
    }

    /// Returns when all of them, and all that were stored before, are on the disk.
    pub(super) fn write_durably(&self, objects: &[(ObjectKind, Vec<u8>)]) -> Result<(), GitError> {
        self.write_and(objects, fs::File::sync_all)
    }

    /// The same where a ref in `folder` is moved next, which flushes that folder: one flush will do for both.
    pub(super) fn write_before_swap(
        &self,
        objects: &[(ObjectKind, Vec<u8>)],
        folder: &Path,
    ) -> Result<(), GitError> {
        let is_flushed = fs::File::open(folder).is_ok_and(|folder| {
            let device = |meta: io::Result<fs::Metadata>| meta.map(|meta| meta.dev()).ok();
            let of_folder = device(folder.metadata());
            let of_objects = device(fs::metadata(&self.folder));
            is_flushed_in_order(&folder) && of_folder.is_some() && of_folder == of_objects
        });
        if is_flushed {
            self.write(objects)
        } else {
            self.write_durably(objects)
        }
    }

    fn write_and(
        &self,
        objects: &[(ObjectKind, Vec<u8>)],
        flush: impl FnOnce(&fs::File) -> io::Result<()>,
    ) -> Result<(), GitError> {
        let mut begun = Vec::with_capacity(objects.len());
        for (kind, content) in objects {
            let object = self.begin(*kind, content)?;
            start_writing_out(&object.file);
            begun.push(object);
        }
        for object in &begun {
            write_out(&object.file).map_err(GitError::io("write", &object.path))?;
        }
        if let Some(last) = begun.last() {
            flush(&last.file).map_err(GitError::io("write", &last.path))?;
        }
        for mut object in begun {
            fs::rename(&object.temporary, &object.path)
                .map_err(GitError::io("write", &object.path))?;
            object.named = true;
        }
        Ok(())
    }

    fn begin(&self, kind: ObjectKind, content: &[u8]) -> Result<Begun, GitError> {
        let oid = self.oid_of(kind, content);
        let (first, rest) = oid.as_str().split_at(2);
        let folder = self.folder.join(first);
        let path = folder.join(rest);
        // Named as git names its own, which removes those that a crash left.
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("tmp_obj_ralph_{}_{number}", std::process::id()));
        let open = || {
            fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o444)
                .open(&temporary)
        };
        let opened = open().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => fs::create_dir_all(&folder).and_then(|()| open()),
            // Of a process that ended and had this number.
            io::ErrorKind::AlreadyExists => fs::remove_file(&temporary).and_then(|()| open()),
            _ => Err(error),
        });
        let file = opened.map_err(GitError::io("write", &path))?;
        let mut object = Begun {
            file,
            temporary,
            path,
            named: false,
        };
        let stored = deflate_stored(&[&header(kind, content), content]);
        let written = fault("git-object").and_then(|()| object.file.write_all(&stored));
        match written {
            Ok(()) => Ok(object),
            Err(error) => Err(GitError::io("write", &object.path)(error)),
        }
    }
}

/// An object that has not got its name yet. Gone when this is dropped, unless it has.
struct Begun {
    file: fs::File,
    temporary: PathBuf,
    path: PathBuf,
    named: bool,
}

impl Drop for Begun {
    fn drop(&mut self) {
        if !self.named {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

fn header(kind: ObjectKind, content: &[u8]) -> Vec<u8> {
    let kind = match kind {
        ObjectKind::Blob => "blob",
        ObjectKind::Tree => "tree",
        ObjectKind::Commit => "commit",
    };
    format!("{kind} {}\0", content.len()).into_bytes()
}

/// A zlib stream that holds its content as it is.
fn deflate_stored(parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let mut stream = vec![0x78, 0x01];
    let mut rest = content.as_slice();
    loop {
        let (block, after) = rest.split_at(rest.len().min(STORED_BLOCK));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stream.push(u8::from(after.is_empty()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    stream.extend(adler32(&content).to_be_bytes());
    stream
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (1u32, 0u32);
    // As many as can be summed up before a sum overflows.
    for chunk in bytes.chunks(5_552) {
        for byte in chunk {
            low += u32::from(*byte);
            high += low;
        }
        low %= ADLER_MODULUS;
        high %= ADLER_MODULUS;
    }
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(key: &str, value: &str) -> Setting {
        Setting {
            scope: super::super::config::ConfigScope::Repository,
            key: key.to_owned(),
            value: Some(value.as_bytes().to_vec()),
        }
    }

    #[test]
    fn names_the_empty_tree_as_git_does() {
        let id = |format: Format| Oid::from_bytes(&format.id_of(ObjectKind::Tree, b"")).to_string();
        assert_eq!(id(Format::Sha1), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        assert_eq!(
            id(Format::Sha256),
            "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
        );
    }

    #[test]
    fn sums_as_zlib_does() {
        assert_eq!(adler32(b""), 1);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        assert_eq!(adler32(&[0xff; 100_000]), 0x149a_302c);
    }

    #[test]
    fn leaves_what_it_does_not_know_to_git() {
        assert_eq!(Format::of(&[]), Some(Format::Sha1));
        let format = setting("extensions.objectformat", "sha256");
        assert_eq!(Format::of(&[format]), Some(Format::Sha256));
        for (key, value) in [
            ("extensions.objectformat", "sha512"),
            ("extensions.compatobjectformat", "sha1"),
            ("core.sharedrepository", "group"),
        ] {
            assert_eq!(Format::of(&[setting(key, value)]), None, "{key}");
        }
    }
}
