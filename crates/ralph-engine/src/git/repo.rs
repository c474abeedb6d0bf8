//! A repository that ralph works in: where it is, and how to open it.
//!
//! Opening reads the repository's settings once; from then on no call reads them again. Opens no
//! second time what an agent may have changed: take a [`super::Guard`] for that.

use std::fs;
use std::io;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tokio::sync::{Mutex, MutexGuard, OnceCell};

use super::call::{Answer, first_look};
use super::config::{last_value, parse_settings, personal};
use super::early::{EarlyScan, KnownLook, VerifiedLook};
use super::identity::Identity;
use super::ignore_rules::ExcludesFile;
use super::index_file::{IndexFile, copy_index};
use super::lock::clear_stale;
use super::object::{Format, Objects};
use super::plain::Storing;
use super::refs::{clear_folder, lock_of};
use super::shadow::Shadow;
use super::swap::Reflogs;
use super::take::TakenFile;
use super::untouched::StagedLook;
use super::{GitEnvironment, GitError, Guard, Oid};
use crate::named_lock::{Held, lock_git};
use crate::owner::Owner;

#[derive(Debug)]
pub struct Repo {
    pub(super) program: PathBuf,
    pub(super) environment: GitEnvironment,
    pub(super) root: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    pub(super) state_dir: PathBuf,
    pub(super) shadow: Shadow,
    /// `None` where objects are left to git.
    pub(super) objects: Option<Objects>,
    pub(super) reflogs: Reflogs,
    pub(super) storing: Storing,
    pub(super) excludes: ExcludesFile,
    /// Where attributes would stand that hold everywhere; `None` in it if that is not known.
    pub(super) attribute_files: OnceCell<Option<Vec<PathBuf>>>,
    personal: Vec<(String, String)>,
    pub(super) identity: OnceCell<Identity>,
    /// Also the order of calls: each that reads or writes the shadow holds it.
    pub(super) state: Mutex<State>,
}

/// What this process knows about the files it wrote.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The real index as it was last copied, in either direction.
    real_index: Option<IndexStamp>,
    pub(super) staged: Option<StagedTree>,
    /// True if the real index held something staged when it was last looked at, or was taken over since and
    /// not looked at.
    pub(super) real_has_staged: bool,
    /// The commit that the base index is known to equal.
    pub(super) base_index: Option<Oid>,
    /// The files that were staged for the commit that landed last, and that commit.
    pub(super) landed: Option<(Oid, Vec<TakenFile>)>,
    /// The last look at the tree after its verification.
    pub(super) verified: Option<VerifiedLook>,
    /// The tree after a landing, for the very next look.
    pub(super) known: Option<KnownLook>,
    /// Landings since git last looked at the tree after one.
    pub(super) landings_known: u32,
    /// A scan that is under way. It writes the base index, so it ends before anything else begins.
    pub(super) early: Option<EarlyScan>,
    /// One that writes nothing, so that others need not wait for it.
    pub(super) beside: Option<EarlyScan>,
}

/// What was staged last, and the index that holds it.
#[derive(Debug)]
pub(super) struct StagedTree {
    pub(super) tree: Oid,
    pub(super) index: StageIndex,
    /// All that differs from the base, where that is few plain files.
    pub(super) files: Option<Vec<TakenFile>>,
    /// The look at the working tree that found it, where all that differed is staged.
    pub(super) look: Option<StagedLook>,
}

#[derive(Debug)]
pub(super) enum StageIndex {
    /// In the file of that name, written by git.
    OnDisk,
    /// Made by hand; it need not be on the disk before it has landed.
    Held(IndexFile),
}

impl State {
    /// The next look takes the real index over again.
    pub(super) fn forget_real_index(&mut self) {
        self.real_index = None;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexStamp {
    inode: u64,
    size: u64,
    modified: Option<SystemTime>,
}

impl Repo {
    /// Finds the repository that holds `start` and readies a git folder of ralph's own in
    /// `state_dir`, which must lie where no agent can write.
    pub async fn open(
        start: &Path,
        state_dir: &Path,
        environment: &GitEnvironment,
    ) -> Result<Self, GitError> {
        // What lies in the working tree, an agent can write: no program is taken from there.
        let environment = environment.without_places_in(&likely_root(start));
        let program = environment.find("git").ok_or(GitError::NoGit)?;
        let places = find_places(&program, &environment, start).await?;
        let list = ["config", "--list", "-z", "--show-scope"];
        let list = first_look(&program, &environment, &places.root, &list)
            .await?
            .into_result()?;
        let settings = parse_settings(&list).ok_or_else(|| GitError::Unexpected {
            command: "git config --list".into(),
            answer: "a scope that git does not document".into(),
        })?;
        if last_value(&settings, "extensions.refstorage").is_some_and(|format| format != b"files") {
            return Err(GitError::Unsupported {
                what: "the reftable format for refs".into(),
            });
        }
        let shadow = Shadow::make(state_dir, &places.common_dir, &settings)?;
        shadow.copy_info(&places.git_dir, &places.common_dir)?;
        let objects = Format::of(&settings)
            .map(|format| Objects::new(places.common_dir.join("objects"), format));
        let excludes = ExcludesFile::of(&settings, &environment);
        let repo = Self {
            program,
            environment,
            root: places.root,
            git_dir: places.git_dir,
            common_dir: places.common_dir,
            state_dir: state_dir.to_owned(),
            shadow,
            objects,
            reflogs: Reflogs::of(&settings),
            storing: Storing::of(&settings),
            excludes,
            attribute_files: OnceCell::new(),
            personal: personal(&settings),
            identity: OnceCell::new(),
            state: Mutex::default(),
        };
        if Guard::is_in_force(state_dir) {
            // An agent was at work when ralph ended, and may have marked files in the index as not
            // to be looked at. One without such marks is made when it is needed.
            repo.state.lock().await.real_index = repo.stamp_of_real_index();
        }
        Ok(repo)
    }

    /// Top of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The settings of the person's own that programs need where they can't see the person's files.
    pub(crate) fn personal_settings(&self) -> &[(String, String)] {
        &self.personal
    }

    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git folder that all worktrees share; what a repository is known by.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Gives what root wrote into the git folders and into ralph's own folder to the owners of these places.
    pub(crate) fn leave_to_owner(&self) {
        for folder in [&self.git_dir, &self.common_dir] {
            if let Some(owner) = Owner::at(folder) {
                owner.take_tree(folder);
            }
        }
        if let Some(owner) = Owner::at(&self.root) {
            owner.take_tree(&self.root.join(crate::dot_ralph::FOLDER));
        }
    }

    /// The state, for a call that is not the one that a scan was started early for.
    #[track_caller]
    pub(super) fn in_order(&self) -> impl Future<Output = Held<MutexGuard<'_, State>>> {
        let caller = Location::caller();
        async move {
            let mut state = lock_git("git", &self.state, caller).await;
            state.finish_early().await;
            state
        }
    }

    /// Takes over the person's index, if it changed since it was last copied; says whether it did.
    pub(super) fn adopt_real_index(&self, state: &mut State) -> Result<bool, GitError> {
        let stamp = self.stamp_of_real_index();
        if stamp.is_some() && stamp == state.real_index {
            return Ok(false);
        }
        state.base_index = None;
        state.real_has_staged = true;
        let (from, to) = (self.real_index(), self.shadow.index());
        match copy_index(&from, &to) {
            Ok(()) => self.copy_shared_indexes()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => remove_if_there(&to)?,
            Err(error) => return Err(GitError::io("copy", &from)(error)),
        }
        state.real_index = stamp;
        Ok(true)
    }

    /// Returns what a split index builds on. The next call makes one whole index of the two.
    fn copy_shared_indexes(&self) -> Result<(), GitError> {
        let found = fs::read_dir(&self.git_dir).map_err(GitError::io("read", &self.git_dir))?;
        for entry in found.flatten() {
            let name = entry.file_name();
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && name.as_encoded_bytes().starts_with(b"sharedindex.") {
                let (from, to) = (entry.path(), self.shadow.path().join(&name));
                copy_index(&from, &to).map_err(GitError::io("copy", &from))?;
            }
        }
        Ok(())
    }

    /// Gives the person an index that matches what ralph left in the working tree.
    pub(super) async fn publish_index(&self, state: &mut State) -> Result<(), GitError> {
        self.publish(&self.shadow.index(), |_| true).await?;
        state.real_index = self.stamp_of_real_index();
        Ok(())
    }

    /// The same, unless the person wrote theirs since it was last copied; says whether it was done.
    pub(super) async fn publish_over_seen(&self, state: &mut State) -> Result<bool, GitError> {
        let (own, seen) = (self.shadow.index(), state.real_index);
        let done = self.publish(&own, |now| now == seen).await?;
        if done {
            state.real_index = self.stamp_of_real_index();
        }
        Ok(done)
    }

    /// Puts a copy of an index in the place of the real one, by git's own protocol, if that is still as
    /// expected once no other process can write it; says whether it was.
    pub(super) async fn publish(
        &self,
        index: &Path,
        is_expected: impl FnOnce(Option<IndexStamp>) -> bool,
    ) -> Result<bool, GitError> {
        let real = self.real_index();
        let (ours, lock) = (self.git_dir.join("ralph-index"), lock_of(&real));
        // Linked, not written, as the lock: a lock that is also our file is ours, also after a crash.
        if same_file(&ours, &lock) {
            remove_if_there(&lock)?;
        }
        remove_if_there(&ours)?;
        copy_index(index, &ours).map_err(GitError::io("write", &ours))?;
        if fs::hard_link(&ours, &lock).is_err() {
            clear_stale(&lock, &self.folders()).await?;
            fs::hard_link(&ours, &lock).map_err(GitError::io("lock with", &lock))?;
        }
        if !is_expected(self.stamp_of_real_index()) {
            remove_if_there(&lock)?;
            remove_if_there(&ours)?;
            return Ok(false);
        }
        clear_folder(&real)
            .and_then(|()| fs::rename(&lock, &real))
            .map_err(GitError::io("write", &real))?;
        remove_if_there(&ours)?;
        Ok(true)
    }

    /// Returns whether the real index may hold what a person staged.
    pub(super) fn may_have_staged(&self, state: &State) -> bool {
        state.real_has_staged || self.is_real_index_touched(state)
    }

    /// Returns whether the real index was written since ralph last looked at it or wrote it.
    pub(super) fn is_real_index_touched(&self, state: &State) -> bool {
        self.stamp_of_real_index() != state.real_index
    }

    pub(super) fn real_index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Where a process that works on this repository would stand.
    pub(super) fn folders(&self) -> [&Path; 3] {
        [&self.root, &self.git_dir, &self.common_dir]
    }

    pub(super) fn stamp_of_real_index(&self) -> Option<IndexStamp> {
        use std::os::unix::fs::MetadataExt;
        let meta = fs::symlink_metadata(self.real_index()).ok()?;
        Some(IndexStamp {
            inode: meta.ino(),
            size: meta.len(),
            modified: meta.modified().ok(),
        })
    }
}

/// Leaves what root wrote into the repository of another user to them, so that their own git can go on with it.
impl Drop for Repo {
    fn drop(&mut self) {
        self.leave_to_owner();
    }
}

pub(super) fn remove_if_there(path: &Path) -> Result<(), GitError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(GitError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path| {
        fs::symlink_metadata(path)
            .map(|meta| (meta.dev(), meta.ino()))
            .ok()
    };
    id(one).is_some() && id(one) == id(other)
}

/// Where the working tree most likely begins, before git can be asked.
fn likely_root(start: &Path) -> PathBuf {
    let start = start.canonicalize().unwrap_or_else(|_| start.to_owned());
    let found = start.ancestors().find(|above| above.join(".git").exists());
    found.unwrap_or(&start).to_owned()
}

struct Places {
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
}

async fn find_places(
    program: &Path,
    environment: &GitEnvironment,
    start: &Path,
) -> Result<Places, GitError> {
    if !start.is_dir() {
        return Err(GitError::NotARepository {
            path: start.to_owned(),
        });
    }
    let args = [
        "rev-parse",
        "--path-format=absolute",
        "--is-bare-repository",
        "--git-dir",
        "--git-common-dir",
        "--show-toplevel",
    ];
    let answer = first_look(program, environment, start, &args).await?;
    let lines = lines_of(&answer);
    if answer.code != Some(0) {
        if lines.first().is_some_and(|bare| bare == "true") {
            return Err(GitError::Bare {
                path: lines.into_iter().nth(1).unwrap_or_default(),
            });
        }
        if answer.stderr().contains("not a git repository") || !lines.is_empty() {
            return Err(GitError::NotARepository {
                path: start.to_owned(),
            });
        }
        return Err(answer.into_error());
    }
    let real = |path: &PathBuf| path.canonicalize().map_err(GitError::io("find", path));
    match lines.as_slice() {
        [_, git_dir, common_dir, root] => Ok(Places {
            root: real(root)?,
            git_dir: real(git_dir)?,
            common_dir: real(common_dir)?,
        }),
        other => Err(GitError::Unexpected {
            command: "git rev-parse".into(),
            answer: format!("{} lines, not 4", other.len()),
        }),
    }
}

fn lines_of(answer: &Answer) -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let text = answer.stdout.strip_suffix(b"\n").unwrap_or(&answer.stdout);
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|byte| *byte == b'\n')
        .map(|line| PathBuf::from(std::ffi::OsStr::from_bytes(line)))
        .collect()
}
