//! `ralph verify`: verifies a commit by hand, with the configured commands, where its result can't be gamed.
//!
//! Needs no loop, and changes nothing: it can be used while one runs.

use std::process::ExitCode;

use jiff::Timestamp;
use ralph_core::{event::Event, sanitize::terminal_safe, verify::VerifyCommandReport};
use ralph_engine::{
    clock::SystemClock,
    commit_check::{CheckPlace, CheckedCommit, CommitCheck, check_commit},
    inbox::Inbox,
    report::Reporter,
};
use serde_json::{Value, json};

use super::run::{detection, explain, listen_for_signals};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::{self, Project},
    sandboxed::sandboxed,
    view::{Tone, figures::duration, paint},
};

/// The exit code of a commit that fails.
const FAILS: u8 = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The commit to verify [default: HEAD]
    commit: Option<String>,

    /// Verify in a fresh clone, after the commands of `verification.prepare`
    #[arg(long)]
    clean: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let root = project.git_root()?;
    let environment = project.environment(&root);
    let git_environment = project.git_environment();
    let mut lines = CheckLines {
        is_shown: !args.json,
    };
    project::block_on(async {
        let stop = listen_for_signals(Inbox::default())?;
        let environment = sandboxed(&project, environment, "verify commands", None).await?;
        let check = CommitCheck {
            root: &root,
            data_dir: &project.data_dir()?,
            config: project.config(),
            environment: &environment,
            git_environment: &git_environment,
            containment: detection(&project)?.containment,
            commit: args.commit.as_deref(),
            clean: args.clean,
            stop: stop.clone(),
            clock: &SystemClock,
            reporter: &mut lines,
        };
        let checked = check_commit(check).await.map_err(explain)?;
        let prepare = project.config().verification.prepare.len();
        output::show(args.json, &as_json(&checked, prepare), || render(&checked))?;
        let signal = stop.asked();
        Ok(match signal {
            _ if checked.report.passed() => ExitCode::SUCCESS,
            Some(signal) if checked.report.cancelled => {
                ExitCode::from(u8::try_from(128 + signal).unwrap_or(130))
            }
            _ => ExitCode::from(FAILS),
        })
    })
}

/// Says of each command how it ended, as it ends.
struct CheckLines {
    is_shown: bool,
}

impl Reporter for CheckLines {
    fn report(&mut self, event: &Event, _at: Timestamp) {
        let Event::VerifyEnded {
            command,
            passed,
            seconds: took,
            ..
        } = event
        else {
            return;
        };
        if self.is_shown {
            let (tone, word) = if *passed {
                (Tone::Good, "passed")
            } else {
                (Tone::Bad, "failed")
            };
            let (word, took) = (paint(tone, word), duration(*took));
            output::print(&format!("{word}  {} ({took})\n", terminal_safe(command)));
        }
    }
}

/// The JSON form is a contract (docs/json.md).
fn as_json(checked: &CheckedCommit, prepare: usize) -> Value {
    let (place, instead) = match &checked.place {
        CheckPlace::Layer => ("layer", None),
        CheckPlace::Clone { instead } => ("clone", instead.as_deref()),
    };
    let commands = checked.report.commands.iter().enumerate();
    let one = |(index, command): (usize, &VerifyCommandReport)| {
        json!({
            "command": command.command.to_string(),
            "prepares": index < prepare,
            "passed": command.passed(),
            "outcome": command.outcome.to_string(),
            "seconds": command.duration.as_secs_f64(),
            "tail": if command.passed() { "" } else { &command.tail },
        })
    };
    json!({
        "commit": checked.commit.as_str(),
        "passed": checked.report.passed(),
        "cancelled": checked.report.cancelled,
        "place": place,
        "instead": instead,
        "commands": commands.map(one).collect::<Vec<Value>>(),
    })
}

fn render(checked: &CheckedCommit) -> String {
    let mut text = String::new();
    let report = &checked.report;
    for failed in report.commands.iter().filter(|command| !command.passed()) {
        text.push_str(&format!(
            "\n{}: {}\n{}\n",
            terminal_safe(&failed.command.to_string()),
            failed.outcome,
            terminal_safe(failed.tail.trim_end())
        ));
    }
    let place = match &checked.place {
        CheckPlace::Layer => "in a fresh layer".to_owned(),
        CheckPlace::Clone { instead: None } => "in a clean clone".to_owned(),
        CheckPlace::Clone {
            instead: Some(reason),
        } => format!("in a clean clone ({})", terminal_safe(reason)),
    };
    let verb = if report.cancelled {
        "is not verified: stopped"
    } else if report.passed() {
        "passes"
    } else {
        "fails"
    };
    text.push_str(&format!("{} {verb} {place}\n", checked.commit.short()));
    text
}
