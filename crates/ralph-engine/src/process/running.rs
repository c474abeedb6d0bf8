//! A running program: starting, feeding, signalling, awaiting and stopping it.
//!
//! Must not interpret what the program prints, nor decide when it has run long enough. How its
//! process tree is held together is the platform's.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{ChildStdin, Command};
use tokio::task::JoinHandle;

use super::{
    CommandSpec, Containment, KeeperName, MountPlan, MountPlanError, Output, SandboxPlan,
    SpawnError, Stdin, Terminal, platform,
};

/// The most that is read of a program's output at once.
const READ_SIZE: usize = 256 * 1024;

/// The end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal(i32),
}

/// The steps that end a program that does not end by itself: three, each but the last with time to
/// obey. A step without time is left out.
#[derive(Debug, Clone, Copy)]
pub struct StopPlan {
    pub first: Signal,
    /// Time after the first signal.
    pub grace: Duration,
    /// Time after SIGTERM; then the whole tree is killed.
    pub term_grace: Duration,
}

impl StopPlan {
    /// Kills at once.
    pub const KILL: Self = Self {
        first: Signal::KILL,
        grace: Duration::ZERO,
        term_grace: Duration::ZERO,
    };
}

/// A running program and all it started. Dropping it kills the tree.
#[derive(Debug)]
pub struct Running {
    tree: platform::Tree,
    stdin: Option<ChildStdin>,
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    feeder: Option<JoinHandle<()>>,
}

/// A change of a program that has the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEvent {
    /// It was stopped, as by Ctrl-Z, and waits to be continued.
    Suspended,
    Ended(Ended),
}

/// The place of a program towards ralph's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalAccess {
    /// In a session of its own, without a terminal.
    None,
    /// In ralph's session, with the terminal on its descriptor 0: in the foreground there, so that
    /// what is typed, Ctrl-C too, goes to it and not to ralph.
    Foreground,
}

/// A plan, and the folder that the program is in once it was performed.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only Linux has mounts for one program")
)]
pub(super) struct MountOrder<'a> {
    pub(super) plan: &'a MountPlan,
    pub(super) cwd: &'a Path,
}

/// The way in which a program is started.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only Linux has mounts for one program")
)]
pub(super) struct TreeStart<'a> {
    pub(super) access: TerminalAccess,
    pub(super) mounts: Option<MountOrder<'a>>,
    pub(super) sandbox: Option<&'a SandboxPlan>,
    pub(super) name: KeeperName,
}

/// The reason why a platform could not start a program.
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only Linux has mounts for one program")
)]
pub(super) enum StartFailure {
    Program(io::Error),
    /// A step of the containment failed.
    Contain {
        step: &'static str,
        source: io::Error,
    },
    Plan(MountPlanError),
    /// A step of the plan failed.
    Mount {
        step: String,
        source: io::Error,
    },
}

impl From<io::Error> for StartFailure {
    fn from(source: io::Error) -> Self {
        Self::Program(source)
    }
}

/// Starts a program. It must be called on the thread that the runtime lives on.
pub fn spawn(spec: &CommandSpec, containment: Containment) -> Result<Running, SpawnError> {
    spawn_with(spec, containment, Streams::piped)
}

/// Starts a program that gets ralph's terminal, in its foreground. Input and output of the
/// specification do not count: all three streams are ralph's own.
pub fn spawn_on(
    terminal: &Terminal,
    spec: &CommandSpec,
    containment: Containment,
) -> Result<Running, SpawnError> {
    let running = spawn_with(spec, containment, |_| Ok(Streams::inherited()))?;
    terminal.mark_used();
    Ok(running)
}

fn spawn_with(
    spec: &CommandSpec,
    containment: Containment,
    streams: fn(&CommandSpec) -> io::Result<Streams>,
) -> Result<Running, SpawnError> {
    check_thread();
    if !spec.cwd.is_dir() {
        // Else the missing folder would be reported as a missing program: both are ENOENT.
        return Err(SpawnError::NoFolder {
            cwd: spec.cwd.clone(),
        });
    }
    let mounts = spec.mounts.as_ref();
    // Placeholders alone hold by themselves.
    let has_mounts =
        mounts.is_some_and(|plan| !plan.steps.is_empty() || plan.placeholders.is_none());
    if has_mounts && !containment.has_mount_namespace() {
        return Err(SpawnError::NoMountNamespace {
            program: spec.program.to_string_lossy().into_owned(),
            containment,
        });
    }
    if let Some(plan) = &spec.sandbox
        && !plan.means.works_in(containment)
    {
        return Err(SpawnError::NoSandbox {
            program: spec.program.to_string_lossy().into_owned(),
            means: plan.means,
            containment,
        });
    }
    streams(spec)
        .map_err(StartFailure::from)
        .and_then(|streams| start(spec, containment, streams))
        .map_err(|failure| describe(spec, failure))
}

fn start(
    spec: &CommandSpec,
    containment: Containment,
    streams: Streams,
) -> Result<Running, StartFailure> {
    let [stdin, stdout, stderr] = streams.given;
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(spec.env.iter().map(|(key, value)| (key, value)))
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    let no_mounts = MountPlan::default();
    let empty = spec.sandbox.as_ref();
    let empty = empty
        .filter(|plan| plan.means.needs_mounts())
        .map(|_| &no_mounts);
    let mounts = spec.mounts.as_ref().or(empty).map(|plan| MountOrder {
        plan,
        cwd: &spec.cwd,
    });
    let start = TreeStart {
        access: streams.access,
        mounts,
        sandbox: spec.sandbox.as_ref(),
        name: spec.keeper,
    };
    let (tree, mut stdin) = platform::Tree::start(command, containment, start)?;
    let feeder = match &spec.stdin {
        Stdin::Bytes(bytes) => stdin.take().map(|pipe| feed(pipe, bytes.clone())),
        Stdin::Null | Stdin::Open => None,
    };
    Ok(Running {
        tree,
        stdin,
        stdout: streams.stdout,
        stderr: streams.stderr,
        feeder,
    })
}

/// The streams that a program gets, and our ends of them.
struct Streams {
    access: TerminalAccess,
    given: [Stdio; 3],
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
}

impl Streams {
    fn piped(spec: &CommandSpec) -> io::Result<Self> {
        let stdin = match spec.stdin {
            Stdin::Null => Stdio::null(),
            Stdin::Bytes(_) | Stdin::Open => Stdio::piped(),
        };
        let (stdout, stdout_write) = output_pipe()?;
        let (stderr, stderr_write) = match spec.output {
            Output::Merged => (None, stdout_write.try_clone()?),
            Output::Separate => {
                let (read, write) = output_pipe()?;
                (Some(read), write)
            }
        };
        Ok(Self {
            access: TerminalAccess::None,
            given: [stdin, stdout_write.into(), stderr_write.into()],
            stdout: Some(stdout),
            stderr,
        })
    }

    fn inherited() -> Self {
        Self {
            access: TerminalAccess::Foreground,
            given: [Stdio::inherit(), Stdio::inherit(), Stdio::inherit()],
            stdout: None,
            stderr: None,
        }
    }
}

fn output_pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (read, write) = io::pipe()?;
    platform::widen_pipe(&write);
    Ok((Receiver::from_owned_fd(read.into())?, write.into()))
}

/// Writes the input beside everything else: a program that prints before it has read would otherwise
/// block on its output, and we on its input. A program that closes its input early is in its rights.
fn feed(mut pipe: ChildStdin, bytes: Vec<u8>) -> JoinHandle<()> {
    tokio::spawn(async move {
        platform::widen_pipe(&pipe);
        let _ = pipe.write_all(&bytes).await;
    })
}

fn describe(spec: &CommandSpec, failure: StartFailure) -> SpawnError {
    let program = spec.program.to_string_lossy().into_owned();
    match failure {
        StartFailure::Contain { step, source } => SpawnError::Contain {
            program,
            step,
            source,
        },
        StartFailure::Plan(source) => SpawnError::Plan { program, source },
        StartFailure::Mount { step, source } => SpawnError::Mount {
            program,
            step,
            source,
        },
        StartFailure::Program(source) if source.kind() == io::ErrorKind::NotFound => {
            SpawnError::ProgramNotFound { program }
        }
        StartFailure::Program(source) => SpawnError::NotRunnable { program, source },
    }
}

impl Running {
    /// The listeners of the doors of its sandbox; empty when taken before.
    pub fn take_doors(&mut self) -> Vec<std::net::TcpListener> {
        self.tree.take_doors()
    }

    /// The pid that stands for the tree: of the keeper, or of the leader of a process group.
    pub fn pid(&self) -> i32 {
        self.tree.pid().as_raw_nonzero().get()
    }

    /// The open input, where [`Stdin::Open`] was asked for.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    pub fn take_stdout(&mut self) -> Option<Receiver> {
        self.stdout.take()
    }

    /// None also when the output is merged.
    pub fn take_stderr(&mut self) -> Option<Receiver> {
        self.stderr.take()
    }

    /// Sends a signal to the program alone; SIGKILL to all of the tree. INT, TERM, HUP, QUIT, USR1
    /// and USR2 are passed on, others may be lost.
    pub fn signal(&self, signal: Signal) {
        self.tree.signal(signal);
    }

    /// Waits until the program has ended and its whole tree is dead. May be dropped and called
    /// again. Output is not read here: a program that fills its pipe waits for its reader.
    pub async fn wait(&mut self) -> io::Result<Ended> {
        self.tree.wait().await
    }

    /// Waits until the program has ended, as [`Self::wait`] does, or was stopped.
    pub async fn next(&mut self) -> io::Result<ProgramEvent> {
        self.tree.next().await
    }

    /// Kills the tree and blocks until it is dead: for the moment when nothing can be awaited.
    pub fn kill_now(&self) {
        self.tree.kill_now();
    }

    /// Reads the output, piece by piece to `take`, until the program has ended. When its time is up the tree is
    /// killed and there is no end to tell; what it had written before its death is taken all the same.
    pub async fn finish_within(
        &mut self,
        time: Duration,
        take: &mut impl FnMut(&[u8]),
    ) -> Option<io::Result<Ended>> {
        let ended = self.finish_unless(tokio::time::sleep(time), take).await;
        ended.ok()
    }

    /// The same until something else has come to be: returns that.
    pub async fn finish_unless<T>(
        &mut self,
        other: impl Future<Output = T>,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<io::Result<Ended>, T> {
        let mut pipe = self.stdout.take();
        let to_its_end = async {
            drain(&mut pipe, take).await;
            self.wait().await
        };
        let why = tokio::select! {
            biased;
            ended = to_its_end => return Ok(ended),
            why = other => why,
        };
        let _ = self.stop(StopPlan::KILL).await;
        // Nothing holds the other end any more.
        drain(&mut pipe, take).await;
        Err(why)
    }

    /// Ends the program, step by step, and waits until its tree is dead.
    pub async fn stop(&mut self, plan: StopPlan) -> io::Result<Ended> {
        for (signal, grace) in [(plan.first, plan.grace), (Signal::TERM, plan.term_grace)] {
            if grace.is_zero() {
                continue;
            }
            self.signal(signal);
            if let Ok(ended) = tokio::time::timeout(grace, self.wait()).await {
                return ended;
            }
        }
        self.signal(Signal::KILL);
        self.wait().await
    }
}

/// Reads a pipe to its end.
async fn drain(pipe: &mut Option<Receiver>, take: &mut impl FnMut(&[u8])) {
    let mut buffer = Vec::with_capacity(READ_SIZE);
    while let Some(open) = pipe {
        buffer.clear();
        match open.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => *pipe = None,
            Ok(_) => take(&buffer),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(feeder) = &self.feeder {
            feeder.abort();
        }
    }
}

pub(super) fn exit_of(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Signal(Signal::KILL.as_raw()),
    }
}

/// See the invariant at the head of [`super`]: each runtime spawns from one thread, for ever.
fn check_thread() {
    #[cfg(debug_assertions)]
    {
        use std::collections::HashMap;
        use std::sync::{LazyLock, Mutex, PoisonError};
        use std::thread::ThreadId;
        use tokio::runtime::{Handle, Id};

        static SPAWNERS: LazyLock<Mutex<HashMap<Id, ThreadId>>> = LazyLock::new(Mutex::default);
        let here = std::thread::current().id();
        let first = *SPAWNERS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(Handle::current().id())
            .or_insert(here);
        assert_eq!(
            first, here,
            "all programs of a runtime must be spawned from one thread: the parent-death signal follows it"
        );
    }
}
