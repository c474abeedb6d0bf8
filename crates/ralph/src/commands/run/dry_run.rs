//! `ralph run --dry-run`: the task that would be taken, and its whole prompt. Changes nothing.

use std::process::ExitCode;

use ralph_core::sanitize::terminal_safe;
use ralph_engine::loop_runner::preview;

use super::{AgentProgram, PlannedRun, explain, setup};
use crate::{error::CommandError, output, project::Project};

pub(super) async fn run(
    planned: &PlannedRun<'_>,
    project: &Project,
) -> Result<ExitCode, CommandError> {
    let is_json = planned.order.options.look.is_json();
    let preview = preview(setup(planned, project, AgentProgram::Unneeded)?)
        .await
        .map_err(explain)?;
    let Some((task, prompt)) = &preview.next else {
        let done = preview.tasks.completed + preview.tasks.skipped == preview.tasks.total;
        let sentence = if done {
            "all tasks are complete"
        } else {
            "no task is ready"
        };
        if is_json {
            output::print_json(&serde_json::json!({
                "task": null, "branch": preview.branch, "from": preview.from, "tasks": preview.tasks, "blocked": preview.blocked,
            }))?;
        } else {
            output::print(&format!("{sentence}\n"));
            for blocked in &preview.blocked {
                output::print(&format!(
                    "  {} waits: {}\n",
                    blocked.task,
                    blocked.by.join(", ")
                ));
            }
        }
        return Ok(ExitCode::from(if done { 0 } else { 4 }));
    };
    if is_json {
        output::print_json(&serde_json::json!({
            "task": task, "branch": preview.branch, "from": preview.from, "workspace": preview.workspace.sentence(),
            "tasks": preview.tasks, "prompt": prompt,
        }))?;
    } else {
        let from = preview.from.as_ref().map(|from| format!(" from {from}"));
        let notices = preview.notices.iter().map(|notice| format!("{notice}\n"));
        let notices: String = notices.collect();
        output::print(&format!(
            "would take {}: {}\non branch {}{}\n{}workspace: {}\n\n{prompt}",
            task.id,
            terminal_safe(&task.text.title),
            preview.branch,
            terminal_safe(&from.unwrap_or_default()),
            terminal_safe(&notices),
            terminal_safe(&preview.workspace.sentence()),
        ));
    }
    Ok(ExitCode::SUCCESS)
}
