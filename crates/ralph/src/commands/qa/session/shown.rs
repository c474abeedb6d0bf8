//! Replies of a session as they are shown: as text or JSON, with the paths of the pictures that are written for them.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::sanitize::{one_line, terminal_safe};
use ralph_engine::{dot_ralph, plain_file};
use ralph_qa::{
    result::{ConsoleLevel, ConsoleMessage, NetworkRequest},
    session::{ActFailure, ActReport, PageLook, PageShot, PngText, SessionReply},
};
use serde::Serialize;

use super::{
    super::{results::make_folder, settings::results_folder},
    ACT_FAILED,
};
use crate::{error::CommandError, output};

/// The folder of pictures, in that of results.
const FOLDER: &str = "session";
/// Pictures without a name that are kept; then the first is written over.
const MOST_NUMBERED: usize = 99;
/// Characters of a name.
const MOST_NAME: usize = 80;
/// Nearest names that are shown.
const MOST_NEAREST: usize = 8;

/// A reply whose pictures are files.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ShownReply {
    Done(ActReport),
    Looked(PageLook),
    Shot(ShownShot),
    Failed(ShownFailure),
    Closed(ShownEnd),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownShot {
    pub(crate) url: String,
    pub(crate) title: String,
    /// Relative to the project.
    pub(crate) picture: PathBuf,
    #[serde(skip)]
    pub(crate) png: PngText,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownFailure {
    #[serde(flatten)]
    pub(crate) failed: ActFailure,
    /// Relative to the project.
    pub(crate) picture: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownEnd {
    closed: bool,
}

/// Writes the picture of a reply. `name` is for one that was asked for. What was refused is an error.
pub(crate) fn shown_reply(
    reply: SessionReply,
    root: &Path,
    name: Option<&str>,
) -> Result<ShownReply, CommandError> {
    Ok(match reply {
        SessionReply::Done(report) => ShownReply::Done(report),
        SessionReply::Looked(look) => ShownReply::Looked(*look),
        SessionReply::Closed => ShownReply::Closed(ShownEnd { closed: true }),
        SessionReply::Shot(PageShot { url, title, png }) => ShownReply::Shot(ShownShot {
            url,
            title,
            picture: write_picture(root, name, "shot", &png)?,
            png,
        }),
        SessionReply::Failed(mut failed) => {
            let png = failed.png.take();
            let picture = png.map(|png| write_picture(root, None, "failed", &png));
            ShownReply::Failed(ShownFailure {
                failed: *failed,
                picture: picture.transpose()?,
            })
        }
        SessionReply::Refused(refusal) => {
            return Err(CommandError::user(refusal.message).hint_opt(refusal.hint));
        }
    })
}

/// Prints a reply, and returns the exit code.
pub(in super::super) fn print_reply(
    reply: &ShownReply,
    json: bool,
) -> Result<ExitCode, CommandError> {
    output::show(json, reply, || reply.text())?;
    Ok(match reply {
        ShownReply::Failed(_) => ExitCode::from(ACT_FAILED),
        ShownReply::Done(_)
        | ShownReply::Looked(_)
        | ShownReply::Shot(_)
        | ShownReply::Closed(_) => ExitCode::SUCCESS,
    })
}

impl ShownReply {
    /// The reply as people and agents read it.
    pub(crate) fn text(&self) -> String {
        let text = match self {
            Self::Done(report) => done_text(report),
            Self::Looked(look) => look_text(look),
            Self::Shot(shot) => format!("{}\n", shot.picture.display()),
            Self::Failed(shown) => failure_text(shown),
            Self::Closed(_) => "closed\n".to_owned(),
        };
        terminal_safe(&text).into_owned()
    }
}

fn done_text(report: &ActReport) -> String {
    let mut text = format!("done: {}\n", report.step);
    text.push_str(&page_line(&report.url, &report.title));
    text.extend(report.notes.iter().map(|note| format!("note: {note}\n")));
    if report.errors > 0 {
        text.push_str(&format!(
            "errors: {} new in the console or of requests; `ralph qa look` shows them\n",
            report.errors
        ));
    }
    text
}

fn look_text(look: &PageLook) -> String {
    let mut text = page_line(&look.url, &look.title);
    text.push_str(&format!("viewport: {}\n", look.viewport));
    text.extend(look.notes.iter().map(|note| format!("note: {note}\n")));
    text.push_str(&errors_text(&look.console, &look.failed_requests));
    text.push('\n');
    if look.lines.is_empty() {
        text.push_str("(nothing is on the page)\n");
    }
    text.extend(look.lines.iter().map(|line| format!("{line}\n")));
    if look.left_out > 0 {
        text.push_str(&format!("… {} more lines\n", look.left_out));
    }
    text
}

fn failure_text(shown: &ShownFailure) -> String {
    let failed = &shown.failed;
    let failure = &failed.failure;
    let mut text = format!(
        "failed: {}\nexpected: {}\nfound: {}\n",
        failed.step, failure.expected, failure.actual
    );
    if !failure.nearest.is_empty() {
        let nearest: Vec<&str> = failure.nearest.iter().map(String::as_str).collect();
        let most = nearest.len().min(MOST_NEAREST);
        text.push_str(&format!("nearest: {}\n", nearest[..most].join(", ")));
    }
    if !failed.url.is_empty() {
        text.push_str(&page_line(&failed.url, &failed.title));
    }
    text.push_str(&errors_text(&failed.console, &failed.failed_requests));
    if !failed.server_log.is_empty() {
        text.push_str("the output of the application ends so:\n");
        text.extend(failed.server_log.iter().map(|line| format!("  {line}\n")));
    }
    if let Some(picture) = &shown.picture {
        text.push_str(&format!("picture: {}\n", picture.display()));
    }
    text
}

fn page_line(url: &str, title: &str) -> String {
    let title = one_line(title, MOST_NAME);
    if title.is_empty() {
        format!("page: {url}\n")
    } else {
        format!("page: {url} {title:?}\n")
    }
}

fn errors_text(console: &[ConsoleMessage], requests: &[NetworkRequest]) -> String {
    let mut text = String::new();
    for message in console {
        let level = match message.level {
            ConsoleLevel::Uncaught => "uncaught error",
            ConsoleLevel::Error => "error",
            ConsoleLevel::Warning => "warning",
            ConsoleLevel::Info => "info",
            ConsoleLevel::Debug => "debug",
        };
        let from = message.from.as_deref();
        let from = from.map_or_else(String::new, |from| format!(" ({from})"));
        text.push_str(&format!("console: {level}: {}{from}\n", message.text));
    }
    for request in requests {
        let status = request.status.map(|status| status.to_string());
        let why = request.error.clone().or(status).unwrap_or_default();
        let (method, url) = (&request.method, &request.url);
        text.push_str(&format!("request: {method} {url} failed: {why}\n"));
    }
    text
}

fn write_picture(
    root: &Path,
    name: Option<&str>,
    kind: &str,
    png: &PngText,
) -> Result<PathBuf, CommandError> {
    let bytes = png
        .bytes()
        .ok_or_else(|| CommandError::internal("the browser session sent no picture"))?;
    let folder = folder(root)?;
    let name = match name {
        Some(name) => checked_name(name)?.to_owned(),
        None => free_number(&folder, kind),
    };
    let path = folder.join(format!("{name}.png"));
    plain_file::replace(&path, &bytes)?;
    let shown = path.strip_prefix(root).unwrap_or(&path);
    Ok(shown.to_owned())
}

/// The folder of pictures, which git ignores.
fn folder(root: &Path) -> Result<PathBuf, CommandError> {
    dot_ralph::ensure(root)?;
    let results = results_folder(root);
    let folder = results.join(FOLDER);
    for path in [&results, &folder] {
        make_folder(path)?;
    }
    plain_file::replace(&folder.join(".gitignore"), b"*\n")?;
    Ok(folder)
}

/// Deletes the pictures of the session before.
pub(super) fn clear_pictures(root: &Path) -> Result<(), CommandError> {
    let folder = results_folder(root).join(FOLDER);
    let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    if is_folder {
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

/// Fails for a name that would be a path.
pub(in super::super) fn checked_name(name: &str) -> Result<&str, CommandError> {
    let name = name.strip_suffix(".png").unwrap_or(name);
    let is_part = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let fits = !name.is_empty()
        && name.chars().count() <= MOST_NAME
        && !name.starts_with('.')
        && name.chars().all(is_part);
    if fits {
        Ok(name)
    } else {
        let shown = one_line(name, MOST_NAME);
        let message = format!("`{shown}` is no name of a picture");
        Err(CommandError::user(message).hint("use letters, digits, `-`, `_` and `.`"))
    }
}

fn free_number(folder: &Path, kind: &str) -> String {
    let mut numbers = 1..=MOST_NUMBERED;
    let number = numbers.find(|number| !folder.join(format!("{kind}-{number}.png")).exists());
    format!("{kind}-{}", number.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use ralph_qa::{
        result::{FailureKind, StepFailure},
        session::ActRefusal,
    };

    use super::*;

    fn failure() -> ActFailure {
        ActFailure {
            step: "click \"Sign in\"".to_owned(),
            url: "http://localhost:3000/".to_owned(),
            title: "Shop".to_owned(),
            failure: StepFailure {
                kind: FailureKind::NotFound,
                expected: "something called \"Sign in\"".to_owned(),
                actual: "nothing is called so".to_owned(),
                nearest: vec!["button \"Sign up\"".to_owned()],
            },
            console: Vec::new(),
            failed_requests: Vec::new(),
            server_log: Vec::new(),
            png: Some(PngText::of(b"not really a picture")),
        }
    }

    #[test]
    fn a_failure_says_what_was_looked_for_what_is_near_and_where_its_picture_is() {
        let root = tempfile::tempdir().unwrap();
        let shown =
            shown_reply(SessionReply::Failed(Box::new(failure())), root.path(), None).unwrap();
        assert_eq!(
            shown.text(),
            "failed: click \"Sign in\"\n\
             expected: something called \"Sign in\"\n\
             found: nothing is called so\n\
             nearest: button \"Sign up\"\n\
             page: http://localhost:3000/ \"Shop\"\n\
             picture: .ralph/qa/session/failed-1.png\n"
        );
        let path = root.path().join(".ralph/qa/session/failed-1.png");
        assert_eq!(std::fs::read(path).unwrap(), b"not really a picture");
        let json = serde_json::to_value(&shown).unwrap();
        assert_eq!(json["picture"], ".ralph/qa/session/failed-1.png");
        assert_eq!(json["failure"]["nearest"][0], "button \"Sign up\"");
        assert_eq!(json.get("png"), None);
    }

    #[test]
    fn pictures_are_numbered_or_named_and_go_with_the_next_session() {
        let root = tempfile::tempdir().unwrap();
        let shot = || {
            SessionReply::Shot(PageShot {
                url: String::new(),
                title: String::new(),
                png: PngText::of(b"png"),
            })
        };
        let shown = |name: Option<&str>| shown_reply(shot(), root.path(), name).map(|s| s.text());
        assert_eq!(shown(None).unwrap(), ".ralph/qa/session/shot-1.png\n");
        assert_eq!(shown(None).unwrap(), ".ralph/qa/session/shot-2.png\n");
        assert_eq!(shown(Some("home")).unwrap(), ".ralph/qa/session/home.png\n");
        for name in ["../home", "", ".hidden", "a/b"] {
            let error = shown(Some(name)).unwrap_err();
            assert!(error.sentences()[0].contains("is no name of a picture"));
        }
        clear_pictures(root.path()).unwrap();
        assert!(!root.path().join(".ralph/qa/session").exists());
    }

    #[test]
    fn what_was_refused_is_an_error_with_its_hint() {
        let refusal = SessionReply::Refused(ActRefusal {
            message: "no page is open".to_owned(),
            hint: Some("open one".to_owned()),
        });
        let error = shown_reply(refusal, Path::new("/"), None).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert_eq!(error.hint_text(), Some("open one"));
    }
}
