//! One git call: hardened, without a terminal, within a time.
//!
//! The only place that starts git. Every call is cut off from the caller's `GIT_*`, from hooks,
//! pagers, editors and prompts, and writes objects and refs durably.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{GitEnvironment, GitError, Oid, Repo};

/// Generous: a first look at a million files takes a while. A call that takes longer hangs, on a
/// pipe planted as `.gitattributes`, say.
const TIME_LIMIT: Duration = Duration::from_secs(600);
/// Of what git said when it failed.
const STDERR_CHARS: usize = 2_000;

/// Settings of every call. Most name programs that git would start; the others make what a file's
/// stat says trustworthy, output stable, and commits survive a loss of power.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.ignoreStat=false",
    "core.commitGraph=false",
    "core.quotePath=false",
    "core.safecrlf=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=",
    "core.fsync=committed",
    "core.fsyncMethod=fsync",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gpg.program=false",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "color.ui=false",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    Base,
    Stage,
    /// Of files that are no part of either.
    Side,
    /// Of a submodule.
    Module,
}

#[must_use]
pub(super) struct Call<'a> {
    repo: &'a Repo,
    args: Vec<OsString>,
    stdin: Vec<u8>,
    index: Index,
    work_tree: &'a Path,
    /// Other objects than the repository's, and those of an agent beside them.
    objects: Option<(PathBuf, Option<PathBuf>)>,
    pathspecs: Pathspecs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pathspecs {
    Literal,
    Magic,
}

/// How a call ended, for calls that may fail.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    command: String,
    stderr: String,
    status: String,
}

impl Answer {
    pub(super) fn into_result(self) -> Result<Vec<u8>, GitError> {
        if self.code == Some(0) {
            Ok(self.stdout)
        } else {
            Err(self.into_error())
        }
    }

    pub(super) fn into_error(self) -> GitError {
        GitError::Failed {
            command: self.command,
            status: self.status,
            stderr: self.stderr,
        }
    }

    pub(super) fn stderr(&self) -> &str {
        &self.stderr
    }
}

impl Repo {
    pub(super) fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Call<'_> {
        Call {
            repo: self,
            args: args
                .into_iter()
                .map(|arg| arg.as_ref().to_owned())
                .collect(),
            stdin: Vec::new(),
            index: Index::Base,
            work_tree: &self.root,
            objects: None,
            pathspecs: Pathspecs::Literal,
        }
    }
}

impl<'a> Call<'a> {
    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    pub(super) fn index(mut self, index: Index) -> Self {
        self.index = index;
        self
    }

    /// Reads and writes files in another folder than the user's.
    pub(super) fn work_tree(mut self, folder: &'a Path) -> Self {
        self.work_tree = folder;
        self
    }

    /// Reads and writes the objects of a submodule, and reads others beside them.
    pub(super) fn objects(mut self, folder: &Path, beside: Option<&Path>) -> Self {
        self.objects = Some((folder.to_owned(), beside.map(Path::to_owned)));
        self
    }

    /// For commands that use the magic themselves.
    pub(super) fn magic_pathspecs(mut self) -> Self {
        self.pathspecs = Pathspecs::Magic;
        self
    }

    /// Standard output of a call that must succeed.
    pub(super) async fn run(self) -> Result<Vec<u8>, GitError> {
        self.answer().await?.into_result()
    }

    pub(super) async fn run_oid(self) -> Result<Oid, GitError> {
        let command = describe(&self.args);
        let stdout = self.run().await?;
        Oid::parse(&String::from_utf8_lossy(&stdout)).map_err(|bad| GitError::Unexpected {
            command,
            answer: bad.0,
        })
    }

    pub(super) async fn answer(self) -> Result<Answer, GitError> {
        self.into_answer().await
    }

    /// The same as a future that holds nothing of the repository.
    pub(super) fn into_answer(self) -> impl Future<Output = Result<Answer, GitError>> + 'static {
        let (command, args, stdin) = self.into_command();
        finish(command, args, stdin)
    }

    /// The first `limit` bytes of standard output; `None` for a call that fails without any.
    pub(super) async fn first_bytes(self, limit: u64) -> Result<Option<Vec<u8>>, GitError> {
        let (command, args, _) = self.into_command();
        let failed = |source| GitError::Start {
            command: describe(&args),
            source,
        };
        let mut command = tokio::process::Command::from(command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(failed)?;
        let output = child.stdout.take();
        let read = async {
            let mut bytes = Vec::new();
            if let Some(output) = output {
                output.take(limit).read_to_end(&mut bytes).await?;
            }
            // The rest is never read: git ends on the broken pipe.
            Ok((bytes, child.wait().await?))
        };
        let (bytes, status) = within_the_limit(&args, read).await?.map_err(failed)?;
        Ok((status.success() || !bytes.is_empty()).then_some(bytes))
    }

    fn into_command(self) -> (Command, Vec<OsString>, Vec<u8>) {
        let repo = self.repo;
        let index = repo.shadow.index_of(self.index);
        let mut command = bare_command(&repo.program, &repo.environment, self.work_tree);
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        command
            .args(&self.args)
            .env("GIT_DIR", repo.shadow.path())
            .env("GIT_WORK_TREE", self.work_tree)
            .env("GIT_OBJECT_DIRECTORY", repo.common_dir.join("objects"))
            .env("GIT_INDEX_FILE", index)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", repo.shadow.user_settings());
        if let Some((folder, beside)) = self.objects {
            command.env("GIT_OBJECT_DIRECTORY", folder);
            command.envs(beside.map(|beside| ("GIT_ALTERNATE_OBJECT_DIRECTORIES", beside)));
        }
        match self.pathspecs {
            Pathspecs::Literal => drop(command.env("GIT_LITERAL_PATHSPECS", "1")),
            Pathspecs::Magic => {}
        }
        (command, self.args, self.stdin)
    }
}

/// The two calls that find a repository and list its settings, before there is a [`Repo`].
pub(super) async fn first_look(
    program: &Path,
    environment: &GitEnvironment,
    folder: &Path,
    args: &[&str],
) -> Result<Answer, GitError> {
    let mut command = bare_command(program, environment, folder);
    command
        .args(args)
        .envs(environment.settings().iter().cloned());
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    finish(command, args, Vec::new()).await
}

fn bare_command(program: &Path, environment: &GitEnvironment, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(environment.vars())
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_PAGER", "cat")
        .env("GIT_EDITOR", "false")
        .env("GIT_ADVICE", "0")
        .current_dir(folder)
        // Of its own group: a Ctrl-C for ralph must not cut git off in the middle of landing.
        .process_group(0);
    command
}

async fn finish(command: Command, args: Vec<OsString>, stdin: Vec<u8>) -> Result<Answer, GitError> {
    let start_error = |source| GitError::Start {
        command: describe(&args),
        source,
    };
    let mut command = tokio::process::Command::from(command);
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command.stdin(if stdin.is_empty() {
        Stdio::null()
    } else {
        Stdio::piped()
    });
    let mut child = command.spawn().map_err(start_error)?;
    let input = child.stdin.take();
    let feed = async move {
        if let Some(mut input) = input {
            // A git that ends early says why on its standard error; the broken pipe adds nothing.
            let _ = input.write_all(&stdin).await;
        }
    };
    let whole = async { tokio::join!(feed, child.wait_with_output()).1 };
    let output = within_the_limit(&args, whole).await?.map_err(start_error)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    Ok(Answer {
        code: output.status.code(),
        stdout: output.stdout,
        command: describe(&args),
        stderr: stderr.trim().chars().take(STDERR_CHARS).collect(),
        status: output.status.to_string(),
    })
}

async fn within_the_limit<T>(
    args: &[OsString],
    work: impl Future<Output = std::io::Result<T>>,
) -> Result<std::io::Result<T>, GitError> {
    tokio::time::timeout(TIME_LIMIT, work)
        .await
        .map_err(|_| GitError::TimedOut {
            command: describe(args),
            seconds: TIME_LIMIT.as_secs(),
        })
}

/// The command as a person would type it, shortened.
fn describe(args: &[OsString]) -> String {
    let mut text = "git".to_owned();
    for arg in args.iter().take(6) {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    text
}
