//! The rules by name, how grave each is, and what to do about it. Checks nothing.

use serde::Serialize;

use crate::task::format::Format;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The task can't be worked at as it stands.
    Error,
    /// It can, and the result is likely to be worse for it.
    Warning,
    /// Worth knowing, and nothing is wrong with it.
    Note,
}

named! {
    #[derive(PartialOrd, Ord)]
    pub enum Rule {
        DuplicateId = "duplicate-id",
        UnknownDependency = "unknown-dependency",
        SelfDependency = "self-dependency",
        DependsOnAncestor = "depends-on-ancestor",
        DependsOnDescendant = "depends-on-descendant",
        DependencyCycle = "dependency-cycle",
        ParentCycle = "parent-cycle",
        UnknownParent = "unknown-parent",
        NeverReady = "never-ready",
        CompletedContainer = "completed-container",
        TitleMissing = "title-missing",
        TitleTooLong = "title-too-long",
        DuplicateTitle = "duplicate-title",
        NothingSaid = "nothing-said",
        DescriptionMissing = "description-missing",
        DescriptionTooShort = "description-too-short",
        HiddenContext = "hidden-context",
        AcceptanceMissing = "acceptance-missing",
        AcceptanceVague = "acceptance-vague",
        NoVerify = "no-verify",
        NoFiles = "no-files",
        TooLarge = "too-large",
        OddValue = "odd-value",
        UnknownStatus = "unknown-status",
        NotRead = "not-read",
        ChecksNotUsed = "checks-not-used",
        UnknownFields = "unknown-fields",
    }
}

impl Rule {
    pub fn severity(self) -> Severity {
        self.about().0
    }

    /// Returns what to do about it.
    pub fn hint(self) -> &'static str {
        self.about().1
    }

    /// Returns what to do about it in a file of a format that has no fields of such a name.
    pub fn hint_in(self, format: Format) -> &'static str {
        match (self, format) {
            (Self::NoVerify, Format::Markdown) => {
                "add a line such as \"Verify: `make test`\" below the item, or `verification.commands` to ralph.yaml"
            }
            (Self::NoVerify, Format::Beads) => "add `verification.commands` to ralph.yaml",
            (Self::NoFiles, Format::Markdown | Format::Beads) => {
                "name the files or folders it is about"
            }
            _ => self.hint(),
        }
    }

    fn about(self) -> (Severity, &'static str) {
        use Severity::{Error, Note, Warning};
        match self {
            Self::DuplicateId => (Error, "give each task an id of its own"),
            Self::UnknownDependency => (Error, "correct the id, or take the dependency out"),
            Self::SelfDependency => (Error, "take the dependency out"),
            Self::DependsOnAncestor => (Error, "depend on the tasks beside it instead"),
            Self::DependsOnDescendant => (
                Error,
                "take the dependency out: a container waits for its tasks anyway",
            ),
            Self::DependencyCycle => (Error, "take out one of the dependencies"),
            Self::ParentCycle => (Error, "take out one of the parents"),
            Self::UnknownParent => (Error, "correct the id, or take the parent out"),
            Self::NeverReady => (
                Warning,
                "reopen what it depends on, take the dependency out, or skip the task as well",
            ),
            Self::CompletedContainer => (
                Warning,
                "its tasks decide: complete or skip them, or reopen it",
            ),
            Self::TitleMissing => (
                Warning,
                "say in a few words what will be different: it becomes the commit's subject",
            ),
            Self::TitleTooLong => (
                Warning,
                "shorten it to 72 characters: it becomes the commit's subject",
            ),
            Self::DuplicateTitle => (Warning, "say in the title what tells them apart"),
            Self::NothingSaid => (
                Error,
                "say what is to be done and how one can tell that it is",
            ),
            Self::DescriptionMissing => (
                Warning,
                "say what is to be done and where: the agent knows nothing else",
            ),
            Self::DescriptionTooShort => (
                Warning,
                "say enough that someone who knows only this text could do it",
            ),
            Self::HiddenContext => (
                Warning,
                "write down here what it points at: the agent has seen nothing else",
            ),
            Self::AcceptanceMissing => (Warning, "list what must be true when it is done"),
            Self::AcceptanceVague => (
                Warning,
                "name a value, a command, a file or a text that can be checked",
            ),
            Self::NoVerify => (
                Warning,
                "add `verify` to the task or `verification.commands` to ralph.yaml",
            ),
            Self::NoFiles => (
                Warning,
                "name the files or folders it is about, as `files` or in the description",
            ),
            Self::TooLarge => (
                Warning,
                "split it into tasks that one agent can finish in one go",
            ),
            Self::OddValue => (Warning, "write the value that the field expects"),
            Self::UnknownStatus => (Warning, "use one of these words"),
            Self::ChecksNotUsed => (
                Warning,
                "put them under `verification.commands` in ralph.yaml; `ralph init` does so",
            ),
            Self::UnknownFields => (
                Note,
                "nothing, or rename one that is meant as a field of docs/tasks.md",
            ),
            Self::NotRead => (
                Warning,
                "move what is work into the list that is read, or leave it as it is",
            ),
        }
    }
}
