//! Command-line options of every loop, wherever its tasks come from.

use ralph_engine::loop_runner::LoopBounds;

use super::OutputArgs;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Stop after one iteration
    #[arg(long)]
    pub(super) once: bool,

    /// Stop after this many minutes
    #[arg(long, value_name = "N", value_parser = finite)]
    pub(super) max_minutes: Option<f64>,

    /// Stop when the cost reaches this many dollars
    #[arg(long, value_name = "N", value_parser = finite)]
    pub(super) max_cost: Option<f64>,

    /// Work only on this task and the tasks below it
    #[arg(long, value_name = "ID")]
    pub(super) task: Option<String>,

    /// The agent to use: a name from `ralph agent list`, script:FILE or command:PROGRAM
    #[arg(long, value_name = "AGENT")]
    pub(super) agent: Option<String>,

    /// Stash uncommitted changes (`git stash`) instead of refusing to start
    #[arg(long)]
    pub(super) stash: bool,

    /// Print the next task and its prompt without changing anything
    #[arg(long)]
    pub(super) dry_run: bool,

    #[command(flatten)]
    pub(super) look: OutputArgs,
}

impl Options {
    /// All defaults.
    pub(crate) fn plain(look: OutputArgs) -> Self {
        Self {
            once: false,
            max_minutes: None,
            max_cost: None,
            task: None,
            agent: None,
            stash: false,
            dry_run: false,
            look,
        }
    }

    pub(crate) fn with_agent(self, agent: Option<String>) -> Self {
        Self { agent, ..self }
    }

    /// As far as a loop may go that is gone on with.
    pub(crate) fn within(self, bounds: LoopBounds) -> Self {
        Self {
            max_minutes: bounds.max_minutes,
            max_cost: bounds.max_cost_usd,
            task: bounds.task,
            ..self
        }
    }
}

/// A number that is one: no JSON could carry the others on, and a limit would be lost.
pub(crate) fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) | Err(_) => Err("expected a number".into()),
    }
}
