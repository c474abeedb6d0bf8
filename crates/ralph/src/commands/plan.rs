//! `ralph plan`: one agent that reads turns a brief into tasks, which are checked, shown and, if a
//! person says so, written.
//!
//! Nothing is written before the answer has passed the reader and the linter. The agent may change
//! nothing; that it did not is looked at.

mod brief;
pub(super) mod end;
pub(super) mod planner;
mod show;
mod write;

use std::{io::IsTerminal as _, path::PathBuf, process::ExitCode, time::Duration};

use ralph_core::{
    agent::AgentEvent,
    plan::{
        AnswerBy, Brief, Checked, PLAN_TEMPLATE, Plan, PlanPrompt, Repair, Surrounding, check,
        parse_answer, render_plan_prompt, schema,
    },
    prompt::{Template, TemplateError},
    sanitize::one_line,
    task::format::{Format, Syntax},
};
use ralph_engine::{
    agent::StopRequest,
    plan::{Outcome, PlanLimits, PlanReport, PlanRequest, Question, Remains, ask},
    store::SideWork,
};

use planner::Planner;

use super::import::{Overwrite, Target, format_words};
use crate::{
    ask::{Input, read_line, stopped},
    cli::Global,
    commands::run,
    error::CommandError,
    output,
    project::{self, Project},
    sandboxed::sandboxed,
    side_budget,
    view::{Tone, figures::count, paint_for_stderr},
};

/// The first answer, and two that put it right.
const ROUNDS: u32 = 3;

/// The project's own template, where it has one.
const TEMPLATE: &str = ".ralph/prompts/plan.md";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is wanted: a text or Markdown file, a folder of .md files, or `-` for standard input;
    /// without it, the only one there is of PRD.md, SPEC.md and specs/
    spec: Option<PathBuf>,

    /// The format of the task file
    #[arg(long, value_name = "FORMAT", default_value = "native", value_parser = format_words(&Format::TREES))]
    to: Format,

    /// Where to write it, as JSON or YAML by its ending, `-` for standard output; without it, the
    /// place that the format has: .ralph/tasks/NAME.yaml, PRD.json or .artefacts/NAME/tasks.json
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Who plans: claude, pi or another of `ralph agent list`, script:FILE, command:PROGRAM
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Write without asking
    #[arg(long, short)]
    yes: bool,

    /// Write over a file that is there, and change the parent task
    #[arg(long)]
    force: bool,

    /// Print one JSON document instead of text; needs `--yes`
    #[arg(long, conflicts_with = "dry_run")]
    json: bool,

    /// Print the prompt, and start no agent
    #[arg(long)]
    dry_run: bool,
}

/// What the command line and the project say, read once.
struct Wish<'a> {
    args: &'a Args,
    project: &'a Project,
    briefs: Vec<Brief>,
    around: Surrounding,
    overwrite: Overwrite,
    syntax: Syntax,
}

/// A plan that was asked for and has passed.
struct Proposal {
    plan: Plan,
    checked: Checked,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, run::chosen_agent(args.agent.as_ref()))?;
    let briefs = brief::read(&project, args.spec.as_deref())?;
    args.refuse_without_anybody()?;
    let wish = Wish {
        args,
        briefs,
        around: write::surrounding(&project, args)?,
        overwrite: Overwrite::by_flag(args.force),
        syntax: Target::choose(&project, args.output.as_deref(), args.to, "").syntax(args.to)?,
        project: &project,
    };
    // A place that does not depend on the plan is looked at before anything is paid for.
    if args.output.is_some() || args.to == Format::Prd {
        wish.target("").check(&project, wish.overwrite)?;
    }
    let schema = serde_json::to_string(&schema())?;
    let planner = Planner::choose(&project)?;
    let answer_by = planner.answer_by();
    let prompt = |repair: Option<&Repair>| wish.prompt(answer_by, &schema, repair);
    if args.dry_run {
        output::print(&prompt(None).map_err(CommandError::user)?);
        return Ok(ExitCode::SUCCESS);
    }
    let agent = planner.make(&project, &schema)?;
    run::check_program(&*agent, project.root())?;
    let root = project.git_root()?;
    project::block_on(async {
        let mut stop = run::listen_for_signals(ralph_engine::inbox::Inbox::default())?;
        let mut budget = side_budget::open(&project, SideWork::Plan).await?;
        side_budget::check(&mut budget).await?;
        if !args.json {
            output::print_to_stderr(&format!("planning with {} …\n", agent.name()));
        }
        let environment = project.environment(&root);
        let environment = environment.of_run(&project.data_dir()?, &root);
        let environment = sandboxed(&project, environment, &agent.name(), None).await?;
        let asking = PlanRequest {
            name: "plan",
            budget,
            data_dir: project.data_dir()?.to_path_buf(),
            containment: run::detection(&project)?.containment,
            environment,
            git_environment: project.git_environment(),
            stop: stop.clone(),
            patience: patience(&project),
            onlooker: onlooker(args.json),
            agent,
            root,
        };
        let question = Question {
            prompt: &prompt,
            check: &|answer| wish.check(answer),
        };
        let asked = ask(asking, &question).await.map_err(end::explain)?;
        wish.conclude(asked, &mut stop).await
    })
}

impl Args {
    fn writes_a_file(&self) -> bool {
        self.output.as_deref() != Some(std::path::Path::new("-"))
    }

    /// Said before an agent is paid for: nobody could say yes to what it makes.
    fn refuse_without_anybody(&self) -> Result<(), CommandError> {
        if self.yes || self.dry_run || !self.writes_a_file() {
            return Ok(());
        }
        let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let why = match (self.json, can_ask) {
            (true, _) => "with --json nobody is asked whether to write the tasks",
            (false, false) => "there is no terminal to ask on whether to write the tasks",
            (false, true) => return Ok(()),
        };
        Err(CommandError::user(why).hint("`--yes` writes them without asking; `-o -` prints them"))
    }
}

impl Wish<'_> {
    fn target(&self, name: &str) -> Target {
        Target::choose(
            self.project,
            self.args.output.as_deref(),
            self.args.to,
            name,
        )
    }

    fn prompt(
        &self,
        answer_by: AnswerBy,
        schema: &str,
        repair: Option<&Repair>,
    ) -> Result<String, TemplateError> {
        let commands = &self.project.config().verification.commands;
        let existing = self.around.tasks.iter();
        let prompt = PlanPrompt {
            briefs: &self.briefs,
            existing: existing
                .map(|task| (task.id.to_string(), one_line(&task.text.title, 100)))
                .collect(),
            verify: commands.iter().map(ToString::to_string).collect(),
            answer_by,
            schema,
            repair,
        };
        render_plan_prompt(&template(self.project), &prompt)
    }

    fn check(&self, answer: &str) -> Result<Proposal, Vec<String>> {
        let plan = parse_answer(answer)?;
        let format = self.args.to;
        let checked = check(&plan, format, self.syntax, &self.around)
            .map_err(|error| vec![error.to_string()])?;
        let faults = checked.faults();
        if faults.is_empty() {
            Ok(Proposal { plan, checked })
        } else {
            Err(faults)
        }
    }

    /// Shows what came of it, asks, writes.
    async fn conclude(
        &self,
        asked: PlanReport<Proposal>,
        stop: &mut StopRequest,
    ) -> Result<ExitCode, CommandError> {
        let project = self.project;
        if !asked.changes.what.is_empty() {
            match asked.changes.remains {
                Remains::Nothing => output::print_warning(&format!(
                    "{} was to read only and changed {}; it is put back",
                    asked.agent,
                    end::listed(&asked.changes.what)
                )),
                Remains::Something => return Ok(end::changed(project, &asked)),
            }
        }
        let proposal = match &asked.outcome {
            Outcome::Answered(proposal) => proposal,
            Outcome::Wrong { faults } => return Ok(end::wrong(project, &asked, "plan", faults)),
            Outcome::Denied(alert) => return Ok(end::denied(alert)),
            Outcome::Ended(ending) => {
                let signal = stop.asked();
                return Ok(end::ended(&asked, ending, signal));
            }
        };
        let target = self.target(&proposal.plan.feature.id);
        let report = self.report(&asked, proposal, &target);
        if !self.args.json {
            self.show(&asked, proposal);
        }
        let path = match &target {
            Target::Stdout if self.args.json => {
                output::print_json(&report)?;
                return Ok(ExitCode::SUCCESS);
            }
            Target::Stdout => {
                output::print(&proposal.checked.text);
                return Ok(ExitCode::SUCCESS);
            }
            Target::File(path) => path,
        };
        target.check(project, self.overwrite)?;
        if !self.args.yes {
            let many = count(report.tasks.len(), "task", "tasks");
            let question = format!("\nWrite {many} to {}?", report.output);
            output::print_to_stderr(&format!("{question} [y/N] "));
            match read_line(stopped(stop.clone())).await {
                Ok(Input::Line(line)) if line.eq_ignore_ascii_case("y") => {}
                Ok(Input::Line(line)) if line.eq_ignore_ascii_case("yes") => {}
                Ok(Input::Line(_) | Input::NoMore) | Err(_) => {
                    output::print_to_stderr("nothing was written\n");
                    return Ok(ExitCode::from(4));
                }
                Ok(Input::Signal(signal)) => return Ok(end::stopped(signal)),
            }
        }
        write::write(self, path, proposal)?;
        if self.args.json {
            output::print_json(&report)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn template(project: &Project) -> Template {
    match std::fs::read_to_string(project.root().join(TEMPLATE)) {
        Ok(text) => Template {
            name: TEMPLATE.to_owned(),
            text,
        },
        Err(_) => Template {
            name: "plan.md (built in)".to_owned(),
            text: PLAN_TEMPLATE.to_owned(),
        },
    }
}

pub(super) fn patience(project: &Project) -> PlanLimits {
    let config = &project.config().loop_;
    PlanLimits {
        rounds: ROUNDS,
        time: config.max_minutes_per_iteration.duration(),
        idle: config.idle_minutes.duration(),
        idle_with_tool: config.idle_minutes_tool.duration(),
        grace: Duration::from_secs(u64::from(config.stop_grace_seconds.get())),
    }
}

/// What the agent looks at, a line each, for somebody who waits.
pub(super) fn onlooker(json: bool) -> Box<dyn FnMut(&AgentEvent)> {
    let quiet = json || !console::Term::stderr().is_term();
    Box::new(move |event| {
        if let (false, AgentEvent::Tool { name, target, .. }) = (quiet, event) {
            let line = one_line(&format!("  {name} {target}"), 100);
            output::print_to_stderr(&format!("{}\n", paint_for_stderr(Tone::Faint, &line)));
        }
    })
}
