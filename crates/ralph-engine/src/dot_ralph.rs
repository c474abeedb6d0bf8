//! The folder `.ralph/` of a project: made when it is needed, with or without `init`.
//!
//! Tasks, prompts and `parent-task-id` can be tracked in git; what can be rebuilt, or is only of
//! this machine, is ignored by a file of the folder's own. Never changes what is there already.

use std::{
    fs::OpenOptions,
    io::{self, ErrorKind, Write as _},
    path::Path,
};

use crate::plain_file;

/// The folder's name in a project's root.
pub const FOLDER: &str = ".ralph";

/// Where flows in a browser leave their results, relative to the folder that they run in.
pub const FLOW_RESULTS: &str = ".ralph/qa";

/// It ignores itself too: a run must not leave anything behind that `git status` shows.
const GITIGNORE: &str = "\
# Tasks, prompts and parent-task-id can be tracked. These are rebuilt, or only of this machine.
/.gitignore
/progress.md
/logs/
/archive/
/diagnosis/
/goals/
/qa/
";

/// Makes `.ralph/` and its `.gitignore` below `root`, as far as they are missing.
pub fn ensure(root: &Path) -> io::Result<()> {
    let folder = root.join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(".gitignore");
    // Git reads no rules through a link.
    plain_file::make_room(&path)?;
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    match file {
        Ok(mut file) => file.write_all(GITIGNORE.as_bytes()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_the_folder_once_and_leaves_what_a_person_wrote() {
        let root = tempfile::tempdir().unwrap();
        ensure(root.path()).unwrap();
        let file = root.path().join(".ralph/.gitignore");
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with('#')).collect();
        assert_eq!(
            lines,
            [
                "/.gitignore",
                "/progress.md",
                "/logs/",
                "/archive/",
                "/diagnosis/",
                "/goals/",
                "/qa/"
            ]
        );
        std::fs::write(&file, "mine\n").unwrap();
        ensure(root.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n");
    }
}
