//! Makes the tree of an index: what `git write-tree` does, without a process.
//!
//! Takes over the trees of folders in which nothing changed, as the index names them, and writes the
//! others. Leaves to git what it does not understand, and what would be many trees: git knows which
//! of those it has packed already.

use std::collections::HashMap;
use std::path::Path;

use super::call::Index;
use super::index_file::{IndexEntry, IndexFile, KnownTree, Parsed, replace_index};
use super::object::{Format, ObjectKind};
use super::{GitError, Oid, Repo};

/// More new trees than this are git's to write.
const MAX_NEW: usize = 64;
/// Deeper than any path that can be opened.
const MAX_DEPTH: usize = 2_048;

/// The tree of an index.
pub(super) struct IndexTree {
    pub(super) oid: Oid,
    /// What of it is not stored yet.
    pub(super) new: Vec<(ObjectKind, Vec<u8>)>,
}

impl Repo {
    /// The tree that an index holds, stored durably. The index then knows it.
    pub(super) async fn write_tree(&self, index: Index) -> Result<Oid, GitError> {
        let tree = self.make_tree(index).await?;
        if let Some(objects) = &self.objects {
            objects.write(&tree.new)?;
        }
        Ok(tree.oid)
    }

    /// The same, but leaves it to the caller to store what is new.
    pub(super) async fn make_tree(&self, index: Index) -> Result<IndexTree, GitError> {
        if let Some(objects) = &self.objects
            && let Some(tree) = make_tree_of(&self.shadow.index_of(index), objects.format())?
        {
            return Ok(tree);
        }
        let oid = self.git(["write-tree"]).index(index).run_oid().await?;
        Ok(IndexTree {
            oid,
            new: Vec::new(),
        })
    }
}

/// `None` if it is git's to do.
fn make_tree_of(path: &Path, format: Format) -> Result<Option<IndexTree>, GitError> {
    let Some(index) = IndexFile::read(path, format)? else {
        return Ok(None);
    };
    let Some(parsed) = index.parse() else {
        return Ok(None);
    };
    if let Some((count, id)) = parsed.trees.as_ref().and_then(|root| root.tree)
        && count == parsed.entries.len()
    {
        return Ok(Some(IndexTree {
            oid: Oid::from_bytes(id),
            new: Vec::new(),
        }));
    }
    let Some((tree, rewritten)) = tree_of(&parsed, format) else {
        return Ok(None);
    };
    replace_index(path, &rewritten, index.modified).map_err(GitError::io("write", path))?;
    Ok(Some(tree))
}

/// The tree of the entries, and an index of them that knows it.
pub(super) fn tree_of(parsed: &Parsed<'_>, format: Format) -> Option<(IndexTree, Vec<u8>)> {
    let mut new = Vec::new();
    let root = Folder {
        name: b"",
        depth: 0,
        above: 0,
        known: parsed.trees.as_ref(),
    };
    let root = make_folder(&parsed.entries, &root, format, &mut new)?;
    let rewritten = with_trees(parsed, &root.described, format)?;
    let oid = Oid::from_bytes(&root.id);
    Some((IndexTree { oid, new }, rewritten))
}

/// A folder whose tree is to be made.
struct Folder<'a> {
    name: &'a [u8],
    depth: usize,
    /// Bytes of its path, with the slash at the end.
    above: usize,
    known: Option<&'a KnownTree<'a>>,
}

struct MadeFolder {
    id: Vec<u8>,
    /// As the index describes it, with all below it.
    described: Vec<u8>,
}

/// Adds the content of every tree that has to be written to `new`.
fn make_folder(
    entries: &[IndexEntry<'_>],
    folder: &Folder<'_>,
    format: Format,
    new: &mut Vec<(ObjectKind, Vec<u8>)>,
) -> Option<MadeFolder> {
    if new.len() >= MAX_NEW || folder.depth >= MAX_DEPTH {
        return None;
    }
    let known_below = folder.known.map(|known| known.below.as_slice());
    let known_below: HashMap<&[u8], &KnownTree<'_>> = known_below
        .unwrap_or_default()
        .iter()
        .map(|known| (known.name, known))
        .collect();
    let mut content = Vec::new();
    let mut below = Vec::new();
    let mut folders = 0usize;
    let mut rest = entries;
    while let Some(first) = rest.first() {
        let name = first.path.get(folder.above..)?;
        let Some(slash) = memchr::memchr(b'/', name) else {
            add_entry(&mut content, mode_text(first.mode)?, name, first.id);
            rest = &rest[1..];
            continue;
        };
        let prefix = &first.path[..folder.above + slash + 1];
        let count = rest.partition_point(|entry| entry.path.starts_with(prefix));
        let name = &name[..slash];
        let known = known_below.get(name).copied();
        let made = match known.and_then(|known| Some((known, known.tree?))) {
            Some((known, (size, id))) if size == count => MadeFolder {
                id: id.to_vec(),
                described: known.raw.to_vec(),
            },
            // The index contradicts itself.
            Some(_) => return None,
            None => {
                let folder = Folder {
                    name,
                    depth: folder.depth + 1,
                    above: prefix.len(),
                    known,
                };
                make_folder(&rest[..count], &folder, format, new)?
            }
        };
        add_entry(&mut content, "40000", name, &made.id);
        below.extend(made.described);
        folders += 1;
        rest = &rest[count..];
    }
    let id = format.id_of(ObjectKind::Tree, &content);
    let mut described = folder.name.to_vec();
    described.extend(format!("\0{} {folders}\n", entries.len()).as_bytes());
    described.extend(&id);
    described.extend(below);
    new.push((ObjectKind::Tree, content));
    Some(MadeFolder { id, described })
}

fn add_entry(content: &mut Vec<u8>, mode: &str, name: &[u8], id: &[u8]) {
    content.extend(mode.as_bytes());
    content.push(b' ');
    content.extend(name);
    content.push(0);
    content.extend(id);
}

fn mode_text(mode: u32) -> Option<&'static str> {
    match mode {
        0o100_644 => Some("100644"),
        0o100_755 => Some("100755"),
        0o120_000 => Some("120000"),
        0o160_000 => Some("160000"),
        _ => None,
    }
}

/// The index with what is now known of its trees, and all else as it was.
fn with_trees(parsed: &Parsed<'_>, trees: &[u8], format: Format) -> Option<Vec<u8>> {
    let mut bytes = parsed.head.to_vec();
    bytes.extend(u32::try_from(parsed.entries.len()).ok()?.to_be_bytes());
    for entry in &parsed.entries {
        bytes.extend(entry.raw);
    }
    bytes.extend(b"TREE");
    bytes.extend(u32::try_from(trees.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend(trees);
    for other in &parsed.others {
        bytes.extend(*other);
    }
    let sum = format.hash(&[&bytes]);
    bytes.extend(sum);
    Some(bytes)
}
