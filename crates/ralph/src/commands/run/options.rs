//! Command-line options of every loop, wherever its tasks come from.

use super::OutputArgs;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Options {
    /// Stop after one iteration
    #[arg(long)]
    pub(crate) once: bool,

    /// Stop after this many minutes
    #[arg(long, value_name = "N", value_parser = finite)]
    pub(crate) max_minutes: Option<f64>,

    /// Stop when the cost reaches this many dollars
    #[arg(long, value_name = "N", value_parser = finite)]
    pub(crate) max_cost: Option<f64>,

    /// Work only on this task and the tasks below it
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,

    /// The agent to use: a name from `ralph agent list`, script:FILE or command:PROGRAM
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// Stash uncommitted changes of tracked files, and put them back at the end
    #[arg(long)]
    pub(crate) stash: bool,

    /// Work on this branch [default: named after the tasks]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,

    /// Start the branch over from this commit; commits that it has now are kept under a ref
    #[arg(long, value_name = "COMMIT", conflicts_with = "onto")]
    pub(crate) from: Option<String>,

    /// Bring the branch's own commits onto this commit, and go on there [default with no value: HEAD]
    #[arg(long, value_name = "COMMIT", num_args = 0..=1, default_missing_value = "HEAD")]
    pub(crate) onto: Option<String>,

    /// Print the next task and its prompt without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) look: OutputArgs,
}

/// A number that is one: no JSON could carry the others on, and a limit would be lost.
pub(crate) fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) | Err(_) => Err("expected a number".into()),
    }
}
