//! The tools for tasks: `tasks_list`, `task_show` and `task_add`.

use ralph_engine::mcp::{ArgumentKind, ToolDefinition, ToolEffect};
use serde_json::json;

use super::{Asked, Done, WORD, WORDS, done, optional, required};
use crate::{
    commands::tasks::{
        add::{self, Args},
        list::{TaskFilter, TaskList, parse_status},
        show::FoundTask,
    },
    error::CommandError,
};

/// Tasks of one list, at most and by default.
const MOST_TASKS: i64 = 200;
const SOME_TASKS: i64 = 50;

pub(super) const LIST: ToolDefinition = ToolDefinition {
    name: "tasks_list",
    title: "List tasks",
    description: "The tasks in the order of their file: status, whether each is ready, what blocks it. The same as \
        `ralph tasks list --json`, with `left` for the number of tasks after these.",
    effect: ToolEffect::Reads,
    arguments: &[
        optional(
            "status",
            ArgumentKind::Choice(ralph_core::task::Status::WORDS),
            "Only tasks whose status is this.",
        ),
        optional(
            "ready",
            ArgumentKind::Flag,
            "Only tasks that could be started now.",
        ),
        optional(
            "limit",
            ArgumentKind::Number {
                least: 1,
                most: MOST_TASKS,
            },
            "At most this many; 50 by default.",
        ),
        optional(
            "offset",
            ArgumentKind::Number {
                least: 0,
                most: 1_000_000,
            },
            "Leave out this many first.",
        ),
    ],
};

pub(super) async fn list(asked: &Asked<'_>) -> Done {
    let arguments = asked.arguments;
    let status = arguments.text("status").map(parse_status).transpose();
    let filter = TaskFilter {
        status: status.map_err(CommandError::user)?,
        ready: arguments.flag("ready"),
    };
    let number = |name, default| {
        let number = arguments.number(name).unwrap_or(default);
        usize::try_from(number).unwrap_or_default()
    };
    let (limit, offset) = (number("limit", SOME_TASKS), number("offset", 0));
    let list = TaskList::read(asked.project, None).await?;
    let mut listed = list.listed(filter);
    listed.tasks.drain(..offset.min(listed.tasks.len()));
    let left = listed.tasks.len().saturating_sub(limit);
    listed.tasks.truncate(limit);
    let mut value = serde_json::to_value(&listed)?;
    value["left"] = json!(left);
    Ok(value)
}

pub(super) const SHOW: ToolDefinition = ToolDefinition {
    name: "task_show",
    title: "Show a task",
    description: "All that is known of one task: its text, acceptance criteria, verify commands, links, attempts and \
        their verdicts. The same as `ralph tasks show ID --json`.",
    effect: ToolEffect::Reads,
    arguments: &[required("id", WORD, "The id of the task.")],
};

pub(super) async fn show(asked: &Asked<'_>) -> Done {
    let id = asked.arguments.text("id").unwrap_or_default();
    let found = FoundTask::read(asked.project, None, id).await?;
    done(&found.whole()?)
}

/// Entries of a list that a new task has.
const ENTRIES: ArgumentKind = ArgumentKind::Texts {
    most: 50,
    most_text: 2_000,
};
const IDS: ArgumentKind = ArgumentKind::Texts {
    most: 50,
    most_text: 200,
};

pub(super) const ADD: ToolDefinition = ToolDefinition {
    name: "task_add",
    title: "Add a task",
    description: "Adds a task at the end of the task file, written as the others are. Nothing is started by it. \
        Returns its id and the file.",
    effect: ToolEffect::Adds,
    arguments: &[
        required(
            "title",
            ArgumentKind::Text { most: 300 },
            "What will be different when it is done, in one line; becomes the subject of the commit.",
        ),
        optional(
            "description",
            WORDS,
            "What is to be done and where: the agent knows nothing else.",
        ),
        optional("acceptance", ENTRIES, "What must be true when it is done."),
        optional(
            "verify",
            ENTRIES,
            "Lines for the shell that prove it; ralph runs them before it lands the work.",
        ),
        optional(
            "depends_on",
            IDS,
            "Ids of tasks that must be completed first.",
        ),
        optional("labels", IDS, "Labels."),
        optional(
            "priority",
            ArgumentKind::Number {
                least: -1_000_000,
                most: 1_000_000,
            },
            "Lower goes first.",
        ),
        optional(
            "id",
            WORD,
            "The id; without it, the next one in the style of the file.",
        ),
    ],
};

pub(super) fn add(asked: &Asked<'_>) -> Done {
    let arguments = asked.arguments;
    let text = |name| arguments.text(name).map(str::to_owned);
    let args = Args {
        title: text("title"),
        id: text("id"),
        description: text("description"),
        acceptance: arguments.texts("acceptance"),
        verify: arguments.texts("verify"),
        depends_on: arguments.texts("depends_on"),
        label: arguments.texts("labels"),
        priority: arguments.number("priority"),
        ..Args::default()
    };
    asked.project.git_root()?;
    done(&add::add(&args, asked.project)?)
}
