//! Chooses the reporter: JSON lines, plain lines, or a terminal that is redrawn.

use ralph_engine::report::Reporter;

/// How progress is shown.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Look {
    /// Print events as JSON lines
    #[arg(long, conflicts_with = "verbose")]
    json: bool,

    /// Print only what needs a person, and the end
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Print what the agent says and does; twice for everything
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl Look {
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn reporter(&self) -> Box<dyn Reporter> {
        Box::new(Stub)
    }
}
struct Stub;
impl Reporter for Stub {
    fn report(&mut self, event: &ralph_core::event::Event, _at: jiff::Timestamp) {
        crate::output::print(&(serde_json::to_string(event).unwrap_or_default() + "\n"));
    }
    fn finish(&mut self) {}
}
