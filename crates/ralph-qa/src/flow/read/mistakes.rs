//! Mistakes of a flow file: all of them at once, each with its line.

use std::path::{Path, PathBuf};

/// The most mistakes that are kept of one file.
const MAX_MISTAKES: usize = 50;

/// One mistake in a flow file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", and_hint(hint.as_ref()))]
pub struct FlowMistake {
    /// The line of the file, from 1.
    pub line: usize,
    /// Says what was expected, and what is there.
    pub message: String,
    /// A way out.
    pub hint: Option<String>,
}

fn and_hint(hint: Option<&String>) -> String {
    hint.map_or_else(String::new, |hint| format!("; {hint}"))
}

/// All mistakes of a flow file, at least one, by line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.lines())]
pub struct FlowMistakes {
    /// The file, as it was named.
    pub file: PathBuf,
    pub mistakes: Vec<FlowMistake>,
    /// The number of mistakes that were left out.
    pub more: usize,
}

impl FlowMistakes {
    /// A file with one mistake, on its first line.
    pub(in crate::flow) fn one(file: &Path, line: usize, message: &str) -> Self {
        Self {
            file: file.to_owned(),
            mistakes: vec![FlowMistake {
                line,
                message: message.to_owned(),
                hint: None,
            }],
            more: 0,
        }
    }

    fn lines(&self) -> String {
        let line = |mistake: &FlowMistake| {
            let (file, line) = (self.file.display(), mistake.line);
            format!("{file}:{line}: {mistake}")
        };
        let mut lines: Vec<String> = self.mistakes.iter().map(line).collect();
        if self.more > 0 {
            let file = self.file.display();
            lines.push(format!("{file}: and {} more mistakes", self.more));
        }
        lines.join("\n")
    }
}

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(super) struct MistakeList {
    found: Vec<FlowMistake>,
    more: usize,
}

impl MistakeList {
    pub(super) fn add(&mut self, line: usize, message: impl Into<String>) {
        self.keep(line, message.into(), None);
    }

    pub(super) fn hinted(
        &mut self,
        line: usize,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.keep(line, message.into(), Some(hint.into()));
    }

    fn keep(&mut self, line: usize, message: String, hint: Option<String>) {
        let mistake = FlowMistake {
            line: line.max(1),
            message,
            hint,
        };
        // A value that is used by an alias a second time has the same mistakes.
        if self.found.contains(&mistake) {
            return;
        }
        if self.found.len() < MAX_MISTAKES {
            self.found.push(mistake);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn sorted(mut self) -> Vec<FlowMistake> {
        self.found.sort_by_key(|mistake| mistake.line);
        self.found
    }

    pub(super) fn of(self, file: &Path) -> FlowMistakes {
        let more = self.more;
        FlowMistakes {
            file: file.to_owned(),
            mistakes: self.sorted(),
            more,
        }
    }
}
