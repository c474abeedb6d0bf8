//! Baselines: where approved pictures lie, what there is to approve, and approving it.
//!
//! A report is not trusted: a flow that an agent ran may have written it. A path in it leads to a picture
//! of the results or to a baseline beside a flow of the project, or it is refused. Nothing is deleted here.

use std::{
    collections::BTreeSet,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

use ralph_engine::{atomic, plain_file};

use crate::{
    flow::{ColorScheme, Flow, FlowStepAction, Viewport},
    picture::{self, PictureError},
    result::{PageVerificationResult, QaReport, VisualVerdict},
};

/// The folder beside flows that their baselines are in.
pub const FOLDER: &str = "__baselines__";
/// The largest picture that is approved, as a file.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Folders in folders that are looked through for baselines.
const DEPTH: usize = 8;

/// Names the file of a baseline: `__baselines__/greet/home-linux-1280x720-dark.png`, beside the file of the flow.
pub fn path_of(
    flow_file: &Path,
    name: &str,
    viewport: Viewport,
    scheme: Option<ColorScheme>,
) -> PathBuf {
    let scheme = match scheme {
        Some(ColorScheme::Dark) => "-dark",
        Some(ColorScheme::Light) | None => "",
    };
    let platform = std::env::consts::OS;
    let file = format!("{}-{platform}-{viewport}{scheme}.png", file_name(name));
    let folder = flow_file.parent().unwrap_or(Path::new(""));
    folder.join(FOLDER).join(stem(flow_file)).join(file)
}

fn stem(flow_file: &Path) -> String {
    let stem = flow_file.file_stem().unwrap_or_default();
    file_name(&stem.to_string_lossy())
}

/// A name as a part of a path: what could lead elsewhere, or be read as something else, is written in hexadecimal.
pub fn file_name(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        if c.is_alphanumeric() || matches!(c, '_' | '-' | ' ') || (c == '.' && at > 0) {
            safe.push(c);
        } else {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                safe.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    safe
}

/// A picture that a person may approve.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureApproval {
    pub flow: String,
    /// The name of the picture.
    pub picture: String,
    pub viewport: Viewport,
    pub reason: ApprovalReason,
    /// A sentence that says what differs.
    pub summary: String,
    /// The new picture and the difference, relative to the folder of the results.
    pub screenshot: String,
    pub difference: Option<String>,
    /// The baseline that is written, relative to the project.
    pub baseline: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalReason {
    /// There is no baseline yet.
    New,
    /// It differs from its baseline.
    Differs,
}

impl PictureApproval {
    /// Tells whether a word of the command line means it: `FLOW` or `FLOW/PICTURE`.
    pub fn is_meant_by(&self, word: &str) -> bool {
        let of_flow = word.strip_prefix(&self.flow);
        of_flow.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('/') == Some(&self.picture))
    }
}

/// Lists the pictures of a report that differ from their baseline or have none. One that a flow took twice, in the same
/// viewport, is listed as it was last.
pub fn approvals(report: &QaReport) -> Vec<PictureApproval> {
    let mut listed: Vec<PictureApproval> = Vec::new();
    for flow in &report.flows {
        for page in &flow.pages {
            let Some((reason, summary, difference)) = reason(page) else {
                continue;
            };
            listed.retain(|earlier| earlier.baseline != page.baseline);
            listed.push(PictureApproval {
                flow: flow.flow.clone(),
                picture: page.name.clone(),
                viewport: page.viewport,
                reason,
                summary,
                screenshot: page.screenshot.clone(),
                difference,
                baseline: page.baseline.clone(),
            });
        }
    }
    listed
}

fn reason(page: &PageVerificationResult) -> Option<(ApprovalReason, String, Option<String>)> {
    let Some(compared) = &page.compared else {
        return Some((
            ApprovalReason::New,
            "there is no baseline yet".to_owned(),
            None,
        ));
    };
    match compared.verdict {
        VisualVerdict::Same | VisualVerdict::Noise | VisualVerdict::Within => None,
        VisualVerdict::Layout | VisualVerdict::Content | VisualVerdict::Size => Some((
            ApprovalReason::Differs,
            compared.summary.clone(),
            compared.picture.clone(),
        )),
    }
}

/// Why a picture was not approved.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    #[error("{path} is no path of a baseline beside a flow of this project")]
    NotABaseline { path: String },
    #[error("{path} belongs to no flow: there is no {stem}.yaml beside its folder")]
    NoFlow { path: String, stem: String },
    #[error("{path} is no path of a picture in the results")]
    NotAResult { path: String },
    #[error("{path} is a symbolic link, which is not followed", path = path.display())]
    Link { path: PathBuf },
    #[error("{path} is in the way: it is no {wanted}", path = path.display())]
    InTheWay { path: PathBuf, wanted: &'static str },
    #[error("can't read {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is larger than {} MB", MOST_BYTES / 1024 / 1024, path = path.display())]
    TooLarge { path: PathBuf },
    #[error("{path} can't be approved: {source}", path = path.display())]
    NotAPicture { path: PathBuf, source: PictureError },
    #[error("can't write {path}: {source}", path = path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Makes a picture of the results the baseline, as a whole or not at all. Returns the file that was written.
///
/// Only for people: who calls it has made sure that no agent does.
pub fn approve(
    root: &Path,
    results: &Path,
    approval: &PictureApproval,
) -> Result<PathBuf, ApprovalError> {
    let place = baseline_place(&approval.baseline).ok_or_else(|| ApprovalError::NotABaseline {
        path: approval.baseline.clone(),
    })?;
    let BaselinePlace {
        above,
        stem: of_flow,
        file,
    } = place;
    let mut path = root.to_owned();
    for folder in above {
        path.push(folder);
        refuse_link(&path)?;
    }
    if !has_flow(&path, &of_flow) {
        return Err(ApprovalError::NoFlow {
            path: approval.baseline.clone(),
            stem: of_flow,
        });
    }
    let bytes = read_result(results, &approval.screenshot)?;
    for folder in [FOLDER, &of_flow] {
        path.push(folder);
        make_folder(&path)?;
    }
    path.push(file);
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => return Err(ApprovalError::Link { path }),
        Ok(found) if !found.is_file() => {
            let wanted = "file";
            return Err(ApprovalError::InTheWay { path, wanted });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(ApprovalError::Read { path, source }),
    }
    match atomic::write(&path, &bytes) {
        Ok(()) => Ok(path),
        Err(source) => Err(ApprovalError::Write { path, source }),
    }
}

/// The parts of a path `above/__baselines__/STEM/NAME.png` that leads down from the root of a project.
struct BaselinePlace {
    above: Vec<String>,
    stem: String,
    file: String,
}

fn baseline_place(path: &str) -> Option<BaselinePlace> {
    let mut above = parts_below(path)?;
    let (file, stem, folder) = (above.pop()?, above.pop()?, above.pop()?);
    (folder == FOLDER && file.ends_with(".png")).then_some(BaselinePlace { above, stem, file })
}

/// Tells whether a folder has the flow that baselines of this stem are of.
fn has_flow(folder: &Path, of_flow: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        let is_yaml = path
            .extension()
            .is_some_and(|end| end == "yaml" || end == "yml");
        is_yaml && stem(&path) == of_flow && path.is_file()
    })
}

fn refuse_link(path: &Path) -> Result<(), ApprovalError> {
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => Err(ApprovalError::Link {
            path: path.to_owned(),
        }),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The parts of a path that leads down and nowhere else.
pub(crate) fn parts_below(path: &str) -> Option<Vec<String>> {
    Path::new(path)
        .components()
        .map(|part| match part {
            Component::Normal(part) => part.to_str().map(str::to_owned),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => None,
        })
        .collect::<Option<Vec<_>>>()
        .filter(|parts| !parts.is_empty())
}

fn read_result(results: &Path, picture: &str) -> Result<Vec<u8>, ApprovalError> {
    let parts = parts_below(picture).ok_or_else(|| ApprovalError::NotAResult {
        path: picture.to_owned(),
    })?;
    let mut path = results.to_owned();
    for part in parts {
        path.push(part);
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => return Err(ApprovalError::Link { path }),
            Ok(_) => {}
            Err(source) => return Err(ApprovalError::Read { path, source }),
        }
    }
    let mut bytes = Vec::new();
    let read =
        plain_file::open(&path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    if let Err(source) = read {
        return Err(ApprovalError::Read { path, source });
    }
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ApprovalError::TooLarge { path });
    }
    // What can't be compared next time is no baseline.
    match picture::check(&bytes) {
        Ok(()) => Ok(bytes),
        Err(source) => Err(ApprovalError::NotAPicture { path, source }),
    }
}

fn make_folder(path: &Path) -> Result<(), ApprovalError> {
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => Err(ApprovalError::Link {
            path: path.to_owned(),
        }),
        Ok(found) if !found.is_dir() => Err(ApprovalError::InTheWay {
            path: path.to_owned(),
            wanted: "folder",
        }),
        Ok(_) => Ok(()),
        Err(_) => std::fs::create_dir(path).map_err(|source| ApprovalError::Write {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Lists the baselines below a folder that no flow uses, of any platform: their flow is gone, or takes no picture of
/// that name. `flows` are all flows of the folder. Links are not followed.
pub fn stale(folder: &Path, flows: &[Flow]) -> io::Result<Vec<PathBuf>> {
    let mut used = BTreeSet::new();
    for flow in flows {
        let of_flow = flow.file.parent().unwrap_or(Path::new("")).join(FOLDER);
        for step in &flow.steps {
            if let FlowStepAction::Screenshot(screenshot) = &step.action {
                let name = file_name(&screenshot.name);
                used.insert(of_flow.join(stem(&flow.file)).join(name));
            }
        }
    }
    let mut stale = Vec::new();
    for file in baselines(folder)? {
        let is_used =
            picture_name(&file).is_some_and(|name| used.contains(&file.with_file_name(name)));
        if !is_used {
            stale.push(file);
        }
    }
    stale.sort();
    Ok(stale)
}

/// The name of the picture in the name of a baseline: `home` of `home-linux-1280x720-dark.png`.
fn picture_name(file: &Path) -> Option<String> {
    let stem = file.file_stem()?.to_str()?;
    let stem = stem.strip_suffix("-dark").unwrap_or(stem);
    let (rest, viewport) = stem.rsplit_once('-')?;
    let (width, height) = viewport.split_once('x')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (name, _platform) = rest.rsplit_once('-')?;
    (is_number(width) && is_number(height)).then(|| name.to_owned())
}

/// Lists all pictures in folders of baselines.
fn baselines(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            if kind.is_dir() && depth < DEPTH {
                folders.push((path, depth + 1));
            } else if kind.is_file()
                && path.extension().is_some_and(|end| end == "png")
                && is_baseline(&path)
            {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn is_baseline(path: &Path) -> bool {
    let folder = path.ancestors().nth(2).and_then(Path::file_name);
    folder.is_some_and(|name| name == FOLDER)
}

#[cfg(test)]
mod tests;
