//! An agent that a person talks to: it gets ralph's terminal, ralph waits, and takes it back.
//!
//! Notices the end in one of four ways ([`InteractiveEnd`]) and leaves nothing alive. Never reads what is
//! said: the agent writes to the terminal itself, and what it did is in its files.

mod first_prompt;

pub use first_prompt::FirstPrompt;
pub(super) use first_prompt::LONG_PROMPT_GO;

use std::{ffi::OsString, io, path::PathBuf, time::Duration};

use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use super::{Agent, DoneFile};
use crate::{
    process::{
        Containment, Ended, ProgramEvent, Running, Signal, SpawnError, StopPlan, Terminal,
        TerminalError, spawn_on,
    },
    sandbox::{Sandbox, SandboxUser},
};
use first_prompt::PromptArgument;

/// One conversation.
#[derive(Debug, Clone)]
pub struct InteractiveSession<'a> {
    pub cwd: PathBuf,
    /// The whole environment, already scrubbed.
    pub env: Vec<(OsString, OsString)>,
    /// The first message to the agent; empty leaves the first word to the person.
    pub prompt: String,
    /// The file by which the agent says that it is done, if it was told of one.
    pub done_file: Option<PathBuf>,
    /// The time that it may take to end when it is stop_signals to.
    pub grace: Duration,
    pub containment: Containment,
    /// The walls around it.
    pub sandbox: Option<&'a Sandbox>,
}

/// Everything that an agent needs to know to say how it is started for a conversation.
#[derive(Debug, Clone, Copy)]
pub struct InteractiveContext<'a> {
    pub cwd: &'a PathBuf,
    pub env: &'a [(OsString, OsString)],
    pub prompt: FirstPrompt<'a>,
}

/// The end of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InteractiveEnd {
    /// The signal file appeared. The agent was ended, unless it had gone by itself.
    Done,
    /// The agent exited, as when its user leaves it.
    Exited(i32),
    /// The agent died of a signal.
    Killed(i32),
    /// ralph was stop_signals to end by this signal, and ended the agent.
    Stopped(i32),
}

/// There was no conversation, or its end can't be told.
#[derive(Debug, thiserror::Error)]
pub enum InteractiveError {
    #[error("{agent} has no interactive mode")]
    NotInteractive { agent: String },
    #[error("there is no terminal to hand to {agent}")]
    Terminal {
        agent: String,
        source: TerminalError,
    },
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("can't keep the prompt in a file")]
    PromptFile(#[source] io::Error),
    #[error("can't wait for {agent}")]
    Wait { agent: String, source: io::Error },
}

/// Hands the terminal to an agent, and returns when it has it no more and nothing of the agent is
/// alive. From the first call on, SIGINT, SIGTERM and SIGHUP do not end ralph by themselves.
pub async fn run_interactive(
    agent: &dyn Agent,
    session: &InteractiveSession<'_>,
) -> Result<InteractiveEnd, InteractiveError> {
    let waiting = |source| InteractiveError::Wait {
        agent: agent.name(),
        source,
    };
    let given = PromptArgument::new(&session.prompt).map_err(InteractiveError::PromptFile)?;
    let context = InteractiveContext {
        cwd: &session.cwd,
        env: &session.env,
        prompt: given.as_prompt(),
    };
    let mut spec = agent
        .interactive(&context)
        .ok_or_else(|| InteractiveError::NotInteractive {
            agent: agent.name(),
        })?;
    let done = DoneFile::new(session.done_file.clone());
    // Before the terminal is touched: a signal must never find ralph without a way to put it back.
    let mut stop_signals = StopSignals::listen().map_err(waiting)?;
    let terminal = Terminal::hold().map_err(|source| InteractiveError::Terminal {
        agent: agent.name(),
        source,
    })?;
    let home = |source| SpawnError::Home {
        program: agent.name(),
        source,
    };
    let user = SandboxUser::Agent {
        folders: agent.facts().folders,
        hosts: agent.facts().hosts,
    };
    let enclosure = session
        .sandbox
        .map(|sandbox| sandbox.enclose(&mut spec, user));
    let mut enclosure = enclosure.transpose().map_err(home)?;
    let mut running = spawn_on(&terminal, &spec, session.containment)?;
    if let Some(enclosure) = &mut enclosure {
        enclosure.attend(&mut running).map_err(home)?;
    }
    let program = TerminalProgram { running, terminal };
    let end = converse(program, session, &done, &mut stop_signals).await;
    if let Some(enclosure) = &enclosure {
        enclosure.keep_logins().map_err(home)?;
    }
    end.map_err(waiting)
}

/// Waits for the end of a conversation, in whichever way it comes.
async fn converse(
    mut program: TerminalProgram,
    session: &InteractiveSession<'_>,
    done: &DoneFile,
    stop_signals: &mut StopSignals,
) -> io::Result<InteractiveEnd> {
    let plan = StopPlan {
        first: Signal::TERM,
        grace: session.grace,
        term_grace: Duration::ZERO,
    };
    loop {
        tokio::select! {
            event = program.running.next() => match event? {
                ProgramEvent::Suspended => program.terminal.suspend(),
                ProgramEvent::Ended(_) if done.is_there() => return Ok(InteractiveEnd::Done),
                ProgramEvent::Ended(Ended::Code(code)) => return Ok(InteractiveEnd::Exited(code)),
                ProgramEvent::Ended(Ended::Signal(signal)) => return Ok(InteractiveEnd::Killed(signal)),
            },
            signal = stop_signals.next() => {
                program.running.stop(plan).await?;
                return Ok(InteractiveEnd::Stopped(signal));
            }
            () = done.appeared() => {
                program.running.stop(plan).await?;
                return Ok(InteractiveEnd::Done);
            }
        }
    }
}

/// A program and the terminal that it has.
struct TerminalProgram {
    running: Running,
    terminal: Terminal,
}

impl Drop for TerminalProgram {
    /// In whatever way this is left, the program must be dead before the terminal is put back, or it
    /// could change it once more.
    fn drop(&mut self) {
        self.running.kill_now();
    }
}

/// Requests to ralph to end.
struct StopSignals {
    terminate: Signals,
    hangup: Signals,
    /// Heard and passed over: what is typed goes to the agent, and what is meant for it may come to
    /// ralph in the moments before and after.
    _interrupt: Signals,
}

impl StopSignals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            _interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.hangup.recv() => SignalKind::hangup().as_raw_value(),
        }
    }
}
