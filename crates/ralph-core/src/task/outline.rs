//! A task as far as order and standing go, for a look at very many of them.
//!
//! Small on purpose: most of what a hundred thousand tasks cost is the memory that they take. Has
//! nothing of what a task says but its title, and that where it stands in the file, if it can.

use jiff::Timestamp;

use super::{Attempts, Place, Status, Task, TaskId, TaskLinks};

/// What the graph and the plan ask of a task.
pub trait Linked {
    fn id(&self) -> &TaskId;
    fn links(&self) -> &TaskLinks;
    fn status(&self) -> Status;
    fn area(&self) -> Option<&str>;
    fn priority(&self) -> Option<i64>;
    fn created_at(&self) -> Option<Timestamp>;
    fn place(&self) -> Place;
}

#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    pub id: TaskId,
    pub title: Title,
    pub status: Status,
    pub priority: Option<i64>,
    pub place: Place,
    pub(super) more: Option<Box<More>>,
}

/// What many tasks have nothing of.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct More {
    pub(super) links: TaskLinks,
    pub(super) area: Option<String>,
    pub(super) attempts: Attempts,
    pub(super) created_at: Option<Timestamp>,
}

const NOTHING_MORE: &More = &More {
    links: TaskLinks {
        parent_id: None,
        depends_on: Vec::new(),
    },
    area: None,
    attempts: Attempts {
        made: None,
        max: None,
    },
    created_at: None,
};

impl More {
    /// As an outline holds it: not at all if there is nothing.
    pub(super) fn boxed(self) -> Option<Box<Self>> {
        (self != *NOTHING_MORE).then(|| Box::new(self))
    }
}

impl Outline {
    pub fn attempts(&self) -> Attempts {
        self.more().attempts
    }

    fn more(&self) -> &More {
        self.more.as_deref().unwrap_or(NOTHING_MORE)
    }
}

/// Where a title is to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Title {
    /// In the bytes of the task's file.
    At {
        start: u32,
        end: u32,
    },
    Said(Box<str>),
}

impl Title {
    /// The title itself; `bytes` are those of the file that the task was read from.
    pub fn text<'t>(&'t self, bytes: &'t [u8]) -> &'t str {
        match self {
            Self::Said(text) => text,
            Self::At { start, end } => {
                let bytes = bytes.get(*start as usize..*end as usize);
                str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
            }
        }
    }
}

impl Linked for Task {
    fn id(&self) -> &TaskId {
        &self.id
    }

    fn links(&self) -> &TaskLinks {
        &self.links
    }

    fn status(&self) -> Status {
        self.status
    }

    fn area(&self) -> Option<&str> {
        self.area.as_deref()
    }

    fn priority(&self) -> Option<i64> {
        self.priority
    }

    fn created_at(&self) -> Option<Timestamp> {
        self.created_at
    }

    fn place(&self) -> Place {
        self.place
    }
}

impl Linked for Outline {
    fn id(&self) -> &TaskId {
        &self.id
    }

    fn links(&self) -> &TaskLinks {
        &self.more().links
    }

    fn status(&self) -> Status {
        self.status
    }

    fn area(&self) -> Option<&str> {
        self.more().area.as_deref()
    }

    fn priority(&self) -> Option<i64> {
        self.priority
    }

    fn created_at(&self) -> Option<Timestamp> {
        self.more().created_at
    }

    fn place(&self) -> Place {
        self.place
    }
}
