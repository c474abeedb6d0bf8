//! Calls of a session: finds it, starts it where it is opened, asks it.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use ralph_engine::process::{LineReader, Tail};
use ralph_qa::session::{
    AskError, OpenRequest, SessionPlace, SessionReply, SessionRequest, SessionSocket, SessionSpots,
};
use tokio::{net::unix::pipe, time::timeout};

use super::{super::settings::QaPlace, OPEN_FIRST, host::READY, shown::clear_pictures};
use crate::{cli::Global, error::CommandError, inside_run};

/// The longest until a session listens.
const START: Duration = Duration::from_secs(60);
/// The longest of a call, besides the time that the application may take to be ready.
const CALL: Duration = Duration::from_secs(180);
/// A session may end just when it is asked.
const TRIES: usize = 3;
/// The longest line of one that could not be started.
const MOST_LINE_BYTES: usize = 4096;

/// The folder of the project, or of the run.
pub(super) fn root(global: &Global) -> Result<PathBuf, CommandError> {
    Ok(QaPlace::find(global)?.root)
}

pub(super) fn place(root: &Path) -> Result<SessionPlace, CommandError> {
    let spot = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let spots = SessionSpots {
        runtime: spot("XDG_RUNTIME_DIR"),
        temp: spot("TMPDIR"),
    };
    SessionPlace::find(root, &spots).ok_or_else(|| {
        let message = "there is no folder for the socket of a browser session";
        CommandError::user(message)
            .hint("TMPDIR, XDG_RUNTIME_DIR or /tmp must be writable, and its path short")
    })
}

/// The way to the session of a project.
pub(in super::super) struct SessionCaller {
    global: Global,
    root: PathBuf,
    place: SessionPlace,
    limit: Duration,
}

impl SessionCaller {
    pub(in super::super) fn find(global: &Global) -> Result<Self, CommandError> {
        let qa = QaPlace::find(global)?;
        Ok(Self {
            global: global.clone(),
            place: place(&qa.root)?,
            limit: CALL + qa.config.server.timeout.duration() + qa.config.timeout.duration(),
            root: qa.root,
        })
    }

    pub(in super::super) fn root(&self) -> &Path {
        &self.root
    }

    /// Opens a page, in the session that runs or in one that is started.
    pub(in super::super) async fn open(
        &self,
        wanted: OpenRequest,
    ) -> Result<SessionReply, CommandError> {
        let request = SessionRequest::Open(wanted);
        let mut tries = 0;
        loop {
            tries += 1;
            match SessionSocket(&self.place).ask(&request, self.limit).await {
                Ok(reply) => return Ok(reply),
                Err(AskError::NoSession | AskError::Gone) if tries < TRIES => self.start().await?,
                Err(error) => return Err(CommandError::internal(error)),
            }
        }
    }

    /// Asks the session that runs.
    pub(in super::super) async fn ask(
        &self,
        request: &SessionRequest,
    ) -> Result<SessionReply, CommandError> {
        match SessionSocket(&self.place).ask(request, self.limit).await {
            Ok(reply) => Ok(reply),
            Err(error @ (AskError::NoSession | AskError::Gone)) => {
                Err(CommandError::user(error).hint(OPEN_FIRST))
            }
            Err(error @ (AskError::TooLong(_) | AskError::Io(_))) => {
                Err(CommandError::internal(error))
            }
        }
    }

    /// Starts a session, and waits until it listens. It outlives this process, and has none of its streams.
    async fn start(&self) -> Result<(), CommandError> {
        clear_pictures(&self.root)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("-C").arg(&self.root);
        if let Some(config) = &self.global.config {
            command.arg("--config").arg(config);
        }
        command.args(["qa", "__session"]);
        if inside_run::sign(&self.global)?.is_some() {
            command.arg("--inside");
        }
        let (from, to) = std::io::pipe()?;
        command
            .stdin(Stdio::null())
            .stdout(to.try_clone()?)
            .stderr(to)
            .spawn()?;
        // It holds the other end of the pipe.
        drop(command);
        let from = pipe::Receiver::from_owned_fd(from.into())?;
        let listening = timeout(START, is_listening(from)).await;
        match listening {
            Ok(why) => why.map_err(|why| could_not_start(&why)),
            Err(_) => Err(could_not_start("it did not listen in time")),
        }
    }
}

/// Reads what a session prints until it says that it listens, or has ended.
async fn is_listening(from: pipe::Receiver) -> Result<(), String> {
    let mut lines = LineReader::with_cap(from, MOST_LINE_BYTES);
    let mut printed = Tail::new(MOST_LINE_BYTES);
    while let Ok(Some(line)) = lines.next_line().await {
        if line.bytes == READY.as_bytes() {
            return Ok(());
        }
        printed.push(line.bytes);
        printed.push(b"\n");
    }
    Err(printed.text())
}

fn could_not_start(why: &str) -> CommandError {
    let why = why.trim().trim_start_matches("error: ");
    CommandError::user(format!("the browser session could not be started: {why}"))
}
