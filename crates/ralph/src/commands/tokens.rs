//! `ralph tokens`: what the last loop used, by kind and by model, and how well.
//!
//! Only reads.

use std::process::ExitCode;

use ralph_core::{dollars::Dollars, economics::Caller, id::LoopId};
use ralph_engine::store::{LoopModelCost, SpendingScope};
use serde::Serialize;

use super::cost::figures::{Figures, LoopUse, NO_MODEL, asked_by};
use crate::{
    error::CommandError,
    output,
    project::{self, Project},
    view::{
        Table, Tone, cell,
        figures::{compact, count, percent},
        paint,
        plot::bar,
    },
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Used {
    loop_id: Option<LoopId>,
    #[serde(flatten)]
    sums: LoopUse,
    /// All that was spent, for each task that commands stood behind.
    cost_per_verified_task_usd: Option<f64>,
    /// The use of the context at the last turn of the last iteration.
    context: Option<Context>,
    parts: Vec<Part>,
    prices_as_of: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    iteration: u64,
    tokens: u64,
    window: Option<u64>,
    utilisation: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    model: Option<String>,
    agent: String,
    caller: Caller,
    #[serde(flatten)]
    figures: Figures,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let used = project::block_on(gather(project))?;
    output::show(args.json, &used, || render(&used))
}

async fn gather(project: &Project) -> Result<Used, CommandError> {
    let prices = super::cost::prices_in_force(project)?;
    let mut used = Used {
        prices_as_of: prices.as_of().to_owned(),
        ..Used::default()
    };
    let Some((mut journal, repository)) = project.journal().await? else {
        return Ok(used);
    };
    let worktree = project.worktree();
    let Some(last) = journal.last_loop(&repository, &worktree).await? else {
        return Ok(used);
    };
    let scope = SpendingScope::Loop(&last.id);
    used.sums = journal.spending(&repository, scope, None).await?.into();
    let verified = journal.verified_tasks(&last.id).await?;
    used.cost_per_verified_task_usd = used.sums.cost_per_verified_task(verified as usize);
    let parts = journal.model_costs(&repository, &last.id).await?;
    used.parts = parts.into_iter().map(Part::from).collect();
    let records = journal.last_records(&repository, &worktree).await?;
    let newest = records.iter().find(|record| record.loop_id == last.id);
    used.context = newest.and_then(|record| {
        let context = &record.runs.last()?.context;
        Some(Context {
            iteration: record.iteration,
            tokens: *context.turns.last()?,
            window: context.window,
            utilisation: context.utilisation().last().copied(),
        })
    });
    used.loop_id = Some(last.id);
    Ok(used)
}

impl From<LoopModelCost> for Part {
    fn from(part: LoopModelCost) -> Self {
        Self {
            model: part.model,
            agent: part.agent,
            caller: part.caller,
            figures: part.totals.into(),
        }
    }
}

fn render(used: &Used) -> String {
    let total = &used.sums.total;
    let Some(id) = &used.loop_id else {
        return "no loops yet\n".to_owned();
    };
    if total.calls == 0 {
        return format!(
            "{} {id}: its agents reported no usage\n",
            paint(Tone::Heading, "loop")
        );
    }
    let tokens = total.tokens;
    let calls = count(total.calls as usize, "call", "calls");
    let mut text = format!(
        "{} {id}: {} tokens in {calls}, {}\n",
        paint(Tone::Heading, "loop"),
        compact(tokens.total()),
        total.spent()
    );
    let mut kinds = Table::new(1, 2);
    for (name, n, cost) in total.kinds() {
        let share = n as f64 / tokens.total().max(1) as f64;
        kinds.row([
            cell(Tone::Plain, name),
            cell(Tone::Good, bar(share, 20)),
            cell(Tone::Plain, compact(n)),
            match cost {
                None => cell(Tone::Faint, "–"),
                Some(cost) => cell(Tone::Plain, cost.to_string()),
            },
        ]);
    }
    text.push_str(&kinds.render(output::width()));
    text.push_str(&super::cost::table_against_agents(
        total,
        &used.prices_as_of,
    ));
    text.push('\n');
    text.push_str(&parts(&used.parts));
    text.push_str(&efficiency(used));
    text
}

fn parts(parts: &[Part]) -> String {
    let mut table = Table::new(1, 2);
    for part in parts {
        table.row([
            cell(Tone::Name, part.model.as_deref().unwrap_or(NO_MODEL)),
            cell(Tone::Plain, &part.agent),
            cell(Tone::Faint, asked_by(part.caller)),
            cell(Tone::Plain, compact(part.figures.tokens.total())),
            cell(Tone::Plain, part.figures.spent().to_string()),
        ]);
    }
    table.render(output::width())
}

fn efficiency(used: &Used) -> String {
    let mut text = String::from("\n");
    if let Some(rate) = used.sums.cache_hit_rate {
        text.push_str(&format!("cache hit rate          {}\n", percent(rate)));
    }
    if let Some(tokens) = used.sums.tokens_per_tool_call {
        let tools = count(used.sums.tool_calls as usize, "tool call", "tool calls");
        text.push_str(&format!(
            "tokens per tool call    {} ({tools})\n",
            compact(tokens as u64)
        ));
    }
    if let Some(cost) = used.cost_per_verified_task_usd {
        text.push_str(&format!(
            "cost per verified task  {}\n",
            Dollars::told(cost)
        ));
    }
    if let Some(context) = &used.context {
        let share = context.utilisation.map_or_else(String::new, |share| {
            format!(", {} of its window", percent(share))
        });
        text.push_str(&format!(
            "context at the end      {} tokens{share} (iteration {})\n",
            compact(context.tokens),
            context.iteration
        ));
    }
    text
}
