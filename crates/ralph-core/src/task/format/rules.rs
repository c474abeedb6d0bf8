//! The table of formats, and what a format has to say about itself.
//!
//! Adding a format is one file with its `RULES`, and one line in the table below. Everything else
//! (reading, changing, adding, converting) asks these rules and matches on no format. A format whose files are
//! no tree of JSON or YAML is told by the ending of their names, and brings readers and writers of its own.

use serde::{Deserialize, Serialize};

use super::append::NewTask;
use super::convert::Where;
use super::edit::Edit;
use super::error::FormatResult;
use super::fields::Field;
use super::render::Value;
use super::status::{FileWords, Put, StatusMembers};
use super::tree::{At, Tree};
use super::{Document, Syntax, artefacts, beads, markdown, native, prd};
use crate::task::{Status, Task};

macro_rules! formats {
    (trees { $($tree:ident => $tree_module:ident,)+ } named { $($named:ident => $named_module:ident,)+ }) => {
        /// Describes what the fields of a file mean.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Format {
            $($tree,)+
            $($named,)+
        }

        impl Format {
            /// The formats of JSON and YAML files: first the one that a file has in which nothing speaks for
            /// another, then the others, the one that wins where parts of a file speak for several before the
            /// rest. They are also those that a plan can be written in.
            pub const TREES: [Self; [$(stringify!($tree)),+].len()] = [$(Self::$tree),+];

            /// All formats.
            pub const ALL: [Self; [$(stringify!($tree),)+ $(stringify!($named)),+].len()] =
                [$(Self::$tree,)+ $(Self::$named),+];

            /// The formats that the name of a file tells.
            pub(super) const NAMED: [Self; [$(stringify!($named)),+].len()] = [$(Self::$named),+];

            pub(super) fn rules(self) -> &'static FormatRules {
                match self {
                    $(Self::$tree => &$tree_module::RULES,)+
                    $(Self::$named => &$named_module::RULES,)+
                }
            }
        }
    };
}

formats! {
    trees {
        Native => native,
        Prd => prd,
        Artefacts => artefacts,
    }
    named {
        Markdown => markdown,
        Beads => beads,
    }
}

impl Format {
    /// The word for it on the command line and in files.
    pub fn as_str(self) -> &'static str {
        self.rules().name
    }

    /// Returns what it is, in a few words.
    pub fn about(self) -> &'static str {
        self.rules().about
    }

    /// The syntax that its files usually have.
    pub fn usual_syntax(self) -> Syntax {
        self.rules().syntax
    }

    /// The command by which the tool that owns the format learns that tasks are completed, without their ids.
    pub fn close_command(self) -> Option<&'static str> {
        self.rules().named.as_ref()?.close_command
    }

    /// The place that its files have in a project.
    pub fn usual_place(self) -> UsualPlace {
        self.rules().place
    }

    /// The syntax of a file of this format by its name; `None` if a file with that name would not be read as one.
    pub fn syntax_of(self, file_name: &str) -> Option<Syntax> {
        let has = |ending: &&str| super::has_ending(file_name, ending);
        if let Some(own) = &self.rules().named {
            return own.endings.iter().any(has).then_some(self.usual_syntax());
        }
        Some(match file_name {
            _ if has(&".json") => Syntax::Json,
            _ if has(&".yaml") || has(&".yml") => Syntax::Yaml,
            _ => self.usual_syntax(),
        })
    }

    /// The endings that a file of this format must have; empty where it may have any.
    pub fn endings(self) -> &'static [&'static str] {
        self.rules().named.as_ref().map_or(&[], |own| own.endings)
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == word)
    }
}

/// The place of a task file in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsualPlace {
    /// A file of its own in the configured folder of tasks.
    TaskFolder,
    /// This file at the root.
    File(&'static str),
    /// This file in a folder named after the project, below this one.
    ProjectFolder {
        below: &'static str,
        file: &'static str,
    },
}

/// Gives the members to set so that a task reads as a status, in the words of its file.
pub(super) type WriteStatus =
    fn(&StatusMembers<'_, '_>, Status, &FileWords<'_>) -> FormatResult<Vec<Put>>;

/// Reads and changes the files of a format that their name tells. Results are read again and compared by the
/// caller.
pub(super) struct NamedFormat {
    /// The command of the tool that owns the format and has records beside the file; ids are added to it.
    pub(super) close_command: Option<&'static str>,
    /// The endings of the names of its files, with the dot.
    pub(super) endings: &'static [&'static str],
    pub(super) parse: fn(&NamedFile<'_>) -> FormatResult<Document>,
    /// Reads what can be read: tasks with an id that is taken, and none that are broken.
    pub(super) parse_loosely: fn(&NamedFile<'_>) -> Vec<Task>,
    pub(super) edited: fn(&NamedFile<'_>, &[Edit]) -> FormatResult<String>,
    /// The texts that may be the file with a task added, the best first.
    pub(super) appended: fn(&NamedFile<'_>, &NewTask) -> FormatResult<Vec<String>>,
    /// A file with these tasks.
    pub(super) written: fn(&Document) -> FormatResult<String>,
    /// The names of what is in the file and no part of what is read from it, each as often as it occurs.
    pub(super) untold: fn(&NamedFile<'_>) -> Vec<(String, Where)>,
}

/// A file of such a format.
pub(super) struct NamedFile<'a> {
    pub(super) name: &'a str,
    /// The index of the file in the places of its tasks.
    pub(super) index: u32,
    /// The whole text, a byte-order mark included.
    pub(super) text: &'a str,
}

impl<'a> NamedFile<'a> {
    /// A file whose tasks stand in no other.
    pub(super) fn one(name: &'a str, text: &'a str) -> Self {
        let index = 0;
        Self { name, index, text }
    }
}

/// The format that the name of a file tells.
pub(super) fn named(file_name: &str) -> Option<&'static NamedFormat> {
    let mut named = Format::NAMED.into_iter();
    named.find_map(|format| {
        let own = format.rules().named.as_ref()?;
        let mut endings = own.endings.iter();
        endings
            .any(|ending| super::has_ending(file_name, ending))
            .then_some(own)
    })
}

pub(super) struct FormatRules {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) syntax: Syntax,
    pub(super) place: UsualPlace,
    /// For a format that the name of a file tells.
    pub(super) named: Option<NamedFormat>,

    /// Names of the list of tasks that only this format uses.
    pub(super) own_lists: &'static [&'static str],
    /// The name of the list in a file that is written in it.
    pub(super) list: &'static str,
    /// The member beside the list that only this format has: it names the project.
    pub(super) project_mark: Option<&'static str>,
    /// True if a member of a task speaks for this format.
    pub(super) marks_task: fn(&Tree<'_>, name: &str, value: At) -> bool,

    /// The fields that the status is read from.
    pub(super) status_fields: &'static [Field],
    /// The status words that errors list.
    pub(super) words: &'static [&'static str],
    /// The word for a status.
    pub(super) word: fn(Status) -> &'static str,
    /// The word for open where a file has none for it but has others; `None`: the format has words of its
    /// own, and those of a file are not followed.
    pub(super) open_word: Option<&'static str>,
    /// Written by all kinds of tools: shapes and values that are not the format's are read by their nearest
    /// meaning, with a warning.
    pub(super) lenient: bool,
    pub(super) read_status: fn(&StatusMembers<'_, '_>) -> FormatResult<Status>,
    /// The members to set so that a task reads as the status.
    pub(super) write_status: WriteStatus,
    /// The members that say a status in a task that says none yet.
    pub(super) new_status: fn(Status) -> Vec<(&'static str, Value)>,

    /// The members of a new task where there is no sibling to follow, in order.
    pub(super) members: &'static [(Field, &'static str)],
    pub(super) max_attempts: &'static str,
    /// Fields that the format's own tools can't do without.
    pub(super) required: &'static [Field],
    /// Members in which the format's own tools record something: no agent is told them.
    pub(super) records: &'static [&'static str],
}

impl FormatRules {
    /// The name that a new member for one of these fields gets.
    pub(super) fn name_of(&self, fields: &[Field]) -> &'static str {
        let found = self
            .members
            .iter()
            .find(|(field, _)| fields.contains(field));
        found.map_or("", |(_, name)| name)
    }

    pub(super) fn requires(&self, field: Field) -> bool {
        self.required.contains(&field)
    }

    /// The name of the member that names the project.
    pub(super) fn project_name(&self) -> &'static str {
        self.project_mark.unwrap_or("project")
    }
}
