//! Asks of a change: may it land?
//!
//! Pure: contents come through functions of the caller. Refuses by name, one sentence a finding,
//! and never quotes file contents.

use std::{
    collections::HashSet,
    fmt,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    ChangeKind, ChangeSet, Changed, CompiledPolicy, EntryKind, scan_secrets,
    secret::{Certainty, line},
    shown,
};

/// The means to read a file, both capped by the caller; `None` for what can't or should not be read.
pub struct Contents<'a> {
    pub now: &'a dyn Fn(&Path) -> Option<Vec<u8>>,
    /// As it stood at the base. Asked for only where it decides something.
    pub before: &'a dyn Fn(&Path) -> Option<Vec<u8>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    pub refusals: Vec<Refusal>,
    pub flags: Vec<Flag>,
}

/// Why a change must not land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    #[serde(serialize_with = "super::serialize_path_lossily")]
    pub path: PathBuf,
    pub reason: RefusalReason,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RefusalReason {
    ProtectedAdded,
    ProtectedChanged,
    ProtectedDeleted,
    TooLarge {
        bytes: u64,
        limit: u64,
    },
    NestedRepository,
    SpecialFile,
    SymlinkOutOfTree {
        #[serde(serialize_with = "super::serialize_path_lossily")]
        target: PathBuf,
    },
    Secret {
        rule: String,
        line: usize,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shown(&self.path);
        match &self.reason {
            RefusalReason::ProtectedAdded => write!(f, "{path} is protected and was added"),
            RefusalReason::ProtectedChanged => write!(f, "{path} is protected and was changed"),
            RefusalReason::ProtectedDeleted => write!(f, "{path} is protected and was deleted"),
            RefusalReason::TooLarge { bytes, limit } => {
                write!(f, "{path} has {bytes} bytes, more than the {limit} allowed")
            }
            RefusalReason::NestedRepository => {
                write!(
                    f,
                    "{path} is a git repository of its own that .gitmodules does not name"
                )
            }
            RefusalReason::SpecialFile => write!(f, "{path} is a pipe, socket or device"),
            RefusalReason::SymlinkOutOfTree { target } => {
                write!(
                    f,
                    "{path} is a symlink that points out of the tree, to {}",
                    shown(target)
                )
            }
            RefusalReason::Secret { rule, line } => {
                write!(
                    f,
                    "{path} has what looks like a secret ({rule}) in line {line}"
                )
            }
        }
    }
}

pub fn inspect(change: &ChangeSet, policy: &CompiledPolicy, contents: &Contents<'_>) -> Inspection {
    let mut inspection = Inspection::default();
    let submodules = submodule_paths(change, contents);
    for changed in &change.changes {
        let secrets = secrets_of(changed, policy, contents);
        let refusals = [
            protected(changed, policy),
            too_large(changed, policy),
            nested_repository(changed, &submodules),
            special_file(changed),
            symlink_out_of_tree(changed),
        ];
        let refusals = refusals.into_iter().flatten().chain(secrets.refusals);
        inspection.refusals.extend(refusals.map(|reason| Refusal {
            path: changed.path.clone(),
            reason,
        }));
        let flags = flags_of(changed, contents).into_iter().chain(secrets.flags);
        inspection.flags.extend(flags.map(|kind| Flag {
            path: changed.path.clone(),
            kind,
        }));
    }
    inspection
}

fn protected(changed: &Changed, policy: &CompiledPolicy) -> Option<RefusalReason> {
    policy
        .is_protected(&changed.path)
        .then_some(match changed.kind {
            ChangeKind::Added => RefusalReason::ProtectedAdded,
            ChangeKind::Modified | ChangeKind::TypeChanged => RefusalReason::ProtectedChanged,
            ChangeKind::Deleted => RefusalReason::ProtectedDeleted,
        })
}

fn too_large(changed: &Changed, policy: &CompiledPolicy) -> Option<RefusalReason> {
    let limit = policy.max_file_bytes;
    (changed.size > limit).then_some(RefusalReason::TooLarge {
        bytes: changed.size,
        limit,
    })
}

fn nested_repository(changed: &Changed, submodules: &HashSet<PathBuf>) -> Option<RefusalReason> {
    let repository = changed.entry == EntryKind::Repository;
    (repository && !submodules.contains(&changed.path)).then_some(RefusalReason::NestedRepository)
}

fn special_file(changed: &Changed) -> Option<RefusalReason> {
    (changed.entry == EntryKind::Special).then_some(RefusalReason::SpecialFile)
}

/// Judged by the words of the link alone: what it meets on this machine is not what it meets on
/// another. An absolute target is out of the tree everywhere else.
fn symlink_out_of_tree(changed: &Changed) -> Option<RefusalReason> {
    let EntryKind::Symlink { target } = &changed.entry else {
        return None;
    };
    let mut place: Vec<&std::ffi::OsStr> = changed
        .path
        .parent()
        .into_iter()
        .flat_map(Path::iter)
        .collect();
    let mut outside = false;
    for part in target.components() {
        match part {
            Component::Prefix(_) | Component::RootDir => outside = true,
            Component::CurDir => {}
            Component::ParentDir => outside |= place.pop().is_none(),
            Component::Normal(name) => place.push(name),
        }
    }
    outside |= place
        .first()
        .is_some_and(|first| first.eq_ignore_ascii_case(".git"));
    outside.then(|| RefusalReason::SymlinkOutOfTree {
        target: target.clone(),
    })
}

#[derive(Default)]
struct Secrets {
    refusals: Vec<RefusalReason>,
    flags: Vec<FlagKind>,
}

fn secrets_of(changed: &Changed, policy: &CompiledPolicy, contents: &Contents<'_>) -> Secrets {
    let mut secrets = Secrets::default();
    let readable = matches!(changed.entry, EntryKind::File | EntryKind::Executable)
        && changed.size <= policy.max_file_bytes
        && !policy.expects_secrets(&changed.path);
    if !readable {
        return secrets;
    }
    let Some(now) = (contents.now)(&changed.path) else {
        return secrets;
    };
    let hits = scan_secrets(&now);
    if hits.is_empty() {
        return secrets;
    }
    // A line that stood at the base already is not the agent's doing, and it is in the history.
    let before = match changed.kind {
        ChangeKind::Modified => (contents.before)(&changed.path).unwrap_or_default(),
        ChangeKind::Added | ChangeKind::Deleted | ChangeKind::TypeChanged => Vec::new(),
    };
    let known: HashSet<&[u8]> = before.split(|byte| *byte == b'\n').collect();
    for hit in hits {
        if known.contains(line(&now, hit.line)) {
            continue;
        }
        match hit.certainty {
            Certainty::Secret => {
                secrets.refusals.push(RefusalReason::Secret {
                    rule: hit.rule,
                    line: hit.line,
                });
            }
            Certainty::Resembles => {
                secrets.flags.push(FlagKind::ResemblesSecret {
                    rule: hit.rule,
                    line: hit.line,
                });
            }
        }
    }
    secrets
}

/// Paths that `.gitmodules` names, read only if a repository is among the changes.
fn submodule_paths(change: &ChangeSet, contents: &Contents<'_>) -> HashSet<PathBuf> {
    if !change
        .changes
        .iter()
        .any(|changed| changed.entry == EntryKind::Repository)
    {
        return HashSet::new();
    }
    let text = (contents.now)(Path::new(".gitmodules")).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "path").then(|| PathBuf::from(value.trim().trim_matches('"')))
        })
        .collect()
}

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
///
/// Looks at paths by their names; says nothing about whether the change is right.
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
