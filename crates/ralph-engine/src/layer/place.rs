//! Finds a folder where layers of a repository can live, by really making one.
//!
//! A layer is trusted only after a child in a namespace of its own has created, changed, renamed and
//! deleted files in it, and ralph has found the results in the upper folder.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::checks;
use super::machine::MachineFacts;
use super::owned::{OwnedFolder, make_folder};
use super::reason::{InPlaceReason, PlaceProblem, TriedPlace};
use super::sys::FileSystemKind;
use super::upper::{Descent, UpperFolder, UpperKind};
use crate::process::{
    Containment, FolderRename, MountPlan, MountTrial, OverlayMount, OverlayOptions, OverlaySync,
    OverlayXattrs, TrialFailure, try_mounts,
};

/// A layer in memory with less room than this is of no use.
const LEAST_MEMORY: u64 = 64 * 1024 * 1024;
/// The folder in a trial's overlay that holds its files.
const TRIAL_FOLDER: &str = ".ralph-layer-trial";
/// The content that a trial writes.
const WRITTEN: &str = "written\n";

/// Where layers may be looked for.
#[derive(Debug, Clone, Copy)]
pub struct PlaceRequest<'a> {
    pub repository: &'a Path,
    pub data_dir: &'a Path,
    /// `$TMPDIR`, or `/tmp`.
    pub temp_dir: &'a Path,
    /// A folder in memory, such as `/dev/shm`.
    pub memory_dir: Option<&'a Path>,
    /// The most that a layer may take in memory.
    pub memory_limit: u64,
    pub containment: Containment,
}

/// A folder where layers work, as was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerPlace {
    pub folder: PathBuf,
    pub kind: PlaceKind,
    pub file_system: FileSystemKind,
    pub disk: PlaceDisk,
    pub options: OverlayOptions,
    /// The result of renaming a folder of the repository.
    pub folder_rename: FolderRename,
    /// The most that a layer may take, where it is in memory.
    pub max_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    Data,
    /// Beside the repository, as `.ralph-layers`.
    Sibling,
    Temporary,
    Memory,
}

/// The file system of a place, beside the repository's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceDisk {
    /// The same: files keep their inode numbers, so that git's index stays right.
    Same,
    Another,
    Memory,
}

struct PlaceCandidate {
    folder: PathBuf,
    kind: PlaceKind,
    file_system: FileSystemKind,
    disk: PlaceDisk,
    max_bytes: Option<u64>,
}

impl PlaceRequest<'_> {
    /// All folders that might hold layers, in the order of preference: also those to sweep.
    pub fn folders(&self) -> Vec<(PlaceKind, PathBuf)> {
        place_folders(
            self.repository,
            self.data_dir,
            self.temp_dir,
            self.memory_dir,
        )
    }

    fn candidate(&self, kind: PlaceKind, folder: &Path) -> Result<PlaceCandidate, PlaceProblem> {
        let (existing, folder) = resolve(folder).map_err(io_problem)?;
        if folder.starts_with(self.repository) {
            return Err(PlaceProblem::InsideRepository);
        }
        if self.repository.starts_with(&folder) {
            return Err(PlaceProblem::AroundRepository);
        }
        let file_system = FileSystemKind::of(&existing).map_err(io_problem)?;
        if file_system.never_holds_layers() {
            return Err(PlaceProblem::FileSystem(file_system));
        }
        let device = |path: &Path| fs::metadata(path).map(|meta| meta.dev());
        let mut max_bytes = None;
        let disk = if file_system == FileSystemKind::TMPFS {
            let room = rustix::fs::statvfs(&existing).map_err(|e| io_problem(e.into()))?;
            let available = room.f_bavail.saturating_mul(room.f_frsize);
            if available < LEAST_MEMORY {
                return Err(PlaceProblem::NoSpace { available });
            }
            max_bytes = Some(self.memory_limit.min(available / 2));
            PlaceDisk::Memory
        } else if device(&existing).map_err(io_problem)?
            == device(self.repository).map_err(io_problem)?
        {
            PlaceDisk::Same
        } else {
            PlaceDisk::Another
        };
        Ok(PlaceCandidate {
            folder,
            kind,
            file_system,
            disk,
            max_bytes,
        })
    }
}

/// All folders that might hold layers of a repository, in the order of preference.
pub(crate) fn place_folders(
    repository: &Path,
    data_dir: &Path,
    temp_dir: &Path,
    memory_dir: Option<&Path>,
) -> Vec<(PlaceKind, PathBuf)> {
    let own = format!("ralph-layers-{}", rustix::process::geteuid().as_raw());
    let mut folders = vec![(PlaceKind::Data, data_dir.join(LayerPlace::NAME))];
    if let Some(parent) = repository.parent() {
        folders.push((PlaceKind::Sibling, parent.join(".ralph-layers")));
    }
    folders.push((PlaceKind::Temporary, temp_dir.join(&own)));
    folders.extend(memory_dir.map(|dir| (PlaceKind::Memory, dir.join(&own))));
    folders
}

impl LayerPlace {
    /// The folder of layers in the data folder.
    pub const NAME: &'static str = "layers";

    /// Finds the best place: on the repository's own file system where possible, in memory only where
    /// there is no other.
    pub fn find(request: &PlaceRequest<'_>) -> Result<Self, InPlaceReason> {
        if !cfg!(target_os = "linux") {
            return Err(InPlaceReason::NotLinux);
        }
        let repository =
            request
                .repository
                .canonicalize()
                .map_err(|error| InPlaceReason::Unreadable {
                    error: error.to_string(),
                })?;
        let request = PlaceRequest {
            repository: &repository,
            ..*request
        };
        let xattrs: &[OverlayXattrs] = match request.containment {
            // Root of a user namespace, as in many containers, may not set trusted attributes.
            Containment::PidNamespace => &[OverlayXattrs::Trusted, OverlayXattrs::User],
            Containment::UserNamespace => &[OverlayXattrs::User],
            Containment::Subreaper | Containment::ProcessGroup => {
                return Err(no_namespace(request.containment));
            }
        };
        if let Some(reason) = checks::refusing_mount(&repository, request.containment) {
            return Err(reason);
        }
        let mut tried = Vec::new();
        let mut candidates = Vec::new();
        for (kind, folder) in request.folders() {
            match request.candidate(kind, &folder) {
                Ok(candidate) => candidates.push(candidate),
                Err(problem) => tried.push(TriedPlace { folder, problem }),
            }
        }
        candidates.sort_by_key(|candidate| candidate.disk);
        let mut refusal = None;
        for candidate in candidates {
            let folder = candidate.folder.clone();
            match candidate.become_place(&request, xattrs) {
                Ok(place) => return Ok(place),
                Err(problem) => {
                    refusal = refusal.or_else(|| refused_by_machine(&problem));
                    tried.push(TriedPlace {
                        folder,
                        problem: problem.into_problem(),
                    });
                }
            }
        }
        Err(refusal.unwrap_or(InPlaceReason::NoPlace { tried }))
    }
}

/// A candidate that failed, with the error of the kernel.
enum CandidateFailure {
    Problem(PlaceProblem),
    Trial(TrialFailure),
}

impl From<io::Error> for CandidateFailure {
    fn from(error: io::Error) -> Self {
        Self::Problem(io_problem(error))
    }
}

impl CandidateFailure {
    fn into_problem(self) -> PlaceProblem {
        match self {
            Self::Problem(problem) => problem,
            Self::Trial(failure) => PlaceProblem::Trial {
                step: failure.step,
                error: failure.source.to_string(),
            },
        }
    }
}

impl PlaceCandidate {
    fn become_place(
        self,
        request: &PlaceRequest<'_>,
        xattrs: &[OverlayXattrs],
    ) -> Result<LayerPlace, CandidateFailure> {
        make_own(&self.folder)?;
        let mut failure = None;
        for &xattrs in xattrs {
            let mut last = None;
            for sync in [OverlaySync::Volatile, OverlaySync::Durable] {
                let options = OverlayOptions { xattrs, sync };
                match run_trial(&self.folder, request, options) {
                    Ok(folder_rename) => {
                        return Ok(LayerPlace {
                            folder: self.folder,
                            kind: self.kind,
                            file_system: self.file_system,
                            disk: self.disk,
                            options,
                            folder_rename,
                            max_bytes: self.max_bytes,
                        });
                    }
                    Err(found) => last = Some(found),
                }
            }
            // The first is what is wanted most: its failure is told.
            failure = failure.or(last);
        }
        // Nothing is left where nothing works. One that was there before and is in use is not empty.
        let _ = fs::remove_dir(&self.folder);
        Err(failure.unwrap_or(CandidateFailure::Problem(PlaceProblem::NotOurs)))
    }
}

/// Makes a folder that only its owner can enter.
fn make_own(folder: &Path) -> Result<(), CandidateFailure> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    // In a folder that all may write to, another user may have made it first.
    let meta = fs::symlink_metadata(folder)?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(CandidateFailure::Problem(PlaceProblem::NotOurs));
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    Ok(())
}

/// Mounts a layer over the repository with a folder of files on top, works with them, and reads the
/// upper folder.
fn run_trial(
    place: &Path,
    request: &PlaceRequest<'_>,
    options: OverlayOptions,
) -> Result<FolderRename, CandidateFailure> {
    let mut owned = OwnedFolder::trial(place)?;
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| owned.path.join(name));
    for folder in [&lower, &upper, &work] {
        make_folder(folder)?;
    }
    let files = lower.join(TRIAL_FOLDER);
    make_folder(&files)?;
    make_folder(&files.join("folder"))?;
    for name in ["changed", "renamed", "deleted", "folder/file"] {
        fs::write(files.join(name), "before\n")?;
    }
    let plan = MountPlan::default().overlay(OverlayMount {
        target: request.repository.to_owned(),
        lowers: vec![lower, request.repository.to_owned()],
        upper: upper.clone(),
        work,
        options,
    });
    let trial = MountTrial {
        folder: request.repository.join(TRIAL_FOLDER),
        opened: file_of(request.repository),
    };
    let folder_rename =
        try_mounts(&plan, &trial, request.containment).map_err(CandidateFailure::Trial)?;
    check_upper(&upper, options.xattrs).map_err(CandidateFailure::Problem)?;
    owned.remove()?;
    Ok(folder_rename)
}

/// A plain file of the repository that is there in every one, for a trial to open.
fn file_of(repository: &Path) -> Option<PathBuf> {
    [".git/HEAD", ".git", "HEAD"]
        .into_iter()
        .map(|name| repository.join(name))
        .find(|path| {
            let own = rustix::process::geteuid().as_raw();
            fs::symlink_metadata(path).is_ok_and(|meta| {
                // A foreign owner is another check's reason, by its path.
                meta.is_file() && (meta.uid() == own || own == 0) && meta.mode() & 0o200 != 0
            })
        })
}

fn check_upper(upper: &Path, xattrs: OverlayXattrs) -> Result<(), PlaceProblem> {
    let not_written = |what: &str| PlaceProblem::NotWritten {
        what: what.to_owned(),
    };
    let opened = UpperFolder::open(upper, xattrs).map_err(io_problem)?;
    let entries = opened
        .scan(|_| Descent::Enter)
        .map_err(|error| not_written(&error.to_string()))?;
    for (name, is_right) in [
        ("created", is_file as fn(&UpperKind) -> bool),
        ("changed", is_file),
        ("moved", is_file),
        ("renamed", is_whiteout),
        ("deleted", is_whiteout),
    ] {
        let path = Path::new(TRIAL_FOLDER).join(name);
        let found = entries.iter().find(|entry| entry.path == path);
        if !found.is_some_and(|entry| is_right(&entry.kind)) {
            return Err(not_written(name));
        }
    }
    for (name, content) in [
        ("created", WRITTEN),
        ("changed", WRITTEN),
        ("moved", "before\n"),
    ] {
        let path = Path::new(TRIAL_FOLDER).join(name);
        let file = opened.open_file(&path).map_err(io_problem)?;
        if io::read_to_string(file).map_err(io_problem)? != content {
            return Err(not_written(name));
        }
    }
    Ok(())
}

fn is_file(kind: &UpperKind) -> bool {
    matches!(kind, UpperKind::File { .. })
}

fn is_whiteout(kind: &UpperKind) -> bool {
    *kind == UpperKind::Whiteout
}

/// A failure that no other folder would change: of a namespace, or of the right to mount.
fn refused_by_machine(failure: &CandidateFailure) -> Option<InPlaceReason> {
    let CandidateFailure::Trial(failure) = failure else {
        return None;
    };
    let is_step_of_machine = [
        "making the namespace",
        "mapping the user",
        "keeping mounts private",
        "mounting /proc",
        "dropping capabilities",
    ]
    .contains(&failure.step.as_str());
    let is_refused_mount = failure.step.starts_with("mounting an overlay")
        && [libc::EPERM, libc::EACCES, libc::ENODEV, libc::ENOSYS]
            .map(Some)
            .contains(&failure.source.raw_os_error());
    (is_step_of_machine || is_refused_mount).then(|| InPlaceReason::Refused {
        step: failure.step.clone(),
        error: failure.source.to_string(),
        hint: MachineFacts::read().hint(&failure.source),
    })
}

fn no_namespace(containment: Containment) -> InPlaceReason {
    let refused = io::Error::from_raw_os_error(libc::EPERM);
    InPlaceReason::NoMountNamespace {
        containment,
        hint: MachineFacts::read().hint(&refused),
    }
}

/// The nearest folder of a path that is there, and the path itself without symbolic links.
fn resolve(path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    for ancestor in path.ancestors() {
        match ancestor.canonicalize() {
            Ok(existing) => {
                let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
                // A join with an empty path would leave a slash at the end.
                let whole = existing.join(rest).components().collect();
                return Ok((existing, whole));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::NotFound))
}

fn io_problem(error: io::Error) -> PlaceProblem {
    PlaceProblem::Io {
        error: error.to_string(),
    }
}
