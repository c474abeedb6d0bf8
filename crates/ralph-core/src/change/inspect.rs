//! Asks of a change: may it land?
//!
//! Pure: contents come through functions of the caller. Refuses by name, one sentence a finding,
//! and quotes nothing of a file but the names of its tests.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    config::ProtectTests,
    secret::{ALLOW_MARK, Certainty, REDACTED, Redaction},
};

use super::{
    ChangeKind, ChangeSet, Changed, CompiledPolicy, DecidingFiles, EntryKind,
    deciding::{deciding_part_changed, has_parts, name_matches},
    shown,
    summary::{holds_summary, is_code},
    test_files::{
        TestMark, has_inline_tests, is_test_file, may_have_tests, newly_marked, removed_tests,
    },
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
    /// The agent's own `.gitmodules` calls it a submodule, and it was not added as one.
    MadeSubmodule,
    SpecialFile,
    Unreadable,
    PathTooLong,
    SymlinkOutOfTree {
        #[serde(serialize_with = "super::serialize_path_lossily")]
        target: PathBuf,
    },
    Secret {
        rule: String,
        line: usize,
    },
    SecretInName {
        rule: String,
    },
    /// A flow or an approved picture, which the task does not name.
    FlowChanged,
    /// Flagged, where `safety.protect_tests` blocks what is.
    Tests {
        what: FlagKind,
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
            RefusalReason::MadeSubmodule => {
                write!(
                    f,
                    "{path} is a git repository of its own that was not added by `git submodule add`: nothing else may have its commits"
                )
            }
            RefusalReason::NestedRepository => {
                write!(
                    f,
                    "{path} is a git repository of its own that .gitmodules does not name"
                )
            }
            RefusalReason::SpecialFile => write!(f, "{path} is a pipe, socket or device"),
            RefusalReason::Unreadable => write!(f, "{path} can't be read"),
            RefusalReason::PathTooLong => write!(f, "{path} has a path that is too long"),
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
            RefusalReason::SecretInName { rule } => {
                write!(
                    f,
                    "{path} has what looks like a secret ({rule}) in its name"
                )
            }
            RefusalReason::FlowChanged => {
                write!(
                    f,
                    "{path} decides what is verified in the browser and was changed, and the task does not name it"
                )
            }
            RefusalReason::Tests { what } => what.write(f, &path),
        }
    }
}

pub fn inspect(
    change: &ChangeSet,
    policy: &CompiledPolicy,
    deciding: &DecidingFiles,
    contents: &Contents<'_>,
) -> Inspection {
    let mut inspection = Inspection::default();
    let submodules = named_submodules(change, contents);
    for changed in &change.changes {
        let secrets = secrets_of(changed, change, policy, contents);
        let refusals = [
            protected(changed, policy),
            too_large(changed, policy),
            nested_repository(changed, &submodules, contents),
            special_file(changed),
            symlink_out_of_tree(changed),
        ];
        let refusals = refusals.into_iter().flatten().chain(secrets.refusals);
        inspection.refusals.extend(refusals.map(|reason| Refusal {
            path: changed.path.clone(),
            reason,
        }));
        let of_tests = match policy.protect_tests {
            ProtectTests::Off => Vec::new(),
            ProtectTests::Flag | ProtectTests::Block => flags_of(changed, deciding, contents),
        };
        let mut flags = secrets.flags;
        if policy.agent_settings.is_match(&changed.path) {
            flags.push(FlagKind::AgentSettingsChanged);
        }
        if policy.protect_tests != ProtectTests::Off && gains_summary(changed, contents) {
            flags.push(FlagKind::HoldsTestSummary);
        }
        if policy.protect_tests == ProtectTests::Block {
            let of_tests = of_tests.into_iter();
            inspection.refusals.extend(of_tests.map(|what| Refusal {
                path: changed.path.clone(),
                reason: RefusalReason::Tests { what },
            }));
        } else {
            flags.splice(..0, of_tests);
        }
        inspection.flags.extend(flags.into_iter().map(|kind| Flag {
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

fn nested_repository(
    changed: &Changed,
    submodules: &NamedSubmodules,
    contents: &Contents<'_>,
) -> Option<RefusalReason> {
    let path = &changed.path;
    if changed.entry != EntryKind::Repository {
        None
    } else if !submodules.now.contains(path) {
        Some(RefusalReason::NestedRepository)
    } else if submodules.before.contains(path)
        || submodules.urls.contains_key(path) && is_added_submodule(path, contents)
    {
        None
    } else {
        Some(RefusalReason::MadeSubmodule)
    }
}

/// Returns whether the git folder of a submodule is where `git submodule add` puts it, and was cloned.
fn is_added_submodule(path: &Path, contents: &Contents<'_>) -> bool {
    let text = (contents.now)(&path.join(".git")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let git_dir = text.strip_prefix("gitdir:").map(str::trim);
    git_dir.is_some_and(|dir| {
        dir.split('/').any(|part| part == "modules") && is_cloned(&path.join(dir), contents)
    })
}

/// Returns whether the settings in a git folder name a remote. That of a linked worktree can't be read here.
fn is_cloned(git_dir: &Path, contents: &Contents<'_>) -> bool {
    let mut place = PathBuf::new();
    for part in git_dir.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir if place.pop() => {}
            Component::CurDir => {}
            Component::ParentDir => return git_dir.iter().any(|part| part == "worktrees"),
            // Git makes it relative.
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    let text = (contents.now)(&place.join("config")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    sections(&text).any(|(name, values)| {
        name.starts_with("remote ") && value_of(&values, "url").is_some_and(|url| !url.is_empty())
    })
}

fn special_file(changed: &Changed) -> Option<RefusalReason> {
    match changed.entry {
        EntryKind::Special => Some(RefusalReason::SpecialFile),
        EntryKind::Unreadable => Some(RefusalReason::Unreadable),
        EntryKind::TooLong => Some(RefusalReason::PathTooLong),
        EntryKind::File
        | EntryKind::Executable
        | EntryKind::Symlink { .. }
        | EntryKind::Repository
        | EntryKind::Gone => None,
    }
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

/// The most files of a change in which a line with a secret is looked for that may have been moved.
const MOST_SOURCES: usize = 200;

fn secrets_of(
    changed: &Changed,
    change: &ChangeSet,
    policy: &CompiledPolicy,
    contents: &Contents<'_>,
) -> Secrets {
    let mut secrets = Secrets::default();
    if policy.expects_secrets(&changed.path) {
        return secrets;
    }
    let finder = &policy.secrets;
    secrets.refusals.extend(secret_in_name(changed, finder));
    let readable = matches!(changed.entry, EntryKind::File | EntryKind::Executable)
        && changed.size <= policy.max_file_bytes;
    let now = readable.then(|| (contents.now)(&changed.path)).flatten();
    let Some(now) = now else {
        return secrets;
    };
    let found = finder.find(&now);
    if found.is_empty() {
        return secrets;
    }
    let base = BaseSecrets::of(changed, change, finder, contents);
    let mut told = HashSet::new();
    for finding in found {
        let (line, text) = line_at(&now, finding.at.start);
        let is_old = base.values.contains(&bare(&now[finding.at]));
        if is_old || base.allows(text, finder) || !told.insert((finding.rule.clone(), line)) {
            continue;
        }
        let rule = finding.rule;
        match finding.certainty {
            Certainty::Secret => secrets.refusals.push(RefusalReason::Secret { rule, line }),
            Certainty::Resembles => {
                secrets.flags.push(FlagKind::ResemblesSecret { rule, line });
            }
        }
    }
    secrets
}

/// Hides what a text would be refused for: secrets that no text of the base had. Returns their rules with it.
pub fn hide_refused(
    now: &[u8],
    base: &[Vec<u8>],
    finder: &Redaction,
) -> Option<(Vec<u8>, BTreeSet<String>)> {
    let mut found = finder.find(now);
    found.retain(|finding| finding.certainty == Certainty::Secret);
    if found.is_empty() {
        return None;
    }
    let mut known = BaseSecrets::default();
    base.iter().for_each(|text| known.add(text, finder));
    let (mut hidden, mut at, mut rules) = (Vec::new(), 0, BTreeSet::new());
    for finding in found {
        let (_, line) = line_at(now, finding.at.start);
        let is_old = known.values.contains(&bare(&now[finding.at.clone()]));
        if is_old || known.allows(line, finder) {
            continue;
        }
        hidden.extend_from_slice(&now[at..finding.at.start]);
        hidden.extend_from_slice(REDACTED.as_bytes());
        at = finding.at.end;
        rules.insert(finding.rule);
    }
    hidden.extend_from_slice(&now[at..]);
    (!rules.is_empty()).then_some((hidden, rules))
}

/// A new path that holds a secret, or a link that points to one.
fn secret_in_name(changed: &Changed, finder: &Redaction) -> Option<RefusalReason> {
    if changed.kind != ChangeKind::Added && changed.kind != ChangeKind::TypeChanged {
        return None;
    }
    let path = changed.path.to_string_lossy().into_owned();
    let target = match &changed.entry {
        EntryKind::Symlink { target } => target.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    let found = finder.find(format!("{path}\n{target}").as_bytes());
    let first = found.into_iter().find(|f| f.certainty == Certainty::Secret);
    first.map(|finding| RefusalReason::SecretInName { rule: finding.rule })
}

/// Secrets that stood at the base already, in the files that a change touches: they are not the agent's doing, and
/// are in the history. One may have stood in another file, which was moved or split.
#[derive(Default)]
struct BaseSecrets {
    values: HashSet<Vec<u8>>,
    /// Lines that a person has marked, without their secrets.
    marked: HashSet<Vec<u8>>,
}

impl BaseSecrets {
    fn of(
        changed: &Changed,
        change: &ChangeSet,
        finder: &Redaction,
        contents: &Contents<'_>,
    ) -> Self {
        let was_there = |changed: &&Changed| match changed.kind {
            ChangeKind::Modified | ChangeKind::Deleted | ChangeKind::TypeChanged => true,
            ChangeKind::Added => false,
        };
        let others = change.changes.iter().filter(was_there).take(MOST_SOURCES);
        let all = Some(changed).filter(was_there).into_iter().chain(others);
        let mut base = Self::default();
        for text in all.filter_map(|changed| (contents.before)(&changed.path)) {
            base.add(&text, finder);
        }
        base
    }

    fn add(&mut self, text: &[u8], finder: &Redaction) {
        for finding in finder.find(text) {
            let (_, line) = line_at(text, finding.at.start);
            if has_mark(line) {
                self.marked.insert(without_secrets(line, finder));
            }
            self.values.insert(bare(&text[finding.at]));
        }
    }

    /// Tells whether a person has marked this line: a mark counts only where the base has it.
    fn allows(&self, line: &[u8], finder: &Redaction) -> bool {
        has_mark(line) && self.marked.contains(&without_secrets(line, finder))
    }
}

fn has_mark(line: &[u8]) -> bool {
    memchr::memmem::find(line, ALLOW_MARK.as_bytes()).is_some()
}

fn without_secrets(line: &[u8], finder: &Redaction) -> Vec<u8> {
    finder.hide_bytes(line.trim_ascii()).into_owned()
}

/// The value without what indentation and quotes make of it.
fn bare(value: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(value).replace("\\n", "");
    let kept = text
        .bytes()
        .filter(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.:@".contains(byte));
    kept.collect()
}

/// Number, counted from 1, and content of the line that holds the byte at `offset`.
fn line_at(text: &[u8], offset: usize) -> (usize, &[u8]) {
    let start = memchr::memrchr(b'\n', &text[..offset]).map_or(0, |at| at + 1);
    let end = memchr::memchr(b'\n', &text[offset..]).map_or(text.len(), |at| offset + at);
    let number = memchr::memchr_iter(b'\n', &text[..start]).count() + 1;
    (number, &text[start..end])
}

/// Paths that `.gitmodules` names, before the change and now.
#[derive(Default)]
struct NamedSubmodules {
    before: HashSet<PathBuf>,
    now: HashSet<PathBuf>,
    /// Those of now that can be cloned from somewhere.
    urls: HashMap<PathBuf, String>,
}

/// Reads what `.gitmodules` names only if a repository is among the changes.
fn named_submodules(change: &ChangeSet, contents: &Contents<'_>) -> NamedSubmodules {
    let mut kinds = change.changes.iter().map(|changed| &changed.entry);
    if !kinds.any(|entry| *entry == EntryKind::Repository) {
        return NamedSubmodules::default();
    }
    let text =
        |bytes: Option<Vec<u8>>| String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
    let file = Path::new(".gitmodules");
    let (before, now) = (text((contents.before)(file)), text((contents.now)(file)));
    NamedSubmodules {
        before: submodule_paths(&before),
        now: submodule_paths(&now),
        urls: submodule_urls(&now),
    }
}

/// Returns the paths that the text of a `.gitmodules` names.
pub fn submodule_paths(text: &str) -> HashSet<PathBuf> {
    let paths = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "path").then(|| PathBuf::from(value.trim().trim_matches('"')))
    });
    paths.collect()
}

/// Returns the places that the text of a `.gitmodules` has submodules from, by their paths.
pub fn submodule_urls(text: &str) -> HashMap<PathBuf, String> {
    let named = sections(text).filter_map(|(_, values)| {
        let url = value_of(&values, "url").filter(|url| !url.is_empty())?;
        Some((PathBuf::from(value_of(&values, "path")?), url))
    });
    named.collect()
}

/// The sections of a text in the format of git's settings, each with its lines.
fn sections(text: &str) -> impl Iterator<Item = (&str, Vec<(&str, &str)>)> {
    let mut found: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            found.push((rest, Vec::new()));
        } else if let (Some((_, values)), Some((key, value))) =
            (found.last_mut(), line.split_once('='))
        {
            values.push((key.trim(), value.trim()));
        }
    }
    found.into_iter()
}

fn value_of(values: &[(&str, &str)], key: &str) -> Option<String> {
    let mut values = values.iter().rev();
    let (_, value) = values.find(|(name, _)| name.eq_ignore_ascii_case(key))?;
    Some(value.trim_matches('"').to_owned())
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
    /// A file of tests is gone.
    TestDeleted,
    /// A test of a file that stayed is gone.
    TestRemoved {
        test: String,
    },
    /// A test is marked as one that need not pass.
    TestSkipped {
        test: String,
        line: usize,
    },
    /// A test is marked as the only one to run.
    TestFocused {
        test: String,
        line: usize,
    },
    CiChanged,
    /// The next agent would read it.
    AgentSettingsChanged,
    /// A new submodule, whose URL leads to another machine.
    SubmoduleElsewhere,
    SnapshotChanged,
    /// Code that can print what tests are counted by.
    HoldsTestSummary,
    /// The file has a say in what the verify commands run.
    VerifyConfigChanged,
    /// A flow or an approved picture, which the task names.
    FlowChanged,
    ResemblesSecret {
        rule: String,
        line: usize,
    },
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.write(f, &shown(&self.path))
    }
}

impl FlagKind {
    fn write(&self, f: &mut fmt::Formatter<'_>, path: &str) -> fmt::Result {
        match self {
            Self::TestDeleted => write!(f, "{path} is a test and was deleted"),
            Self::TestRemoved { test } => write!(f, "{path} has lost the test {test}"),
            Self::TestSkipped { test, line } => {
                write!(f, "{path} skips {test} now, in line {line}")
            }
            Self::TestFocused { test, line } => {
                write!(f, "{path} runs {test} alone now, in line {line}")
            }
            Self::CiChanged => write!(f, "{path} configures CI and was changed"),
            Self::AgentSettingsChanged => write!(f, "{path} configures agents and was changed"),
            Self::SubmoduleElsewhere => write!(
                f,
                "{path} is a new submodule from another machine, which was not asked for its commit"
            ),
            Self::SnapshotChanged => write!(f, "{path} is a snapshot and was changed"),
            Self::HoldsTestSummary => write!(
                f,
                "{path} holds what a test runner prints, by which tests are counted"
            ),
            Self::VerifyConfigChanged => {
                write!(f, "{path} decides what verification runs and was changed")
            }
            Self::FlowChanged => {
                write!(
                    f,
                    "{path} decides what is verified in the browser and was changed"
                )
            }
            Self::ResemblesSecret { rule, line } => {
                write!(f, "{path} has something like a {rule} in line {line}")
            }
        }
    }
}

/// Returns what is worth a look about a changed path.
///
/// Says nothing about whether the change is right.
pub(super) fn flags_of(
    changed: &Changed,
    deciding: &DecidingFiles,
    contents: &Contents<'_>,
) -> Vec<FlagKind> {
    let path = &changed.path;
    let mut flags = Vec::new();
    // A test that is a link or a repository now is none any more.
    let is_file = matches!(changed.entry, EntryKind::File | EntryKind::Executable);
    let deleted = match changed.kind {
        ChangeKind::Deleted => true,
        ChangeKind::Modified | ChangeKind::TypeChanged => !is_file,
        ChangeKind::Added => false,
    };
    if is_snapshot(path) {
        if changed.kind != ChangeKind::Added {
            flags.push(FlagKind::SnapshotChanged);
        }
    } else if deleted && is_test_file(path) {
        flags.push(FlagKind::TestDeleted);
    } else if !deleted && may_have_tests(path) {
        flags.extend(test_flags(changed, contents));
    }
    if is_ci(path) {
        flags.push(FlagKind::CiChanged);
    }
    if deciding.contains(path) && decides_otherwise(changed, contents) {
        flags.push(FlagKind::VerifyConfigChanged);
    }
    flags
}

/// The largest file whose tests are looked at.
const MAX_TEST_FILE_BYTES: u64 = 2 * 1024 * 1024;

/// Compares the tests of a file with those that it had.
fn test_flags(changed: &Changed, contents: &Contents<'_>) -> Vec<FlagKind> {
    let readable = matches!(changed.entry, EntryKind::File | EntryKind::Executable)
        && changed.size <= MAX_TEST_FILE_BYTES;
    let now = readable.then(|| (contents.now)(&changed.path)).flatten();
    let Some(now) = now.filter(|now| is_test_file(&changed.path) || has_inline_tests(now)) else {
        return Vec::new();
    };
    let before = match changed.kind {
        ChangeKind::Modified => (contents.before)(&changed.path),
        ChangeKind::Added | ChangeKind::Deleted | ChangeKind::TypeChanged => None,
    };
    let before = before.unwrap_or_default();
    let (before, now) = (
        String::from_utf8_lossy(&before),
        String::from_utf8_lossy(&now),
    );
    let marked = newly_marked(&changed.path, &before, &now);
    let marked = marked.into_iter().map(|marked| match marked.mark {
        TestMark::Skip => FlagKind::TestSkipped {
            test: marked.test,
            line: marked.line,
        },
        TestMark::Only => FlagKind::TestFocused {
            test: marked.test,
            line: marked.line,
        },
    });
    let removed = removed_tests(&changed.path, &before, &now);
    let removed = removed
        .into_iter()
        .map(|test| FlagKind::TestRemoved { test });
    marked.chain(removed).collect()
}

/// Tells whether code holds a summary of tests that it did not hold before.
fn gains_summary(changed: &Changed, contents: &Contents<'_>) -> bool {
    let readable = matches!(changed.entry, EntryKind::File | EntryKind::Executable)
        && changed.size <= MAX_TEST_FILE_BYTES
        && is_code(&changed.path);
    let now = readable.then(|| (contents.now)(&changed.path)).flatten();
    let now = now.filter(|now| !now.contains(&0)).unwrap_or_default();
    let now = String::from_utf8_lossy(&now);
    if !holds_summary(&now, &HashSet::new()) {
        return false;
    }
    let before = match changed.kind {
        ChangeKind::Modified => (contents.before)(&changed.path),
        ChangeKind::Added | ChangeKind::Deleted | ChangeKind::TypeChanged => None,
    };
    let before = before.unwrap_or_default();
    let before = String::from_utf8_lossy(&before);
    holds_summary(&now, &before.lines().map(str::trim).collect())
}

fn is_snapshot(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".snap")
        || path.components().any(|part| {
            ["__snapshots__", "snapshots"].contains(&part.as_os_str().to_string_lossy().as_ref())
        })
}

/// Files that services read which build and test elsewhere.
const CI_FILES: &[&str] = &[
    ".github/workflows/**",
    ".github/actions/**",
    ".gitlab-ci.yml",
    "*.gitlab-ci.yml",
    ".gitlab/ci/**",
    ".circleci/**",
    ".buildkite/**",
    ".forgejo/**",
    ".gitea/**",
    ".woodpecker/**",
    ".woodpecker.y*ml",
    ".drone.y*ml",
    ".travis.yml",
    "Jenkinsfile*",
    "azure-pipelines*.yml",
    "azure-pipelines*.yaml",
    ".azure-pipelines/**",
    ".azuredevops/**",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
    ".appveyor.yml",
    ".cirrus.y*ml",
    ".semaphore/**",
    ".teamcity/**",
    ".tekton/**",
    ".ci/**",
    "cloudbuild.y*ml",
    "buildspec.y*ml",
    "codemagic.yaml",
    "bitrise.yml",
    "wercker.yml",
    "codecov.y*ml",
    ".codecov.y*ml",
];

fn is_ci(path: &Path) -> bool {
    CI_FILES.iter().any(|name| name_matches(name, path))
}

/// Tells whether a file that decides something decides something else now.
fn decides_otherwise(changed: &Changed, contents: &Contents<'_>) -> bool {
    match changed.kind {
        ChangeKind::Added | ChangeKind::Deleted | ChangeKind::TypeChanged => true,
        ChangeKind::Modified if !has_parts(&changed.path) => true,
        ChangeKind::Modified => {
            let (before, now) = (
                (contents.before)(&changed.path),
                (contents.now)(&changed.path),
            );
            match (before, now) {
                (Some(before), Some(now)) => deciding_part_changed(&changed.path, &before, &now),
                _ => true,
            }
        }
    }
}
