//! A program that runs below its keeper: starting, signalling, awaiting and stopping it.
//!
//! Must not interpret what the program prints, nor decide when it has run long enough.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinHandle;

use super::keeper::{self, Message};
use super::streams::{PIPE_SIZE, Streams};
use super::{CommandSpec, Containment, SpawnError, Stdin, Terminal};

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal(i32),
}

/// How to end a program that does not end by itself: three steps, each but the last with time to
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
    /// No questions asked.
    pub const KILL: Self = Self {
        first: Signal::KILL,
        grace: Duration::ZERO,
        term_grace: Duration::ZERO,
    };
}

/// A running program and all it started. Dropping it kills the tree.
#[derive(Debug)]
pub struct Running {
    keeper: Child,
    pid: Pid,
    status: Receiver,
    stdin: Option<ChildStdin>,
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    feeder: Option<JoinHandle<()>>,
    /// The program's raw wait status, once the keeper has told it.
    reported: Option<i32>,
    ended: Option<Ended>,
}

/// What a program that has the terminal can do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It was stopped, as by Ctrl-Z, and waits to be continued.
    Suspended,
    Ended(Ended),
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
    terminal.is_used();
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
    streams(spec)
        .map_err(Failed::from)
        .and_then(|streams| start(spec, containment, streams))
        .map_err(|failed| describe(spec, failed))
}

struct Failed {
    source: io::Error,
    message: Option<Message>,
}

impl From<io::Error> for Failed {
    fn from(source: io::Error) -> Self {
        Self {
            source,
            message: None,
        }
    }
}

impl From<rustix::io::Errno> for Failed {
    fn from(errno: rustix::io::Errno) -> Self {
        io::Error::from(errno).into()
    }
}

fn start(
    spec: &CommandSpec,
    containment: Containment,
    streams: Streams,
) -> Result<Running, Failed> {
    let (status, status_write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let status = Receiver::from_owned_fd(status)?;
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
    keeper::install(
        &mut command,
        containment,
        status_write.as_fd(),
        streams.seat,
    );
    let spawned = command.spawn();
    drop(status_write);
    let mut keeper = spawned.map_err(|source| Failed {
        source,
        message: read_message(&status),
    })?;
    let pid = keeper
        .id()
        .and_then(|id| Pid::from_raw(id.cast_signed()))
        .ok_or_else(|| io::Error::other("the keeper has no pid"))?;
    let mut stdin = keeper.stdin.take();
    let feeder = match &spec.stdin {
        Stdin::Bytes(bytes) => stdin.take().map(|pipe| feed(pipe, bytes.clone())),
        Stdin::Null | Stdin::Open => None,
    };
    Ok(Running {
        keeper,
        pid,
        status,
        stdin,
        stdout: streams.stdout,
        stderr: streams.stderr,
        feeder,
        reported: None,
        ended: None,
    })
}

/// Writes the input beside everything else: a program that prints before it has read would otherwise
/// block on its output, and we on its input. A program that closes its input early is in its rights.
fn feed(mut pipe: ChildStdin, bytes: Vec<u8>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let _ = rustix::pipe::fcntl_setpipe_size(pipe.as_fd(), PIPE_SIZE);
        let _ = pipe.write_all(&bytes).await;
    })
}

fn describe(spec: &CommandSpec, failed: Failed) -> SpawnError {
    let program = spec.program.to_string_lossy().into_owned();
    let Failed { source, message } = failed;
    match message {
        Some(Message::Failed(step)) => SpawnError::Contain {
            program,
            step,
            source,
        },
        Some(Message::Ended(_) | Message::Suspended) | None => match source.kind() {
            io::ErrorKind::NotFound => SpawnError::ProgramNotFound { program },
            _ => SpawnError::NotRunnable { program, source },
        },
    }
}

fn read_message(status: &Receiver) -> Option<Message> {
    let mut bytes = [0; 8];
    match rustix::io::read(status.as_fd(), &mut bytes) {
        Ok(8) => Message::parse(bytes),
        Ok(_) | Err(_) => None,
    }
}

impl Running {
    /// The pid of the keeper, which stands for the tree. The program's own is known only inside.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
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
    /// and USR2 are passed on, others are lost.
    pub fn signal(&self, signal: Signal) {
        if self.ended.is_some() {
            return;
        }
        let signal = match signal {
            Signal::KILL => keeper::SWEEP,
            other => other,
        };
        // The keeper is not reaped yet, so the pid is its own; if it has ended, so has the tree.
        let _ = rustix::process::kill_process(self.pid, signal);
    }

    /// Waits until the program has ended and its whole tree is dead. May be dropped and called
    /// again. Output is not read here: a program that fills its pipe waits for its reader.
    pub async fn wait(&mut self) -> io::Result<Ended> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        let keeper = self.keeper.wait().await?;
        while let Some(message) = read_message(&self.status) {
            self.take_note(message);
        }
        let ended = match (self.reported, keeper.signal()) {
            (Some(raw), _) => ended(ExitStatus::from_raw(raw)),
            // The tree was killed from outside before its program could end.
            (None, Some(signal)) => Ended::Signal(signal),
            (None, None) => Ended::Signal(Signal::KILL.as_raw()),
        };
        self.ended = Some(ended);
        Ok(ended)
    }

    fn take_note(&mut self, message: Message) {
        match message {
            Message::Ended(raw) => self.reported = Some(raw),
            Message::Failed(_) | Message::Suspended => {}
        }
    }

    /// Waits until the program has ended, as [`Self::wait`] does, or was stopped.
    pub async fn next(&mut self) -> io::Result<Turn> {
        while self.ended.is_none() && self.reported.is_none() {
            match self.next_message().await? {
                Some(Message::Suspended) => return Ok(Turn::Suspended),
                Some(message) => self.take_note(message),
                // The keeper has closed the pipe: it is about to end.
                None => break,
            }
        }
        self.wait().await.map(Turn::Ended)
    }

    async fn next_message(&self) -> io::Result<Option<Message>> {
        let mut bytes = [0; 8];
        loop {
            self.status.readable().await?;
            match self.status.try_read(&mut bytes) {
                Ok(8) => return Ok(Message::parse(bytes)),
                Ok(_) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Kills the tree and blocks until it is dead: for the moment when nothing can be awaited.
    pub fn kill_now(&self) {
        if self.ended.is_some() {
            return;
        }
        self.signal(Signal::KILL);
        // It is left to be reaped by the one who awaits it.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.pid), options));
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

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(feeder) = &self.feeder {
            feeder.abort();
        }
    }
}

fn ended(status: ExitStatus) -> Ended {
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
