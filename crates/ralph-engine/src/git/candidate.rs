//! The candidate of work that was done in a layer: the base, with what the layer's upper folder holds.
//!
//! Reads what an agent wrote from that folder alone, and everything else from the base. Nothing that the agent
//! put into its copy of the git folder is believed but the names in its index: a path that it added by force is
//! meant, and so is one that it stopped tracking and ignores.

mod brought;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ralph_core::change::{ChangeKind, ChangeSet, Changed, EntryKind};

use super::call::Index;
use super::ignore_rules::IgnoreRules;
use super::index_file::{IndexFile, Parsed};
use super::object::ObjectKind;
use super::plain::Storing;
use super::repo::State;
use super::stage::{PathsIn, StageSpec, Staged, joined};
use super::status::path_of;
use super::{GitError, Gitlink, History, Oid, Repo};
use crate::layer::{Below, BelowFile, UpperEntry, UpperKind};
use crate::plain_file;

/// The mode of a submodule in an index.
pub(super) const SUBMODULE: u32 = 0o160_000;
/// A file of this size is not an index that a repository can have.
const LARGEST_INDEX: u64 = 512 * 1024 * 1024;

/// The work of an agent in a layer.
pub struct LayerWork<'a> {
    /// The upper folder of the repository's root.
    pub folder: &'a Path,
    /// All that it holds.
    pub entries: &'a [UpperEntry],
    /// The index that the agent's git wrote, where it wrote one.
    pub index: Option<&'a Path>,
    /// The submodules that it moved to another commit.
    pub gitlinks: &'a [Gitlink],
    /// The folders that show where it holds nothing.
    pub below: Option<&'a Below>,
}

/// The paths that a repository tracks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrackedPaths {
    pub files: Vec<PathBuf>,
    pub submodules: Vec<Gitlink>,
}

/// The files that the base tracks, in git's order. A repository may have many: they are borrowed from its index.
pub(super) struct TrackedFiles<'a>(Vec<TrackedFile<'a>>);

pub(super) struct TrackedFile<'a> {
    pub(super) path: &'a [u8],
    mode: u32,
    pub(super) id: Cow<'a, [u8]>,
}

impl TrackedFiles<'_> {
    fn get(&self, path: &Path) -> Option<&TrackedFile<'_>> {
        let path = path.as_os_str().as_bytes();
        let found = self.0.binary_search_by(|file| file.path.cmp(path)).ok()?;
        self.0.get(found)
    }

    pub(super) fn holds(&self, path: &Path) -> bool {
        self.get(path).is_some()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &TrackedFile<'_>> {
        self.0.iter()
    }

    /// The files below a folder.
    fn below(&self, folder: &Path) -> impl Iterator<Item = PathBuf> {
        let mut prefix = folder.as_os_str().as_bytes().to_vec();
        prefix.push(b'/');
        let first = self.0.partition_point(|file| file.path < prefix.as_slice());
        let rest = self.0.get(first..).unwrap_or_default().iter();
        rest.take_while(move |file| file.path.starts_with(&prefix))
            .map(|file| path_of(file.path))
    }
}

/// The difference that an upper folder makes to the base.
#[derive(Debug, Default, PartialEq, Eq)]
struct LayerDiff {
    /// Files and links that the folder holds.
    written: BTreeSet<PathBuf>,
    /// Tracked paths that are not there any more.
    gone: BTreeSet<PathBuf>,
    /// Tracked files that are shown at another path, by that path: folders were renamed.
    moved: BTreeMap<PathBuf, PathBuf>,
    /// Files that the base does not track and that are shown at another path, by that path.
    brought: BTreeMap<PathBuf, BelowFile>,
    /// Paths that can't be stored: special files, folders that can't be read, repositories.
    unstorable: BTreeMap<PathBuf, EntryKind>,
}

impl LayerDiff {
    fn changes_attributes(&self) -> bool {
        let changed = self.written.iter().chain(&self.gone);
        let mut changed = changed.chain(self.moved.keys());
        changed.any(|path| {
            path.file_name()
                .is_some_and(|name| name == ".gitattributes")
        })
    }
}

impl Repo {
    /// Writes the tree of a candidate.
    pub async fn stage_layer(
        &self,
        spec: &StageSpec<'_>,
        work: &LayerWork<'_>,
    ) -> Result<Staged, GitError> {
        let mut state = self.in_order().await;
        state.staged = None;
        self.shadow.set_head(spec.base)?;
        self.read_base_once(spec.base, &mut state).await?;
        let index = self.base_entries().await?;
        let tracked = index.tracked()?;
        let own = |path: &Path| spec.own_paths.iter().any(|own| path.starts_with(own));
        let mut diff = diff_of(&tracked, work.entries);
        diff.add_brought(&tracked, work, &own)?;
        diff.written.retain(|path| !own(path));
        diff.gone.retain(|path| !own(path));
        diff.moved.retain(|path, _| !own(path));
        let is_new = |path: &PathBuf| !spec.untracked_before.contains(path);
        diff.written.retain(is_new);
        diff.brought.retain(|path, _| is_new(path));
        // Files that were written again as they are, or only touched, are no change, unless git is to store them
        // in another form.
        if !diff.changes_attributes() {
            diff.written
                .retain(|path| !self.is_as_in_base(path, &tracked, work.folder));
        }
        // Those that are stored by their commit.
        diff.unstorable
            .retain(|path, _| !work.gitlinks.iter().any(|link| link.path == *path));
        let dropped = self.apply_index(&mut diff, &tracked, work).await?;
        let large = diff.bring_up(work, spec.max_file_bytes)?;
        let mut renormalised = self.renormalised(&diff, &tracked, work).await?;
        renormalised.retain(|(path, ..)| !own(path) && !dropped.contains(path));
        let mut changes = changes(&diff, &tracked, work.folder, &dropped);
        let gitlinks = work.gitlinks.iter();
        let gitlinks: Vec<&Gitlink> = gitlinks.filter(|l| !diff.gone.contains(&l.path)).collect();
        changes.extend(gitlinks.iter().map(|link| Changed {
            path: link.path.clone(),
            kind: if tracked.holds(&link.path) {
                ChangeKind::Modified
            } else {
                ChangeKind::Added
            },
            entry: EntryKind::Repository,
            size: 0,
        }));
        let mut left_out: Vec<PathBuf> = diff.unstorable.keys().cloned().collect();
        changes.extend(large);
        let mut kept = Vec::new();
        for changed in &changes {
            let is_link = gitlinks.iter().any(|link| link.path == changed.path);
            if is_link
                || diff.unstorable.contains_key(&changed.path)
                || diff.moved.contains_key(&changed.path)
            {
                continue;
            }
            if changed.size > spec.max_file_bytes {
                left_out.push(changed.path.clone());
            } else {
                kept.push(changed.path.clone());
            }
        }
        let kept: Vec<&Path> = kept.iter().map(PathBuf::as_path).collect();
        // What is gone has a mark in the folder, which is no file.
        let leaving: HashSet<PathBuf> = dropped.iter().chain(&diff.gone).cloned().collect();
        let files = PathsIn {
            folder: work.folder,
            paths: &kept,
            dropped: Some(&leaving),
        };
        let mut replaced = renormalised.clone();
        replaced.extend(
            gitlinks
                .iter()
                .map(|link| (link.path.clone(), SUBMODULE, link.commit.clone())),
        );
        let tree = if !diff.moved.is_empty() || !replaced.is_empty() {
            self.copy_base_to_stage()?;
            let moving = self.move_in_stage(&diff.moved, &replaced, &tracked);
            moving.await?;
            self.update_stage(&files).await?;
            self.write_tree(Index::Stage).await?
        } else if kept.is_empty() {
            self.write_tree(Index::Base).await?
        } else {
            let staged = self.stage_paths(&files).await?;
            state.staged.insert(staged).tree.clone()
        };
        changes.extend(renormalised.into_iter().map(|(path, mode, _)| Changed {
            path,
            kind: ChangeKind::Modified,
            entry: if mode == 0o100_755 {
                EntryKind::Executable
            } else {
                EntryKind::File
            },
            size: 0,
        }));
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Staged {
            tree,
            // An agent in a layer moves no branch: where it stands now is a person's doing.
            tip: Some(spec.base.clone()),
            history: History::Unmoved,
            change: ChangeSet { changes },
            left_out,
        })
    }

    /// Tells whether a file in a folder is what the base has: the same bytes, of the same kind.
    fn is_as_in_base(&self, path: &Path, tracked: &TrackedFiles<'_>, folder: &Path) -> bool {
        let (Some(objects), Some(file)) = (&self.objects, tracked.get(path)) else {
            return false;
        };
        let full = folder.join(path);
        let mode = match entry_of(&full) {
            Some((EntryKind::File, _)) => 0o100_644,
            Some((EntryKind::Executable, _)) => 0o100_755,
            Some((EntryKind::Symlink { .. }, _)) => 0o120_000,
            _ => return false,
        };
        let bytes = if mode == 0o120_000 {
            std::fs::read_link(&full).map(|target| target.into_os_string().into_vec())
        } else {
            plain_file::read(&full)
        };
        let is_same = |bytes: Vec<u8>| objects.format().id_of(ObjectKind::Blob, &bytes) == *file.id;
        mode == file.mode && bytes.is_ok_and(is_same)
    }

    /// Lists what the base tracks.
    pub async fn tracked_paths(&self) -> Result<TrackedPaths, GitError> {
        let mut state = self.in_order().await;
        let (head, _) = self.current()?;
        self.take_over_index(&mut state, &head).await?;
        let index = self.base_entries().await?;
        let mut found = TrackedPaths::default();
        for file in index.tracked()?.0 {
            let path = path_of(file.path);
            if file.mode == SUBMODULE {
                let commit = Oid::from_bytes(&file.id);
                found.submodules.push(Gitlink { path, commit });
            } else {
                found.files.push(path);
            }
        }
        Ok(found)
    }

    /// Puts the base index at `base`, unless this process did so last.
    async fn read_base_once(&self, base: &Oid, state: &mut State) -> Result<(), GitError> {
        if state.base_index.as_ref() != Some(base) || !self.shadow.index().exists() {
            self.read_base(base).await?;
            state.base_index = Some(base.clone());
        }
        Ok(())
    }

    pub(super) async fn base_entries(&self) -> Result<BaseEntries, GitError> {
        if let Some(objects) = &self.objects
            && let Some(index) = IndexFile::read(&self.shadow.index(), objects.format())?
            && index.parse().is_some()
        {
            return Ok(BaseEntries::Index(index));
        }
        let listed = self.git(["ls-files", "--stage", "-z"]).run().await?;
        Ok(BaseEntries::Listed(listed))
    }

    /// Leaves out what is ignored, unless the agent added it by force, and drops what it stopped tracking.
    async fn apply_index(
        &self,
        diff: &mut LayerDiff,
        tracked: &TrackedFiles<'_>,
        work: &LayerWork<'_>,
    ) -> Result<HashSet<PathBuf>, GitError> {
        let agent_index = self.index_of_agent(work.index);
        let meant = agent_index.as_ref().and_then(IndexFile::parse);
        let is_meant = |path: &[u8]| {
            let found = |parsed: &Parsed<'_>| {
                let entries = &parsed.entries;
                entries
                    .binary_search_by(|entry| entry.path.cmp(path))
                    .is_ok()
            };
            meant.as_ref().map(found)
        };
        let new = diff.written.iter().chain(diff.moved.keys());
        let repositories = diff.repositories();
        let new: Vec<&Path> = new
            .chain(diff.brought.keys())
            .chain(&repositories)
            .map(PathBuf::as_path)
            .filter(|path| !tracked.holds(path))
            .collect();
        // An index without entries was lost, not emptied path by path.
        let is_usable = meant
            .as_ref()
            .is_some_and(|index| !index.entries.is_empty());
        let untracked: Vec<PathBuf> = tracked
            .0
            .iter()
            .filter(|file| is_usable && is_meant(file.path) == Some(false))
            .map(|file| path_of(file.path))
            .filter(|path| !diff.gone.contains(path))
            .collect();
        let untracked: Vec<&Path> = untracked.iter().map(PathBuf::as_path).collect();
        let asked: Vec<&Path> = new.iter().chain(&untracked).copied().collect();
        let ignored = self.ignored_of(&asked, diff, tracked, work).await?;
        let is_forced = |path: &Path| is_meant(path.as_os_str().as_bytes()) == Some(true);
        let left_out: HashSet<PathBuf> = new
            .iter()
            .filter(|path| ignored.contains(**path) && !is_forced(path))
            .map(|path| path.to_path_buf())
            .collect();
        let dropped: HashSet<PathBuf> = untracked
            .iter()
            .filter(|path| ignored.contains(**path))
            .map(|path| path.to_path_buf())
            .collect();
        diff.written.retain(|path| !left_out.contains(path));
        diff.moved.retain(|path, _| !left_out.contains(path));
        diff.brought.retain(|path, _| !left_out.contains(path));
        // Such as a dependency that was installed with its history.
        diff.unstorable.retain(|path, _| !left_out.contains(path));
        Ok(dropped)
    }

    /// The index of an agent. `None` where there is none, or it can't be read: then nothing is taken from it.
    pub(super) fn index_of_agent(&self, index: Option<&Path>) -> Option<IndexFile> {
        let (path, objects) = (index?, self.objects.as_ref()?);
        let meta = std::fs::symlink_metadata(path).ok()?;
        if !meta.is_file() || meta.len() > LARGEST_INDEX {
            return None;
        }
        IndexFile::read(path, objects.format()).ok()?
    }

    /// Asks git which paths the rules of the candidate ignore. The rules are files, so git is given a folder
    /// that holds them: those of the base, with those of the upper folder in their place.
    async fn ignored_of(
        &self,
        paths: &[&Path],
        diff: &LayerDiff,
        tracked: &TrackedFiles<'_>,
        work: &LayerWork<'_>,
    ) -> Result<HashSet<PathBuf>, GitError> {
        let may_be_ignored = match self.known_rules(diff, tracked, work) {
            Some(rules) => paths.iter().any(|path| rules.may_ignore(path)),
            None => !paths.is_empty(),
        };
        if !may_be_ignored {
            return Ok(HashSet::new());
        }
        let rules = self.rules_folder(".gitignore", diff, tracked, work).await?;
        // Some rules are about folders alone.
        for repository in diff.repositories() {
            let folder = rules.path().join(repository);
            std::fs::create_dir_all(&folder).map_err(GitError::io("make", &folder))?;
        }
        self.check_ignore(paths, rules.path()).await
    }

    /// Reads the rules of the candidate. `None` where a file of them can't be had without git.
    fn known_rules(
        &self,
        diff: &LayerDiff,
        tracked: &TrackedFiles<'_>,
        work: &LayerWork<'_>,
    ) -> Option<IgnoreRules> {
        let is_rules = |path: &Path| path.file_name().is_some_and(|name| name == ".gitignore");
        let mut elsewhere = diff.moved.keys().chain(diff.brought.keys());
        if self.storing == Storing::LeftToGit || elsewhere.any(|path| is_rules(path)) {
            return None;
        }
        let mut rules = IgnoreRules::default();
        rules.add_excludes(&self.excludes);
        rules.add_file(&self.shadow.path().join("info/exclude"));
        let written = work.entries.iter();
        let written = written.filter(|entry| !matches!(entry.kind, UpperKind::Folder { .. }));
        let written: HashMap<&Path, &UpperKind> = written
            .filter(|entry| is_rules(&entry.path))
            .map(|entry| (entry.path.as_path(), &entry.kind))
            .collect();
        for file in tracked.all() {
            let path = path_of(file.path);
            if !is_rules(&path) || written.contains_key(path.as_path()) || diff.gone.contains(&path)
            {
                continue;
            }
            let text = plain_file::read(&self.root.join(&path)).ok()?;
            let format = self.objects.as_ref()?.format();
            if format.id_of(ObjectKind::Blob, &text) != *file.id {
                return None;
            }
            rules.add(&text);
        }
        for (path, kind) in written {
            // Git reads no rules through a link.
            if matches!(kind, UpperKind::File { .. }) {
                rules.add(&plain_file::read(&work.folder.join(path)).ok()?);
            }
        }
        Some(rules)
    }

    /// Finds files that the agent did not write and that its index has in another form: attributes that it
    /// changed store them in that. Returns those with their mode and new object.
    async fn renormalised(
        &self,
        diff: &LayerDiff,
        tracked: &TrackedFiles<'_>,
        work: &LayerWork<'_>,
    ) -> Result<Vec<(PathBuf, u32, Oid)>, GitError> {
        let agent_index = self.index_of_agent(work.index);
        let Some(meant) = agent_index.as_ref().and_then(IndexFile::parse) else {
            return Ok(Vec::new());
        };
        let is_plain = |path: &Path| {
            let is_written = diff.written.contains(path) || diff.gone.contains(path);
            // One a line is what git asks for.
            !is_written && !path.as_os_str().as_bytes().contains(&b'\n')
        };
        let other: Vec<(PathBuf, &TrackedFile<'_>)> = tracked
            .all()
            .filter(|file| {
                let found = meant.entries.binary_search_by(|e| e.path.cmp(file.path));
                let entry = found.ok().and_then(|at| meant.entries.get(at));
                file.mode & 0o170_000 == 0o100_000 && entry.is_some_and(|e| *e.id != *file.id)
            })
            .map(|file| (path_of(file.path), file))
            .filter(|(path, _)| is_plain(path))
            .collect();
        if other.is_empty() {
            return Ok(Vec::new());
        }
        let folder = self.rules_folder(".gitattributes", diff, tracked, work);
        let folder = folder.await?;
        let paths: Vec<&Path> = other.iter().map(|(path, _)| path.as_path()).collect();
        self.check_out_to(folder.path(), &paths).await?;
        let list: Vec<u8> = paths
            .iter()
            .flat_map(|path| [path.as_os_str().as_bytes(), b"\n"].concat())
            .collect();
        let args = ["hash-object", "-w", "--stdin-paths"];
        let call = self.git(args).work_tree(folder.path()).stdin(list);
        let hashed = String::from_utf8_lossy(&call.run().await?).into_owned();
        let mut found = Vec::new();
        for (id, (path, file)) in hashed.lines().zip(other) {
            let id = Oid::parse(id).map_err(|bad| GitError::Unexpected {
                command: "git hash-object".into(),
                answer: bad.0,
            })?;
            if id != Oid::from_bytes(&file.id) {
                found.push((path, file.mode, id));
            }
        }
        Ok(found)
    }

    /// Writes files as the base has them into another folder.
    async fn check_out_to(&self, folder: &Path, paths: &[&Path]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut prefix = std::ffi::OsString::from("--prefix=");
        prefix.push(folder);
        prefix.push("/");
        let call = self.git(["checkout-index", "-z", "--stdin"]).arg(prefix);
        call.stdin(joined(paths)).run().await.map(drop)
    }

    /// Makes a folder that holds the files of this name alone: those of the base, with those of the upper folder
    /// in their place, and those of folders that were renamed where these are now.
    async fn rules_folder(
        &self,
        name: &str,
        diff: &LayerDiff,
        tracked: &TrackedFiles<'_>,
        work: &LayerWork<'_>,
    ) -> Result<tempfile::TempDir, GitError> {
        let rules = tempfile::tempdir_in(self.shadow.path())
            .map_err(GitError::io("make a folder in", self.shadow.path()))?;
        let is_rule = |path: &Path| path.file_name().is_some_and(|file| file == name);
        let hidden: HashSet<&Path> = work
            .entries
            .iter()
            .filter(|entry| !matches!(entry.kind, UpperKind::Folder { .. }))
            .map(|entry| entry.path.as_path())
            .collect();
        let of_base: Vec<&Path> = tracked
            .0
            .iter()
            .map(|file| Path::new(OsStr::from_bytes(file.path)))
            .filter(|path| is_rule(path) && !hidden.contains(path) && !diff.gone.contains(*path))
            .collect();
        self.check_out_to(rules.path(), &of_base).await?;
        let moved = diff.moved.iter().filter(|(to, _)| is_rule(to));
        let moved: Vec<(&PathBuf, &PathBuf)> = moved.collect();
        let aside = tempfile::tempdir_in(self.shadow.path())
            .map_err(GitError::io("make a folder in", self.shadow.path()))?;
        let before: Vec<&Path> = moved.iter().map(|(_, from)| from.as_path()).collect();
        self.check_out_to(aside.path(), &before).await?;
        let of_agent = work
            .entries
            .iter()
            .filter(|entry| is_rule(&entry.path) && matches!(entry.kind, UpperKind::File { .. }));
        let of_agent = of_agent.map(|entry| (entry.path.clone(), work.folder.join(&entry.path)));
        let moved = moved.iter();
        let moved = moved.map(|(to, from)| (to.to_path_buf(), aside.path().join(from)));
        let brought = diff.brought.iter().filter(|(to, _)| is_rule(to));
        let brought = brought.map(|(to, file)| (to.clone(), file.from.clone()));
        for (path, from) in of_agent.chain(moved).chain(brought) {
            let to = rules.path().join(path);
            // Git reads no rules through a link.
            if !std::fs::symlink_metadata(&from).is_ok_and(|meta| meta.is_file()) {
                continue;
            }
            let folder = to.parent().unwrap_or(&to);
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::copy(&from, &to))
                .map_err(GitError::io("read", &from))?;
        }
        Ok(rules)
    }

    /// Gives tracked files their new paths in the stage index, and others the objects that replace theirs.
    async fn move_in_stage(
        &self,
        moved: &BTreeMap<PathBuf, PathBuf>,
        replaced: &[(PathBuf, u32, Oid)],
        tracked: &TrackedFiles<'_>,
    ) -> Result<(), GitError> {
        let moved = moved.iter().filter_map(|(to, from)| {
            let file = tracked.get(from)?;
            Some((to.clone(), file.mode, Oid::from_bytes(&file.id)))
        });
        let mut lines = Vec::new();
        for (path, mode, id) in moved.chain(replaced.iter().cloned()) {
            lines.extend(format!("{mode:o} {id}\t").into_bytes());
            lines.extend(path.as_os_str().as_bytes());
            lines.push(0);
        }
        let call = self.git(["update-index", "--add", "--replace", "-z", "--index-info"]);
        call.index(Index::Stage).stdin(lines).run().await.map(drop)
    }
}

/// The entries of the base index, as it is or as git lists it.
pub(super) enum BaseEntries {
    Index(IndexFile),
    Listed(Vec<u8>),
}

impl BaseEntries {
    pub(super) fn tracked(&self) -> Result<TrackedFiles<'_>, GitError> {
        let files = match self {
            Self::Index(index) => index.parse().map(|parsed| {
                let entries = parsed.entries.iter();
                entries
                    .map(|entry| TrackedFile {
                        path: entry.path,
                        mode: entry.mode,
                        id: Cow::Borrowed(entry.id),
                    })
                    .collect()
            }),
            Self::Listed(listed) => {
                let records = listed.split(|byte| *byte == 0);
                records
                    .filter(|r| !r.is_empty())
                    .map(parse_staged)
                    .collect()
            }
        };
        files.map(TrackedFiles).ok_or_else(|| GitError::Unexpected {
            command: "git ls-files --stage".into(),
            answer: "a record that git does not document".into(),
        })
    }
}

/// Reads a record of `git ls-files --stage -z`: mode, name, stage, path.
fn parse_staged(record: &[u8]) -> Option<TrackedFile<'_>> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let (head, path) = (
        std::str::from_utf8(&record[..tab]).ok()?,
        &record[tab + 1..],
    );
    let mut fields = head.split(' ');
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let hex = fields.next()?;
    let bytes = (0..hex.len()).step_by(2).map(|at| {
        let byte = hex.get(at..at + 2)?;
        u8::from_str_radix(byte, 16).ok()
    });
    Some(TrackedFile {
        path,
        mode,
        id: Cow::Owned(bytes.collect::<Option<_>>()?),
    })
}

fn diff_of(tracked: &TrackedFiles<'_>, entries: &[UpperEntry]) -> LayerDiff {
    let kinds: HashMap<&Path, &UpperKind> = entries
        .iter()
        .map(|entry| (entry.path.as_path(), &entry.kind))
        .collect();
    let mut diff = LayerDiff::default();
    let submodules = tracked.0.iter().filter(|file| file.mode == SUBMODULE);
    let submodules: HashSet<PathBuf> = submodules.map(|file| path_of(file.path)).collect();
    let renamed_submodule = |entry: &UpperEntry| match &entry.kind {
        UpperKind::Folder {
            lower: Some(lower), ..
        } => *lower != entry.path && submodules.contains(lower),
        _ => false,
    };
    let renamed = entries.iter().filter(|entry| renamed_submodule(entry));
    let renamed: HashSet<&Path> = renamed.map(|entry| entry.path.as_path()).collect();
    // What is in a submodule is its own: this repository records its commit alone.
    let in_submodule = |path: &Path| {
        let is_one = |above: &Path| submodules.contains(above) || renamed.contains(above);
        !submodules.is_empty() && path.ancestors().skip(1).any(is_one)
    };
    let repositories: BTreeSet<&Path> = entries
        .iter()
        .filter(|entry| entry.path.file_name().is_some_and(|name| name == ".git"))
        .filter_map(|entry| entry.path.parent())
        .filter(|folder| !folder.as_os_str().is_empty())
        .filter(|folder| !submodules.contains(*folder) && !renamed.contains(folder))
        .filter(|folder| !in_submodule(folder))
        .collect();
    for repository in &repositories {
        diff.unstorable
            .insert(repository.to_path_buf(), EntryKind::Repository);
    }
    let in_repository = |path: &Path| repositories.iter().any(|folder| path.starts_with(folder));
    for UpperEntry { path, kind } in entries {
        // The git folder of the agent is not work.
        if path.starts_with(".git") || in_repository(path) || in_submodule(path) {
            continue;
        }
        if submodules.contains(path) && matches!(kind, UpperKind::Folder { .. }) {
            continue;
        }
        match kind {
            UpperKind::File { .. } | UpperKind::Symlink => {
                diff.gone.extend(tracked.below(path));
                diff.written.insert(path.clone());
            }
            UpperKind::Whiteout => {
                diff.gone.extend(tracked.below(path));
                if tracked.holds(path) {
                    diff.gone.insert(path.clone());
                }
            }
            UpperKind::Folder { lower, .. } => {
                if tracked.holds(path) {
                    diff.gone.insert(path.clone());
                }
                if lower.as_ref() != Some(path) {
                    diff.gone.extend(tracked.below(path));
                }
                if let Some(lower) = lower.as_ref().filter(|lower| *lower != path) {
                    if submodules.contains(lower) {
                        diff.moved.insert(path.clone(), lower.clone());
                    }
                    for file in tracked.below(lower) {
                        let Ok(rest) = file.strip_prefix(lower) else {
                            continue;
                        };
                        let shown = path.join(rest);
                        // What the upper folder has on the way there hides it, or says itself what shows.
                        let mut way = shown.ancestors().take_while(|above| *above != path);
                        if !way.any(|above| kinds.contains_key(above)) {
                            diff.moved.insert(shown, file);
                        }
                    }
                }
            }
            UpperKind::TooLong => {
                diff.unstorable.insert(path.clone(), EntryKind::TooLong);
            }
            // One that stands where nothing was tracked is nothing to git, and goes with the layer.
            UpperKind::Other(_) | UpperKind::UnreadableFolder => {
                if tracked.holds(path) || tracked.below(path).next().is_some() {
                    diff.unstorable.insert(path.clone(), EntryKind::Special);
                }
            }
        }
    }
    let LayerDiff {
        written,
        gone,
        moved,
        ..
    } = &mut diff;
    gone.retain(|path| !written.contains(path) && !moved.contains_key(path));
    // A folder that was renamed and renamed back shows what it did before.
    moved.retain(|to, from| to != from);
    diff
}

fn changes(
    diff: &LayerDiff,
    tracked: &TrackedFiles<'_>,
    folder: &Path,
    dropped: &HashSet<PathBuf>,
) -> Vec<Changed> {
    let kind = |path: &Path| {
        if tracked.holds(path) {
            ChangeKind::Modified
        } else {
            ChangeKind::Added
        }
    };
    let gone = diff.gone.iter().chain(dropped).map(|path| Changed {
        path: path.clone(),
        kind: ChangeKind::Deleted,
        entry: EntryKind::Gone,
        size: 0,
    });
    let written = diff.written.iter().filter(|path| !dropped.contains(*path));
    let written = written.filter_map(|path| {
        let (entry, size) = entry_of(&folder.join(path))?;
        Some(Changed {
            path: path.clone(),
            kind: kind(path),
            entry,
            size,
        })
    });
    let moved = diff.moved.iter().filter_map(|(path, from)| {
        let entry = match tracked.get(from)?.mode {
            0o100_755 => EntryKind::Executable,
            SUBMODULE => EntryKind::Repository,
            // The target of a link that was only moved was inspected when it landed.
            _ => EntryKind::File,
        };
        Some(Changed {
            path: path.clone(),
            kind: kind(path),
            entry,
            size: 0,
        })
    });
    let unstorable = diff.unstorable.iter().map(|(path, entry)| Changed {
        path: path.clone(),
        kind: ChangeKind::TypeChanged,
        entry: entry.clone(),
        size: 0,
    });
    gone.chain(written).chain(moved).chain(unstorable).collect()
}

fn entry_of(full: &Path) -> Option<(EntryKind, u64)> {
    use std::os::unix::fs::PermissionsExt;
    let meta = std::fs::symlink_metadata(full).ok()?;
    let entry = if meta.is_symlink() {
        let target = std::fs::read_link(full).unwrap_or_default();
        EntryKind::Symlink { target }
    } else if meta.permissions().mode() & 0o100 != 0 {
        EntryKind::Executable
    } else {
        EntryKind::File
    };
    Some((entry, meta.len()))
}
