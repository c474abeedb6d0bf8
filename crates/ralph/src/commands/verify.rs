//! `ralph verify`: verifies a commit or the working tree by hand, with the configured commands, where its result can't be gamed.
//!
//! Needs no loop, and changes nothing: it can be used while one runs.

use std::process::ExitCode;

use jiff::Timestamp;
use ralph_core::{event::Event, sanitize::terminal_safe, verify::VerifyCommandReport};
use ralph_engine::{
    agent::StopRequest,
    clock::SystemClock,
    commit_check::{CheckPlace, CheckSubject, CheckedCommit, CommitCheck, check_commit},
    git::Oid,
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
    session::session_files,
    view::{Tone, figures::duration, paint},
};

/// The exit code of a commit that fails.
const FAILS: u8 = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The commit to verify [default: HEAD]
    commit: Option<String>,

    /// Verify the files as they are now, committed or not
    #[arg(long, conflicts_with = "commit")]
    working_tree: bool,

    /// Verify in a fresh clone, after the commands of `verification.prepare`
    #[arg(long)]
    clean: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let mut lines = CheckLines {
        is_shown: !args.json,
    };
    let own = session_files();
    let request = VerifyRequest {
        subject: match (&args.commit, args.working_tree) {
            (Some(name), _) => CheckSubject::Commit(name),
            (None, true) => CheckSubject::WorkingTree { own_paths: &own },
            (None, false) => CheckSubject::Commit("HEAD"),
        },
        clean: args.clean,
        reporter: &mut lines,
    };
    project::block_on(async {
        let stop = listen_for_signals(Inbox::default())?;
        let checked = verify_in(&project, request, stop.clone()).await?;
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

/// The subject of a verification, and its place.
pub(crate) struct VerifyRequest<'a> {
    pub(crate) subject: CheckSubject<'a>,
    pub(crate) clean: bool,
    pub(crate) reporter: &'a mut dyn Reporter,
}

/// Verifies a commit or the working tree by the project's configuration, in its sandbox.
pub(crate) async fn verify_in(
    project: &Project,
    request: VerifyRequest<'_>,
    stop: StopRequest,
) -> Result<CheckedCommit, CommandError> {
    let root = project.git_root()?;
    let environment = project.environment(&root);
    let environment = sandboxed(project, environment, "verify commands", None).await?;
    let check = CommitCheck {
        root: &root,
        data_dir: &project.data_dir()?,
        config: project.config(),
        environment: &environment,
        git_environment: &project.git_environment(),
        containment: detection(project)?.containment,
        subject: request.subject,
        clean: request.clean,
        stop,
        clock: &SystemClock,
        reporter: request.reporter,
    };
    check_commit(check).await.map_err(explain)
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
        "commit": checked.commit.as_ref().map(Oid::as_str),
        "passed": checked.report.passed(),
        "cancelled": checked.report.cancelled,
        "leftOut": checked.left_out,
        "place": place,
        "instead": instead,
        "commands": commands.map(one).collect::<Vec<Value>>(),
    })
}

/// The commands that failed, with the end of what they printed, and the result.
pub(crate) fn render(checked: &CheckedCommit) -> String {
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
    for path in &checked.left_out {
        text.push_str(&format!(
            "not part of it, as no commit can hold it: {}\n",
            terminal_safe(&path.to_string_lossy())
        ));
    }
    let commit = checked.commit.as_ref();
    let subject = commit.map_or("the working tree", |commit| commit.short());
    text.push_str(&format!("{subject} {verb} {place}\n"));
    text
}
