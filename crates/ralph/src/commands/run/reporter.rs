//! Chooses the reporter: JSON lines, plain lines, or a terminal that is redrawn.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
};

use jiff::tz::TimeZone;
use ralph_engine::{
    agent::StopRequest,
    human::Human,
    inbox::Inbox,
    report::{self, Colours, LiveScreen, ReportKind, Reporter, Verbosity},
};

use super::{
    console::Console,
    person::LinePerson,
    signals::{self, STOPPING, StopNotice},
};
use crate::{ask::has_terminal, project::Project};

/// The ways to and from the person who started the loop.
pub(super) struct RunPorts {
    pub(super) reporter: Box<dyn Reporter>,
    pub(super) human: Option<Box<dyn Human>>,
    pub(super) stop: StopRequest,
}

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

    /// Returns true if the output is read by a person who expects more than the result.
    pub(super) fn is_for_talking(&self) -> bool {
        !self.json && !self.quiet
    }

    /// Opens the terminal, if there is one and the output is for people. Signals are heard from now on.
    pub(super) fn open(&self, inbox: &Inbox, root: &Path) -> io::Result<RunPorts> {
        let (reporter, screen) = self.reporter();
        let person = has_terminal() && !self.json;
        Ok(match screen.filter(|_| person) {
            Some(screen) => {
                let shown = screen.clone();
                let stop = signals::listen_and_tell(inbox.clone(), move |notice| match notice {
                    StopNotice::Stopping => shown.print(&format!("{STOPPING}\n"), Project::now()),
                    StopNotice::Exiting => shown.clear(),
                })?;
                let console = Console::open(screen, inbox.clone(), root)?;
                RunPorts {
                    reporter,
                    human: Some(Box::new(console)),
                    stop,
                }
            }
            None => RunPorts {
                reporter,
                human: if person {
                    Some(Box::new(LinePerson::open()?))
                } else {
                    None
                },
                stop: signals::listen(inbox.clone())?,
            },
        })
    }

    fn reporter(&self) -> (Box<dyn Reporter>, Option<LiveScreen>) {
        let out = io::stdout();
        if self.json {
            return (report::make(ReportKind::JsonLines(Box::new(out))), None);
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
            report::on_terminal(Box::new(console::Term::stdout()), look)
        } else {
            (report::make(ReportKind::Plain(Box::new(out), look)), None)
        }
    }
}
