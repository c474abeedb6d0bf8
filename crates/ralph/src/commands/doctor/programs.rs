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

/// The program that a line for the shell starts with, where that can be told for sure.
pub(super) fn first_of_line(line: &str) -> Option<&str> {
    const BUILT_IN: [&str; 13] = [
        "cd", "test", "[", "!", "if", "for", "while", "set", "export", "exec", "true", "false", ".",
    ];
    let word = line.split_whitespace().next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
    (word.chars().all(plain) && !BUILT_IN.contains(&word)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_first_word_is_taken_for_a_program() {
        for (line, expected) in [
            ("npm test && x", Some("npm")),
            ("./check.sh -v", Some("./check.sh")),
            ("CI=1 npm test", None),
            ("cd web && npm test", None),
            ("(npm test)", None),
            ("$RUNNER x", None),
            ("", None),
        ] {
            assert_eq!(first_of_line(line), expected, "{line}");
        }
    }
}
