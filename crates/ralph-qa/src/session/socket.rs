//! The socket by which calls of other processes reach a session, and the folder that it lies in.
//!
//! The folder is found again by the path of the project. Only its user can enter it, it is locked as long as the session
//! lives, and it is gone with it. Programs in a sandbox of ralph's do not see it, so that no agent reaches the browser
//! of a person.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_engine::{
    identity::worktree_name,
    process::{LineReader, pid_namespace},
};
use rustix::fs::{Access, FlockOperation, access, flock};
use tokio::{
    io::{AsyncRead, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    time::{Instant, interval, sleep_until, timeout},
};

use super::{MOST_REPLY_BYTES, MOST_REQUEST_BYTES, SessionLimits, SessionReply, SessionRequest};

/// The longest path of a socket that all systems take.
const MOST_PATH_BYTES: usize = 100;
const PREFIX: &str = "ralph-qa-";
const SOCKET: &str = "socket";
const LOG: &str = "log";
/// A caller writes its request at once.
const REQUEST: Duration = Duration::from_secs(10);
/// Between two looks at the project. No event tells that a folder is gone which others still have open.
const PROJECT_LOOK: Duration = Duration::from_secs(5);

/// The folders that may hold a session's, by the environment.
#[derive(Debug, Clone, Default)]
pub struct SessionSpots {
    /// `XDG_RUNTIME_DIR`
    pub runtime: Option<PathBuf>,
    /// `TMPDIR`
    pub temp: Option<PathBuf>,
}

impl SessionSpots {
    fn all(&self) -> impl Iterator<Item = &Path> {
        let given = [self.runtime.as_deref(), self.temp.as_deref()];
        let given = given.into_iter().flatten();
        given.chain([Path::new("/tmp")])
    }
}

/// The place of a project's session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPlace {
    folder: PathBuf,
}

impl SessionPlace {
    /// Returns the place, the same in each call; `None` if there is no folder for it. Processes in another namespace,
    /// as those of a run, have a place of their own: they work on another tree at the same path.
    pub fn find(project: &Path, spots: &SessionSpots) -> Option<Self> {
        let real = project.canonicalize();
        let mut key = real.unwrap_or_else(|_| project.to_owned()).into_os_string();
        key.push("\0");
        key.push(pid_namespace().unwrap_or_default());
        let name = format!("{PREFIX}{}", worktree_name(Path::new(&key)));
        let place = |spot: &Path| Self {
            folder: spot.join(&name),
        };
        let fits = |place: &Self| {
            place.socket().as_os_str().len() <= MOST_PATH_BYTES && place.folder.is_absolute()
        };
        let can_write = |spot: &&Path| spot.is_dir() && access(*spot, Access::WRITE_OK).is_ok();
        spots.all().filter(can_write).map(place).find(fits)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file for what the session prints.
    pub fn log(&self) -> PathBuf {
        self.folder.join(LOG)
    }

    fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }

    /// Takes the place, and listens there. What sessions left behind that were killed is deleted.
    pub fn hold(&self) -> Result<HeldSocket, HoldError> {
        self.sweep();
        let failed = |source| HoldError::Folder {
            path: self.folder.clone(),
            source,
        };
        let lock = self.lock().map_err(failed)?.ok_or(HoldError::Taken)?;
        let socket = self.socket();
        remove_if_there(&socket).map_err(failed)?;
        let listener = std::os::unix::net::UnixListener::bind(&socket).map_err(failed)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(HeldSocket {
            place: self.clone(),
            listener,
            _lock: lock,
        })
    }

    /// Makes the folder and locks it; `None` if another process has it.
    fn lock(&self) -> io::Result<Option<File>> {
        loop {
            match DirBuilder::new().mode(0o700).create(&self.folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
            check_owner(&self.folder)?;
            let folder = File::open(&self.folder)?;
            if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
                return Ok(None);
            }
            // The one that had it may have removed it in between.
            let is_there = fs::symlink_metadata(&self.folder)
                .is_ok_and(|now| folder.metadata().is_ok_and(|own| own.ino() == now.ino()));
            if is_there {
                return Ok(Some(folder));
            }
        }
    }

    /// Deletes the places of sessions that have died, of any project.
    fn sweep(&self) {
        let Some(entries) = self
            .folder
            .parent()
            .and_then(|spot| fs::read_dir(spot).ok())
        else {
            return;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                Self {
                    folder: entry.path(),
                }
                .remove_if_dead();
            }
        }
    }

    /// Deletes the place unless a session lives there.
    pub fn remove_if_dead(&self) {
        if check_owner(&self.folder).is_err() {
            return;
        }
        let folder = File::open(&self.folder).ok();
        let is_free =
            |folder: &File| flock(folder, FlockOperation::NonBlockingLockExclusive).is_ok();
        // The lock is held until all of it is gone.
        if folder.as_ref().is_some_and(is_free) {
            self.remove();
        }
    }

    fn remove(&self) {
        // What can't be deleted now is swept by the next session.
        let _ = remove_if_there(&self.socket());
        let _ = remove_if_there(&self.log());
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Refuses a folder that another user has put there: all may write to `/tmp`.
fn check_owner(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if found.is_dir() && is_own && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(io::Error::other(
            "it is not a folder that this user alone can enter",
        ))
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A place that this process has taken. Dropping it gives the place up.
#[derive(Debug)]
pub struct HeldSocket {
    place: SessionPlace,
    /// Calls that come while it ends wait here, and are told by its end.
    listener: std::os::unix::net::UnixListener,
    _lock: File,
}

impl Drop for HeldSocket {
    fn drop(&mut self) {
        self.place.remove();
    }
}

#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    #[error("another process has this project's browser session")]
    Taken,
    #[error("can't listen for calls in {path}")]
    Folder { path: PathBuf, source: io::Error },
}

/// The way to a session, for calls.
#[derive(Debug)]
pub struct SessionSocket<'a>(pub &'a SessionPlace);

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("there is no browser session of this project")]
    NoSession,
    #[error("the browser session ended before it answered")]
    Gone,
    #[error("the browser session did not answer within {} s", .0.as_secs())]
    TooLong(Duration),
    #[error("can't speak to the browser session")]
    Io(#[from] io::Error),
}

impl SessionSocket<'_> {
    /// Tells whether a session listens.
    pub async fn is_there(&self) -> bool {
        self.connect().await.is_ok()
    }

    /// Asks the session.
    pub async fn ask(
        &self,
        request: &SessionRequest,
        limit: Duration,
    ) -> Result<SessionReply, AskError> {
        let stream = self.connect().await?;
        match timeout(limit, exchange(stream, request)).await {
            Ok(replied) => replied,
            Err(_) => Err(AskError::TooLong(limit)),
        }
    }

    async fn connect(&self) -> Result<UnixStream, AskError> {
        if check_owner(&self.0.folder).is_err() {
            return Err(AskError::NoSession);
        }
        UnixStream::connect(self.0.socket())
            .await
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NoSession,
                _ => AskError::Io(error),
            })
    }
}

async fn exchange(
    mut stream: UnixStream,
    request: &SessionRequest,
) -> Result<SessionReply, AskError> {
    let mut line = serde_json::to_vec(request).map_err(io::Error::from)?;
    line.push(b'\n');
    stream.write_all(&line).await.map_err(gone_or_broken)?;
    let mut lines = LineReader::with_cap(stream, MOST_REPLY_BYTES);
    let line = lines.next_line().await.map_err(gone_or_broken)?;
    let line = line.ok_or(AskError::Gone)?;
    serde_json::from_slice(line.bytes).map_err(|_| AskError::Gone)
}

fn gone_or_broken(error: io::Error) -> AskError {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => AskError::Gone,
        _ => AskError::Io(error),
    }
}

/// The one who answers calls.
pub trait SessionAnswers {
    fn answer(&mut self, request: SessionRequest) -> impl Future<Output = SessionReply>;

    /// Waits until there is no browser any more to be asked.
    fn ended(&mut self) -> impl Future<Output = ()>;
}

/// Why calls are answered no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeEnd {
    /// A call asked for it.
    Closed,
    /// The browser has ended by itself.
    BrowserEnded,
    /// No call came for too long.
    Idle,
    /// It has been there for too long.
    TooLong,
    /// The folder of the project is gone.
    NoProject,
}

/// Answers calls, one after the other, until one of the bounds is reached.
pub async fn serve(
    held: &HeldSocket,
    project: &Path,
    limits: SessionLimits,
    answers: &mut impl SessionAnswers,
) -> io::Result<ServeEnd> {
    let listener = UnixListener::from_std(held.listener.try_clone()?)?;
    let until = Instant::now() + limits.total;
    loop {
        let idle = Instant::now() + limits.idle;
        let stream = tokio::select! {
            biased;
            accepted = listener.accept() => accepted?.0,
            () = answers.ended() => return Ok(ServeEnd::BrowserEnded),
            () = gone(project) => return Ok(ServeEnd::NoProject),
            () = sleep_until(until) => return Ok(ServeEnd::TooLong),
            () = sleep_until(idle) => return Ok(ServeEnd::Idle),
        };
        let (from, mut to) = stream.into_split();
        // A caller that says nothing, or is gone, is no reason to end.
        let Some(request) = request(from).await else {
            continue;
        };
        let reply = tokio::select! {
            biased;
            reply = answers.answer(request) => reply,
            () = gone(project) => return Ok(ServeEnd::NoProject),
        };
        let mut line = serde_json::to_vec(&reply)?;
        line.push(b'\n');
        let _ = timeout(REQUEST, to.write_all(&line)).await;
        if reply == SessionReply::Closed {
            return Ok(ServeEnd::Closed);
        }
    }
}

async fn request(from: impl AsyncRead + Unpin) -> Option<SessionRequest> {
    let mut lines = LineReader::with_cap(from, MOST_REQUEST_BYTES);
    let line = timeout(REQUEST, lines.next_line()).await;
    serde_json::from_slice(line.ok()?.ok()??.bytes).ok()
}

/// Waits until the folder of the project is not there any more.
async fn gone(project: &Path) {
    let mut looks = interval(PROJECT_LOOK);
    loop {
        looks.tick().await;
        if !project.is_dir() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Notify;

    use super::*;
    use crate::session::OpenRequest;

    const LIMIT: Duration = Duration::from_secs(30);

    struct Spot {
        temp: tempfile::TempDir,
        project: PathBuf,
    }

    impl Spot {
        fn new() -> Self {
            let temp = tempfile::tempdir().unwrap();
            let project = temp.path().join("project");
            fs::create_dir(&project).unwrap();
            Self { temp, project }
        }

        fn spots(&self) -> SessionSpots {
            SessionSpots {
                runtime: Some(self.temp.path().to_owned()),
                temp: None,
            }
        }

        fn place(&self) -> SessionPlace {
            SessionPlace::find(&self.project, &self.spots()).unwrap()
        }

        fn leftovers(&self) -> Vec<PathBuf> {
            let entries = fs::read_dir(self.temp.path()).unwrap();
            let paths = entries.map(|entry| entry.unwrap().path());
            paths.filter(|path| *path != self.project).collect()
        }
    }

    #[derive(Default)]
    struct Counting {
        calls: usize,
        ended: Notify,
    }

    impl SessionAnswers for Counting {
        async fn answer(&mut self, request: SessionRequest) -> SessionReply {
            self.calls += 1;
            match request {
                SessionRequest::Close => SessionReply::Closed,
                _ => SessionReply::refused(format!("call {}", self.calls), None),
            }
        }

        async fn ended(&mut self) {
            self.ended.notified().await;
        }
    }

    const LONG: SessionLimits = SessionLimits {
        idle: LIMIT,
        total: LIMIT,
    };

    #[tokio::test]
    async fn calls_are_answered_until_one_closes_it_and_nothing_is_left() {
        let spot = Spot::new();
        let place = spot.place();
        let held = place.hold().unwrap();
        let mode = fs::metadata(place.socket()).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let folder = fs::metadata(place.folder()).unwrap().mode() & 0o777;
        assert_eq!(folder, 0o700);
        let mut answers = Counting::default();
        let calls = async {
            let socket = SessionSocket(&place);
            assert!(socket.is_there().await);
            let open = SessionRequest::Open(OpenRequest::default());
            for call in ["call 1", "call 2"] {
                let reply = socket.ask(&open, LIMIT).await.unwrap();
                assert_eq!(reply, SessionReply::refused(call, None));
            }
            socket.ask(&SessionRequest::Close, LIMIT).await.unwrap()
        };
        let (end, last) = tokio::join!(serve(&held, &spot.project, LONG, &mut answers), calls);
        assert_eq!(end.unwrap(), ServeEnd::Closed);
        assert_eq!(last, SessionReply::Closed);
        drop(held);
        assert_eq!(spot.leftovers(), Vec::<PathBuf>::new());
        let asked = SessionSocket(&place)
            .ask(&SessionRequest::Look, LIMIT)
            .await;
        assert!(matches!(asked, Err(AskError::NoSession)));
    }

    #[tokio::test]
    async fn a_session_ends_when_no_call_comes_when_its_time_is_over_and_with_its_browser() {
        let short = Duration::from_millis(50);
        let table = [
            (short, LIMIT, false, ServeEnd::Idle),
            (LIMIT, short, false, ServeEnd::TooLong),
            (LIMIT, LIMIT, true, ServeEnd::BrowserEnded),
        ];
        for (idle, total, has_ended, expected) in table {
            let spot = Spot::new();
            let held = spot.place().hold().unwrap();
            let mut answers = Counting::default();
            if has_ended {
                answers.ended.notify_one();
            }
            let limits = SessionLimits { idle, total };
            let end = serve(&held, &spot.project, limits, &mut answers).await;
            assert_eq!(end.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn a_session_ends_when_its_project_is_gone() {
        let spot = Spot::new();
        let held = spot.place().hold().unwrap();
        fs::remove_dir(&spot.project).unwrap();
        let mut answers = Counting::default();
        let end = serve(&held, &spot.project, LONG, &mut answers).await;
        assert_eq!(end.unwrap(), ServeEnd::NoProject);
    }

    #[test]
    fn a_place_has_one_session_and_what_a_killed_one_left_is_swept() {
        let spot = Spot::new();
        let place = spot.place();
        let held = place.hold().unwrap();
        assert!(matches!(place.hold(), Err(HoldError::Taken)));
        place.remove_if_dead();
        assert!(place.socket().exists());
        drop(held);
        // As after SIGKILL: the lock is free, the files are there.
        let dead = SessionPlace {
            folder: spot.temp.path().join("ralph-qa-dead"),
        };
        let lock = dead.lock().unwrap();
        fs::write(dead.socket(), "").unwrap();
        fs::write(dead.log(), "").unwrap();
        drop(lock);
        let held = place.hold().unwrap();
        assert_eq!(spot.leftovers(), [place.folder()]);
        drop(held);
        assert_eq!(spot.leftovers(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let spot = Spot::new();
        let place = spot.place();
        fs::create_dir(place.folder()).unwrap();
        fs::set_permissions(place.folder(), Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(place.hold(), Err(HoldError::Folder { .. })));
        place.remove_if_dead();
        assert!(place.folder().exists());
    }

    #[test]
    fn a_place_is_found_again_and_its_path_is_short_enough_for_a_socket() {
        let spot = Spot::new();
        assert_eq!(spot.place(), spot.place());
        let long = spot.temp.path().join("x".repeat(120));
        fs::create_dir(&long).unwrap();
        let spots = SessionSpots {
            runtime: Some(long),
            temp: Some(spot.temp.path().join("not-there")),
        };
        let place = SessionPlace::find(&spot.project, &spots).unwrap();
        assert_eq!(place.folder().parent(), Some(Path::new("/tmp")));
    }
}
