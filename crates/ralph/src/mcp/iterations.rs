//! The tool for logs of iterations.

use ralph_engine::mcp::{ArgumentKind, ToolDefinition, ToolEffect};
use serde_json::json;

use super::{Asked, Done, done, optional};
use crate::commands::logs;

/// Lines and bytes of a log.
const MOST_LINES: i64 = 2_000;
const SOME_LINES: i64 = 200;
const MOST_BYTES: u64 = 32 * 1024;
/// Iterations of a list.
const MOST_ITERATIONS: i64 = 100;
const SOME_ITERATIONS: u32 = 20;

pub(super) const LOGS: ToolDefinition = ToolDefinition {
    name: "logs",
    title: "Logs of iterations",
    description: "What happened in an iteration: the end of its readable log, its record, or the list of the last \
        iterations. An agent wrote most of a log. The record and the list are those of `ralph logs --json`.",
    effect: ToolEffect::Reads,
    arguments: &[
        optional(
            "form",
            ArgumentKind::Choice(&["text", "record", "list"]),
            "The log (the default), the record with verdict and verification, or the last iterations.",
        ),
        optional(
            "iteration",
            ArgumentKind::Number {
                least: 1,
                most: i64::MAX,
            },
            "Number of the iteration; by default the last one.",
        ),
        optional(
            "lines",
            ArgumentKind::Number {
                least: 1,
                most: MOST_LINES,
            },
            "Last lines of the log; 200 by default.",
        ),
        optional(
            "limit",
            ArgumentKind::Number {
                least: 1,
                most: MOST_ITERATIONS,
            },
            "Iterations in the list; 20 by default.",
        ),
    ],
};

pub(super) async fn logs(asked: &Asked<'_>) -> Done {
    let arguments = asked.arguments;
    let iteration = arguments.number("iteration");
    let iteration = iteration.and_then(|n| u64::try_from(n).ok());
    match arguments.text("form") {
        Some("record") => done(&logs::record(asked.project, iteration).await?),
        Some("list") => {
            let limit = arguments.number("limit");
            let limit = limit.and_then(|n| u32::try_from(n).ok());
            let rows = logs::last_iterations(asked.project, limit.unwrap_or(SOME_ITERATIONS));
            Ok(json!({ "iterations": rows.await? }))
        }
        Some(_) | None => {
            let lines = arguments.number("lines").unwrap_or(SOME_LINES);
            let lines = usize::try_from(lines).unwrap_or_default();
            done(&logs::log_tail(asked.project, iteration, lines, MOST_BYTES).await?)
        }
    }
}
