//! The parts that all rounds of an interview share: the project, its folder, the agent, and how the
//! agent is started.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use ralph_core::{
    agent::{AgentReport, Ending},
    artefacts::template::InterviewMode,
    lint::LintContext,
    sanitize::one_line,
    secret::hidden_flag,
};
use ralph_engine::{
    agent::{
        Agent, InteractiveEnd, InteractiveError, InteractiveSession, StopRequest, run_interactive,
    },
    atomic,
    environment::Environment,
    interview::{self, FoundTasks, Headless, look_at_tasks, run_headless},
    plain_file,
    process::Containment,
    side_budget::SideBudget,
    store::SideWork,
};
use tokio::sync::Mutex;

use super::{
    diff,
    lead::{End, Over},
};
use crate::{
    artefacts::ArtefactsProject,
    ask::{Input, read_line},
    commands::{agent::explain_talk, run},
    error::{CommandError, ErrorKind},
    output,
    project::Project,
    sandboxed::sandboxed,
    side_budget,
};

/// The time that an agent gets to save its work when it is asked to end.
const GRACE: Duration = Duration::from_secs(10);
/// Longest word of an agent's on why it failed that is shown.
const MESSAGE_CHARACTERS: usize = 500;

pub(super) struct Scene<'a> {
    pub(super) project: &'a Project,
    pub(super) named: ArtefactsProject,
    agent: Box<dyn Agent>,
    environment: Environment,
    containment: Containment,
    setting: InterviewMode,
    /// None outside of a git repository: there is no project whose money it could be.
    budget: Option<Mutex<SideBudget>>,
}

impl<'a> Scene<'a> {
    pub(super) async fn new(
        project: &'a Project,
        named: ArtefactsProject,
        agent: Box<dyn Agent>,
        setting: InterviewMode,
        budget: Option<SideBudget>,
    ) -> Result<Self, CommandError> {
        let environment = project.environment(project.root());
        Ok(Self {
            environment: sandboxed(project, environment, &agent.name(), None).await?,
            containment: run::detection(project)?.containment,
            project,
            named,
            agent,
            setting,
            budget: budget.map(Mutex::new),
        })
    }

    /// Checks the budget of the interview; an error if it is used up.
    pub(super) async fn open_budget(project: &Project) -> Result<Option<SideBudget>, CommandError> {
        if project.git_root().is_err() {
            return Ok(None);
        }
        let mut budget = side_budget::open(project, SideWork::Interview).await?;
        side_budget::check(&mut budget).await?;
        Ok(Some(budget))
    }

    /// The command that continues the interview.
    pub(super) fn command(&self) -> String {
        let name = &self.named.name;
        match self.setting {
            InterviewMode::Conversation => format!("ralph interview {name}"),
            InterviewMode::Headless => format!("ralph interview {name} --headless"),
        }
    }

    pub(super) fn agent_name(&self) -> String {
        self.agent.name()
    }

    /// The files that an agent writes for the project, with what they hold.
    fn written(&self) -> [(PathBuf, Vec<u8>); 2] {
        let folder = &self.named.folder;
        [folder.spec(), folder.tasks()].map(|path| {
            let bytes = plain_file::read(&path).unwrap_or_default();
            (path, bytes)
        })
    }

    /// Hides the secrets that an agent wrote into them, and says so.
    fn hide_secrets_since(&self, before: &[(PathBuf, Vec<u8>)]) -> Result<(), CommandError> {
        for (path, before) in before {
            let now = plain_file::read(path).unwrap_or_default();
            let hidden = self.environment.redaction().hide_added(before, &now);
            if let Some((hidden, rules)) = hidden {
                atomic::write(path, &hidden)?;
                output::print_warning(&hidden_flag(&self.shown(path), &rules));
            }
        }
        Ok(())
    }

    fn env(&self) -> Vec<(OsString, OsString)> {
        self.environment
            .for_agent(self.agent.facts().credentials, &[])
    }

    /// Warnings before an agent runs unattended.
    pub(super) fn warn_unattended(&self) {
        if self.environment.sandbox().is_none()
            && let Some(warning) = self.agent.warning()
        {
            output::print_warning(&warning);
        }
    }

    /// A file of the project's, as a person names it.
    pub(super) fn shown(&self, path: &std::path::Path) -> String {
        self.project.shown(path)
    }

    pub(super) fn spec(&self) -> Result<String, CommandError> {
        let spec = interview::read_spec(&self.named.folder)?;
        spec.ok_or_else(|| self.named.missing(&self.shown(&self.named.folder.spec())))
    }

    /// Hands the terminal to the agent, until it says by its file that it is done, or is gone.
    pub(super) async fn talk(&self, prompt: String) -> Result<InteractiveEnd, CommandError> {
        let folder = &self.named.folder;
        // One from before says nothing about this round.
        interview::clear_done(folder)?;
        let before = self.written();
        let session = InteractiveSession {
            cwd: self.project.root().to_owned(),
            env: self.env(),
            prompt: self.environment.redaction().hide(&prompt).into_owned(),
            done_file: Some(folder.done()),
            grace: GRACE,
            containment: self.containment,
            sandbox: self.environment.sandbox(),
        };
        let end = run_interactive(&*self.agent, &session)
            .await
            .map_err(|error| {
                let hint = matches!(error, InteractiveError::NotInteractive { .. }).then(|| {
                    "choose another with `--agent`, such as claude or pi, or add `--headless`"
                        .into()
                });
                explain_talk(error).hint_opt(hint)
            })?;
        interview::clear_done(folder)?;
        self.hide_secrets_since(&before)?;
        Ok(end)
    }

    /// Runs the agent without a conversation.
    pub(super) async fn run(
        &self,
        prompt: String,
        stop: &mut StopRequest,
    ) -> Result<AgentReport, Over> {
        let headless = Headless {
            cwd: self.project.root().to_owned(),
            env: self.env(),
            containment: self.containment,
            sandbox: self.environment.sandbox(),
            redaction: self.environment.redaction().clone(),
        };
        let config = self.project.config();
        let mut budget = match &self.budget {
            Some(budget) => Some(budget.lock().await),
            None => None,
        };
        let mut cost = None;
        if let Some(budget) = &mut budget {
            side_budget::check(budget).await?;
            cost = budget.run_cost();
        }
        let before = self.written();
        let report = run_headless(&*self.agent, &headless, config, cost, prompt, stop)
            .await
            .map_err(|error| CommandError::new(ErrorKind::Unavailable, error))?;
        self.hide_secrets_since(&before)?;
        // Its process has ended: the file would only be taken for the end of another.
        interview::clear_done(&self.named.folder).map_err(CommandError::from)?;
        if let Some(budget) = &mut budget {
            let agent = self.agent_name();
            let recorded = budget.record(&agent, &report, Project::now());
            recorded.await?;
        }
        let end = match &report.ending {
            Ending::Finished => return Ok(report),
            Ending::Stopped => End::Interrupted(stop.asked().unwrap_or(2)),
            Ending::Auth { .. } | Ending::Unavailable { .. } | Ending::Limit { .. } => {
                End::Unavailable
            }
            Ending::NoResult { .. }
            | Ending::Error { .. }
            | Ending::Api { .. }
            | Ending::Rejected { .. }
            | Ending::Overloaded { .. }
            | Ending::MaxTurns { .. }
            | Ending::Refused { .. }
            | Ending::Interrupted { .. }
            | Ending::TimedOut { .. }
            | Ending::Silent { .. }
            | Ending::HandedOff { .. }
            | Ending::Terminated { .. } => End::Useless,
            Ending::Budget { .. } | Ending::OverBudget { .. } => End::OutOfMoney,
        };
        if !matches!(end, End::Interrupted(_)) {
            let said = report.ending.message().unwrap_or_default();
            let said = one_line(said, MESSAGE_CHARACTERS);
            let message = format!("{} failed ({})", self.agent_name(), report.ending.outcome());
            let message = if said.is_empty() {
                message
            } else {
                format!("{message}: {said}")
            };
            self.say_failed(&message);
        }
        Err(Over::Ended(end))
    }

    /// That the interview can't go on, and that it can later.
    pub(super) fn say_failed(&self, message: &str) {
        let hint = format!("nothing is lost: `{}` continues", self.command());
        output::print_error(&CommandError::user(message).hint(hint));
    }

    /// Shows what an agent made of the brief, and gives it back if it is gone.
    pub(super) fn show_change(&self, before: &str) -> Result<(), CommandError> {
        let folder = &self.named.folder;
        let name = self.shown(&folder.spec());
        let after = match interview::read_spec(folder)? {
            Some(after) => after,
            None => {
                interview::write_spec(folder, before)?;
                output::print_warning(&format!("{name} was deleted; it was restored"));
                before.to_owned()
            }
        };
        output::print(&format!("\n{}", diff::render(&name, before, &after)));
        Ok(())
    }

    pub(super) fn tasks(&self, before: Option<&[u8]>) -> Result<FoundTasks, CommandError> {
        let context = LintContext {
            configured_verify: !self.project.config().verification.commands.is_empty(),
        };
        let (folder, name) = (&self.named.folder, &self.named.name);
        let root = self.project.root();
        Ok(look_at_tasks(folder, name, root, before, &context)?)
    }
}

/// Asks, and waits for a line or for `stop`, whichever comes first.
pub(super) async fn ask(
    question: &str,
    stop: impl Future<Output = i32>,
) -> Result<Input, CommandError> {
    output::print(question);
    let input = read_line(stop).await?;
    match input {
        Input::Line(_) => {}
        // What is said next must not stand behind the question.
        Input::NoMore | Input::Signal(_) => output::print("\n"),
    }
    Ok(input)
}
