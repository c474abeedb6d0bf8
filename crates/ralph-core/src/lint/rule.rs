//! The rules by name, how grave each is, and what to do about it. Checks nothing.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The task can't be worked at as it stands.
    Error,
    /// It can, and the result is likely to be worse for it.
    Warning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    DuplicateId,
    UnknownDependency,
    SelfDependency,
    DependsOnAncestor,
    DependsOnDescendant,
    DependencyCycle,
    ParentCycle,
    UnknownParent,
    NeverReady,
    CompletedContainer,
    TitleMissing,
    TitleTooLong,
    DuplicateTitle,
    NothingSaid,
    DescriptionMissing,
    DescriptionTooShort,
    HiddenContext,
    AcceptanceMissing,
    AcceptanceVague,
    NoVerify,
    NoFiles,
    TooLarge,
}

impl Rule {
    pub const ALL: [Self; 22] = [
        Self::DuplicateId,
        Self::UnknownDependency,
        Self::SelfDependency,
        Self::DependsOnAncestor,
        Self::DependsOnDescendant,
        Self::DependencyCycle,
        Self::ParentCycle,
        Self::UnknownParent,
        Self::NeverReady,
        Self::CompletedContainer,
        Self::TitleMissing,
        Self::TitleTooLong,
        Self::DuplicateTitle,
        Self::NothingSaid,
        Self::DescriptionMissing,
        Self::DescriptionTooShort,
        Self::HiddenContext,
        Self::AcceptanceMissing,
        Self::AcceptanceVague,
        Self::NoVerify,
        Self::NoFiles,
        Self::TooLarge,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::DuplicateId => "duplicate-id",
            Self::UnknownDependency => "unknown-dependency",
            Self::SelfDependency => "self-dependency",
            Self::DependsOnAncestor => "depends-on-ancestor",
            Self::DependsOnDescendant => "depends-on-descendant",
            Self::DependencyCycle => "dependency-cycle",
            Self::ParentCycle => "parent-cycle",
            Self::UnknownParent => "unknown-parent",
            Self::NeverReady => "never-ready",
            Self::CompletedContainer => "completed-container",
            Self::TitleMissing => "title-missing",
            Self::TitleTooLong => "title-too-long",
            Self::DuplicateTitle => "duplicate-title",
            Self::NothingSaid => "nothing-said",
            Self::DescriptionMissing => "description-missing",
            Self::DescriptionTooShort => "description-too-short",
            Self::HiddenContext => "hidden-context",
            Self::AcceptanceMissing => "acceptance-missing",
            Self::AcceptanceVague => "acceptance-vague",
            Self::NoVerify => "no-verify",
            Self::NoFiles => "no-files",
            Self::TooLarge => "too-large",
        }
    }

    pub fn severity(self) -> Severity {
        match self {
            Self::DuplicateId
            | Self::UnknownDependency
            | Self::SelfDependency
            | Self::DependsOnAncestor
            | Self::DependsOnDescendant
            | Self::DependencyCycle
            | Self::ParentCycle
            | Self::UnknownParent
            | Self::NothingSaid => Severity::Error,
            Self::NeverReady
            | Self::CompletedContainer
            | Self::TitleMissing
            | Self::TitleTooLong
            | Self::DuplicateTitle
            | Self::DescriptionMissing
            | Self::DescriptionTooShort
            | Self::HiddenContext
            | Self::AcceptanceMissing
            | Self::AcceptanceVague
            | Self::NoVerify
            | Self::NoFiles
            | Self::TooLarge => Severity::Warning,
        }
    }

    /// Returns what to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::DuplicateId => "give each task an id of its own",
            Self::UnknownDependency => "correct the id, or take the dependency out",
            Self::SelfDependency => "take the dependency out",
            Self::DependsOnAncestor => "depend on the tasks beside it instead",
            Self::DependsOnDescendant => {
                "take the dependency out: a container waits for its tasks anyway"
            }
            Self::DependencyCycle => "take out one of the dependencies",
            Self::ParentCycle => "take out one of the parents",
            Self::UnknownParent => "correct the id, or take the parent out",
            Self::NeverReady => {
                "reopen what it depends on, take the dependency out, or skip the task as well"
            }
            Self::CompletedContainer => "its tasks decide: complete or skip them, or reopen it",
            Self::TitleMissing => {
                "say in a few words what will be different: it becomes the commit's subject"
            }
            Self::TitleTooLong => "shorten it to 72 characters: it becomes the commit's subject",
            Self::DuplicateTitle => "say in the title what tells them apart",
            Self::NothingSaid => "say what is to be done and how one can tell that it is",
            Self::DescriptionMissing => {
                "say what is to be done and where: the agent knows nothing else"
            }
            Self::DescriptionTooShort => {
                "say enough that someone who knows only this text could do it"
            }
            Self::HiddenContext => {
                "write down here what it points at: the agent has seen nothing else"
            }
            Self::AcceptanceMissing => "list what must be true when it is done",
            Self::AcceptanceVague => {
                "name a value, a command, a file or a text that can be checked"
            }
            Self::NoVerify => "add `verify` to the task or `verification.commands` to ralph.yaml",
            Self::NoFiles => {
                "name the files or folders it is about, as `files` or in the description"
            }
            Self::TooLarge => "split it into tasks that one agent can finish in one go",
        }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
