//! Reads git's index file: which paths it holds, and which folders it knows the tree of.
//!
//! Knows versions 2 and 3 with whole entries. Anything else (a split or sparse index, conflicts,
//! entries that are only meant to be added) is "not understood", and git is asked instead: never
//! half an answer. Copies of an index keep its time.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use super::GitError;
use super::object::Format;

/// Of an entry before its object's name: times, device, inode, mode, owner, size.
const STAT_BYTES: usize = 40;
const MODE_AT: usize = 24;
const EXTENDED: u16 = 0x4000;
const ASSUMED_VALID: u16 = 0x8000;
const STAGE_BITS: u16 = 0x3000;
const INTENT_TO_ADD: u16 = 0x2000;
/// Of a longer name the length is not written.
const MAX_NAME_LENGTH: u16 = 0x0fff;
/// Deeper than any path that can be opened.
const MAX_DEPTH: usize = 2_048;

/// The bytes of an index, and when it was written: git tells by that which entries it has to doubt.
#[derive(Debug)]
pub(super) struct IndexFile {
    pub(super) bytes: Vec<u8>,
    pub(super) modified: SystemTime,
    format: Format,
}

pub(super) struct Parsed<'a> {
    /// In git's order, which is that of trees too.
    pub(super) entries: Vec<IndexEntry<'a>>,
    /// Signature and version.
    pub(super) head: &'a [u8],
    pub(super) trees: Option<KnownTree<'a>>,
    /// Other extensions that stay right when only what is known of trees changes.
    pub(super) others: Vec<&'a [u8]>,
}

#[derive(Clone, Copy)]
pub(super) struct IndexEntry<'a> {
    pub(super) path: &'a [u8],
    pub(super) mode: u32,
    pub(super) id: &'a [u8],
    /// As it stands in the file.
    pub(super) raw: &'a [u8],
    /// As not to be looked at, say; what such marks mean is git's to know.
    pub(super) marked: bool,
}

/// What the index says of a folder.
pub(super) struct KnownTree<'a> {
    pub(super) name: &'a [u8],
    /// The number of entries lie in it, and its tree; `None` if something in it changed.
    pub(super) tree: Option<(usize, &'a [u8])>,
    pub(super) below: Vec<KnownTree<'a>>,
    /// As it stands in the file, with all below it.
    pub(super) raw: &'a [u8],
}

impl IndexFile {
    /// `None` if there is no such file.
    pub(super) fn read(path: &Path, format: Format) -> Result<Option<Self>, GitError> {
        let read = || {
            let bytes = fs::read(path)?;
            let modified = fs::symlink_metadata(path)?.modified()?;
            Ok((bytes, modified))
        };
        match read() {
            Ok((bytes, modified)) => Ok(Some(Self {
                bytes,
                modified,
                format,
            })),
            Err(error) if io::Error::kind(&error) == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(GitError::io("read", path)(error)),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), GitError> {
        replace_index(path, &self.bytes, self.modified).map_err(GitError::io("write", path))
    }

    /// The same with other content; its time stays.
    pub(super) fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        Self { bytes, ..*self }
    }

    /// `None` if it is not understood.
    pub(super) fn parse(&self) -> Option<Parsed<'_>> {
        let id_bytes = self.format.id_bytes();
        let end = self.bytes.len().checked_sub(id_bytes)?;
        let content = &self.bytes[..end];
        if content.get(..4)? != b"DIRC" || !matches!(number(content, 4)?, 2 | 3) {
            return None;
        }
        let count = usize::try_from(number(content, 8)?).ok()?;
        let mut entries = Vec::with_capacity(count.min(content.len() / STAT_BYTES));
        let mut at = 12;
        for _ in 0..count {
            let (entry, next) = parse_entry(content, at, id_bytes)?;
            entries.push(entry);
            at = next;
        }
        let mut parsed = Parsed {
            entries,
            head: &content[..8],
            trees: None,
            others: Vec::new(),
        };
        while at < content.len() {
            let length = usize::try_from(number(content, at + 4)?).ok()?;
            let whole = content.get(at..at.checked_add(8)?.checked_add(length)?)?;
            match &whole[..4] {
                b"TREE" if length > 0 => parsed.trees = Some(parse_trees(&whole[8..], id_bytes)?),
                // These name places in the file, and are only there to read it faster.
                b"TREE" | b"EOIE" | b"IEOT" => {}
                // A lower-case letter says that the entries mean nothing without it.
                [first, ..] if first.is_ascii_uppercase() => parsed.others.push(whole),
                _ => return None,
            }
            at += whole.len();
        }
        Some(parsed)
    }
}

impl Parsed<'_> {
    /// Returns whether there is an entry of this name, or one in a folder of this name.
    pub(super) fn holds(&self, path: &[u8]) -> bool {
        self.entries.iter().any(|entry| {
            let rest = entry.path.strip_prefix(path);
            rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
        })
    }
}

/// An entry for a file, as an index has it.
pub(super) fn entry_bytes(meta: &fs::Metadata, mode: u32, id: &[u8], path: &[u8]) -> Vec<u8> {
    // Of large numbers git keeps the lower half.
    let stat = [
        meta.ctime() as u32,
        meta.ctime_nsec() as u32,
        meta.mtime() as u32,
        meta.mtime_nsec() as u32,
        meta.dev() as u32,
        meta.ino() as u32,
        mode,
        meta.uid(),
        meta.gid(),
        meta.size() as u32,
    ];
    let mut entry: Vec<u8> = stat.iter().flat_map(|field| field.to_be_bytes()).collect();
    entry.extend(id);
    let length = u16::try_from(path.len()).unwrap_or(u16::MAX);
    entry.extend(length.min(MAX_NAME_LENGTH).to_be_bytes());
    entry.extend(path);
    entry.resize((entry.len() + 8) / 8 * 8, 0);
    entry
}

/// Keeps the time: git doubts an entry that is not older than its index, and must go on doubting it.
pub(super) fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::metadata(from)?;
    if !meta.is_file() {
        // A pipe would be waited for.
        return Err(io::Error::other("it is not a file"));
    }
    let modified = meta.modified()?;
    // A new file: what is there may be linked, and to empty it would wait for the disk.
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::copy(from, to)?;
    set_modified(to, modified)
}

/// The same for an index that is written from scratch.
pub(super) fn replace_index(path: &Path, bytes: &[u8], modified: SystemTime) -> io::Result<()> {
    let temporary = path.with_extension("new");
    fs::write(&temporary, bytes)?;
    set_modified(&temporary, modified)?;
    fs::rename(&temporary, path)
}

fn set_modified(path: &Path, modified: SystemTime) -> io::Result<()> {
    fs::File::options()
        .write(true)
        .open(path)?
        .set_modified(modified)
}

fn parse_entry(content: &[u8], start: usize, id_bytes: usize) -> Option<(IndexEntry<'_>, usize)> {
    let mode = number(content, start + MODE_AT)?;
    let id_at = start + STAT_BYTES;
    let id = content.get(id_at..id_at + id_bytes)?;
    let mut path_at = id_at + id_bytes + 2;
    let flags = u16::from_be_bytes(content.get(path_at - 2..path_at)?.try_into().ok()?);
    let mut extended = 0;
    if flags & EXTENDED != 0 {
        extended = u16::from_be_bytes(content.get(path_at..path_at + 2)?.try_into().ok()?);
        path_at += 2;
    }
    if flags & STAGE_BITS != 0 || extended & INTENT_TO_ADD != 0 {
        return None;
    }
    let length = memchr::memchr(0, content.get(path_at..)?)?;
    let path = &content[path_at..path_at + length];
    // One to eight NULs, so that the next entry begins at a multiple of eight.
    let next = start + (path_at + length - start + 8) / 8 * 8;
    let raw = content.get(start..next)?;
    let entry = IndexEntry {
        path,
        mode,
        id,
        raw,
        marked: flags & (ASSUMED_VALID | EXTENDED) != 0,
    };
    (length > 0).then_some((entry, next))
}

fn parse_trees(data: &[u8], id_bytes: usize) -> Option<KnownTree<'_>> {
    let mut at = 0;
    let root = parse_tree(data, &mut at, id_bytes, 0)?;
    (at == data.len()).then_some(root)
}

fn parse_tree<'a>(
    data: &'a [u8],
    at: &mut usize,
    id_bytes: usize,
    depth: usize,
) -> Option<KnownTree<'a>> {
    let start = *at;
    let name = take_until(data, at, 0)?;
    let count: i64 = text_number(take_until(data, at, b' ')?)?;
    let below: usize = text_number(take_until(data, at, b'\n')?)?;
    let tree = match usize::try_from(count) {
        Ok(count) => {
            let id = data.get(*at..*at + id_bytes)?;
            *at += id_bytes;
            Some((count, id))
        }
        Err(_) => None,
    };
    if depth >= MAX_DEPTH {
        return None;
    }
    let below = (0..below)
        .map(|_| parse_tree(data, at, id_bytes, depth + 1))
        .collect::<Option<_>>()?;
    Some(KnownTree {
        name,
        tree,
        below,
        raw: &data[start..*at],
    })
}

fn take_until<'a>(data: &'a [u8], at: &mut usize, end: u8) -> Option<&'a [u8]> {
    let rest = data.get(*at..)?;
    let length = memchr::memchr(end, rest)?;
    *at += length + 1;
    Some(&rest[..length])
}

fn text_number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn number(content: &[u8], at: usize) -> Option<u32> {
    let bytes = content.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_rewritten_indexes_keep_their_time() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("index"), folder.path().join("copy"));
        fs::write(&one, "x").unwrap();
        let old = SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(1_000_000_000_123);
        set_modified(&one, old).unwrap();
        copy_index(&one, &other).unwrap();
        replace_index(&one, b"y", old).unwrap();
        for path in [&one, &other] {
            assert_eq!(fs::metadata(path).unwrap().modified().unwrap(), old);
        }
        assert_eq!(fs::read(&one).unwrap(), b"y");
    }

    #[test]
    fn what_is_cut_off_anywhere_is_not_understood() {
        // One entry, and the tree of the root.
        let mut bytes = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
        bytes.extend([0; MODE_AT]);
        bytes.extend(0o100_644u32.to_be_bytes());
        bytes.extend([0; STAT_BYTES - MODE_AT - 4]);
        bytes.extend([7; 20]);
        bytes.extend(b"\0\x03a/b\0\0\0\0\0\0\0");
        bytes.extend(b"TREE\0\0\0\x20\x001 1\n");
        bytes.extend([8; 20]);
        bytes.extend(b"a\0-1 0\n");
        bytes.extend([0; 20]);
        let parse = |bytes: &[u8]| {
            let index = IndexFile {
                bytes: bytes.to_vec(),
                modified: SystemTime::UNIX_EPOCH,
                format: Format::Sha1,
            };
            let parsed = index.parse()?;
            let root = parsed.trees.as_ref()?;
            let below = root.below.iter().map(|tree| tree.name.to_vec());
            let names = parsed.entries.iter().map(|entry| entry.path.to_vec());
            Some((names.chain(below).collect::<Vec<_>>(), parsed.holds(b"a")))
        };
        assert_eq!(
            parse(&bytes),
            Some((vec![b"a/b".to_vec(), b"a".to_vec()], true))
        );
        for length in 0..bytes.len() {
            assert_eq!(parse(&bytes[..length]), None, "{length}");
        }
    }
}
