//! What the tests share: containments to try, a tree that does its best to survive, and proof of
//! death that needs no sleep.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_engine::process::{CommandSpec, Containment};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::{OpenOptions as PipeOptions, Receiver};

/// Far longer than anything here takes; only a failing test waits for it.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// The containments that this machine and user allow. The fallbacks must work everywhere.
pub(crate) fn containments() -> Vec<Containment> {
    let allowed: Vec<_> = Containment::ALL
        .into_iter()
        .filter(|c| c.probe().is_ok())
        .collect();
    assert!(allowed.contains(&Containment::Subreaper));
    assert!(allowed.contains(&Containment::ProcessGroup));
    assert!(allowed.contains(&Containment::detect(None).containment));
    allowed
}

/// Those of them that nothing escapes.
pub(crate) fn tight_containments() -> Vec<Containment> {
    let mut allowed = containments();
    allowed.retain(|containment| *containment != Containment::ProcessGroup);
    allowed
}

/// A shell script to run in `dir`.
pub(crate) fn shell(script: &str, dir: &Path) -> CommandSpec {
    CommandSpec::new("sh", dir)
        .args(["-c", script])
        .env("PATH", std::env::var_os("PATH").expect("tests have a PATH"))
}

/// Takes the leash, and starts two processes that leave their parent: one in a session of its own, one forked twice. Each
/// says on the leash that it is up, and then lives long.
pub(crate) const TREE: &str = r#"
    exec 8>"$LEASH"
    setsid sh -c 'exec 9>"$LEASH"; echo up >&9; exec sleep 1000' &
    ( ( exec 9>"$LEASH"; echo up >&9; exec sleep 1000 ) & )
"#;

/// A named pipe that every process of a tree holds open: as long as one lives, it has a writer.
pub(crate) struct Leash {
    dir: tempfile::TempDir,
    reader: Receiver,
    keep: Option<File>,
    mark: String,
}

impl Leash {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("leash");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o666.into()).unwrap();
        // Whatever the umask: another user may have to open it.
        for (path, mode) in [(dir.path(), 0o755), (path.as_path(), 0o666)] {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        // Until the tree is up the pipe needs a writer, or it would seem to have lost its last.
        let keep = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        let reader = PipeOptions::new().open_receiver(&path).unwrap();
        let mark = format!("ralph-test-{}", dir.path().file_name().unwrap().display());
        Self {
            dir,
            reader,
            keep: Some(keep),
            mark,
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("leash")
    }

    /// Variables that the tree needs, and that tell it apart from every other process.
    pub(crate) fn env(&self) -> [(String, String); 2] {
        [
            ("LEASH".into(), self.path().to_str().unwrap().into()),
            ("RALPH_TEST_MARK".into(), self.mark.clone()),
        ]
    }

    pub(crate) fn spec(&self, script: &str) -> CommandSpec {
        let [leash, mark] = self.env();
        shell(script, self.dir())
            .env(leash.0, leash.1)
            .env(mark.0, mark.1)
    }

    /// Waits until so many processes have said that they are up.
    pub(crate) async fn up(&mut self, processes: usize) {
        let mut said = vec![0; processes * "up\n".len()];
        tokio::time::timeout(LIMIT, self.reader.read_exact(&mut said))
            .await
            .expect("the tree comes up")
            .unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), "up\n".repeat(processes));
        self.keep = None;
        assert!(!self.survivors().is_empty(), "the tree can be seen");
        assert!(!self.is_free(), "the tree holds the leash");
    }

    /// Asserts that so many processes were up once, and that all are dead at this moment.
    pub(crate) async fn dead_after_being_up(&mut self, processes: usize, what: &str) {
        assert_eq!(self.survivors(), Vec::<String>::new(), "{what}");
        self.keep = None;
        let mut said = String::new();
        tokio::time::timeout(LIMIT, self.reader.read_to_string(&mut said))
            .await
            .unwrap_or_else(|_| panic!("{what}: something holds the leash"))
            .unwrap();
        assert_eq!(said, "up\n".repeat(processes), "{what}");
    }

    /// Asserts that all of the tree is dead at this moment.
    pub(crate) async fn assert_dead(&mut self, what: &str) {
        assert_eq!(self.survivors(), Vec::<String>::new(), "{what}");
        self.gone(what).await;
    }

    /// Waits until all of the tree is dead. The leash may be free a moment later than that: children
    /// that other tests fork have a copy of all that is open here, until they become a program.
    pub(crate) async fn gone(&mut self, what: &str) {
        let mut rest = Vec::new();
        tokio::time::timeout(LIMIT, self.reader.read_to_end(&mut rest))
            .await
            .unwrap_or_else(|_| panic!("{what}: survivors {:?}", self.survivors()))
            .unwrap();
        assert_eq!(self.survivors(), Vec::<String>::new(), "{what}");
    }

    fn is_free(&self) -> bool {
        let mut byte = [0];
        match rustix::io::read(self.reader.as_fd(), &mut byte) {
            Ok(got) => got == 0,
            Err(rustix::io::Errno::AGAIN) => false,
            Err(e) => panic!("{e}"),
        }
    }

    /// The processes whose environment has this test's mark. The dead that wait for their parent
    /// have none.
    fn survivors(&self) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(environ) = fs::read(entry.path().join("environ")) else {
                continue;
            };
            if String::from_utf8_lossy(&environ).contains(&self.mark) {
                let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let command = String::from_utf8_lossy(&command).replace('\0', " ");
                found.push(format!("{}: {command}", entry.file_name().display()));
            }
        }
        found
    }
}
