//! `ralph checkpoint show`: one checkpoint as a person reads it, with the prompt that a fresh agent
//! would get. Only reads.

use std::process::ExitCode;

use ralph_core::{
    checkpoint::{Checkpoint, Trigger},
    dollars::Dollars,
    sanitize::terminal_safe,
};

use super::{ShownCheckpoint, find, journal, read};
use crate::{
    error::CommandError,
    output,
    project::{Project, block_on},
    view::{
        Table, Tone, cell,
        figures::{ago, compact, count, short_commit},
        paint,
    },
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Beginning or end of the checkpoint's id [default: the newest one]
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Print the checkpoint as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let link = block_on(async {
        let (mut journal, repository) = journal(project).await?;
        find(project, &mut *journal, &repository, args.id.as_deref()).await
    })?;
    let shown = ShownCheckpoint::new(read(&link)?, link.hash);
    output::show(args.json, &shown, || render(&shown))
}

fn render(shown: &ShownCheckpoint) -> String {
    let checkpoint = &shown.checkpoint;
    let metadata = &checkpoint.metadata;
    let mut text = paint(
        Tone::Heading,
        &format!("checkpoint {}", metadata.checkpoint_id),
    );
    text.push_str(&format!(
        "\nnumber {} of loop {}\n\n",
        metadata.n, metadata.loop_id
    ));
    let mut table = Table::new(1, 0);
    for (label, value) in facts(checkpoint) {
        table.row([cell(Tone::Faint, label), cell(Tone::Plain, value)]);
    }
    table.row([cell(Tone::Faint, "hash"), cell(Tone::Faint, &shown.hash)]);
    text.push_str(&table.render(None));
    for (label, list) in [
        ("assumptions", &checkpoint.context.assumptions),
        ("constraints", &checkpoint.context.constraints),
    ] {
        if !list.is_empty() {
            text.push_str(&format!("\n{}\n", paint(Tone::Heading, label)));
        }
        for one in list {
            let line = ralph_core::sanitize::one_line(one, 300);
            text.push_str(&format!("  {line}\n"));
        }
    }
    let heading = paint(Tone::Heading, "prompt for a new agent");
    text.push_str(&format!("\n{heading}\n\n"));
    text.push_str(&terminal_safe(&shown.continuation));
    text
}

fn facts(checkpoint: &Checkpoint) -> Vec<(&'static str, String)> {
    let Checkpoint {
        metadata,
        execution,
        metrics,
        recovery,
        ..
    } = checkpoint;
    let iteration = match metadata.iteration {
        Some(n) => format!("iteration {n}"),
        None => "the first iteration has not ended".to_owned(),
    };
    let why = match metadata.trigger {
        Trigger::Iteration => format!("at the end of {iteration}"),
        Trigger::Phase => format!("between two phases of {iteration}"),
        Trigger::Handoff => format!("when the agent of {iteration} handed over"),
        Trigger::Stop => format!("when the loop stopped after {iteration}"),
        Trigger::Manual => format!("by hand, after {iteration}"),
    };
    let tokens = metrics.input_tokens
        + metrics.output_tokens
        + metrics.cache_read_tokens
        + metrics.cache_write_tokens;
    let cost = Dollars::from_millionths(metrics.cost_micro_usd);
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut facts = vec![
        (
            "made",
            format!("{}, {why}", ago(metadata.at, Project::now())),
        ),
        ("phase", execution.phase.to_string()),
        (
            "task",
            metadata.task_id.clone().unwrap_or_else(|| "none".into()),
        ),
        ("agent", metadata.agent.clone()),
        (
            "commit",
            format!("{} on {}", short_commit(&recovery.commit), recovery.branch),
        ),
        (
            "so far",
            format!(
                "{}, {} tokens, {cost}, {}",
                count(number(metrics.iterations), "iteration", "iterations"),
                compact(tokens),
                count(number(metrics.tool_calls), "tool call", "tool calls"),
            ),
        ),
    ];
    for result in &metrics.verification {
        let (command, outcome) = (&result.command, &result.outcome);
        facts.push(("verify", format!("{command}: {outcome}")));
    }
    if let Some(note) = &metadata.note {
        facts.push(("note", note.clone()));
    }
    facts.push(("back", recovery.rollback.clone()));
    facts
}
