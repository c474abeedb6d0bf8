//! Finds the task source of a project: the one that is named, configured or chosen before, or the only one there is.
//!
//! A list that may be meant for people is never taken because it is there: it is offered, and a person says whether
//! it is worked on.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use ralph_core::{
    board::Board,
    config::TasksConfig,
    named,
    task::{
        format::{self, FormatError},
        graph::Graph,
    },
};

use super::places::{NewFileRule, PlaceUsage, PlacedFile, TaskPlace, files_in_places};
use crate::plain_file;

/// The task source of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSource {
    pub path: PathBuf,
    pub by: FoundBy,
}

named! {
    /// The reason why a source is the one to use.
    pub enum FoundBy {
        /// A person named it now.
        Named = "named",
        /// The configuration names it.
        Configured = "configured",
        /// A person chose it before.
        Chosen = "chosen",
        /// It is the only one there is.
        Alone = "found",
        /// It belongs to what is run: a project, a goal, a loop that goes on.
        Given = "given",
    }
}

/// A place to look for the source.
#[derive(Debug, Clone, Copy)]
pub struct SourceSearch<'a> {
    pub tasks: &'a TasksConfig,
    pub root: &'a Path,
    /// The folder that a name is relative to.
    pub start: &'a Path,
}

/// Facts about sources that the journal keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownSources {
    /// The source that a person chose before, by its name from the root.
    pub chosen: Option<String>,
    /// The names of files that agents made and no loop worked on.
    pub made_by_agents: Vec<String>,
}

/// A list of tasks that is not chosen yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedList {
    pub name: String,
    pub path: PathBuf,
    pub tasks: usize,
    /// Tasks that are neither completed nor skipped.
    pub open: usize,
}

impl std::fmt::Display for OfferedList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            name, tasks, open, ..
        } = self;
        let noun = if *tasks == 1 { "task" } else { "tasks" };
        write!(f, "{name} ({tasks} {noun}, {open} open)")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("there is no task source {path}")]
    NotThere { path: PathBuf },
    #[error("found no tasks in {root}")]
    Nothing { root: PathBuf },
    #[error("found tasks only in {}, which an agent made", names.join(", "))]
    MadeByAgents { names: Vec<String> },
    #[error("found more than one task source: {}", names.join(", "))]
    Several { names: Vec<String> },
    #[error("found tasks only in {}", not_chosen(lists))]
    Offered { lists: Vec<OfferedList> },
    #[error("found no tasks in {}, only prose: {}", root.display(), first(names))]
    Prose { root: PathBuf, names: Vec<String> },
    #[error("found tasks only in a file that can't be read")]
    Unreadable(#[from] FormatError),
}

/// Names that are listed in a sentence.
const MOST_NAMES: usize = 5;

fn not_chosen(lists: &[OfferedList]) -> String {
    match lists {
        [only] => format!("{only}, which is not chosen yet"),
        several => format!("lists that are not chosen yet: {}", first(several)),
    }
}

fn first<T: ToString>(items: &[T]) -> String {
    let mut names: Vec<String> = items.iter().take(MOST_NAMES).map(T::to_string).collect();
    let more = items.len().saturating_sub(names.len());
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

impl FindError {
    /// The way out; `command` is what takes the name of a source, such as `ralph run`.
    pub fn hint(&self, command: &str) -> String {
        let choose = |names: &[&String]| {
            let which = if names.len() == 1 { "it" } else { "one" };
            let lines = names
                .iter()
                .map(|name| format!("\n  {command} {}", in_shell(name)));
            format!(
                "choose {which}, or set `tasks.source` in ralph.yaml; `ralph run` and `ralph tasks source` remember a choice:{}",
                lines.collect::<String>()
            )
        };
        match self {
            Self::NotThere { .. } => "name a task file, or a folder of them".into(),
            Self::Nothing { .. } => {
                "write a prd.json or .ralph/tasks/*.yaml, or name a file: `ralph run FILE`; `ralph tasks add TITLE` makes a first task".into()
            }
            Self::MadeByAgents { names } => format!(
                "they are suggestions: `ralph tasks add --from-suggestions`; to work on all of them name the file: `ralph run {}`",
                names.first().map_or_else(String::new, |name| in_shell(name))
            ),
            Self::Several { names } => choose(&names.iter().collect::<Vec<_>>()),
            Self::Offered { lists } => {
                choose(&lists.iter().map(|list| &list.name).collect::<Vec<_>>())
            }
            Self::Prose { names, .. } => plan_hint(names.first().map_or("", String::as_str)),
            Self::Unreadable(_) => "correct it, or name another file: `ralph run FILE`".into(),
        }
    }
}

/// Says how tasks are made of prose.
pub fn plan_hint(name: &str) -> String {
    format!("`ralph plan {}` makes tasks of it", in_shell(name))
}

/// A name as one word of a shell.
pub fn in_shell(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./@+=:,".contains(c);
    if name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

/// Finds the source: the one that was named, else the configured one, else the one that a person chose before, else
/// the only one that may be taken. A file that an agent made is none, unless it is named. `known` is asked what the
/// journal knows; it is given the names of the files that agents may have made.
pub fn find_source(
    named: Option<&Path>,
    search: SourceSearch<'_>,
    known: impl FnOnce(&[String]) -> KnownSources,
) -> Result<FoundSource, FindError> {
    let SourceSearch { tasks, root, start } = search;
    let existing = |path: PathBuf, by: FoundBy| match path.canonicalize() {
        Ok(path) => Ok(FoundSource { path, by }),
        Err(_) => Err(FindError::NotThere { path }),
    };
    if let Some(named) = named {
        return existing(start.join(named), FoundBy::Named);
    }
    if let Some(configured) = &tasks.source {
        return existing(root.join(configured), FoundBy::Configured);
    }
    let mut files = candidates(root);
    let known = known(
        &files
            .iter()
            .flat_map(Candidate::of_agents)
            .collect::<Vec<_>>(),
    );
    let chosen = known.chosen.map(|name| root.join(name));
    if let Some(path) = chosen.and_then(|path| path.canonicalize().ok()) {
        let by = FoundBy::Chosen;
        return Ok(FoundSource { path, by });
    }
    let made = known.made_by_agents;
    let mut kept = HashSet::new();
    files.retain(|file| {
        let is_made = file.of_agents().iter().any(|name| made.contains(name));
        // Two names of one file are one source.
        !is_made && kept.insert(file.path.clone())
    });
    let (taken, offered): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|file| file.place.usage == PlaceUsage::Taken);
    let mut taken: Vec<PathBuf> = taken.into_iter().map(|file| file.path).collect();
    let folder = root.join(&tasks.path);
    if super::task_files(&folder).is_ok_and(|files| !files.is_empty())
        && let Ok(folder) = folder.canonicalize()
    {
        taken.push(folder);
    }
    match taken.len() {
        0 => Err(offer(offered, made, root)),
        1 => Ok(FoundSource {
            path: taken.swap_remove(0),
            by: FoundBy::Alone,
        }),
        _ => Err(FindError::Several {
            names: taken
                .iter()
                .map(|path| super::name_of(path, root))
                .collect(),
        }),
    }
}

/// A file that may hold tasks.
struct Candidate {
    /// Without links.
    path: PathBuf,
    /// Its path from the root.
    name: String,
    /// The path from the root that it was looked for at.
    placed: PathBuf,
    place: &'static TaskPlace,
}

impl Candidate {
    /// The names by which agents may have put it there: its own, and those of links that lead to it.
    fn of_agents(&self) -> Vec<String> {
        let mut names = Vec::new();
        if self.place.new_file == NewFileRule::Suggests {
            names.push(self.name.clone());
        }
        if self.placed != Path::new(&self.name) {
            let links = self.placed.ancestors().filter_map(Path::to_str);
            names.extend(links.filter(|link| !link.is_empty()).map(str::to_owned));
        }
        names
    }
}

/// The files in all places.
fn candidates(root: &Path) -> Vec<Candidate> {
    let files = files_in_places(root, |_| true).into_iter();
    let found = files.filter_map(|PlacedFile { path, place }| {
        let placed = path.strip_prefix(root).unwrap_or(&path).to_owned();
        let path = path.canonicalize().ok()?;
        Some(Candidate {
            name: super::name_of(&path, root),
            path,
            placed,
            place,
        })
    });
    found.collect()
}

/// Reads files that may be lists, and says what can be done with them. Lists in which nothing is left to do are
/// offered only where all are like that.
fn offer(files: Vec<Candidate>, made: Vec<String>, root: &Path) -> FindError {
    let mut lists = Vec::new();
    let mut prose = Vec::new();
    let mut unreadable = None;
    for file in files {
        match read(&file) {
            ReadFile::List(list) => lists.push(list),
            ReadFile::Empty => {}
            ReadFile::Prose => prose.push(file.name),
            ReadFile::Unreadable(error) => {
                unreadable.get_or_insert(error);
            }
        }
    }
    if lists.iter().any(|list| list.open > 0) {
        lists.retain(|list| list.open > 0);
    }
    if !lists.is_empty() {
        return FindError::Offered { lists };
    }
    if !made.is_empty() {
        return FindError::MadeByAgents { names: made };
    }
    let root = root.to_owned();
    match unreadable {
        Some(error) => FindError::Unreadable(error),
        None if prose.is_empty() => FindError::Nothing { root },
        None => FindError::Prose { root, names: prose },
    }
}

/// The content of a file that may be a list.
enum ReadFile {
    List(OfferedList),
    Empty,
    Prose,
    Unreadable(FormatError),
}

fn read(file: &Candidate) -> ReadFile {
    let bytes = plain_file::read(&file.path).unwrap_or_default();
    match format::parse(&file.name, 0, &bytes) {
        Ok(document) if document.tasks.is_empty() && !is_markdown(&file.path) => ReadFile::Empty,
        Ok(document) if document.tasks.is_empty() => ReadFile::Prose,
        Ok(document) => {
            let counts = Board::of_all(Graph::build(document.tasks).0).counts();
            ReadFile::List(OfferedList {
                name: file.name.clone(),
                path: file.path.clone(),
                tasks: counts.total,
                open: counts.total - counts.completed - counts.skipped,
            })
        }
        Err(error) if is_prose(&error) => ReadFile::Prose,
        Err(error) => ReadFile::Unreadable(error),
    }
}

/// Tells a text without a list from a file with a fault, which has a place, by the error of reading it.
pub fn is_prose(error: &FormatError) -> bool {
    error.place.is_none() && is_markdown(Path::new(&error.file))
}

/// Tells by its name whether a file is a text that may have no list.
pub fn is_markdown(path: &Path) -> bool {
    let extension = path.extension().and_then(|ending| ending.to_str());
    let is = |known: &str| extension.is_some_and(|ending| ending.eq_ignore_ascii_case(known));
    is("md") || is("markdown")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRD: &str = r#"[{"id": "A", "title": "a", "passes": false}]"#;
    const DONE: &str = r#"[{"id": "A", "title": "a", "passes": true}]"#;
    const FEATURES: &str = r#"{"features": [
        {"id": "A", "title": "a", "passes": true}, {"id": "B", "title": "b", "passes": false}]}"#;

    struct Scratch {
        _dir: tempfile::TempDir,
        root: PathBuf,
        known: KnownSources,
    }

    impl Scratch {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            for (name, text) in files {
                let path = root.join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Self {
                _dir: dir,
                root,
                known: KnownSources::default(),
            }
        }

        fn chosen(mut self, name: &str) -> Self {
            self.known.chosen = Some(name.to_owned());
            self
        }

        fn made_by_agents(mut self, name: &str) -> Self {
            self.known.made_by_agents.push(name.to_owned());
            self
        }

        fn find_with(
            &self,
            named: Option<&str>,
            tasks: &TasksConfig,
        ) -> Result<(String, FoundBy), FindError> {
            let search = SourceSearch {
                tasks,
                root: &self.root,
                start: &self.root,
            };
            let known = |names: &[String]| {
                let mut known = self.known.clone();
                known.made_by_agents.retain(|made| names.contains(made));
                known
            };
            let found = find_source(named.map(Path::new), search, known)?;
            Ok((super::super::name_of(&found.path, &self.root), found.by))
        }

        fn find(&self) -> Result<(String, FoundBy), FindError> {
            self.find_with(None, &TasksConfig::default())
        }

        #[track_caller]
        fn expect(&self, name: &str, by: FoundBy) {
            assert_eq!(self.find().unwrap(), (name.to_owned(), by));
        }

        #[track_caller]
        fn expect_error(&self, text: &str) {
            let error = self.find().unwrap_err().to_string();
            assert_eq!(error.replace(self.root.to_str().unwrap(), "ROOT"), text);
        }
    }

    #[test]
    fn the_only_source_is_found_and_several_are_named_with_a_command_each() {
        Scratch::new(&[("prd.json", PRD)]).expect("prd.json", FoundBy::Alone);
        Scratch::new(&[(".artefacts/x/tasks.json", "{}")])
            .expect(".artefacts/x/tasks.json", FoundBy::Alone);
        Scratch::new(&[(".taskmaster/tasks/tasks.json", "{}")])
            .expect(".taskmaster/tasks/tasks.json", FoundBy::Alone);
        let several = Scratch::new(&[
            ("prd.json", PRD),
            (".agents/tasks/prd-a b.json", PRD),
            (".ralph/tasks/a.yaml", "id: A\ntitle: a\n"),
        ]);
        several.expect_error(
            "found more than one task source: prd.json, .agents/tasks/prd-a b.json, .ralph/tasks",
        );
        assert_eq!(
            several.find().unwrap_err().hint("ralph run"),
            "choose one, or set `tasks.source` in ralph.yaml; `ralph run` and `ralph tasks source` remember a choice:\n  \
             ralph run prd.json\n  ralph run '.agents/tasks/prd-a b.json'\n  ralph run .ralph/tasks"
        );
        Scratch::new(&[]).expect_error("found no tasks in ROOT");
    }

    #[test]
    fn a_named_source_goes_before_a_configured_one_and_that_before_a_chosen_one() {
        let scratch = Scratch::new(&[("prd.json", PRD), ("b.json", PRD), ("c.json", PRD)]);
        let scratch = scratch.chosen("c.json");
        let configured = TasksConfig {
            source: Some("b.json".into()),
            ..TasksConfig::default()
        };
        let named = scratch.find_with(Some("prd.json"), &configured).unwrap();
        assert_eq!(named, ("prd.json".to_owned(), FoundBy::Named));
        let found = scratch.find_with(None, &configured).unwrap();
        assert_eq!(found, ("b.json".to_owned(), FoundBy::Configured));
        scratch.expect("c.json", FoundBy::Chosen);
        let missing = scratch.find_with(Some("x.json"), &configured);
        assert!(matches!(missing, Err(FindError::NotThere { .. })));
    }

    #[test]
    fn a_choice_ends_a_tie_and_one_that_is_gone_counts_for_nothing() {
        let two = [("prd.json", PRD), ("docs/prd.json", PRD)];
        Scratch::new(&two)
            .chosen("docs/prd.json")
            .expect("docs/prd.json", FoundBy::Chosen);
        Scratch::new(&two)
            .chosen("TODO.md")
            .expect_error("found more than one task source: prd.json, docs/prd.json");
    }

    #[test]
    fn a_list_that_may_be_meant_for_people_is_offered_and_never_taken() {
        let alone = Scratch::new(&[("feature_list.json", FEATURES)]);
        alone.expect_error(
            "found tasks only in feature_list.json (2 tasks, 1 open), which is not chosen yet",
        );
        let beside = Scratch::new(&[("feature_list.json", FEATURES), ("docs/prd.json", PRD)]);
        beside.expect("docs/prd.json", FoundBy::Alone);
        Scratch::new(&[("feature_list.json", FEATURES)])
            .chosen("feature_list.json")
            .expect("feature_list.json", FoundBy::Chosen);
    }

    #[test]
    fn lists_with_nothing_left_to_do_are_offered_only_where_all_are_like_that() {
        let open = ("feature_list.json", FEATURES);
        let done = ("docs/feature_list.json", DONE);
        Scratch::new(&[open, done]).expect_error(
            "found tasks only in feature_list.json (2 tasks, 1 open), which is not chosen yet",
        );
        Scratch::new(&[done]).expect_error(
            "found tasks only in docs/feature_list.json (1 task, 0 open), which is not chosen yet",
        );
    }

    #[test]
    fn a_file_that_an_agent_made_is_no_source_wherever_it_is() {
        for name in ["prd.json", ".taskmaster/tasks/tasks.json", "docs/prd.json"] {
            let scratch = Scratch::new(&[(name, PRD)]).made_by_agents(name);
            scratch.expect_error(&format!("found tasks only in {name}, which an agent made"));
        }
        Scratch::new(&[("prd.json", PRD), ("docs/prd.json", PRD)])
            .made_by_agents("docs/prd.json")
            .expect("prd.json", FoundBy::Alone);
    }

    #[test]
    fn a_link_that_an_agent_made_does_not_make_a_source_of_a_list() {
        let todo = ("feature_list.json", FEATURES);
        let file = Scratch::new(&[todo]).made_by_agents("docs/prd.json");
        std::fs::create_dir(file.root.join("docs")).unwrap();
        std::os::unix::fs::symlink("../feature_list.json", file.root.join("docs/prd.json"))
            .unwrap();
        let folder = Scratch::new(&[("x/prd.json", PRD)]).made_by_agents("plans");
        std::os::unix::fs::symlink("x", folder.root.join("plans")).unwrap();
        file.expect_error(
            "found tasks only in feature_list.json (2 tasks, 1 open), which is not chosen yet",
        );
        folder.expect_error("found tasks only in plans, which an agent made");
    }

    #[test]
    fn prose_is_named_as_prose_with_the_way_to_make_tasks_of_it() {
        let prose = "# Plan\n\nFirst we think, and then we build.\n";
        let scratch = Scratch::new(&[("IMPLEMENTATION_PLAN.md", prose)]);
        scratch.expect_error("found no tasks in ROOT, only prose: IMPLEMENTATION_PLAN.md");
        assert_eq!(
            scratch.find().unwrap_err().hint("ralph run"),
            "`ralph plan IMPLEMENTATION_PLAN.md` makes tasks of it"
        );
        let files = [
            ("IMPLEMENTATION_PLAN.md", prose),
            ("feature_list.json", FEATURES),
        ];
        Scratch::new(&files).expect_error(
            "found tasks only in feature_list.json (2 tasks, 1 open), which is not chosen yet",
        );
    }

    #[test]
    fn checklists_and_issues_are_offered_with_their_tasks() {
        let done = "# Tasks\n\n- [x] T001 Done\n";
        let open = "# Tasks\n\n- [x] T001 Done\n- [ ] T002 Open\n";
        let issue = r#"{"id": "b-1", "title": "One", "status": "open", "priority": 1}"#;
        Scratch::new(&[
            ("specs/001-cart/tasks.md", done),
            ("specs/002-till/tasks.md", open),
            ("docs/plans/thoughts.md", "# Thoughts\n\nWords alone.\n"),
            (".beads/issues.jsonl", issue),
        ])
        .expect_error(
            "found tasks only in lists that are not chosen yet: .beads/issues.jsonl (1 task, 1 open), \
             specs/002-till/tasks.md (2 tasks, 1 open)",
        );
    }

    #[test]
    fn a_list_that_is_broken_is_named_with_its_fault() {
        let scratch = Scratch::new(&[("feature_list.json", "{\"features\": [")]);
        let error = scratch.find().unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.starts_with("feature_list.json:1:"), "{cause}");
    }

    #[test]
    fn two_names_of_one_file_are_one_source_and_a_folder_is_none() {
        let scratch = Scratch::new(&[("prd.json", PRD), ("docs/prd.json/x", "")]);
        std::os::unix::fs::symlink("prd.json", scratch.root.join("tasks.json")).unwrap();
        std::fs::create_dir(scratch.root.join("plans")).unwrap();
        std::os::unix::fs::symlink("nowhere", scratch.root.join("plans/prd.json")).unwrap();
        scratch.expect("prd.json", FoundBy::Alone);
    }
}
