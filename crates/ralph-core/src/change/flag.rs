//! Changes worth a person's look, though not worth refusing: tests that went away, CI, snapshots,
//! and files that decide what a verify command does.
//!
//! Looks at paths by their names; says nothing about whether the change is right.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::inspect::Contents;
use super::{ChangeKind, Changed, shown};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Flag {
    #[serde(serialize_with = "super::serialize_path_lossily")]
    pub path: PathBuf,
    pub kind: FlagKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FlagKind {
    TestDeleted,
    CiChanged,
    SnapshotChanged,
    /// The file has a say in what the verify commands run.
    VerifyConfigChanged,
    ResemblesSecret {
        rule: String,
        line: usize,
    },
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shown(&self.path);
        match &self.kind {
            FlagKind::TestDeleted => write!(f, "{path} is a test and was deleted"),
            FlagKind::CiChanged => write!(f, "{path} configures CI and was changed"),
            FlagKind::SnapshotChanged => write!(f, "{path} is a snapshot and was changed"),
            FlagKind::VerifyConfigChanged => {
                write!(f, "{path} decides what verification runs and was changed")
            }
            FlagKind::ResemblesSecret { rule, line } => {
                write!(f, "{path} has something like a {rule} in line {line}")
            }
        }
    }
}

/// Returns what the name of a changed path says about it.
pub(super) fn flags_of(changed: &Changed, contents: &Contents<'_>) -> Vec<FlagKind> {
    let path = &changed.path;
    let mut flags = Vec::new();
    let deleted = changed.kind == ChangeKind::Deleted;
    if is_snapshot(path) {
        if changed.kind != ChangeKind::Added {
            flags.push(FlagKind::SnapshotChanged);
        }
    } else if deleted && is_test(path) {
        flags.push(FlagKind::TestDeleted);
    }
    if is_ci(path) {
        flags.push(FlagKind::CiChanged);
    }
    if is_verify_config(path) && verify_part_changed(changed, contents) {
        flags.push(FlagKind::VerifyConfigChanged);
    }
    flags
}

const TEST_FOLDERS: &[&str] = &["test", "tests", "__tests__", "spec", "specs", "testing"];

fn is_test(path: &Path) -> bool {
    let name = name_of(path);
    let stem = name.split('.').next().unwrap_or_default();
    let in_test_folder = path.parent().is_some_and(|parent| {
        parent.components().any(|part| {
            TEST_FOLDERS.contains(
                &part
                    .as_os_str()
                    .to_string_lossy()
                    .to_ascii_lowercase()
                    .as_str(),
            )
        })
    });
    in_test_folder
        || name.contains(".test.")
        || name.contains(".spec.")
        || stem.starts_with("test_")
        || ["_test", "_spec", "Test", "Tests", "Spec"]
            .iter()
            .any(|end| stem.ends_with(end))
}

fn is_snapshot(path: &Path) -> bool {
    let name = name_of(path);
    name.ends_with(".snap")
        || path.components().any(|part| {
            ["__snapshots__", "snapshots"].contains(&part.as_os_str().to_string_lossy().as_ref())
        })
}

fn is_ci(path: &Path) -> bool {
    const FOLDERS: &[&str] = &[
        ".github/workflows",
        ".github/actions",
        ".circleci",
        ".buildkite",
        ".forgejo",
        ".gitea",
    ];
    const FILES: &[&str] = &[
        ".gitlab-ci.yml",
        ".travis.yml",
        "Jenkinsfile",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        ".woodpecker.yml",
        "appveyor.yml",
    ];
    FOLDERS.iter().any(|folder| path.starts_with(folder)) || FILES.iter().any(|file| path == *file)
}

fn is_verify_config(path: &Path) -> bool {
    const NAMES: &[&str] = &[
        "package.json",
        "makefile",
        "gnumakefile",
        "justfile",
        "taskfile.yml",
        "rakefile",
        "conftest.py",
        "sitecustomize.py",
        "pytest.ini",
        "tox.ini",
        "setup.cfg",
        "pyproject.toml",
        "noxfile.py",
        "phpunit.xml",
        "karma.conf.js",
        "build.rs",
        "build.gradle",
        "build.gradle.kts",
        "pom.xml",
    ];
    const STEMS: &[&str] = &[
        "jest.config",
        "vitest.config",
        "playwright.config",
        "cypress.config",
        ".mocharc",
    ];
    let name = name_of(path).to_ascii_lowercase();
    NAMES.contains(&name.as_str())
        || STEMS.iter().any(|stem| name.starts_with(stem))
        || path.ends_with(".cargo/config.toml")
        || path.ends_with(".config/nextest.toml")
}

/// Of a `package.json`, only its scripts decide what verification runs; a new dependency is daily
/// work and would wear the flag out.
fn verify_part_changed(changed: &Changed, contents: &Contents<'_>) -> bool {
    if name_of(&changed.path) != "package.json" || changed.kind != ChangeKind::Modified {
        return true;
    }
    let scripts = |text: Option<Vec<u8>>| {
        let json: serde_json::Value = serde_json::from_slice(&text?).ok()?;
        Some(json.get("scripts").cloned().unwrap_or_default())
    };
    match (
        scripts((contents.before)(&changed.path)),
        scripts((contents.now)(&changed.path)),
    ) {
        (Some(before), Some(now)) => before != now,
        _ => true,
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
