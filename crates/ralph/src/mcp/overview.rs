//! The tools that say how things stand: `status` and `report`.

use ralph_engine::mcp::{ArgumentKind, ToolDefinition, ToolEffect};

use super::{Asked, Done, WORD, done, optional};
use crate::commands::{
    report::{self, Which},
    status::facts,
};

pub(super) const STATUS: ToolDefinition = ToolDefinition {
    name: "status",
    title: "Status of the tasks and the loop",
    description: "How the project stands: counts of tasks, the task that is next and why, the loop and whether it \
        runs, its last iteration and cost, open questions, what blocks what. The same as `ralph status --json`.",
    effect: ToolEffect::Reads,
    arguments: &[],
};

pub(super) async fn status(asked: &Asked<'_>) -> Done {
    done(&facts::gather(asked.project, None).await?)
}

pub(super) const REPORT: ToolDefinition = ToolDefinition {
    name: "report",
    title: "Report of what loops did",
    description: "What the loops of the current feature came to: commits, completed tasks, failed attempts, flags, \
        cost, and what is left. The same as `ralph report --json`.",
    effect: ToolEffect::Reads,
    arguments: &[
        optional(
            "loops",
            ArgumentKind::Choice(&["feature", "last", "all"]),
            "Which loops: those of the last one's feature (the default), only the last one, or all of its task file.",
        ),
        optional(
            "loop_id",
            WORD,
            "Only this loop, by its id or the beginning of it; not together with `loops`.",
        ),
    ],
};

pub(super) async fn report(asked: &Asked<'_>) -> Done {
    let arguments = asked.arguments;
    let which = match (arguments.text("loop_id"), arguments.text("loops")) {
        (Some(_), Some(_)) => {
            return Err(super::contradiction("`loop_id` and `loops`"));
        }
        (Some(id), None) => Which::One(id),
        (None, Some("last")) => Which::Last,
        (None, Some("all")) => Which::All,
        (None, Some(_) | None) => Which::Feature,
    };
    done(&report::gather(asked.project, which).await?)
}
