//! Runs verify commands, and reports what they did.
//!
//! Every command is run, also after one has failed: an agent that is told of all failures at once
//! needs fewer attempts than one that is told of them in turn. Only a cancellation ends it early.
//! Each command is a tree of its own that is dead before the next begins, so a server that one
//! leaves behind neither helps nor hinders another.
//!
//! Does not choose the commands, judge the result or retry: `ralph_core::verify` compares, the
//! iteration decides.

mod last_line;
mod own;
mod programs;
mod report_files;

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use ralph_core::allowlist::Allowlist;
use ralph_core::secret::{RedactedStream, Redaction};
use ralph_core::task::VerifyCommand;
use ralph_core::verify::{
    CommandOutcome, TestCounter, VerifyCommandReport, VerifyReport, trim_tail_of,
};
use tokio::time::Instant;

pub use self::own::{OwnCommand, RUN_QA, RUN_QA_JOINS, RUN_QA_WALLS};
pub(crate) use self::programs::ProgramPath;

use self::last_line::LastLine;
use self::own::OwnFacts;
use self::report_files::ReportFiles;
use crate::layer::{SpaceChange, SpaceMeter, UpperSpace};
use crate::process::{
    CappedLog, CommandSpec, Containment, Ended, FileWrites, KeeperName, MountPlan, Output, Running,
    Tail, limit_writes_of_children, spawn,
};
use crate::sandbox::{Enclosure, Sandbox, SandboxUser, TreeWatch};

/// How much of the output's end tells failures apart. Far more than a prompt gets, so that where it
/// begins matters little.
const SIGNATURE_WINDOW: usize = 256 * 1024;

/// The interval at which it is told that a command still runs, and how many of them pass between two lines of
/// its output.
const TICK: Duration = Duration::from_millis(250);
const TICKS_A_LINE: u32 = 4;

/// Begins the line behind the output of a command that tells of a program which it could not see.
const HIDDEN: &str = "ralph: ";

/// The words about a program that a command could not see, if there are any.
pub(crate) fn hint_of_hidden(report: &VerifyCommandReport) -> Option<&str> {
    let last = report.tail.lines().next_back()?;
    last.strip_prefix(HIDDEN)
}

/// Where and how verify commands run.
#[derive(Clone)]
pub struct VerifyContext<'a> {
    pub cwd: PathBuf,
    /// The complete environment. Its `PATH` must be one that the agent cannot write to.
    pub env: Vec<(OsString, OsString)>,
    /// Of each command.
    pub timeout: Duration,
    pub containment: Containment,
    /// The name of their keepers.
    pub keeper: KeeperName,
    /// Plans what a command sees of the file system; each needs a plan of its own.
    pub mounts: Option<&'a MountPlanner<'a>>,
    /// The walls around each command.
    pub sandbox: Option<&'a Sandbox>,
    /// The folder in which what they write is found: tests are counted by reports there, if no output counts them.
    pub written: Option<&'a Path>,
    pub caps: TailCaps,
    /// Takes secrets out of the output before it is logged, shown or reported.
    pub redaction: &'a Redaction,
    /// The programs that they may use; any, where there is none.
    pub allowed: Option<Allowlist>,
    /// The way commands of ralph's own are started; as any other, where there is none.
    pub own: Option<OwnCommand>,
}

/// Makes a plan for one command, or says why it can't.
pub type MountPlanner<'a> = dyn Fn() -> Result<Option<MountPlan>, String> + 'a;

/// The bytes of the output that go into a report, and so into a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailCaps {
    pub lines: usize,
    pub bytes: usize,
}

impl Default for TailCaps {
    fn default() -> Self {
        Self {
            lines: 200,
            bytes: 16 * 1024,
        }
    }
}

/// An event while commands run, for those who watch.
#[derive(Debug)]
pub enum VerifyEvent<'a> {
    Started {
        command: &'a VerifyCommand,
    },
    /// It still runs. Has the last line of its output now and then, if there is a new one.
    Running {
        command: &'a VerifyCommand,
        line: Option<String>,
    },
    Finished {
        report: &'a VerifyCommandReport,
    },
}

/// Runs all commands in order. What they print goes to the log, under a line `$ command` each.
pub async fn run_commands(
    commands: &[VerifyCommand],
    context: &VerifyContext<'_>,
    log: &mut CappedLog,
    on_event: &mut dyn FnMut(VerifyEvent<'_>),
    cancel: impl Future<Output = ()>,
) -> VerifyReport {
    let mut cancel = pin!(cancel);
    let mut report = VerifyReport::default();
    for (index, command) in commands.iter().enumerate() {
        on_event(VerifyEvent::Started { command });
        let is_first = !commands[..index].iter().any(|one| one.flows().is_some());
        let line = format!("$ {command}\n");
        log.push(context.redaction.hide(&line).as_bytes());
        let ran = tokio::select! {
            biased;
            () = &mut cancel => None,
            ran = run_command(command, is_first, context, log, on_event) => Some(ran),
        };
        let Some(ran) = ran else {
            log.push(b"[cancelled]\n");
            report.cancelled = true;
            break;
        };
        log.push(format!("[{}]\n", ran.outcome).as_bytes());
        on_event(VerifyEvent::Finished { report: &ran });
        report.commands.push(ran);
    }
    report
}

async fn run_command(
    command: &VerifyCommand,
    is_first: bool,
    context: &VerifyContext<'_>,
    log: &mut CappedLog,
    on_event: &mut dyn FnMut(VerifyEvent<'_>),
) -> VerifyCommandReport {
    let began = Instant::now();
    let mut window = Tail::new(SIGNATURE_WINDOW);
    let mut tests = TestCounter::default();
    let reports = context
        .written
        .map(|folder| ReportFiles::note(folder, command));
    let outcome = match start(command, is_first, context) {
        Ok(StartedCommand {
            running,
            space,
            enclosure,
        }) => {
            let last = RefCell::new(LastLine::default());
            let mut output = RedactedStream::new(context.redaction.clone());
            let mut hidden = Vec::new();
            let mut keep = |bytes: &mut Vec<u8>| {
                log.push(bytes);
                window.push(bytes);
                last.borrow_mut().push(bytes);
                bytes.clear();
            };
            let limits = context.sandbox.map(|sandbox| sandbox.limits().watch());
            let watched = CommandLimits {
                timeout: context.timeout,
                space,
                limits,
            };
            let mut ticks = 0_u32;
            let WatchedEnd { outcome, was_full } = {
                let mut take = |bytes: &[u8]| {
                    tests.read(bytes);
                    output.push(bytes, &mut hidden);
                    keep(&mut hidden);
                };
                let mut ended = pin!(watch(running, watched, &mut take));
                loop {
                    tokio::select! {
                        biased;
                        outcome = &mut ended => break outcome,
                        () = tokio::time::sleep(TICK) => {}
                    }
                    ticks = ticks.wrapping_add(1);
                    let line = ticks
                        .is_multiple_of(TICKS_A_LINE)
                        .then(|| last.borrow_mut().take_changed());
                    let line = line.flatten();
                    on_event(VerifyEvent::Running { command, line });
                }
            };
            output.finish(&mut hidden);
            if let Some(sentence) = was_full {
                let line = format!("\n[the workspace was full, and writes failed: {sentence}]\n");
                hidden.extend_from_slice(line.as_bytes());
            }
            keep(&mut hidden);
            let has_begun = enclosure.as_ref().is_none_or(Enclosure::has_begun);
            match outcome {
                CommandOutcome::Failed { .. } if !has_begun => CommandOutcome::NotStarted {
                    why: "its container could not be started".to_owned(),
                },
                outcome => outcome,
            }
        }
        Err(why) => CommandOutcome::NotStarted { why },
    };
    if outcome.is_not_started()
        && let Some(sandbox) = context.sandbox
        && let Some(hint) = sandbox.hint_of_hidden(&window.text(), &context.env)
    {
        let line = format!("{HIDDEN}{hint}\n");
        log.push(line.as_bytes());
        window.push(line.as_bytes());
    }
    let text = window.text();
    let TailCaps { lines, bytes } = context.caps;
    let tail = trim_tail_of(&text, lines, bytes, window.dropped());
    VerifyCommandReport::new(command.clone(), outcome, began.elapsed(), &text, tail)
        .with_tests(tests.finish().or_else(|| reports?.count_new()))
}

/// The limits that end a command which does not end by itself.
struct CommandLimits {
    timeout: Duration,
    space: Option<SpaceMeter>,
    limits: Option<TreeWatch>,
}

/// The end of a command, and a sentence if its layer was full meanwhile.
struct WatchedEnd {
    outcome: CommandOutcome,
    was_full: Option<String>,
}

/// A command that runs.
struct StartedCommand {
    running: Running,
    space: Option<SpaceMeter>,
    enclosure: Option<Enclosure>,
}

fn start(
    command: &VerifyCommand,
    is_first: bool,
    context: &VerifyContext<'_>,
) -> Result<StartedCommand, String> {
    let own = context.own.as_ref();
    let facts = OwnFacts {
        is_first,
        has_walls: context.sandbox.is_some(),
    };
    let own = own.and_then(|own| own.start_of(command, facts));
    if let (Some(list), None) = (&context.allowed, &own) {
        let checked = list.check_command(command);
        checked.map_err(|refusal| refusal.to_string())?;
    }
    let (program, args, vars) = match (own, command) {
        (Some(own), _) => (own.program, own.args, own.vars),
        (None, VerifyCommand::Shell(line)) => {
            let args = vec!["-c".to_owned(), line.clone()];
            ("/bin/sh".to_owned(), args, Vec::new())
        }
        (None, VerifyCommand::Argv(argv)) => match argv.split_first() {
            Some((program, args)) => (program.clone(), args.to_vec(), Vec::new()),
            None => return Err("the command is empty".to_owned()),
        },
    };
    let mut spec = CommandSpec::new(&program, &context.cwd)
        .args(args)
        .output(Output::Merged);
    spec.env.clone_from(&context.env);
    spec.env.extend(vars);
    spec.keeper = context.keeper;
    if let Some(plan) = context.mounts {
        spec.mounts = plan()?;
    }
    let space = spec.mounts.as_ref().and_then(UpperSpace::of);
    let space = space.map(|space| SpaceMeter::from_now(Box::new(space)));
    let home = context
        .sandbox
        .map(|sandbox| sandbox.enclose(&mut spec, SandboxUser::Command));
    let home = home.transpose().map_err(|error| error.to_string())?;
    let running = spawn(&spec, context.containment).map_err(|error| error.to_string())?;
    Ok(StartedCommand {
        running,
        space,
        enclosure: home,
    })
}

/// Reads until the program ends, its time is up, or it has written too much. Dropped halfway, it kills the tree.
async fn watch(
    mut running: Running,
    watched: CommandLimits,
    take: &mut impl FnMut(&[u8]),
) -> WatchedEnd {
    let CommandLimits {
        timeout,
        mut space,
        limits,
    } = watched;
    let mut was_full = None;
    let grows = async {
        match &limits {
            Some(limits) => limits.exceeded().await,
            None => std::future::pending().await,
        }
    };
    let cut = async {
        tokio::select! {
            () = tokio::time::sleep(timeout) => CommandOutcome::TimedOut { after: timeout },
            why = fills_up(space.as_mut(), &mut was_full) => CommandOutcome::Stopped { why },
            why = grows => CommandOutcome::Stopped { why },
        }
    };
    let outcome = match running.finish_unless(cut, take).await {
        Ok(Ok(Ended::Code(0))) => CommandOutcome::Passed,
        Ok(Ok(Ended::Code(code))) => CommandOutcome::Failed { code },
        Ok(Ok(Ended::Signal(signal))) => CommandOutcome::Signalled { signal },
        Ok(Err(error)) => CommandOutcome::NotStarted {
            why: format!("its end could not be awaited: {error}"),
        },
        Err(cut) => cut,
    };
    // One that the kernel stopped short may have ended before the next look.
    let refused = limits.and_then(|limits| limits.look_at_group());
    let outcome = match (outcome, refused) {
        (CommandOutcome::Failed { .. } | CommandOutcome::Signalled { .. }, Some(why)) => {
            CommandOutcome::Stopped { why }
        }
        (outcome, _) => outcome,
    };
    let was_full = was_full.or_else(|| space?.filled_at_last());
    WatchedEnd { outcome, was_full }
}

/// Keeps a command from writing into a layer that is full, and notes that it was. Returns a sentence if it is
/// written on all the same.
async fn fills_up(space: Option<&mut SpaceMeter>, was_full: &mut Option<String>) -> String {
    let Some(space) = space else {
        return std::future::pending().await;
    };
    let began = Instant::now();
    loop {
        tokio::time::sleep(space.interval()).await;
        match space.look(began.elapsed()) {
            None => {}
            Some(SpaceChange::Full(sentence)) => {
                limit_writes_of_children(FileWrites::Refused);
                *was_full = Some(sentence);
            }
            Some(SpaceChange::StillFull) => limit_writes_of_children(FileWrites::Refused),
            Some(SpaceChange::Freed) => limit_writes_of_children(space.allowed_writes()),
            Some(SpaceChange::Exceeded(sentence)) => return sentence,
        }
    }
}
