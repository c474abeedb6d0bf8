//! Loops in sessions as the journal keeps them, and the verification of their promises: the same for every agent.
//!
//! A session outside of a git repository has no place in the journal; its loop works all the same.

use jiff::Timestamp;
use ralph_core::{
    config::Config,
    dollars::Dollars,
    economics::{Caller, ModelCall, Tokens, account},
    goal::Promise,
    id::LoopId,
    session_loop::{SessionEndReason, SessionOutcome},
};
use ralph_engine::{
    commit_check::{CheckSubject, SilentReporter},
    inbox::Inbox,
    prices::read_prices,
    settings::{ProjectKind, Surroundings},
    store::{Journal, NewSessionLoop, SessionIteration, SessionLoopRow, TokenUsage, new_loop_id},
};
use serde::{Deserialize, Serialize};

use super::session_files;
use crate::{
    cli::Global,
    commands::{run::listen_for_signals, verify},
    error::CommandError,
    inside_run,
    output::without_secrets,
    project::{Project, block_on, data_dir_of},
    queue,
};

/// The most characters of a prompt or an error that are kept.
const MOST_CHARS: usize = 32 * 1024;

/// A loop that an agent is about to begin.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionStart {
    pub(crate) agent: String,
    pub(crate) session: String,
    pub(crate) prompt: String,
    #[serde(default)]
    pub(crate) max_iterations: u64,
    #[serde(default)]
    pub(crate) completion_promise: Option<Promise>,
    #[serde(default)]
    pub(crate) verify: bool,
}

/// The answer to an agent that is about to begin a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum SessionStarted {
    Refused {
        refused: String,
    },
    /// Not in the journal, for this reason.
    Unrecorded {
        #[serde(rename = "loop")]
        loop_id: Option<LoopId>,
        note: String,
    },
    Recorded {
        #[serde(rename = "loop")]
        loop_id: LoopId,
    },
}

/// An iteration as an agent tells of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IterationTold {
    #[serde(rename = "loop")]
    pub(crate) loop_id: LoopId,
    pub(crate) iteration: u64,
    pub(crate) started_at: Timestamp,
    pub(crate) ended_at: Timestamp,
    pub(crate) outcome: SessionOutcome,
    #[serde(default)]
    pub(crate) error: Option<String>,
    #[serde(default)]
    pub(crate) tool_calls: u64,
    #[serde(default)]
    pub(crate) calls: Vec<CallTold>,
}

/// A call to a model as an agent tells of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(crate) struct CallTold {
    model: Option<String>,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cost_usd: Option<f64>,
}

impl From<CallTold> for ModelCall {
    fn from(told: CallTold) -> Self {
        Self {
            model: told.model,
            caller: Caller::Agent,
            tokens: Tokens {
                input: told.input,
                output: told.output,
                cache_read: told.cache_read,
                cache_write: told.cache_write,
            },
            told: told.cost_usd.map(Dollars::told),
        }
    }
}

/// Tells whether something was written down, and not there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Recorded {
    pub(crate) recorded: bool,
}

/// The result of verifying a promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PromiseCheck {
    pub(crate) passed: bool,
    /// The commands that failed, with the end of their output.
    pub(crate) text: String,
}

/// Writes down a loop that begins, and keeps how its promise is to be verified: an agent could change that later.
pub(crate) fn start(global: &Global, start: &SessionStart) -> Result<SessionStarted, CommandError> {
    if let Some(why) = inside_run::sign(global)? {
        let refused =
            format!("a loop in a session can't be started inside a run of ralph's: {why}");
        return Ok(SessionStarted::Refused { refused });
    }
    let project = Project::open(global, Vec::new())?.with_local_journal();
    if start.verify && project.config().verification.commands.is_empty() {
        let refused = "--verify needs commands: set `verification.commands` in ralph.yaml \
                       (`ralph init` proposes some)";
        return Ok(SessionStarted::Refused {
            refused: refused.to_owned(),
        });
    }
    if project.kind() == ProjectKind::Folder {
        let note = format!("{} is not in a git repository", project.root().display());
        return Ok(match start.verify {
            true => SessionStarted::Refused {
                refused: format!("--verify needs a git repository: {note}"),
            },
            false => SessionStarted::Unrecorded {
                loop_id: None,
                note,
            },
        });
    }
    let root = project.git_root()?;
    let config = start.verify.then(|| kept_config(project.config()));
    let config = config.map(|config| serde_json::to_string(&config));
    let config = config.transpose()?;
    let loop_id = new_loop_id();
    block_on(async {
        let (mut journal, repository) = queue::open(&project, &root).await?;
        let new = NewSessionLoop {
            id: &loop_id,
            repository: &repository,
            worktree: &project.worktree(),
            agent: &start.agent,
            session: &start.session,
            prompt: &capped(&start.prompt),
            max_iterations: start.max_iterations,
            completion_promise: start.completion_promise.as_ref().map(Promise::as_str),
            config: config.as_deref(),
            at: Project::now(),
        };
        journal.begin_session_loop(&new).await?;
        Ok(())
    })?;
    Ok(SessionStarted::Recorded { loop_id })
}

/// The parts of a configuration that a verification needs.
fn kept_config(config: &Config) -> Config {
    Config {
        verification: config.verification.clone(),
        workspace: config.workspace.clone(),
        safety: config.safety.clone(),
        logs: config.logs.clone(),
        ..Config::default()
    }
}

/// Writes an iteration down, once.
pub(crate) fn record(
    global: &Global,
    told: &IterationTold,
    calls: &[ModelCall],
) -> Result<Recorded, CommandError> {
    if inside_run::sign(global)?.is_some() {
        return Ok(Recorded { recorded: false });
    }
    let project = Project::open(global, Vec::new())?.with_local_journal();
    let prices = read_prices(&project.config().economics, project.root());
    let prices = prices.map_err(CommandError::user)?;
    block_on(async {
        let (mut journal, row) = open(&project, &told.loop_id).await?;
        let iteration = SessionIteration {
            n: told.iteration,
            started_at: told.started_at,
            ended_at: told.ended_at,
            outcome: told.outcome,
            error: told.error.as_deref().map(capped),
            accounts: TokenUsage {
                records: account((1, &row.agent), calls, None, &prices),
                tool_calls: told.tool_calls,
            },
        };
        let recorded = journal.record_session_iteration(&row, &iteration).await?;
        Ok(Recorded { recorded })
    })
}

/// Writes the end of a loop down, once.
pub(crate) fn end(
    global: &Global,
    loop_id: &LoopId,
    reason: SessionEndReason,
) -> Result<Recorded, CommandError> {
    if inside_run::sign(global)?.is_some() {
        return Ok(Recorded { recorded: false });
    }
    let project = Project::open(global, Vec::new())?.with_local_journal();
    block_on(async {
        let (mut journal, row) = open(&project, loop_id).await?;
        let ended = journal.end_session_loop(&row.id, reason, Project::now());
        Ok(Recorded {
            recorded: ended.await?,
        })
    })
}

/// The loop of a session that has no end, as the journal has it. Reads no configuration: an agent may have broken it.
pub(crate) fn open_loop(
    agent: &str,
    session: &str,
) -> Result<Option<SessionLoopRow>, CommandError> {
    let data_dir = data_dir_of(&Surroundings::of_process()?);
    let used = data_dir.filter(|folder| folder.join("ralph.db").exists());
    let Some(data_dir) = used else {
        return Ok(None);
    };
    block_on(async {
        let mut journal = ralph_engine::store::open(&data_dir).await?;
        Ok(journal.open_session_loop(agent, session).await?)
    })
}

/// Verifies the working tree with the commands as they were when the loop began.
pub(crate) fn verify(global: &Global, loop_id: &LoopId) -> Result<PromiseCheck, CommandError> {
    let mut project = Project::open(global, Vec::new())?.with_local_journal();
    block_on(async {
        let (_, row) = open(&project, loop_id).await?;
        let text = row.config.ok_or_else(|| {
            CommandError::user(format!("loop {loop_id} was not started with --verify"))
        })?;
        let kept: Config = serde_json::from_str(&text)?;
        let config = &mut project.settings.resolved.config;
        config.verification = kept.verification;
        config.workspace = kept.workspace;
        config.safety = kept.safety;
        config.logs = kept.logs;
        let stop = listen_for_signals(Inbox::default())?;
        let own_paths = session_files();
        let request = verify::VerifyRequest {
            subject: CheckSubject::WorkingTree {
                own_paths: &own_paths,
            },
            clean: false,
            reporter: &mut SilentReporter,
        };
        let checked = verify::verify_in(&project, request, stop).await?;
        Ok(PromiseCheck {
            passed: checked.report.passed(),
            text: without_secrets(&verify::render(&checked)).into_owned(),
        })
    })
}

async fn open(
    project: &Project,
    loop_id: &LoopId,
) -> Result<(Box<dyn Journal>, SessionLoopRow), CommandError> {
    let unknown = || CommandError::user(format!("there is no loop {loop_id} in a session"));
    let Some((mut journal, repository)) = project.journal().await? else {
        return Err(unknown());
    };
    let found = journal.session_loop(loop_id).await?;
    let row = found.filter(|row| row.repository_id == repository.0);
    Ok((journal, row.ok_or_else(unknown)?))
}

/// A text of people or agents, as far as it is kept.
fn capped(text: &str) -> String {
    without_secrets(text).chars().take(MOST_CHARS).collect()
}
