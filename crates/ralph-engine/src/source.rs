//! The task source: one file or a folder of them, found, read, and written back.
//!
//! Writing changes the one value that changed, and is atomic. A file that changed on disk since it
//! was read is read again and the change made to what is there now: nothing is ever overwritten.

mod find;
mod new_files;
mod places;
mod snapshot;

pub use find::{
    FindError, FoundBy, FoundSource, KnownSources, OfferedList, SourceSearch, find_source,
    in_shell, is_markdown, is_prose, plan_hint,
};
pub(crate) use new_files::{TaskFiles, is_task_place, suggested_in_content};
pub use snapshot::{RestoredTaskFile, Snapshots, has_mark, put_back_since};

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::LazyLock,
};

use ralph_core::{
    secret::{Redaction, hidden_flag},
    task::{
        Place, Task, TaskId,
        format::{
            self, Edit, Format, FormatError, FormatWarning, Meta, NamedCheck, NewTask, Splice,
            Syntax,
        },
        suggested::SuggestedTask,
    },
};

use crate::{
    atomic,
    plain_file::{self, FileStamp},
};

/// Where tasks come from, as last read.
#[derive(Debug)]
pub struct Source {
    /// The file or folder.
    path: PathBuf,
    /// The name for people and the journal: relative to the repository.
    name: String,
    is_folder: bool,
    files: Vec<SourceFile>,
    /// The names of the files in the folder, where it is one.
    names: HashSet<OsString>,
}

#[derive(Debug)]
pub struct SourceFile {
    pub path: PathBuf,
    pub name: String,
    pub format: Format,
    pub meta: Meta,
    /// Things that were read by their nearest meaning, or not at all.
    pub warnings: Vec<FormatWarning>,
    /// Says what was taken for the tasks, where the file has not the usual shape.
    pub reading: Option<String>,
    /// Commands around its list that are meant to check the work, and are not run unasked.
    pub checks: Vec<NamedCheck>,
    /// Its path from the root, if it lies below that.
    pub(crate) inside: Option<PathBuf>,
    /// Where the file really is, if it is a link.
    link: Option<PathBuf>,
    bytes: Vec<u8>,
    /// The state of the file when it was read.
    stamp: Option<FileStamp>,
    syntax: Syntax,
    /// The changes by which the text became what it is since its tasks were read, oldest first; `None` where
    /// it became that in another way.
    edits: Option<Vec<FileEdit>>,
}

/// A change that ralph made in a task file.
#[derive(Debug)]
struct FileEdit {
    /// The state of the file before.
    from: Option<FileStamp>,
    splices: Vec<Splice>,
}

/// The files of a source that were written since they were read.
#[derive(Debug)]
pub struct WrittenSince(Vec<usize>);

fn suggestion(task: Task, file: &str) -> SuggestedTask {
    SuggestedTask {
        task,
        file: file.to_owned(),
        not_taken: None,
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error("can't read {path}")]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("can't write {path}")]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("task {task} is in none of the files of {name}")]
    NoSuchTask { task: TaskId, name: String },
    #[error("there is no {name} in commit {commit}, where this loop would work")]
    NotOnBranch { name: String, commit: String },
    #[error("{path} is there already")]
    Exists { path: PathBuf },
}

impl Source {
    /// Reads the source at `path`; `root` is what names are relative to.
    pub fn read(path: &Path, root: &Path) -> Result<(Self, Vec<Task>), SourceError> {
        let paths = Self::paths(path)?;
        let files = paths.into_iter().map(|path| (path, None)).collect();
        Self::read_files(path, root, path.is_dir(), files)
    }

    /// The files of the source at `path`: itself, or the task files of a folder.
    pub fn paths(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| SourceError::Read { path, source }
        };
        if std::fs::metadata(path).map_err(fail(path))?.is_dir() {
            task_files(path).map_err(fail(path))
        } else {
            Ok(vec![path.to_owned()])
        }
    }

    /// Reads the same source from other files; those with bytes are not read from disk. It is for looking at,
    /// not for writing.
    pub(crate) fn read_as(
        &self,
        files: Vec<(PathBuf, Option<Vec<u8>>)>,
        root: &Path,
    ) -> Result<(Self, Vec<Task>), SourceError> {
        Self::read_files(&self.path, root, self.is_folder, files)
    }

    /// Returns whether a file at this path would be part of it.
    pub(crate) fn has_place_for(&self, path: &Path) -> bool {
        if self.is_folder {
            path.parent() == Some(&self.path) && has_task_name(path)
        } else {
            path == self.path
        }
    }

    fn read_files(
        path: &Path,
        root: &Path,
        is_folder: bool,
        given: Vec<(PathBuf, Option<Vec<u8>>)>,
    ) -> Result<(Self, Vec<Task>), SourceError> {
        let mut files = Vec::with_capacity(given.len());
        let mut tasks = Vec::new();
        for (index, (path, bytes)) in given.into_iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let stamp = stamp(&path);
            let bytes = match bytes {
                Some(bytes) => bytes,
                None => plain_file::read(&path).map_err(|source| SourceError::Read {
                    path: path.clone(),
                    source,
                })?,
            };
            let link = std::fs::read_link(&path).ok();
            let name = name_of(&path, root);
            let mut document = format::parse(&name, index, &bytes)?;
            files.push(SourceFile {
                inside: path.strip_prefix(root).ok().map(Path::to_owned),
                path,
                name,
                format: document.format,
                meta: document.meta,
                warnings: document.warnings,
                reading: document.reading,
                checks: document.checks,
                link,
                bytes,
                stamp,
                syntax: document.syntax,
                edits: Some(Vec::new()),
            });
            tasks.append(&mut document.tasks);
        }
        let named = files.iter().filter_map(|file| file.path.file_name());
        let source = Self {
            names: named.filter(|_| is_folder).map(OsStr::to_owned).collect(),
            path: path.to_owned(),
            name: name_of(path, root),
            is_folder,
            files,
        };
        Ok((source, tasks))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Returns what the first file that says anything says about the project.
    pub fn meta(&self) -> Meta {
        let first = |get: fn(&Meta) -> &Option<String>| {
            self.files.iter().find_map(|f| get(&f.meta).clone())
        };
        Meta {
            project: first(|m| &m.project),
            branch_name: first(|m| &m.branch_name),
            title: first(|m| &m.title),
            description: first(|m| &m.description),
        }
    }

    /// The file, line and column of a task, for a person.
    pub fn place(&self, task: &Task) -> String {
        self.shown(task.place)
    }

    /// The file, line and column of a place, for a person.
    fn shown(&self, place: Place) -> String {
        let Some(file) = self.files.get(place.file as usize) else {
            return self.name.clone();
        };
        let offset = file.offset_now(place.offset as usize);
        let (line, column) = format::line_column(&file.bytes, offset.unwrap_or_default());
        format!("{}:{line}:{column}", file.name)
    }

    /// Says for each file without the usual shape what was taken for its tasks.
    pub fn readings(&self) -> Vec<String> {
        let said = self.files.iter().filter_map(|file| {
            let reading = file.reading.as_ref()?;
            Some(format!("{}: {reading}", file.name))
        });
        said.collect()
    }

    /// Things in the files that were read by their nearest meaning, or not at all.
    pub fn warnings(&self) -> impl Iterator<Item = &FormatWarning> {
        self.files.iter().flat_map(|file| &file.warnings)
    }

    /// The warnings in sentences, each with its place.
    pub fn warning_sentences(&self) -> impl Iterator<Item = String> {
        self.warnings().map(|warning| {
            let place = self.shown(warning.place);
            match &warning.task {
                Some(task) => format!("{place}: task {task}: {}", warning.message),
                None => format!("{place}: {}", warning.message),
            }
        })
    }

    /// Returns whether anything was written since it was read. Looks at the files' state, not their text.
    pub fn has_changed(&self) -> bool {
        let is_listed = |now: ListedNames| now.known == self.names.len() && now.others.is_empty();
        let listed = !self.is_folder || self.list_names(&self.path).is_ok_and(is_listed);
        !listed || !self.written().0.is_empty()
    }

    /// Lists the task files of a folder, beside those that this source has read from it.
    fn list_names(&self, folder: &Path) -> std::io::Result<ListedNames> {
        let none = HashSet::new();
        let is_own = self.is_folder && folder == self.path;
        ListedNames::of(folder, if is_own { &self.names } else { &none })
    }

    /// Returns whether its tasks are those that were read, but for what ralph itself wrote of them since.
    pub(crate) fn has_tasks_as_read(&self) -> bool {
        self.files.iter().all(|file| file.edits.is_some()) && !self.has_changed()
    }

    /// The folder that its files are in, where it is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.is_folder.then_some(&self.path)
    }

    /// Returns whether one of its files was written since it was read.
    pub fn is_written(&self, path: &Path) -> bool {
        let mut files = self.files.iter();
        files.any(|file| file.path == path && stamp(path) != file.stamp)
    }

    /// Makes the edits in the files that hold their tasks. All edits are of tasks that have a place.
    ///
    /// Gives the files that were written.
    pub fn write(
        &mut self,
        edits: &[Edit],
        places: &dyn Fn(&TaskId) -> Option<Place>,
    ) -> Result<Vec<PathBuf>, SourceError> {
        let mut written = Vec::new();
        for index in 0..self.files.len() {
            let mine = edits.iter().filter_map(|edit| {
                let place = places(&edit.task)?;
                (place.file as usize == index).then(|| (place, edit.clone()))
            });
            let (mine_at, mine): (Vec<Place>, Vec<Edit>) = mine.unzip();
            let Some(place) = mine_at.first() else {
                continue;
            };
            let file = &mut self.files[index];
            file.refresh()?;
            if file.edit(*place, &mine)? == FileEdited::Yes {
                written.push(file.path.clone());
            }
        }
        if let Some(lost) = edits.iter().find(|e| places(&e.task).is_none()) {
            return Err(SourceError::NoSuchTask {
                task: lost.task.clone(),
                name: self.name.clone(),
            });
        }
        Ok(written)
    }

    /// The text of one of its files, as last read or written.
    pub(crate) fn bytes_of(&self, path: &Path) -> Option<&[u8]> {
        let mut files = self.files.iter();
        files.find(|file| file.path == path).map(SourceFile::bytes)
    }

    /// Replaces the text of one of its files if it is still this one; returns whether it was.
    pub(crate) fn exchange(
        &mut self,
        path: &Path,
        old: &[u8],
        new: Vec<u8>,
    ) -> Result<bool, SourceError> {
        let mut files = self.files.iter_mut();
        let Some(file) = files.find(|file| file.path == path) else {
            return Ok(false);
        };
        if plain_file::read(path).is_ok_and(|now| now == old) {
            file.replace(new)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Undoes what a run of an agent on `own` did to the files that is not its to do.
    /// `written` are the files to look at. Secrets that it wrote there are hidden.
    pub fn put_back(
        &mut self,
        written: &WrittenSince,
        own: &TaskId,
        redaction: &Redaction,
    ) -> Result<Vec<String>, SourceError> {
        let mut said = Vec::new();
        for &at in &written.0 {
            let file = &mut self.files[at];
            if stamp(&file.path) == file.stamp {
                continue;
            }
            file.clear_what_took_its_place()?;
            let now = plain_file::read(&file.path).unwrap_or_default();
            let put = format::undo_tampering(&file.name, &file.bytes, &now, own);
            said.extend(put.tampering.iter().map(|t| format!("task file: {t}")));
            let bytes = match redaction.hide_added(&file.bytes, &put.bytes) {
                Some((hidden, rules)) => {
                    said.push(hidden_flag(&file.name, &rules));
                    hidden
                }
                None => put.bytes,
            };
            if bytes == now {
                file.bytes = now;
                file.stamp = stamp(&file.path);
                file.edits = None;
            } else {
                file.replace(bytes)?;
            }
        }
        Ok(said)
    }

    /// Finds the files that were written since they were read.
    pub fn written(&self) -> WrittenSince {
        // From their folder, the way to each of many files is short.
        let folder = self
            .folder()
            .and_then(|path| std::fs::File::open(path).ok());
        let is_written = |file: &SourceFile| {
            let now = match (&folder, file.path.file_name()) {
                (Some(folder), Some(name)) => FileStamp::at(folder, name),
                _ => stamp(&file.path),
            };
            now != file.stamp
        };
        let written_in =
            |files: &[SourceFile]| -> Vec<bool> { files.iter().map(is_written).collect() };
        // As git looks at its files: with all processors where there are many.
        let share = match self.files.len() {
            0..FEWEST_SHARED => FEWEST_SHARED,
            many => many.div_ceil(*PROCESSORS),
        };
        let mut shares = self.files.chunks(share);
        let own = shares.next().unwrap_or_default();
        let written = std::thread::scope(|threads| {
            let others: Vec<_> = shares
                .map(|files| threads.spawn(|| written_in(files)))
                .collect();
            let mut written = written_in(own);
            for other in others {
                let found = other.join();
                written.extend(found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            written
        });
        let written = written.into_iter().enumerate();
        let written = written
            .filter_map(|(at, is_written)| is_written.then_some(at))
            .collect();
        WrittenSince(written)
    }

    /// The paths of these files.
    pub(crate) fn paths_of<'a>(
        &'a self,
        written: &'a WrittenSince,
    ) -> impl Iterator<Item = &'a Path> {
        written.0.iter().map(|at| self.files[*at].path.as_path())
    }

    /// The tasks that were written into these files since they were read.
    pub(crate) fn added(&self, written: &WrittenSince) -> Vec<SuggestedTask> {
        let written = written.0.iter().map(|at| &self.files[*at]);
        let added = written.flat_map(|file| {
            let now = plain_file::read(&file.path).unwrap_or_default();
            let added = format::added_tasks(&file.name, &file.bytes, &now);
            added.into_iter().map(|task| suggestion(task, &file.name))
        });
        added.collect()
    }

    /// Adds a task: at the end of the file, or as a file of its own in the folder.
    pub fn add(&mut self, task: &NewTask) -> Result<PathBuf, SourceError> {
        if self.is_folder {
            let path = self.path.join(format!("{}.yaml", task.id));
            if path.exists() {
                return Err(SourceError::Exists { path });
            }
            write_atomically(&path, format::render_new(task).as_bytes())?;
            return Ok(path);
        }
        let file = &mut self.files[0];
        file.refresh()?;
        let bytes = format::append(&file.name, &file.bytes, task)?;
        file.replace(bytes)?;
        Ok(file.path.clone())
    }
}

/// Tells if edits changed a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileEdited {
    Yes,
    No,
}

impl SourceFile {
    /// The text as last read or written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns where what was read at an offset stands now; `None` where that is not known.
    fn offset_now(&self, offset: usize) -> Option<usize> {
        let splices = self.edits.as_ref()?.iter().flat_map(|edit| &edit.splices);
        Some(splices.fold(offset, |offset, splice| splice.moved(offset)))
    }

    /// Makes edits of tasks, the first of which was read at `place`.
    fn edit(&mut self, place: Place, edits: &[Edit]) -> Result<FileEdited, SourceError> {
        let offset = self.offset_now(place.offset as usize);
        let offset = offset.filter(|_| self.syntax == Syntax::Json);
        let splices = offset.and_then(|at| format::splices_at(&self.bytes, self.format, at, edits));
        if let Some(splices) = splices {
            return self.splice(splices);
        }
        let bytes = format::apply(&self.name, &self.bytes, edits)?;
        if bytes == self.bytes {
            return Ok(FileEdited::No);
        }
        self.replace(bytes)?;
        Ok(FileEdited::Yes)
    }

    /// Changes the text where it stands: a file of many tasks is not copied for one.
    fn splice(&mut self, splices: Vec<Splice>) -> Result<FileEdited, SourceError> {
        if splices.is_empty() {
            return Ok(FileEdited::No);
        }
        let bytes = &mut self.bytes;
        let mut undo = Vec::new();
        for splice in &splices {
            undo.extend(splice.perform(bytes));
        }
        let written = if undo.len() == splices.len() {
            write_atomically(&self.path, bytes)
        } else {
            Err(SourceError::Write {
                path: self.path.clone(),
                source: std::io::Error::other("its text is shorter than it was"),
            })
        };
        if let Err(error) = written {
            for splice in undo.iter().rev() {
                splice.perform(bytes);
            }
            return Err(error);
        }
        let from = self.stamp;
        self.note_written();
        if let Some(edits) = &mut self.edits {
            edits.push(FileEdit { from, splices });
        }
        Ok(FileEdited::Yes)
    }

    /// Reads the file again if it was written since. One that can't be parsed is an error and stays.
    fn refresh(&mut self) -> Result<(), SourceError> {
        let now = stamp(&self.path);
        if now == self.stamp && now.is_some() {
            return Ok(());
        }
        self.bytes = plain_file::read(&self.path).map_err(|source| SourceError::Read {
            path: self.path.clone(),
            source,
        })?;
        self.stamp = now;
        self.edits = None;
        Ok(())
    }

    /// Takes away a folder, a pipe or another link that an agent put where the file was, and makes
    /// a link again where it was one: nothing is ever written to where an agent points.
    fn clear_what_took_its_place(&self) -> Result<(), SourceError> {
        if std::fs::read_link(&self.path).ok() == self.link && self.path.is_file() {
            return Ok(());
        }
        let clear = || {
            if let Some(folder) = self.path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            plain_file::make_room(&self.path)?;
            if let Some(link) = &self.link {
                let _ = std::fs::remove_file(&self.path);
                std::os::unix::fs::symlink(link, &self.path)?;
            }
            Ok(())
        };
        clear().map_err(|source| SourceError::Write {
            path: self.path.clone(),
            source,
        })
    }

    fn replace(&mut self, bytes: Vec<u8>) -> Result<(), SourceError> {
        write_atomically(&self.path, &bytes)?;
        self.bytes = bytes;
        self.edits = None;
        self.note_written();
        Ok(())
    }

    fn note_written(&mut self) {
        if self.bytes.len() >= LARGE {
            make_older(&self.path);
        }
        self.stamp = stamp(&self.path);
    }
}

/// Replaces a file as a whole.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), SourceError> {
    atomic::write(path, bytes).map_err(|source| SourceError::Write {
        path: path.to_owned(),
        source,
    })
}

/// From this number of files on, looking at them is shared by all processors.
const FEWEST_SHARED: usize = 2_000;
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8)
});

/// From this size on it takes git longer to read a file than to be started.
const LARGE: usize = 256 * 1024;

/// Makes a file that was just written two seconds older. Git reads one again that is as new as its index, to
/// the second, in each command; a task file that is stored at once would be read again and again.
fn make_older(path: &Path) {
    let older = || {
        let file = std::fs::File::options().write(true).open(path)?;
        let written = file.metadata()?.modified()?;
        file.set_modified(written - std::time::Duration::from_secs(2))
    };
    // It only saves time.
    let _: std::io::Result<()> = older();
}

/// The task files of a folder, by name.
fn task_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut names = ListedNames::of(folder, &HashSet::new())?.others;
    names.sort();
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// The names of the task files of a folder.
struct ListedNames {
    /// The number of those that are known.
    known: usize,
    /// All others, in any order.
    others: Vec<OsString>,
}

impl ListedNames {
    fn of(folder: &Path, known: &HashSet<OsString>) -> std::io::Result<Self> {
        let mut names = Self {
            known: 0,
            others: Vec::new(),
        };
        for entry in std::fs::read_dir(folder)?.flatten() {
            // Most say what they are without being looked at.
            let is_file = |kind: std::fs::FileType| {
                kind.is_file() || kind.is_symlink() && entry.path().is_file()
            };
            if !entry.file_type().is_ok_and(is_file) {
                continue;
            }
            let name = entry.file_name();
            if known.contains(&name) {
                names.known += 1;
            } else if has_task_name(Path::new(&name)) {
                names.others.push(name);
            }
        }
        Ok(names)
    }
}

/// Returns whether a file is a task file by its name.
fn has_task_name(path: &Path) -> bool {
    let known = path
        .extension()
        .is_some_and(|e| e == "json" || e == "yaml" || e == "yml");
    let hidden = path
        .file_name()
        .is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
    known && !hidden
}

fn name_of(path: &Path, root: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let found = std::fs::metadata(path).ok()?;
    Some(FileStamp::new(&found))
}

#[cfg(test)]
mod tests;
