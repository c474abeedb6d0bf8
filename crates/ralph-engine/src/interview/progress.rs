//! The progress of an interview, kept so that one that was stopped goes on where it was.
//!
//! There only while an interview is under way: what is finished leaves no trace but its history.

use ralph_core::artefacts::{Folder, template::Round};
use serde::{Deserialize, Serialize};

use super::{
    InterviewError,
    files::{remove, write},
};
use crate::plain_file::read_if_there;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Rounds that count.
    done: u32,
    /// Rounds there are to be.
    rounds: u32,
}

impl Progress {
    /// A new interview with so many rounds, or the one that was stopped; `wanted` is what the user
    /// said, and `default` what holds if they said nothing and there is none to go on with.
    pub fn begin(
        folder: &Folder,
        wanted: Option<u32>,
        default: u32,
    ) -> Result<Self, InterviewError> {
        let path = folder.interview();
        let found = read_if_there(&path).map_err(InterviewError::read(path))?;
        // A file that can't be read costs no more than the place in the interview.
        let stopped = found.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        let done = stopped.map_or(0, |stopped| stopped.done);
        let rounds = wanted.or(stopped.map(|stopped| stopped.rounds));
        let rounds = rounds.unwrap_or(default).max(done + 1);
        Ok(Self { done, rounds })
    }

    /// Returns whether this goes on with an interview that was stopped.
    pub fn is_under_way(self) -> bool {
        self.done > 0
    }

    /// The round that comes now.
    pub fn round(self) -> Round {
        Round {
            number: self.done + 1,
            of: self.rounds,
        }
    }

    /// A round counts: the next one comes, also if ralph is started again before.
    pub fn counted(&mut self, folder: &Folder) -> Result<(), InterviewError> {
        self.done += 1;
        self.keep(folder)
    }

    /// Writes down where it stands.
    pub fn keep(self, folder: &Folder) -> Result<(), InterviewError> {
        let history = folder.history();
        std::fs::create_dir_all(&history).map_err(InterviewError::write(history))?;
        let mut text = serde_json::to_string_pretty(&self).unwrap_or_default();
        text.push('\n');
        write(&folder.interview(), text.as_bytes())
    }

    /// The interview is over.
    pub fn finished(self, folder: &Folder) -> Result<(), InterviewError> {
        remove(&folder.interview())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::artefacts::ProjectName;

    #[test]
    fn a_stopped_interview_goes_on_and_a_finished_one_begins_anew() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path(), &ProjectName::parse("shop").unwrap());
        let round = |wanted| {
            let progress = Progress::begin(&folder, wanted, 3).unwrap();
            let Round { number, of } = progress.round();
            (number, of, progress.is_under_way())
        };
        assert_eq!(round(None), (1, 3, false));
        assert_eq!(round(Some(5)), (1, 5, false));
        let mut progress = Progress::begin(&folder, Some(5), 3).unwrap();
        progress.keep(&folder).unwrap();
        assert_eq!(round(None), (1, 5, false));
        progress.counted(&folder).unwrap();
        progress.counted(&folder).unwrap();
        assert_eq!(round(None), (3, 5, true));
        assert_eq!(round(Some(4)), (3, 4, true));
        // There is always a last round to come: it makes the tasks.
        assert_eq!(round(Some(1)), (3, 3, true));
        std::fs::write(folder.interview(), "{").unwrap();
        assert_eq!(round(None), (1, 3, false));
        progress.finished(&folder).unwrap();
        assert_eq!(round(None), (1, 3, false));
    }
}
