//! Chooses the reporter: JSON lines, plain lines, or a terminal that is redrawn.

use std::io::IsTerminal as _;

use jiff::tz::TimeZone;
use ralph_engine::{
    human::Human,
    report::{self, Colours, ReportKind, Reporter, Verbosity},
};

use super::person::Person;
use crate::ask::has_terminal;

/// The flags for the output of progress.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct OutputArgs {
    /// Print events as JSON lines
    #[arg(long, conflicts_with_all = ["verbose", "quiet"])]
    json: bool,

    /// Print only what needs your attention, and the final result
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Print what the agent says and does; repeat for more detail
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl OutputArgs {
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// The person at the terminal, if there is one and the output is for people.
    pub(crate) fn person(&self) -> Option<Box<dyn Human>> {
        (has_terminal() && !self.json).then(|| Box::new(Person::default()) as Box<dyn Human>)
    }

    pub(crate) fn reporter(&self) -> Box<dyn Reporter> {
        let out = std::io::stdout();
        if self.json {
            return report::make(ReportKind::JsonLines(Box::new(out)));
        }
        let look = report::ReportStyle {
            verbosity: match (self.quiet, self.verbose) {
                (true, _) => Verbosity::Quiet,
                (false, 0) => Verbosity::Normal,
                (false, 1) => Verbosity::Verbose,
                (false, _) => Verbosity::VeryVerbose,
            },
            // `console` looks at NO_COLOR, CLICOLOR and at what stdout is.
            colours: if console::colors_enabled() {
                Colours::On
            } else {
                Colours::Off
            },
            time_zone: TimeZone::system(),
        };
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        if out.is_terminal() && !dumb {
            report::make(ReportKind::Live(Box::new(console::Term::stdout()), look))
        } else {
            report::make(ReportKind::Plain(Box::new(out), look))
        }
    }
}
