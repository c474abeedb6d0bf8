//! Where the files of an artefacts project are. Paths alone: whether anything is there is for others
//! to find out.

use std::path::{Path, PathBuf};

use super::ProjectName;

/// The folder of all projects, in a repository's root.
const ALL: &str = ".artefacts";

/// The folder of one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Below `root`; an empty root gives the paths as a prompt names them.
    pub fn new(root: &Path, name: &ProjectName) -> Self {
        Self {
            path: root.join(ALL).join(name.as_str()),
        }
    }

    /// As people and prompts name it, from the root of the repository.
    pub fn relative(name: &ProjectName) -> Self {
        Self::new(Path::new(""), name)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The brief: a person's at first, then amended by interviews.
    pub fn spec(&self) -> PathBuf {
        self.path.join("spec.md")
    }

    pub fn tasks(&self) -> PathBuf {
        self.path.join("tasks.json")
    }

    /// The log of what each iteration did.
    pub fn state(&self) -> PathBuf {
        self.path.join("state.json")
    }

    pub fn obstacles(&self) -> PathBuf {
        self.path.join("obstacles.json")
    }

    pub fn results(&self) -> PathBuf {
        self.path.join("results.md")
    }

    /// By which an agent says that it is done; never there for long.
    pub fn done(&self) -> PathBuf {
        self.path.join("done.md")
    }

    /// Questions of an interview that no one has answered yet.
    pub fn questions(&self) -> PathBuf {
        self.path.join("questions.json")
    }

    /// Returns what interviews keep.
    pub fn history(&self) -> PathBuf {
        self.path.join("history")
    }

    /// The brief as it stood behind this round; 0 is the one before the first.
    pub fn spec_of_round(&self, round: u32) -> PathBuf {
        self.history().join(format!("round-{round}-spec.md"))
    }

    /// Returns how far an interview has come that is not over.
    pub fn interview(&self) -> PathBuf {
        self.history().join("interview.json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_where_the_workflow_has_them() {
        let name = ProjectName::parse("shop").unwrap();
        let folder = Folder::new(Path::new("/repo"), &name);
        let found = [
            folder.path().to_owned(),
            folder.spec(),
            folder.tasks(),
            folder.state(),
            folder.obstacles(),
            folder.results(),
            folder.done(),
            folder.questions(),
            folder.spec_of_round(2),
            folder.interview(),
        ];
        let below = |rest: &str| PathBuf::from(format!("/repo/.artefacts/shop{rest}"));
        let expected = [
            below(""),
            below("/spec.md"),
            below("/tasks.json"),
            below("/state.json"),
            below("/obstacles.json"),
            below("/results.md"),
            below("/done.md"),
            below("/questions.json"),
            below("/history/round-2-spec.md"),
            below("/history/interview.json"),
        ];
        assert_eq!(found, expected);
        let relative = Folder::relative(&name).spec();
        assert_eq!(relative, Path::new(".artefacts/shop/spec.md"));
    }
}
