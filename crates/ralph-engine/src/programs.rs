//! Finds programs: the one place that looks along a search path.
//!
//! Chooses no folders: who asks knows which of them count.

use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The folders of the search path in an environment, in its order.
pub fn path_folders(vars: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let path = vars.iter().find(|(name, _)| name == "PATH");
    path.map(|(_, path)| std::env::split_paths(path).collect())
        .unwrap_or_default()
}

/// The first program of this name in the folders.
pub fn find_program<P: AsRef<Path>>(
    name: impl AsRef<Path>,
    folders: impl IntoIterator<Item = P>,
) -> Option<PathBuf> {
    let mut paths = folders
        .into_iter()
        .map(|folder| folder.as_ref().join(name.as_ref()));
    paths.find(|path| is_executable(path))
}

/// Tells whether a path is a file that can be executed.
pub fn is_executable(path: &Path) -> bool {
    let found = path.metadata();
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_that_can_be_executed_is_found() {
        let top = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| top.path().join(name));
        std::fs::create_dir_all(first.join("folder")).unwrap();
        std::fs::create_dir(&second).unwrap();
        for (path, mode) in [
            (first.join("plain"), 0o644),
            (second.join("plain"), 0o755),
            (second.join("folder"), 0o755),
        ] {
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths([&first, &second]).unwrap();
        let folders = path_folders(&[("HOME".into(), "/".into()), ("PATH".into(), path)]);
        for name in ["plain", "folder"] {
            assert_eq!(find_program(name, &folders), Some(second.join(name)));
        }
        assert_eq!(find_program("none", &folders), None);
        assert_eq!(path_folders(&[]), Vec::<PathBuf>::new());
    }
}
