//! `ralph qa approve`: the pictures of the last run that are new or differ from what was approved, before and after,
//! and the yes of a person that makes them baselines.
//!
//! Asks for each where there is a terminal. Nothing is approved without a yes.

use std::{path::Path, process::ExitCode};

use ralph_core::sanitize::terminal_safe;
use ralph_engine::{agent::StopRequest, dot_ralph::FLOW_RESULTS, inbox::Inbox};
use ralph_qa::{
    baseline::{ApprovalReason, PictureApproval, approvals, approve},
    result::QaReport,
};
use serde::Serialize;

use super::{results, settings::results_folder, walls::by_signal};
use crate::{
    ask::{Input, has_terminal, read_line, stopped},
    cli::Global,
    commands::{CommandAccess, run::listen_for_signals},
    error::CommandError,
    output,
    project::{self, Project},
    view::{Tone, figures::count, paint},
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ralph qa approve                  ask for each new or changed picture
  ralph qa approve checkout/total   one picture of a flow
  ralph qa approve checkout --yes   all of a flow, without asking")]
pub(crate) struct Args {
    /// Flows, or single pictures [default: all pictures that are new or changed]
    #[arg(value_name = "FLOW[/PICTURE]")]
    names: Vec<String>,

    /// Approve without asking
    #[arg(long, short)]
    yes: bool,

    /// Only list them
    #[arg(long, conflicts_with = "yes")]
    list: bool,

    /// Print one JSON document instead of text; needs `--yes` or `--list`
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn access(&self) -> CommandAccess {
        CommandAccess::writes_unless(self.list)
    }
}

/// The pictures that can be approved; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct ApprovalReport {
    pictures: Vec<OpenPicture>,
}

/// A picture that waits for a yes. Paths are relative to the project.
#[derive(Debug, Serialize)]
struct OpenPicture {
    flow: String,
    name: String,
    state: PictureState,
    before: Option<String>,
    after: String,
    difference: Option<String>,
    baseline: String,
    /// The difference in a sentence.
    summary: String,
    approved: bool,
    #[serde(skip)]
    approval: PictureApproval,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum PictureState {
    New,
    Changed,
}

impl From<PictureApproval> for OpenPicture {
    fn from(approval: PictureApproval) -> Self {
        let in_results = |path: &String| format!("{FLOW_RESULTS}/{path}");
        let (state, before) = match approval.reason {
            ApprovalReason::New => (PictureState::New, None),
            ApprovalReason::Differs => (PictureState::Changed, Some(approval.baseline.clone())),
        };
        Self {
            flow: approval.flow.clone(),
            name: approval.picture.clone(),
            state,
            before,
            after: in_results(&approval.screenshot),
            difference: approval.difference.as_ref().map(in_results),
            baseline: approval.baseline.clone(),
            summary: approval.summary.clone(),
            approved: false,
            approval,
        }
    }
}

impl OpenPicture {
    /// Makes it the baseline.
    fn approve(&mut self, root: &Path) -> Result<(), CommandError> {
        let approved = approve(root, &results_folder(root), &self.approval);
        approved.map_err(|error| {
            CommandError::user(error).hint("`ralph qa run` takes the pictures again")
        })?;
        self.approved = true;
        Ok(())
    }
}

/// The end of asking for pictures.
enum ApprovalEnd {
    All,
    Signal(i32),
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let root = project.root();
    let folder = results_folder(root);
    let report = results::read_report(&folder)?.ok_or_else(|| {
        CommandError::user("there are no results of flows here")
            .hint("`ralph qa run` takes the pictures that can be approved")
    })?;
    let mut pictures = chosen(&report, &args.names)?;
    let is_asked = !args.yes && !args.list && !pictures.is_empty();
    if is_asked && (args.json || !has_terminal()) {
        return Err(
            CommandError::user("there is no terminal to ask at, and nothing was approved").hint(
                "look at the pictures that `ralph qa approve --list` names, then `ralph qa approve --yes`",
            ),
        );
    }
    if is_asked {
        let asked = project::block_on(async {
            let stop = listen_for_signals(Inbox::default())?;
            ask(root, &mut pictures, stop).await
        })?;
        return Ok(match asked {
            ApprovalEnd::All => {
                output::print(&summary(&pictures));
                ExitCode::SUCCESS
            }
            ApprovalEnd::Signal(signal) => by_signal(signal),
        });
    }
    for picture in pictures.iter_mut().filter(|_| args.yes) {
        picture.approve(root)?;
    }
    let report = ApprovalReport { pictures };
    output::show(args.json, &report, || {
        let mut text: String = report.pictures.iter().map(shown).collect();
        if report.pictures.is_empty() {
            text.push_str("there is nothing to approve: no picture is new or changed\n");
        } else if args.yes {
            text.push_str(&summary(&report.pictures));
        }
        text
    })
}

/// The pictures that are named, of those that are new or changed.
fn chosen(report: &QaReport, names: &[String]) -> Result<Vec<OpenPicture>, CommandError> {
    let mut open = approvals(report);
    for name in names {
        if is_known(report, name) {
            continue;
        }
        let message = format!("the last run took no picture that is called {name}");
        let known: Vec<String> = pictures_of(report).collect();
        return Err(CommandError::user(message).hint(if known.is_empty() {
            "it took none at all".to_owned()
        } else {
            format!("it took {}", known.join(", "))
        }));
    }
    open.retain(|one| names.is_empty() || names.iter().any(|name| one.is_meant_by(name)));
    Ok(open.into_iter().map(OpenPicture::from).collect())
}

/// All pictures of a report, as `FLOW/PICTURE`.
fn pictures_of(report: &QaReport) -> impl Iterator<Item = String> {
    let flows = report.flows.iter();
    flows.flat_map(|flow| {
        let pages = flow.pages.iter();
        pages.map(move |page| format!("{}/{}", flow.flow, page.name))
    })
}

fn is_known(report: &QaReport, name: &str) -> bool {
    let is_flow = report.flows.iter().any(|flow| flow.flow == name);
    is_flow || pictures_of(report).any(|picture| picture == name)
}

/// Shows each picture and asks for it.
async fn ask(
    root: &Path,
    pictures: &mut [OpenPicture],
    stop: StopRequest,
) -> Result<ApprovalEnd, CommandError> {
    for picture in pictures {
        output::print(&shown(picture));
        output::print("approve it? [y/N/q] ");
        match read_line(stopped(stop.clone())).await? {
            Input::Line(line) if matches!(&*line.to_lowercase(), "y" | "yes") => {
                picture.approve(root)?;
            }
            Input::Line(line) if matches!(&*line.to_lowercase(), "q" | "quit") => break,
            Input::Line(_) => {}
            Input::NoMore => break,
            Input::Signal(signal) => return Ok(ApprovalEnd::Signal(signal)),
        }
    }
    Ok(ApprovalEnd::All)
}

fn shown(picture: &OpenPicture) -> String {
    let safe = |text: &str| terminal_safe(text).into_owned();
    let name = format!("{}/{}", safe(&picture.flow), safe(&picture.name));
    let state = match picture.state {
        PictureState::New => paint(Tone::Name, "new"),
        PictureState::Changed => paint(Tone::Careful, "changed"),
    };
    let mut text = format!("{state}  {name}: {}\n", safe(&picture.summary));
    let paths = [
        ("before", picture.before.as_ref()),
        ("after", Some(&picture.after)),
        ("difference", picture.difference.as_ref()),
    ];
    for (word, path) in paths {
        if let Some(path) = path {
            text.push_str(&format!("  {word:<11} {}\n", safe(path)));
        }
    }
    text
}

fn summary(pictures: &[OpenPicture]) -> String {
    let approved = pictures.iter().filter(|picture| picture.approved).count();
    let all = count(pictures.len(), "picture", "pictures");
    let mut text = format!("{approved} of {all} approved\n");
    if approved > 0 {
        text.push_str("commit them: baselines are part of the project\n");
    }
    text
}
