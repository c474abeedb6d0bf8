//! `ralph qa approve`: the pictures of the last run that are new or differ from what was approved, before and after,
//! and the yes of a person that makes them baselines.
//!
//! Asks for each where there is a terminal. Nothing is approved without a yes.

use std::{
    path::{Component, Path, PathBuf},
    process::ExitCode,
};

use ralph_core::{change::BASELINES, sanitize::terminal_safe};
use ralph_engine::{
    agent::StopRequest, atomic, dot_ralph::FLOW_RESULTS, inbox::Inbox, plain_file,
};
use ralph_qa::result::{PageVerificationResult, QaReport};
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum PictureState {
    New,
    Changed,
}

/// The end of asking for pictures.
enum Asked {
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
            Asked::All => {
                output::print(&summary(&pictures));
                ExitCode::SUCCESS
            }
            Asked::Signal(signal) => by_signal(signal),
        });
    }
    for picture in pictures.iter_mut().filter(|_| args.yes) {
        approve(root, picture)?;
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
    let pages = report
        .flows
        .iter()
        .flat_map(|flow| flow.pages.iter().map(move |page| (flow.flow.as_str(), page)));
    let is_meant = |name: &String, flow: &str, page: &PageVerificationResult| {
        *name == flow || name.strip_prefix(flow) == Some(&format!("/{}", page.name))
    };
    for name in names {
        if !pages.clone().any(|(flow, page)| is_meant(name, flow, page)) {
            let known: Vec<String> = pages
                .clone()
                .map(|(flow, page)| format!("{flow}/{}", page.name))
                .collect();
            let message = format!("the last run took no picture that is called {name}");
            return Err(CommandError::user(message).hint(if known.is_empty() {
                "it took none at all".to_owned()
            } else {
                format!("it took {}", known.join(", "))
            }));
        }
    }
    let pages = pages.filter(|(flow, page)| {
        names.is_empty() || names.iter().any(|name| is_meant(name, flow, page))
    });
    let open = pages.filter_map(|(flow, page)| OpenPicture::of(flow, page));
    Ok(open.collect())
}

impl OpenPicture {
    /// `None` for one that is as it was approved.
    fn of(flow: &str, page: &PageVerificationResult) -> Option<Self> {
        let in_results = |path: &String| format!("{FLOW_RESULTS}/{path}");
        let (state, before, difference, summary) = match &page.compared {
            None => {
                let text = "there is no baseline yet".to_owned();
                (PictureState::New, None, None, text)
            }
            Some(compared) if compared.matches => return None,
            Some(compared) => (
                PictureState::Changed,
                compared.baseline.as_ref().map(in_results),
                compared.picture.as_ref().map(in_results),
                compared.summary.clone(),
            ),
        };
        Some(Self {
            flow: flow.to_owned(),
            name: page.name.clone(),
            state,
            before,
            after: in_results(&page.screenshot),
            difference,
            baseline: page.baseline.clone(),
            summary,
            approved: false,
        })
    }
}

/// Shows each picture and asks for it.
async fn ask(
    root: &Path,
    pictures: &mut [OpenPicture],
    stop: StopRequest,
) -> Result<Asked, CommandError> {
    for picture in pictures {
        output::print(&shown(picture));
        output::print("approve it? [y/N/q] ");
        match read_line(stopped(stop.clone())).await? {
            Input::Line(line) if matches!(&*line.to_lowercase(), "y" | "yes") => {
                approve(root, picture)?;
            }
            Input::Line(line) if matches!(&*line.to_lowercase(), "q" | "quit") => break,
            Input::Line(_) => {}
            Input::NoMore => break,
            Input::Signal(signal) => return Ok(Asked::Signal(signal)),
        }
    }
    Ok(Asked::All)
}

/// Makes the picture the baseline.
fn approve(root: &Path, picture: &mut OpenPicture) -> Result<(), CommandError> {
    let to = baseline_path(root, &picture.baseline)?;
    let from = root.join(&picture.after);
    let bytes = plain_file::read(&from).map_err(|error| {
        CommandError::user(format!("can't read {}: {error}", from.display()))
            .hint("`ralph qa run` takes the pictures anew")
    })?;
    let cannot_write = |error: std::io::Error| {
        CommandError::user(format!("can't write {}: {error}", to.display()))
    };
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).map_err(cannot_write)?;
    }
    atomic::write(&to, &bytes).map_err(cannot_write)?;
    picture.approved = true;
    Ok(())
}

/// The path of a baseline. The report can be anyone's: only a file in a folder of baselines is written, and through
/// no link.
fn baseline_path(root: &Path, baseline: &str) -> Result<PathBuf, CommandError> {
    let path = Path::new(baseline);
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let is_picture = path.extension().is_some_and(|end| end == "png")
        && path.components().any(|part| part.as_os_str() == BASELINES);
    let mut at = root.to_owned();
    let leads_away = path.components().any(|part| {
        at.push(part);
        at.is_symlink()
    });
    if is_plain && is_picture && !leads_away {
        return Ok(at);
    }
    let message = format!("{baseline} is no place for a baseline");
    Err(CommandError::user(message).hint("`ralph qa run` writes the results anew"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_in_a_folder_of_baselines_are_written() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path();
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.join("flows")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.join("flows/__baselines__")).unwrap();
        for (baseline, allowed) in [
            ("e2e/__baselines__/home/top-linux-1280x720.png", true),
            ("flows/__baselines__/home/top-linux-1280x720.png", false),
            ("e2e/home/top.png", false),
            ("e2e/__baselines__/home.yaml", false),
            ("../__baselines__/home/top.png", false),
            ("/__baselines__/home/top.png", false),
        ] {
            let found = baseline_path(root, baseline).is_ok();
            assert_eq!(found, allowed, "{baseline}");
        }
    }
}
