//! `ralph qa draft`: an agent that only reads writes a flow, which is kept once it has passed three times in a row.
//!
//! The agent sees the page or the task, and answers with a flow; reader and linter check it before anything is run.

mod subject;

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::{
    config::Config,
    draft::{draft_schema, parse_draft},
    plan::Repair,
    sanitize::terminal_safe,
};
use ralph_engine::{
    dot_ralph,
    inbox::Inbox,
    plain_file,
    plan::{Outcome, PlanReport, PlanRequest, Question, Remains, ask},
    store::SideWork,
};
use ralph_qa::{
    config::BrowserAutomationConfig,
    flow::{Flow, FlowStepAction, lint_flow, read_flow},
};

use self::subject::DraftSubject;
use super::{run::FlowsWanted, settings::automation, walls};
use crate::{
    cli::Global,
    commands::{
        plan::{self, end, planner::Planner},
        run,
    },
    error::CommandError,
    output,
    project::{self, Project},
    sandboxed::sandboxed,
    side_budget,
    view::{Tone, paint},
};

/// The runs in a row that a draft has to pass.
const RUNS: u32 = 3;
/// The draft was not good enough.
const NOT_KEPT: u8 = 4;
/// Where drafts lie until they are kept.
const DRAFTS: &str = ".ralph/logs/drafts";

/// SUBJECT is a page, by its path (/cart) or address, or the id of a task. The cost counts as that of `ralph plan`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The page or the task that the flow is about
    subject: String,

    /// The name of the flow [default: made of the page's path, or the task's id]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The agent that writes it: claude, pi or another of `ralph agent list`, script:FILE, command:PROGRAM
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Write over a flow that is there
    #[arg(long)]
    force: bool,

    /// Print the prompt, and start no agent
    #[arg(long)]
    dry_run: bool,
}

/// A flow that reader and linter take.
struct CheckedDraft {
    text: String,
}

/// The place of a draft, and the file that it becomes.
struct DraftFiles {
    draft: PathBuf,
    flow: PathBuf,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, run::chosen_agent(args.agent.as_ref()))?;
    let subject = DraftSubject::find(&project, &args.subject)?;
    let name = match &args.name {
        Some(name) => subject::checked_name(name)?.to_owned(),
        None => subject.flow_name(),
    };
    let files = DraftFiles::new(&project, &name);
    files.check(&project, args.force)?;
    let config = subject.config(project.config())?;
    let planner = Planner::choose(&project)?;
    let agent = planner.make(&project, &serde_json::to_string(&draft_schema())?)?;
    run::check_program(&*agent, project.root())?;
    let found = project::block_on(subject.look(&project, global))?;
    let answer_by = planner.answer_by();
    let prompt = |repair: Option<&Repair>| found.prompt(&name, answer_by, repair);
    if args.dry_run {
        output::print(&prompt(None).map_err(CommandError::user)?);
        return Ok(ExitCode::SUCCESS);
    }
    let settings = automation(&config.qa, project.root());
    let check = |answer: &str| checked(answer, &files.flow, &settings);
    let question = Question {
        prompt: &prompt,
        check: &check,
    };
    let asked = project::block_on(ask_agent(&project, agent, &question))?;
    match asked {
        DraftReply::Answered(draft) => files.try_and_keep(&project, &config, &draft, args.force),
        DraftReply::Not(code) => Ok(code),
    }
}

/// The result of asking.
enum DraftReply {
    Answered(CheckedDraft),
    Not(ExitCode),
}

async fn ask_agent(
    project: &Project,
    agent: Box<dyn ralph_engine::agent::Agent>,
    question: &Question<'_, CheckedDraft>,
) -> Result<DraftReply, CommandError> {
    let stop = run::listen_for_signals(Inbox::default())?;
    let root = project.git_root()?;
    let mut budget = side_budget::open(project, SideWork::Plan).await?;
    side_budget::check(&mut budget).await?;
    output::print_to_stderr(&format!("{} writes the flow …\n", agent.name()));
    let environment = project.environment(&root);
    let environment = environment.of_run(&project.data_dir()?, &root);
    let environment = sandboxed(project, environment, &agent.name(), None).await?;
    let asking = PlanRequest {
        name: "draft",
        budget,
        data_dir: project.data_dir()?.to_path_buf(),
        containment: run::detection(project)?.containment,
        environment,
        git_environment: project.git_environment(),
        stop: stop.clone(),
        patience: plan::patience(project),
        onlooker: plan::onlooker(false),
        agent,
        root,
    };
    let asked = ask(asking, question).await.map_err(end::explain)?;
    Ok(match conclude(project, &asked, stop.asked()) {
        Some(code) => DraftReply::Not(code),
        None => match asked.outcome {
            Outcome::Answered(draft) => DraftReply::Answered(draft),
            Outcome::Wrong { .. } | Outcome::Denied(_) | Outcome::Ended(_) => {
                DraftReply::Not(ExitCode::FAILURE)
            }
        },
    })
}

/// Says why there is no draft; `None` if there is one.
fn conclude(
    project: &Project,
    asked: &PlanReport<CheckedDraft>,
    signal: Option<i32>,
) -> Option<ExitCode> {
    if !asked.changes.what.is_empty() {
        match asked.changes.remains {
            Remains::Nothing => output::print_warning(&format!(
                "{} was to read only and changed {}; it is put back",
                asked.agent,
                end::listed(&asked.changes.what)
            )),
            Remains::Something => return Some(end::changed(project, asked)),
        }
    }
    match &asked.outcome {
        Outcome::Answered(_) => None,
        Outcome::Wrong { faults } => Some(end::wrong(project, asked, "flow", faults)),
        Outcome::Denied(alert) => Some(end::denied(alert)),
        Outcome::Ended(ending) => Some(end::ended(asked, ending, signal)),
    }
}

/// Reads the flow in an answer, and says all that is wrong with it.
fn checked(
    answer: &str,
    file: &Path,
    config: &BrowserAutomationConfig,
) -> Result<CheckedDraft, Vec<String>> {
    let text = parse_draft(answer)?;
    // It is named as it will be: the agent sees its file in no message.
    let file = file.file_name().map_or(file, Path::new);
    let flow = match read_flow(&text, file) {
        Ok(flow) => flow,
        Err(mistakes) => return Err(mistakes.to_string().lines().map(str::to_owned).collect()),
    };
    let mut faults = left_to_people(&flow);
    let findings = lint_flow(&flow, config);
    let finding = |line: usize, text: &dyn std::fmt::Display| format!("line {line}: {text}");
    faults.extend(findings.iter().map(|found| finding(found.line, found)));
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    if flow.name != *name {
        faults.push(format!(
            "the name of the flow is `{name}`, found `{}`",
            flow.name
        ));
    }
    if faults.is_empty() {
        Ok(CheckedDraft { text })
    } else {
        Err(faults)
    }
}

/// The choices of a person: commands that flows run, and what their pages may reach.
fn left_to_people(flow: &Flow) -> Vec<String> {
    let settings = &flow.settings;
    let mut faults = Vec::new();
    if settings.url.is_some() {
        faults.push("the key `url` is for a person to add: leave it out".to_owned());
    }
    if !settings.hosts.is_empty() {
        faults.push("the key `hosts` is for a person to add: leave it out".to_owned());
    }
    for step in &flow.steps {
        let word = match &step.action {
            FlowStepAction::Fixture(_) => "fixture",
            FlowStepAction::Upload { .. } => "upload",
            _ => continue,
        };
        let line = step.line;
        faults.push(format!(
            "line {line}: the step `{word}` is for a person to add: leave it out"
        ));
    }
    faults
}

impl DraftFiles {
    fn new(project: &Project, name: &str) -> Self {
        let file = format!("{name}.yaml");
        let flows = project.root().join(&project.config().qa.flows);
        Self {
            draft: project.root().join(DRAFTS).join(&file),
            flow: flows.join(file),
        }
    }

    /// Fails where a flow would be written over.
    fn check(&self, project: &Project, force: bool) -> Result<(), CommandError> {
        if force || self.flow.symlink_metadata().is_err() {
            return Ok(());
        }
        let message = format!("there is a flow already: {}", project.shown(&self.flow));
        Err(CommandError::user(message)
            .hint("`--name` gives the new one another name; `--force` writes over it"))
    }

    /// Runs the draft until it has passed often enough, and keeps it then.
    fn try_and_keep(
        &self,
        project: &Project,
        config: &Config,
        draft: &CheckedDraft,
        force: bool,
    ) -> Result<ExitCode, CommandError> {
        dot_ralph::ensure(project.root())?;
        if let Some(folder) = self.draft.parent() {
            std::fs::create_dir_all(folder)?;
        }
        plain_file::replace(&self.draft, draft.text.as_bytes())?;
        let shown = project.shown(&self.draft);
        let wanted = FlowsWanted {
            flows: vec![shown.clone()],
            json: false,
            junit: None,
        };
        for run in 1..=RUNS {
            output::print_to_stderr(&format!("run {run} of {RUNS} …\n"));
            let code = walls::run_to_code(project, config, &wanted)?;
            if code == 0 {
                continue;
            }
            return Ok(match code {
                NOT_KEPT => self.not_kept(project, run),
                code => {
                    output::print_to_stderr(&format!("the draft is in {shown}\n"));
                    ExitCode::from(code)
                }
            });
        }
        self.keep(draft, force)?;
        // What is left in the drafts is what was not kept.
        let _ = std::fs::remove_file(&self.draft);
        let flow = project.shown(&self.flow);
        output::print(&format!("{}  {flow}\n", paint(Tone::Good, "wrote")));
        output::print(&terminal_safe(&format!("\n{}", draft.text)));
        output::print(
            "\nread it before you commit it: it passes, and only you know if it proves enough\n",
        );
        Ok(ExitCode::SUCCESS)
    }

    fn keep(&self, draft: &CheckedDraft, force: bool) -> Result<(), CommandError> {
        if let Some(folder) = self.flow.parent() {
            std::fs::create_dir_all(folder)?;
        }
        if force {
            plain_file::replace(&self.flow, draft.text.as_bytes())?;
            return Ok(());
        }
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&self.flow);
        match opened {
            Ok(mut file) => Ok(file.write_all(draft.text.as_bytes())?),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let message = format!("there is a flow already: {}", self.flow.display());
                Err(CommandError::user(message).hint("`--force` writes over it"))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn not_kept(&self, project: &Project, run: u32) -> ExitCode {
        let message = if run == 1 {
            "the draft failed, and is not kept".to_owned()
        } else {
            format!("the draft passed, then failed in run {run} of {RUNS}, and is not kept")
        };
        let error = CommandError::user(message).hint(format!(
            "it is in {}: correct it, and `ralph qa run {0}` runs it",
            project.shown(&self.draft)
        ));
        output::print_error(&error);
        ExitCode::from(NOT_KEPT)
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::config::QaConfig;

    use super::*;

    fn faults(yaml: &str) -> Vec<String> {
        let config = automation(&QaConfig::default(), Path::new("/project"));
        let answer = format!("```yaml\n{yaml}\n```");
        let file = Path::new("/project/.ralph/flows/greet.yaml");
        match checked(&answer, file, &config) {
            Ok(_) => Vec::new(),
            Err(faults) => faults,
        }
    }

    const GOOD: &str = "steps:\n  - navigate: /\n  - verify: {text: Hello}";

    #[test]
    fn a_flow_that_reader_and_linter_take_passes() {
        assert_eq!(faults(GOOD), Vec::<String>::new());
    }

    #[test]
    fn everything_that_is_wrong_is_told() {
        let table = [
            ("steps:\n  - navigat: /", "did you mean `navigate`?"),
            ("steps:\n  - navigate: /", "proves-nothing"),
            (
                "steps:\n  - fixture: rm -r x\n  - navigate: /\n  - verify: {text: Hello}",
                "line 2: the step `fixture` is for a person to add",
            ),
            (
                "hosts: [example.com]\nsteps:\n  - navigate: /\n  - verify: {text: Hello}",
                "`hosts` is for a person to add",
            ),
            (
                "name: other\nsteps:\n  - navigate: /\n  - verify: {text: Hello}",
                "the name of the flow is `greet`, found `other`",
            ),
        ];
        for (yaml, expected) in table {
            let found = faults(yaml);
            let is_told = found.iter().any(|fault| fault.contains(expected));
            assert!(is_told, "{yaml}: {found:?}");
        }
    }
}
