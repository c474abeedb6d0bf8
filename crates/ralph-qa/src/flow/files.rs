//! Finds flow files in the folder of the flows, by path, by the stem of the file or by the flow's name.
//!
//! Reads no file that lies outside the project, also not through a link.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

use ralph_engine::plain_file;

use super::{Flow, FlowMistakes, MAX_FLOW_BYTES, read_flow};

/// The deepest folder that is looked into, and the most flow files.
const MAX_DEPTH: usize = 8;
const MAX_FILES: usize = 1000;
/// The most names that are listed where one is not there.
const MAX_LISTED: usize = 5;

/// Why there are no flows to run. Each names the file or the name.
#[derive(Debug, thiserror::Error)]
pub enum FlowFileError {
    #[error("{}", all_lines(.0))]
    Mistakes(Vec<FlowMistakes>),
    #[error("no flow `{name}`{}", nearest_hint(nearest))]
    NotFound {
        name: String,
        /// Names that were probably meant, or some that are there.
        nearest: Vec<String>,
    },
    #[error("{}: there is no such folder; flows are files such as `{}/home.yaml`", .0.display(), .0.display())]
    NoFolder(PathBuf),
    #[error("{}: there is no flow in it; flows are files such as `{}/home.yaml`", .0.display(), .0.display())]
    NoFlow(PathBuf),
    #[error("{} and {}: both flows are named `{name}`; give one of them another `name:`", first.display(), second.display())]
    SameName {
        name: String,
        first: PathBuf,
        second: PathBuf,
    },
    #[error("{} and {}: their pictures would have the same baselines; rename one of the files", first.display(), second.display())]
    SameStem { first: PathBuf, second: PathBuf },
    #[error("{}: it leads out of the project, to {}", path.display(), to.display())]
    LeadsOut { path: PathBuf, to: PathBuf },
    #[error("{}: a flow is a file that ends with `.yaml` or `.yml`", .0.display())]
    NoFlowFile(PathBuf),
    #[error("{}: more than {MAX_FILES} flow files", .0.display())]
    TooMany(PathBuf),
    #[error("can't read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn all_lines(mistakes: &[FlowMistakes]) -> String {
    let files: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    files.join("\n")
}

fn nearest_hint(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let names: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
    format!("; there is {}", names.join(", "))
}

/// Finds and reads flows. `folder`: where flows lie. `names`: paths of files or folders, stems of files, or names of
/// flows; without one, all flows of the folder. The order is that of the names, and within a folder that of the paths.
/// [`Flow::file`] is a complete path; messages name files relative to `root`.
pub fn find_flows(
    root: &Path,
    folder: &Path,
    names: &[String],
) -> Result<Vec<Flow>, FlowFileError> {
    let project = Project::at(root)?;
    let folder = project.root.join(folder);
    if names.is_empty() {
        let files = project.files_of_folder(&folder)?;
        if files.is_empty() {
            return Err(FlowFileError::NoFlow(project.shown(&folder)));
        }
        return project.read_all(files);
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for name in names {
        for file in project.named(name, &folder)? {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    project.read_all(files)
}

/// The project whose flows are looked for.
struct Project {
    /// Without links.
    root: PathBuf,
}

impl Project {
    fn at(root: &Path) -> Result<Self, FlowFileError> {
        let real = root.canonicalize();
        real.map(|root| Self { root })
            .map_err(|source| unreadable(root, source))
    }

    /// A path as messages name it.
    fn shown(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        if relative.as_os_str().is_empty() {
            return PathBuf::from(".");
        }
        relative.to_owned()
    }

    /// Refuses what lies outside the project, by its name or through a link. `None` where nothing is.
    fn within(&self, path: &Path) -> Result<Option<PathBuf>, FlowFileError> {
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(source) => return Err(unreadable(&self.shown(path), source)),
        };
        if real.starts_with(&self.root) {
            return Ok(Some(real));
        }
        Err(FlowFileError::LeadsOut {
            path: self.shown(path),
            to: real,
        })
    }

    /// The flow files of a folder and of those in it, by path.
    fn files_of_folder(&self, folder: &Path) -> Result<Vec<PathBuf>, FlowFileError> {
        let is_folder = self.within(folder)?.is_some_and(|real| real.is_dir());
        if !is_folder {
            return Err(FlowFileError::NoFolder(self.shown(folder)));
        }
        let mut files = Vec::new();
        self.collect(folder, 0, &mut BTreeSet::new(), &mut files)?;
        files.sort();
        Ok(files)
    }

    fn collect(
        &self,
        folder: &Path,
        depth: usize,
        seen: &mut BTreeSet<PathBuf>,
        files: &mut Vec<PathBuf>,
    ) -> Result<(), FlowFileError> {
        // A link can lead back to a folder above it.
        let is_new = self.within(folder)?.is_some_and(|real| seen.insert(real));
        if !is_new || depth > MAX_DEPTH {
            return Ok(());
        }
        let failed = |source| unreadable(&self.shown(folder), source);
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let is_flow = is_flow_file(&path);
            if is_passed_over(&path) {
                continue;
            }
            // Only what could be a flow or hold one is followed: other links lead where they like.
            let is_folder = !is_flow && path.is_dir();
            if !is_folder && !is_flow {
                continue;
            }
            let Some(real) = self.within(&path)? else {
                let nowhere = io::Error::new(io::ErrorKind::NotFound, "it is a link to nothing");
                return Err(unreadable(&self.shown(&path), nowhere));
            };
            if real.is_dir() {
                self.collect(&path, depth + 1, seen, files)?;
            } else if is_flow {
                files.push(path);
                if files.len() > MAX_FILES {
                    return Err(FlowFileError::TooMany(self.shown(folder)));
                }
            }
        }
        Ok(())
    }

    /// The files that a name stands for. What is a path by its looks is one; a word is the stem of a file, the name of
    /// a flow, or a folder, in this order.
    fn named(&self, name: &str, folder: &Path) -> Result<Vec<PathBuf>, FlowFileError> {
        let looks_like_path = name.contains('/') || is_flow_file(Path::new(name));
        if looks_like_path {
            for base in [&self.root, folder] {
                if let Some(files) = self.by_path(&base.join(name))? {
                    return Ok(files);
                }
            }
        }
        let files = match self.files_of_folder(folder) {
            Ok(files) => files,
            Err(FlowFileError::NoFolder(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        let by_stem: Vec<PathBuf> = files
            .iter()
            .filter(|file| stem(file) == name)
            .cloned()
            .collect();
        if !by_stem.is_empty() {
            return Ok(by_stem);
        }
        // A file with mistakes has no name that could be asked for.
        let named: Vec<(String, PathBuf)> = files
            .iter()
            .filter_map(|file| Some((self.read(file).ok()?.ok()?.name, file.clone())))
            .collect();
        let by_name: Vec<PathBuf> = named
            .iter()
            .filter(|(other, _)| other == name)
            .map(|(_, file)| file.clone())
            .collect();
        match by_name.as_slice() {
            [] => {
                if let Some(files) = self.by_path(&folder.join(name))? {
                    return Ok(files);
                }
                let names = named.into_iter().map(|(name, _)| name);
                let there = names.chain(files.iter().map(|file| stem(file)));
                Err(FlowFileError::NotFound {
                    name: name.to_owned(),
                    nearest: nearest(name, there),
                })
            }
            [first, second, ..] => Err(FlowFileError::SameName {
                name: name.to_owned(),
                first: self.shown(first),
                second: self.shown(second),
            }),
            [_] => Ok(by_name),
        }
    }

    /// The flow file at a path, or those of the folder there.
    fn by_path(&self, path: &Path) -> Result<Option<Vec<PathBuf>>, FlowFileError> {
        let path = plain(path);
        let Some(real) = self.within(&path)? else {
            return Ok(None);
        };
        if real.is_dir() {
            let files = self.files_of_folder(&path)?;
            if files.is_empty() {
                return Err(FlowFileError::NoFlow(self.shown(&path)));
            }
            return Ok(Some(files));
        }
        if !is_flow_file(&path) {
            return Err(FlowFileError::NoFlowFile(self.shown(&path)));
        }
        Ok(Some(vec![path]))
    }

    /// Reads all files, and says all mistakes of all of them.
    fn read_all(&self, files: Vec<PathBuf>) -> Result<Vec<Flow>, FlowFileError> {
        let (mut flows, mut wrong) = (Vec::new(), Vec::new());
        for file in &files {
            match self.read(file)? {
                Ok(flow) => flows.push(flow),
                Err(mistakes) => wrong.push(mistakes),
            }
        }
        if !wrong.is_empty() {
            return Err(FlowFileError::Mistakes(wrong));
        }
        self.refuse_twins(&flows)?;
        Ok(flows)
    }

    fn refuse_twins(&self, flows: &[Flow]) -> Result<(), FlowFileError> {
        // On some systems names that differ in case are one file.
        let (mut by_name, mut by_stem) = (HashMap::new(), HashMap::new());
        for flow in flows {
            let second = self.shown(&flow.file);
            if let Some(first) = by_name.insert(flow.name.to_lowercase(), &flow.file) {
                return Err(FlowFileError::SameName {
                    name: flow.name.clone(),
                    first: self.shown(first),
                    second,
                });
            }
            let place = (flow.file.parent(), stem(&flow.file).to_lowercase());
            if let Some(first) = by_stem.insert(place, &flow.file) {
                let first = self.shown(first);
                return Err(FlowFileError::SameStem { first, second });
            }
        }
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Result<Flow, FlowMistakes>, FlowFileError> {
        let shown = self.shown(path);
        let failed = |source| unreadable(&shown, source);
        // Checked again where it is opened: what is listed above may be a link meanwhile.
        let Some(real) = self.within(path)? else {
            return Err(failed(io::ErrorKind::NotFound.into()));
        };
        let file = plain_file::open(&real).map_err(failed)?;
        let mut bytes = Vec::new();
        let most = MAX_FLOW_BYTES as u64 + 1;
        file.take(most).read_to_end(&mut bytes).map_err(failed)?;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if error.as_bytes().len() > MAX_FLOW_BYTES => {
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            }
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let before = &error.as_bytes()[..good];
                let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
                let message = "expected text in UTF-8, found another byte";
                return Ok(Err(FlowMistakes::one(&shown, line, message)));
            }
        };
        Ok(read_flow(&text, &shown).map(|flow| Flow {
            file: path.to_owned(),
            ..flow
        }))
    }
}

fn unreadable(path: &Path, source: io::Error) -> FlowFileError {
    FlowFileError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename
    )
}

fn is_flow_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// True for baselines and for what no flow lies in.
fn is_passed_over(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || name == "__baselines__" || name == "node_modules"
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// A path without `.` and `..`, as far as its own words say.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// The likeness, from 0 to 1, from which a name was probably meant by another.
const ALIKE: f64 = 0.8;

/// The names that were probably meant by one that is not there; the first of all names if there is none.
fn nearest(name: &str, there: impl Iterator<Item = String>) -> Vec<String> {
    let asked = stem(Path::new(name)).to_lowercase();
    let alike = |other: &str| strsim::jaro_winkler(&asked, &other.to_lowercase());
    let mut there: Vec<String> = there.collect::<BTreeSet<_>>().into_iter().collect();
    let mut near: Vec<(f64, String)> = there
        .iter()
        .map(|other| (alike(other), other.clone()))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    if !near.is_empty() {
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        there = near.into_iter().map(|(_, other)| other).collect();
    }
    there.truncate(MAX_LISTED);
    there
}
