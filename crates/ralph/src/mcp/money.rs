//! The tool for costs.

use ralph_engine::mcp::{ArgumentKind, ToolDefinition, ToolEffect};

use super::{Asked, Done, WORD, done, optional};
use crate::{
    commands::cost::{self, By, CostQuery, parse_since},
    error::CommandError,
};

/// Groups of a list, at most and by default.
const MOST_GROUPS: i64 = 100;
const SOME_GROUPS: u32 = 20;

pub(super) const COST: ToolDefinition = ToolDefinition {
    name: "cost",
    title: "Cost",
    description: "What was spent, by task, model, day or loop, in dollars and tokens; with a forecast of what is left \
        if asked for. The same as `ralph cost --json`.",
    effect: ToolEffect::Reads,
    arguments: &[
        optional(
            "by",
            ArgumentKind::Choice(&["task", "model", "day", "loop"]),
            "What to group by; `task` by default.",
        ),
        optional(
            "since",
            WORD,
            "Only costs since this day: a date like 2026-01-31, or a number of days like 7d.",
        ),
        optional(
            "limit",
            ArgumentKind::Number {
                least: 1,
                most: MOST_GROUPS,
            },
            "At most this many groups, the most expensive first; 20 by default.",
        ),
        optional(
            "forecast",
            ArgumentKind::Flag,
            "Estimate the cost of the remaining tasks too.",
        ),
    ],
};

pub(super) async fn cost(asked: &Asked<'_>) -> Done {
    let arguments = asked.arguments;
    let since = arguments.text("since").map(parse_since).transpose();
    let since = since.map_err(|error| CommandError::user(format!("argument `since`: {error}")))?;
    let limit = arguments.number("limit");
    let limit = limit.and_then(|n| u32::try_from(n).ok());
    let query = CostQuery {
        by: match arguments.text("by") {
            Some("model") => By::Model,
            Some("day") => By::Day,
            Some("loop") => By::Loop,
            Some(_) | None => By::Task,
        },
        since,
        limit: limit.unwrap_or(SOME_GROUPS),
        forecast: arguments.flag("forecast"),
    };
    done(&cost::gather(asked.project, query).await?)
}
