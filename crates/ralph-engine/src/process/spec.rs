//! What to run, and why it could not be started.
//!
//! Says nothing of containment: the same specification runs in any of them.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::{Containment, KeeperName, MountPlan, MountPlanError, SandboxMeans, SandboxPlan};

/// One program to run. The environment is complete: nothing is inherited.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// A path, or a name looked up in the `PATH` of `env`.
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    pub stdin: Stdin,
    pub output: Output,
    /// Mounts that this program alone sees. Only a containment with a mount namespace has them. The
    /// program and all it starts then lack the rights to undo them, also where ralph is root.
    pub mounts: Option<MountPlan>,
    /// The walls around this program.
    pub sandbox: Option<SandboxPlan>,
    /// The name of the process that keeps its tree, where the containment has one.
    pub keeper: KeeperName,
}

impl CommandSpec {
    /// A program without arguments, environment or input, its output on two pipes.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: Stdin::Null,
            output: Output::Separate,
            mounts: None,
            sandbox: None,
            keeper: KeeperName::default(),
        }
    }

    #[must_use]
    pub fn args<I: IntoIterator<Item: Into<OsString>>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((key.into(), value.into()));
        self
    }

    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    #[must_use]
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    #[must_use]
    pub fn sandbox(mut self, plan: SandboxPlan) -> Self {
        self.sandbox = Some(plan);
        self
    }

    #[must_use]
    pub fn mounts(mut self, plan: MountPlan) -> Self {
        self.mounts = Some(plan);
        self
    }
}

/// Where the program's input comes from.
#[derive(Debug, Clone)]
pub enum Stdin {
    Null,
    /// Written in the background while output is read; then closed.
    Bytes(Vec<u8>),
    /// A pipe that the caller takes with [`super::Running::take_stdin`].
    Open,
}

/// How stdout and stderr reach the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Separate,
    /// Both on the pipe of stdout, in the order in which they were written.
    Merged,
}

/// The program did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("program not found: {program}")]
    ProgramNotFound { program: String },
    #[error("cannot run {program}: {source}")]
    NotRunnable { program: String, source: io::Error },
    #[error("working folder is missing or not a folder: {}", cwd.display())]
    NoFolder { cwd: PathBuf },
    #[error("cannot contain {program}: {step} failed: {source}")]
    Contain {
        program: String,
        step: &'static str,
        source: io::Error,
    },
    #[error("cannot mount for {program}: {containment} has no mount namespace")]
    NoMountNamespace {
        program: String,
        containment: Containment,
    },
    #[error("cannot put {program} into a sandbox: {containment} allows none by {means}")]
    NoSandbox {
        program: String,
        means: SandboxMeans,
        containment: Containment,
    },
    #[error("cannot make a home for {program}: {source}")]
    Home { program: String, source: io::Error },
    #[error("cannot mount for {program}: {source}")]
    Plan {
        program: String,
        source: MountPlanError,
    },
    #[error("cannot mount for {program}: {step} failed: {source}")]
    Mount {
        program: String,
        step: String,
        source: io::Error,
    },
}
