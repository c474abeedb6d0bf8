//! Finds programs as the loop would: on the PATH, without folders that an agent can write.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// Where a program is. A name with a slash is a path from `root`.
pub(crate) fn find(name: &str, root: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(root.join(name)).filter(|path| is_executable(path));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute() && !folder.starts_with(root))
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
