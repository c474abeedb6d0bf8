//! The files of an interview: the brief, what it was after each round, the questions that wait, and
//! the file by which an agent says that it is done.
//!
//! Agents write in the same folder, so nothing is read from a pipe or written through a link, and no
//! kept brief is ever written over.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use ralph_core::artefacts::{Folder, Waiting};

use super::InterviewError;
use crate::plain_file;

/// The brief. `None`: there is none.
pub fn read_spec(folder: &Folder) -> Result<Option<String>, InterviewError> {
    let path = folder.spec();
    let bytes = plain_file::read_if_there(&path).map_err(InterviewError::read(path))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Writes the brief again, where an agent has lost it.
pub fn write_spec(folder: &Folder, text: &str) -> Result<(), InterviewError> {
    write(&folder.spec(), text.as_bytes())
}

/// Keeps the brief as it is now, under the next number: they go on from one interview to the next.
/// Number 0 is the brief before any round.
pub fn keep_spec(folder: &Folder, text: &str) -> Result<u32, InterviewError> {
    let history = folder.history();
    std::fs::create_dir_all(&history).map_err(InterviewError::write(history.clone()))?;
    let numbers = std::fs::read_dir(&history)
        .map_err(InterviewError::read(history))?
        .filter_map(|entry| number(entry.ok()?.file_name().to_str()?));
    let next = numbers.max().map_or(0, |last| last + 1);
    write(&folder.spec_of_round(next), text.as_bytes())?;
    Ok(next)
}

fn number(file_name: &str) -> Option<u32> {
    let rest = file_name.strip_prefix("round-")?;
    rest.strip_suffix("-spec.md")?.parse().ok()
}

/// Takes away the file by which an agent says that it is done, whatever is there.
pub fn clear_done(folder: &Folder) -> Result<(), InterviewError> {
    remove(&folder.done())
}

/// The questions that wait for answers, if any do.
pub fn read_waiting(folder: &Folder) -> Result<Option<Waiting>, InterviewError> {
    let path = folder.questions();
    let Some(bytes) =
        plain_file::read_if_there(&path).map_err(InterviewError::read(path.clone()))?
    else {
        return Ok(None);
    };
    let waiting = serde_json::from_slice(&bytes).map_err(|error| InterviewError::Broken {
        path,
        message: error.to_string(),
    })?;
    Ok(Some(waiting))
}

/// Writes the questions down for a person to answer; without any, takes the file away.
pub fn write_waiting(folder: &Folder, waiting: Option<&Waiting>) -> Result<(), InterviewError> {
    let path = folder.questions();
    let Some(waiting) = waiting else {
        return remove(&path);
    };
    let mut text = serde_json::to_string_pretty(waiting).unwrap_or_default();
    text.push('\n');
    write(&path, text.as_bytes())
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), InterviewError> {
    plain_file::replace(path, bytes).map_err(InterviewError::write(path.to_owned()))
}

pub(super) fn remove(path: &Path) -> Result<(), InterviewError> {
    plain_file::remove(path).map_err(InterviewError::write(path.to_owned()))
}

/// One interview about a project at a time: a lock on the folder of its history, which leaves nothing
/// behind. Held until dropped, or until the process is gone.
#[derive(Debug)]
pub struct Claim {
    _folder: File,
}

impl Claim {
    /// `None`: another process leads one.
    pub fn take(folder: &Folder) -> Result<Option<Self>, InterviewError> {
        let history = folder.history();
        let opened = std::fs::create_dir_all(&history).and_then(|()| File::open(&history));
        let opened = opened.map_err(InterviewError::write(history.clone()))?;
        match opened.try_lock() {
            Ok(()) => Ok(Some(Self { _folder: opened })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(InterviewError::write(history)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::artefacts::ProjectName;

    fn folder(root: &tempfile::TempDir) -> Folder {
        let folder = Folder::new(root.path(), &ProjectName::parse("shop").unwrap());
        std::fs::create_dir_all(folder.path()).unwrap();
        folder
    }

    #[test]
    fn a_second_interview_is_refused_until_the_first_is_gone() {
        let root = tempfile::tempdir().unwrap();
        let folder = folder(&root);
        let first = Claim::take(&folder).unwrap();
        assert!(first.is_some());
        assert!(Claim::take(&folder).unwrap().is_none());
        drop(first);
        assert!(Claim::take(&folder).unwrap().is_some());
    }

    #[test]
    fn kept_briefs_are_numbered_on_and_never_written_over() {
        let root = tempfile::tempdir().unwrap();
        let folder = folder(&root);
        assert_eq!(keep_spec(&folder, "first").unwrap(), 0);
        assert_eq!(keep_spec(&folder, "second").unwrap(), 1);
        std::fs::write(folder.history().join("round-7-spec.md"), "a person's").unwrap();
        std::fs::write(folder.history().join("round-x-spec.md"), "other").unwrap();
        assert_eq!(keep_spec(&folder, "third").unwrap(), 8);
        let kept = |n| std::fs::read_to_string(folder.spec_of_round(n)).unwrap();
        assert_eq!(
            [kept(0), kept(1), kept(7), kept(8)],
            ["first", "second", "a person's", "third"]
        );
    }

    #[test]
    fn whatever_stands_for_done_is_taken_away_and_nothing_behind_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = folder(&root);
        clear_done(&folder).unwrap();
        std::fs::write(folder.done(), "done").unwrap();
        clear_done(&folder).unwrap();
        assert!(!folder.done().exists());
        std::fs::create_dir(folder.done()).unwrap();
        clear_done(&folder).unwrap();
        assert!(!folder.done().exists());
        std::fs::write(folder.spec(), "mine").unwrap();
        std::os::unix::fs::symlink(folder.spec(), folder.done()).unwrap();
        clear_done(&folder).unwrap();
        assert!(!folder.done().is_symlink());
        assert_eq!(read_spec(&folder).unwrap().as_deref(), Some("mine"));
    }

    #[test]
    fn questions_come_back_as_they_were_written_and_broken_ones_are_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = folder(&root);
        assert_eq!(read_waiting(&folder).unwrap(), None);
        let waiting = Waiting {
            project_name: "shop".into(),
            round: 2,
            rounds: 3,
            questions: Vec::new(),
        };
        write_waiting(&folder, Some(&waiting)).unwrap();
        assert_eq!(read_waiting(&folder).unwrap(), Some(waiting));
        std::fs::write(folder.questions(), "{").unwrap();
        let error = read_waiting(&folder).unwrap_err().to_string();
        assert!(error.contains("questions.json can't be read"), "{error}");
        write_waiting(&folder, None).unwrap();
        assert!(!folder.questions().exists());
    }
}
