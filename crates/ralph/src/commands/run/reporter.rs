//! Chooses the reporter: JSON lines, plain lines, or a terminal that is redrawn.

use std::io::IsTerminal as _;

use jiff::tz::TimeZone;
use ralph_engine::{
    human::Human,
    report::{self, Colours, ReportKind, Reporter, Verbosity},
};

use super::person::Person;

/// How progress is shown.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Look {
    /// Print events as JSON lines
    #[arg(long, conflicts_with_all = ["verbose", "quiet"])]
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

    /// Who sits at the terminal, if somebody does and what is shown is for people.
    pub(crate) fn person(&self) -> Option<Box<dyn Human>> {
        let there = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        (there && !self.json).then(|| Box::new(Person::default()) as Box<dyn Human>)
    }

    pub(crate) fn reporter(&self) -> Box<dyn Reporter> {
        let out = std::io::stdout();
        if self.json {
            return report::make(ReportKind::JsonLines(Box::new(out)));
        }
        let look = report::Look {
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
