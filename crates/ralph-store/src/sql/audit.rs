//! The audit trail: who did what to which loop, task or question, when, and from where.
//!
//! An entry is written in the transaction of what it is about, and never changed. Who asks for a budget of a team is
//! written where that is set. What a program of an agent did is not here: its iteration has a record.

use std::sync::OnceLock;

use jiff::Timestamp;

use super::statement::{Statement, sql};
use crate::RepositoryId;
use ralph_core::id::{CommandId, LoopId, QuestionId};

/// The one that did something.
#[derive(Debug, Clone, Copy)]
pub(super) enum Actor<'a> {
    Person(&'a str),
    /// The agent of an iteration.
    Agent {
        iteration: u64,
    },
    Ralph,
}

impl Actor<'_> {
    fn words(self) -> (&'static str, String) {
        match self {
            Self::Person(name) => ("person", name.to_owned()),
            Self::Agent { iteration } => ("agent", format!("iteration {iteration}")),
            Self::Ralph => ("ralph", "ralph".to_owned()),
        }
    }
}

/// A deed, and what it was done to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deed<'a> {
    pub(super) actor: Actor<'a>,
    pub(super) action: &'a str,
    pub(super) at: Timestamp,
    pub(super) repository: Option<&'a RepositoryId>,
    pub(super) loop_id: Option<&'a LoopId>,
    pub(super) task: Option<&'a str>,
    /// The thing itself, where it is neither loop nor task.
    pub(super) subject: Option<&'a str>,
    pub(super) detail: Option<&'a str>,
}

const WHAT: &str = "add to the audit trail";

const COLUMNS: &str =
    "at, actor_kind, actor, machine, action, repository_id, loop_id, task_id, subject, detail";

/// The statement that writes an entry.
pub(super) fn entry(deed: Deed<'_>) -> Statement {
    let (kind, actor) = deed.actor.words();
    sql!(
        WHAT,
        format!("INSERT INTO audit ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
        deed.at,
        kind,
        actor,
        machine(),
        deed.action,
        deed.repository,
        deed.loop_id,
        deed.task,
        deed.subject,
        deed.detail,
    )
}

/// The statement that writes the entry of a command that has just ended, and the question that it answered. Whether a
/// loop listens is no deed.
pub(super) fn entry_of_command(
    id: CommandId,
    at: Timestamp,
    answered: Option<QuestionId>,
) -> Statement {
    let subject = match answered {
        Some(question) => format!("question {question}"),
        None => format!("command {id}"),
    };
    sql!(
        WHAT,
        format!(
            "INSERT INTO audit ({COLUMNS})
             SELECT ?2, 'person', who, ?3, body ->> '$.command', repository_id,
                    (SELECT id FROM loop WHERE loop.repository_id = command.repository_id
                     AND loop.worktree = command.worktree ORDER BY started_at DESC, id DESC LIMIT 1),
                    COALESCE(body ->> '$.task', (SELECT task_id FROM escalation WHERE escalation.id = ?5)), ?4,
                    '{{\"command\":' || body || ',\"result\":' || COALESCE(result, 'null') || '}}'
             FROM command WHERE id = ?1 AND body ->> '$.command' <> 'ping'"
        ),
        id,
        at,
        machine(),
        subject,
        answered,
    )
}

/// The statement that writes an entry for each event of a loop that is kept, given as rows of a JSON array: the
/// iteration, the time, the kind, the event, and the task.
pub(super) fn entries_of_events(loop_id: &LoopId, rows: String) -> Statement {
    sql!(
        WHAT,
        format!(
            "INSERT INTO audit ({COLUMNS})
             SELECT value ->> 1, 'ralph', 'ralph', ?3, value ->> 2,
                    (SELECT repository_id FROM loop WHERE id = ?1), ?1, value ->> 4,
                    'iteration ' || (value ->> 0), value ->> 3
             FROM json_each(?2) ORDER BY key"
        ),
        loop_id,
        rows,
        machine(),
    )
}

/// The name of this machine.
fn machine() -> String {
    static NAME: OnceLock<String> = OnceLock::new();
    let name = || {
        let system = rustix::system::uname();
        system.nodename().to_string_lossy().into_owned()
    };
    NAME.get_or_init(name).clone()
}
