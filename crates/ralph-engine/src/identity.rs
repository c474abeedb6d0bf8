//! The id that ralph mints into a repository's common git folder, to know it again after a move.

use std::path::{Path, PathBuf};

use sha2::Digest as _;

/// The id minted into the repository around `root`, if ralph ever ran there. Asks no git.
pub fn known_id(root: &Path) -> Option<String> {
    read_id(&common_dir_of(root)?)
}

/// The id minted into `common_dir`.
pub fn read_id(common_dir: &Path) -> Option<String> {
    let text = crate::plain_file::read(&id_file(common_dir)).ok()?;
    uuid::Uuid::parse_str(String::from_utf8_lossy(&text).trim())
        .ok()
        .map(|id| id.to_string())
}

pub fn write_id(common_dir: &Path, id: &str) -> std::io::Result<()> {
    let file = id_file(common_dir);
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Half of an id would make another repository of this one.
    crate::atomic::write(&file, format!("{id}\n").as_bytes())
}

/// A short name for a worktree, safe in a path: what ralph keeps about it lies under this.
pub fn worktree_name(worktree: &Path) -> String {
    let hash = sha2::Sha256::digest(worktree.as_os_str().as_encoded_bytes());
    hash[..12].iter().map(|b| format!("{b:02x}")).collect()
}

/// Tells whether a text is such a name.
pub(crate) fn is_worktree_name(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn id_file(common_dir: &Path) -> PathBuf {
    common_dir.join("ralph").join("id")
}

/// Follows `.git` of a linked worktree or a submodule to the folder that all worktrees share.
pub fn common_dir_of(root: &Path) -> Option<PathBuf> {
    let dot_git = root
        .ancestors()
        .map(|f| f.join(".git"))
        .find(|g| g.exists())?;
    let git_dir = if dot_git.is_file() {
        let text = std::fs::read_to_string(&dot_git).ok()?;
        dot_git.parent()?.join(text.strip_prefix("gitdir:")?.trim())
    } else {
        dot_git
    };
    match std::fs::read_to_string(git_dir.join("commondir")) {
        Ok(common) => Some(git_dir.join(common.trim())),
        Err(_) => Some(git_dir),
    }
}
