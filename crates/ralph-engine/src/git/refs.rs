//! Reads HEAD and refs from the files they live in, and writes HEAD.
//!
//! Without a process, as each iteration asks several times. Knows the `files` format alone; `open`
//! refuses others by name. Never writes a branch: that is `swap`'s, which compares.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{GitError, Oid};
use crate::plain_file;

const BRANCHES: &str = "refs/heads/";

/// What HEAD says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeadFile {
    /// On a branch, by its short name.
    Branch(String),
    Detached(Oid),
    /// Anything else, such as a ref that is not a branch.
    Other(String),
}

pub(super) fn read_head(git_dir: &Path) -> Result<HeadFile, GitError> {
    let path = git_dir.join("HEAD");
    let meta = match fs::symlink_metadata(&path) {
        Ok(meta) => meta,
        Err(error) if is_absence(&error) => return Ok(HeadFile::Other("not there".into())),
        Err(error) => return Err(GitError::io("read", &path)(error)),
    };
    if !meta.is_file() {
        return Ok(HeadFile::Other("not a file".into()));
    }
    let bytes = fs::read(&path).map_err(GitError::io("read", &path))?;
    Ok(parse_head(&bytes))
}

pub(super) fn parse_head(bytes: &[u8]) -> HeadFile {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end();
    if let Some(target) = text.strip_prefix("ref:") {
        let target = target.trim_start();
        return match target.strip_prefix(BRANCHES) {
            Some(branch) if !branch.contains('\u{fffd}') => HeadFile::Branch(branch.to_owned()),
            _ => HeadFile::Other(target.to_owned()),
        };
    }
    Oid::parse(text).map_or_else(|bad| HeadFile::Other(bad.0), HeadFile::Detached)
}

/// The tip of a branch of the repository around `root`, for a look from beside a loop. Asks no git.
pub fn read_branch_tip(root: &Path, branch: &str) -> Result<Option<Oid>, GitError> {
    match crate::identity::common_dir_of(root) {
        Some(common_dir) => read_ref(&common_dir, &format!("{BRANCHES}{branch}")),
        None => Ok(None),
    }
}

/// The commit that a branch or other ref names.
pub(super) fn read_ref(common_dir: &Path, name: &str) -> Result<Option<Oid>, GitError> {
    let loose = common_dir.join(name);
    match fs::read(&loose) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let oid = Oid::parse(text.trim_end()).map_err(|bad| GitError::Unexpected {
                command: format!("read {name}"),
                answer: bad.0,
            })?;
            return Ok(Some(oid));
        }
        // A folder stands there if a longer ref begins with this name.
        Err(error) if is_absence(&error) => {}
        Err(error) => return Err(GitError::io("read", &loose)(error)),
    }
    let packed = common_dir.join("packed-refs");
    match fs::read(&packed) {
        Ok(bytes) => Ok(find_packed(&bytes, name)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(GitError::io("read", &packed)(error)),
    }
}

pub(super) fn read_branch(common_dir: &Path, branch: &str) -> Result<Option<Oid>, GitError> {
    read_ref(common_dir, &branch_ref(branch))
}

pub(super) fn branch_ref(branch: &str) -> String {
    format!("{BRANCHES}{branch}")
}

/// Puts HEAD on a branch, under git's own lock, so that no other git call is overtaken.
pub(super) fn write_head(git_dir: &Path, branch: &str) -> Result<(), GitError> {
    let path = git_dir.join("HEAD");
    let content = format!("ref: {}\n", branch_ref(branch));
    clear_folder(&path).map_err(GitError::io("remove", &path))?;
    replace_under_lock(&path, content.as_bytes()).map_err(GitError::io("write", &path))
}

/// Moves a folder aside that stands where git has a file. Git makes none there.
pub(super) fn clear_folder(path: &Path) -> io::Result<()> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    if is_folder {
        plain_file::make_room(path)
    } else {
        Ok(())
    }
}

/// Writes `<path>.lock`, which must not be there, and renames it.
pub(super) fn replace_under_lock(path: &Path, content: &[u8]) -> io::Result<()> {
    let lock = lock_of(path);
    let mut file = fs::File::create_new(&lock)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    written
        .and_then(|()| fs::rename(&lock, path))
        .inspect_err(|_| {
            let _ = fs::remove_file(&lock);
        })
}

pub(super) fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// The rules of `git check-ref-format`, a little stricter: printable and without a leading dash.
pub(super) fn check_ref_name(name: &str) -> Result<(), GitError> {
    let bad_char =
        |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\\"'`$;&|<>".contains(c);
    let bad_part = |part: &str| {
        part.is_empty()
            || part.starts_with(['.', '-'])
            || part.ends_with('.')
            || part.ends_with(".lock")
    };
    let bad = name.len() > 200
        || name == "HEAD"
        || name.contains("..")
        || name.contains("@{")
        || name == "@"
        || name.chars().any(bad_char)
        || name.split('/').any(bad_part);
    if bad {
        Err(GitError::BadRefName {
            name: name.chars().take(80).collect(),
        })
    } else {
        Ok(())
    }
}

pub(super) fn find_packed(bytes: &[u8], name: &str) -> Option<Oid> {
    bytes.split(|byte| *byte == b'\n').find_map(|line| {
        let space = memchr::memchr(b' ', line)?;
        let matches = &line[space + 1..] == name.as_bytes();
        matches.then(|| Oid::parse(&String::from_utf8_lossy(&line[..space])).ok())?
    })
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_names_that_git_or_a_shell_would_take_for_something_else() {
        for good in [
            "ralph/add-login",
            "main",
            "a/b.c",
            "feature_1",
            "ralph/日本",
        ] {
            assert!(check_ref_name(good).is_ok(), "{good}");
        }
        for bad in [
            "", "-x", "a/-x", "a..b", "a b", "a\nb", "x.lock", "a/.b", "/a", "a/", "a//b", "@",
            "a@{1}", "a~1", "a^", "a:b", "$(x)", "HEAD", "a.",
        ] {
            assert!(check_ref_name(bad).is_err(), "{bad:?}");
        }
        assert!(check_ref_name(&"a".repeat(201)).is_err());
    }
}
