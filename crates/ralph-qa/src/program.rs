//! The browser as a program of the machine: where it is, and which version it has.
//!
//! Must not talk to it: that is `browser`'s.

use std::{
    ffi::{OsStr, OsString},
    io,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_core::config::BROWSER_PROGRAMS;
use ralph_engine::process::{CommandSpec, Ended, Output, SpawnError, Tail, spawn};
use thiserror::Error;

use crate::server::ProgramPlace;

/// The major versions of Chromium that the tests have run with. Others are used all the same.
pub const TESTED_VERSIONS: RangeInclusive<u32> = 156..=156;

/// The longest that a browser may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// The most that is kept of what it prints.
const PRINTED: usize = 4096;

/// A browser that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserProgram {
    pub path: PathBuf,
    /// As it calls itself: `Chromium`.
    pub name: String,
    /// With all its parts: `156.0.8078.79`.
    pub version: String,
    pub major: u32,
}

impl BrowserProgram {
    /// Tells whether the tests have run with its version.
    pub fn is_tested(&self) -> bool {
        TESTED_VERSIONS.contains(&self.major)
    }
}

impl std::fmt::Display for BrowserProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// Why there is no browser.
#[derive(Debug, Error)]
pub enum BrowserError {
    #[error(
        "no browser is installed: none of {} is here; install Chromium (Debian, Ubuntu: `apt install chromium`) \
         or name a browser in `qa.browser`",
        BROWSER_PROGRAMS.join(", ")
    )]
    NotFound,
    #[error("the browser that `qa.browser` names is not there: {}", path.display())]
    NotThere { path: PathBuf },
    #[error("the browser could not be started: {}", path.display())]
    NotRunnable { path: PathBuf, source: SpawnError },
    #[error(
        "{} does not say its version, as a Chromium does: `--version` printed {printed:?}",
        path.display()
    )]
    NoVersion { path: PathBuf, printed: String },
    #[error("no folder could be made for the profile of the browser in {}", path.display())]
    Profile { path: PathBuf, source: io::Error },
    #[error(
        "the browser ended before it was ready, {ended}: {program}{}",
        shown(printed)
    )]
    Ended {
        program: String,
        ended: String,
        printed: Vec<String>,
    },
    #[error("the browser was not ready after {} s: {program}{}", limit.as_secs(), shown(printed))]
    NotReady {
        program: String,
        limit: Duration,
        printed: Vec<String>,
    },
    #[error("the browser was started and can't be talked to: {reason}")]
    Connect { reason: String },
}

fn shown(printed: &[String]) -> String {
    if printed.is_empty() {
        return String::new();
    }
    format!("; it printed\n  {}", printed.join("\n  "))
}

/// Finds the browser and asks its version: the configured one, else the first of [`BROWSER_PROGRAMS`] that is there.
pub async fn find_browser(
    configured: Option<&Path>,
    place: &ProgramPlace,
) -> Result<BrowserProgram, BrowserError> {
    let path = match configured {
        Some(path) => configured_path(path, place)?,
        None => BROWSER_PROGRAMS
            .iter()
            .find_map(|name| on_path(OsStr::new(name), &place.env))
            .ok_or(BrowserError::NotFound)?,
    };
    let printed = version_text(&path, place).await?;
    parse_version(&printed)
        .map(|(name, version, major)| BrowserProgram {
            path: path.clone(),
            name,
            version,
            major,
        })
        .ok_or(BrowserError::NoVersion { path, printed })
}

/// A name alone is looked for on the PATH, a relative path from the top of the project.
fn configured_path(path: &Path, place: &ProgramPlace) -> Result<PathBuf, BrowserError> {
    let is_name = path.components().count() == 1 && !path.is_absolute();
    let found = if is_name {
        on_path(path.as_os_str(), &place.env)
    } else {
        Some(place.folder.join(path)).filter(|path| path.is_file())
    };
    found.ok_or_else(|| BrowserError::NotThere {
        path: path.to_owned(),
    })
}

fn on_path(name: &OsStr, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let (_, path) = env.iter().find(|(key, _)| key == "PATH")?;
    let candidates = std::env::split_paths(path).map(|folder| folder.join(name));
    let mut candidates = candidates.filter(|path| path.is_absolute());
    candidates.find(|path| {
        rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
    })
}

async fn version_text(path: &Path, place: &ProgramPlace) -> Result<String, BrowserError> {
    let mut spec = CommandSpec::new(path, &place.folder)
        .args(["--version"])
        .output(Output::Merged);
    spec.env.clone_from(&place.env);
    let running = spawn(&spec, place.containment);
    let mut running = running.map_err(|source| BrowserError::NotRunnable {
        path: path.to_owned(),
        source,
    })?;
    let mut tail = Tail::new(PRINTED);
    let ended = running
        .finish_within(VERSION_LIMIT, &mut |bytes| tail.push(bytes))
        .await;
    let text = tail.text().trim().to_owned();
    match ended {
        Some(Ok(Ended::Code(0))) => Ok(text),
        _ => Err(BrowserError::NoVersion {
            path: path.to_owned(),
            printed: text,
        }),
    }
}

/// Reads `Chromium 156.0.8078.79 built on Debian`, `Google Chrome 155.0.1.2`, among lines of complaints.
fn parse_version(text: &str) -> Option<(String, String, u32)> {
    text.lines().rev().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| major_of(word).is_some())?;
        let version = words.get(at)?;
        let name = words.get(..at)?.join(" ");
        let major = major_of(version)?;
        (!name.is_empty()).then(|| (name, (*version).to_owned(), major))
    })
}

/// The first of the four numbers of a version.
fn major_of(word: &str) -> Option<u32> {
    let numbers: Vec<u32> = word
        .split('.')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    match numbers.as_slice() {
        [major, _, _, _] => Some(*major),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ralph_engine::process::Containment;

    use super::*;
    use crate::server::Walls;

    fn place(path: &str) -> ProgramPlace {
        ProgramPlace {
            folder: std::env::temp_dir(),
            env: vec![("PATH".into(), path.into())],
            containment: Containment::Subreaper,
            walls: Walls::None,
        }
    }

    #[test]
    fn versions_are_read_as_browsers_print_them() {
        let read = |text| parse_version(text);
        assert_eq!(
            read("Chromium 156.0.8078.79 built on Debian GNU/Linux 12 (bookworm)"),
            Some(("Chromium".into(), "156.0.8078.79".into(), 156))
        );
        assert_eq!(
            read("Google Chrome 131.0.6778.85 "),
            Some(("Google Chrome".into(), "131.0.6778.85".into(), 131))
        );
        assert_eq!(
            read("/usr/bin/chromium: 9: [: 25276424192: unexpected operator\nChromium 1.2.3.4"),
            Some(("Chromium".into(), "1.2.3.4".into(), 1))
        );
        assert_eq!(read("Mozilla Firefox 130.0"), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn without_a_browser_it_says_how_to_get_one() {
        // This machine has one, also at a place that needs no PATH.
        assert_eq!(
            on_path(OsStr::new("chromium"), &place("/nowhere").env),
            None
        );
        let text = BrowserError::NotFound.to_string();
        assert!(text.contains("apt install chromium"), "{text}");
        assert!(text.contains("`qa.browser`"), "{text}");
    }

    #[tokio::test]
    async fn a_configured_browser_that_is_not_there_is_named() {
        let path = Path::new("/nowhere/chrome");
        let error = find_browser(Some(path), &place("/usr/bin:/bin"))
            .await
            .unwrap_err();
        assert!(
            error.to_string().ends_with("is not there: /nowhere/chrome"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn another_program_is_no_browser() {
        let path = Path::new("/bin/echo");
        let error = find_browser(Some(path), &place("/usr/bin:/bin"))
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("/bin/echo does not say its version"),
            "{error}"
        );
    }
}
