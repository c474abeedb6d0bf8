//! Finds programs as the loop would: on the PATH, without folders that an agent can write.

use std::path::{Path, PathBuf};

use ralph_engine::programs::{find_program, is_executable};

/// Where a program is. A name with a slash is a path from `root`.
pub(crate) fn find(name: &str, root: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(root.join(name)).filter(|path| is_executable(path));
    }
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path);
    find_program(
        name,
        folders.filter(|folder| folder.is_absolute() && !folder.starts_with(root)),
    )
}
