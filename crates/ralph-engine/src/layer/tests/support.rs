//! Runs the body of a test twice, in mount namespaces of their own: as root, and as user 65534.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::layer::mountinfo::read_mounts;
use crate::layer::upper::Descent;
use crate::layer::{
    Layer, LayerPlace, LayerTarget, PlaceRequest, UpperEntry, UpperFolder, UpperKind,
};
use crate::process::{
    CommandSpec, Containment, Ended, MountPlan, Output, Running, SpawnError, spawn,
};

/// Far longer than anything here takes; only a failing test waits for it.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

const STAGE: &str = "RALPH_LAYER_STAGE";
const FOLDER: &str = "RALPH_LAYER_FOLDER";
const ORDINARY: u32 = 65534;

/// Declares tests that run as root and as an ordinary user. `prepare` runs as root in either case,
/// in the namespace that the body then sees.
macro_rules! as_root_and_as_user {
    ($($(#[$meta:meta])* $name:ident: $prepare:expr => $body:expr;)*) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            $crate::layer::tests::support::run_both(
                concat!(module_path!(), "::", stringify!($name)),
                $prepare,
                $body,
            );
        }
    )*};
}
pub(crate) use as_root_and_as_user;

/// Nothing to prepare.
pub(crate) fn plain(_: &Path) {}

/// A folder for one body of a test: a repository, a data folder, and whatever was prepared.
pub(crate) struct Ground {
    pub(crate) dir: PathBuf,
    pub(crate) repo: PathBuf,
    pub(crate) is_root: bool,
}

pub(crate) fn run_both(name: &str, prepare: fn(&Path), body: fn(&Ground)) {
    match std::env::var(STAGE).ok().as_deref() {
        None => {
            assert!(
                rustix::process::geteuid().is_root(),
                "these tests must be run as root: they run as root and as an ordinary user"
            );
            for stage in ["root", "user"] {
                let mut child = Command::new("unshare");
                child.args(["--mount", "--propagation", "private"]);
                run_stage(child.arg(own_program()), name, stage);
            }
        }
        Some(stage @ ("root" | "user")) => {
            // On a disk: `/tmp` is in memory on many machines.
            let dir = tempfile::tempdir_in("/var/tmp").unwrap();
            let repo = dir.path().join("repo");
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
            fs::create_dir(&repo).unwrap();
            prepare(dir.path());
            if stage == "root" {
                body(&Ground::new(dir.path()));
            } else {
                let owner = format!("{ORDINARY}:{ORDINARY}");
                tool("chown", ["-hR", &owner, dir.path().to_str().unwrap()]);
                after_chown(dir.path());
                let mut child = Command::new(own_program());
                child.uid(ORDINARY).gid(ORDINARY).env(FOLDER, dir.path());
                run_stage(&mut child, name, "body");
            }
            unmount_below(dir.path());
        }
        Some("body") => {
            assert_eq!(rustix::process::geteuid().as_raw(), ORDINARY);
            body(&Ground::new(Path::new(&std::env::var_os(FOLDER).unwrap())));
        }
        Some(other) => panic!("{other}"),
    }
}

/// Undoes what a test has prepared, so that its folder can be deleted.
fn unmount_below(dir: &Path) {
    let dir = dir.canonicalize().unwrap();
    for mount in read_mounts().unwrap().into_iter().rev() {
        if mount.point.starts_with(&dir) {
            must("umount", [&mount.point]);
        }
    }
}

/// A file of this name belongs to another user, also where the body runs as an ordinary one.
pub(crate) const FOREIGN: &str = "foreign";

fn after_chown(dir: &Path) {
    let foreign = dir.join("repo").join(FOREIGN);
    if foreign.exists() {
        tool("chown", ["1000:1000", foreign.to_str().unwrap()]);
    }
}

fn run_stage(child: &mut Command, name: &str, stage: &str) {
    let (_, name) = name.split_once("::").unwrap();
    let output = child
        .args([name, "--exact", "--nocapture", "--include-ignored"])
        .env(STAGE, stage)
        // Programs of a test never see the environment of the test.
        .env("RALPH_TEST_CANARY", "canary-7f3a91")
        .env("TMPDIR", std::env::temp_dir())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{stage}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

pub(crate) fn own_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Runs a tool, which must be there. What it says about its success is left to it.
pub(crate) fn tool<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(name: &str, args: I) -> bool {
    Command::new(name)
        .args(args)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
        .success()
}

/// Runs a tool that must succeed.
pub(crate) fn must<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(name: &str, args: I) {
    assert!(tool(name, args), "{name}");
}

impl Ground {
    fn new(dir: &Path) -> Self {
        // What a caller passes on is canonical.
        let dir = dir.canonicalize().unwrap();
        Self {
            repo: dir.join("repo"),
            dir,
            is_root: rustix::process::geteuid().is_root(),
        }
    }

    pub(crate) fn containment(&self) -> Containment {
        if self.is_root {
            Containment::PidNamespace
        } else {
            Containment::UserNamespace
        }
    }

    /// Writes a file of the repository.
    pub(crate) fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.repo.join(path)).unwrap()
    }

    pub(crate) fn request<'a>(&'a self, data_dir: &'a Path) -> PlaceRequest<'a> {
        PlaceRequest {
            repository: &self.repo,
            data_dir,
            temp_dir: &self.dir,
            memory_dir: None,
            memory_limit: 1 << 30,
            containment: self.containment(),
        }
    }

    pub(crate) fn place(&self) -> LayerPlace {
        LayerPlace::find(&self.request(&self.dir.join("data"))).unwrap()
    }

    pub(crate) fn layer(&self) -> Layer {
        Layer::create(&self.place(), &[LayerTarget::new(&self.repo)]).unwrap()
    }

    /// Runs a shell script in the repository below a layer, which must end well.
    pub(crate) fn run(&self, layer: &Layer, script: &str) -> String {
        let (said, ended) = self.try_run(layer, script);
        assert_eq!(ended, Ended::Code(0), "{script}: {said}");
        said
    }

    pub(crate) fn try_run(&self, layer: &Layer, script: &str) -> (String, Ended) {
        self.run_plan(layer.mount_plan().unwrap(), script).unwrap()
    }

    pub(crate) fn run_plan(
        &self,
        plan: MountPlan,
        script: &str,
    ) -> Result<(String, Ended), SpawnError> {
        let spec = self.spec("sh").args(["-c", script]).mounts(plan);
        run_spec(&spec, self.containment())
    }

    /// Runs one of the [`acts`](super::canaries) below a layer, and returns what it said.
    pub(crate) fn act(&self, plan: MountPlan, act: &str, args: &[&str]) -> String {
        let spec = self
            .spec(own_program().to_str().unwrap())
            .args([
                "layer::tests::canaries::act",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env("RALPH_LAYER_ACT", act)
            .env("RALPH_LAYER_ARGS", args.join("\n"))
            .mounts(plan);
        let (said, _) = run_spec(&spec, self.containment()).unwrap();
        let line = said.lines().find_map(|line| line.split_once("ACT: "));
        line.unwrap_or_else(|| panic!("{said}")).1.to_owned()
    }

    pub(crate) fn spec(&self, program: &str) -> CommandSpec {
        CommandSpec::new(program, &self.repo)
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("REPO", &self.repo)
            .env("DIR", &self.dir)
            .output(Output::Merged)
    }
}

pub(crate) fn run_spec(
    spec: &CommandSpec,
    containment: Containment,
) -> Result<(String, Ended), SpawnError> {
    run_attended(spec, containment, |_| {})
}

/// The same, with something to do once the program has begun.
pub(crate) fn run_attended(
    spec: &CommandSpec,
    containment: Containment,
    attend: impl FnOnce(&mut Running),
) -> Result<(String, Ended), SpawnError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut running = spawn(spec, containment)?;
        attend(&mut running);
        let mut output = running.take_stdout().unwrap();
        let mut said = Vec::new();
        let all = async {
            output.read_to_end(&mut said).await.unwrap();
            running.wait().await.unwrap()
        };
        let ended = tokio::time::timeout(LIMIT, all).await.unwrap();
        Ok((String::from_utf8_lossy(&said).into_owned(), ended))
    })
}

/// The entries of the first upper folder of a layer, a line each. A folder that the repository has not
/// is new: an overlay marks it only for root.
pub(crate) fn written(layer: &Layer) -> Vec<String> {
    let target = &layer.folders()[0].target;
    let mut entries = scan(layer);
    for entry in &mut entries {
        if let UpperKind::Folder { lower, .. } = &mut entry.kind {
            lower.take_if(|lower| !target.join(lower).is_dir());
        }
    }
    lines(&entries)
}

/// The entries of the first upper folder of a layer, sorted.
pub(crate) fn scan(layer: &Layer) -> Vec<UpperEntry> {
    scan_upper(&layer.upper(&layer.folders()[0]).unwrap())
}

pub(crate) fn scan_upper(upper: &UpperFolder) -> Vec<UpperEntry> {
    let mut entries = upper.scan(|_| Descent::Enter).unwrap();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    entries
}

/// Entries as one line each: `dir src <src`, `file a 644 2`, `gone b`.
pub(crate) fn lines(entries: &[UpperEntry]) -> Vec<String> {
    let line = |entry: &UpperEntry| {
        let path = entry.path.display();
        match &entry.kind {
            UpperKind::File { mode, size } => format!("file {path} {mode:o} {size}"),
            UpperKind::Symlink => format!("link {path}"),
            UpperKind::Folder {
                lower: Some(lower), ..
            } => format!("dir {path} <{}", lower.display()),
            UpperKind::Folder { lower: None, .. } => format!("dir {path}"),
            UpperKind::Whiteout => format!("gone {path}"),
            UpperKind::Other(kind) => format!("{kind:?} {path}"),
            UpperKind::UnreadableFolder => format!("unreadable {path}"),
            UpperKind::TooLong => format!("too long {path}"),
        }
    };
    entries.iter().map(line).collect()
}
