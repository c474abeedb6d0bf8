//! The places where ralph looks for tasks, as one table.
//!
//! Looks only at names: folders are listed where they exist, and no file is read.

use std::path::{Path, PathBuf};

/// A place of task files. In its pattern, one `*` stands for any part of a name that does not begin with a dot; the
/// name of the file counts in any case.
#[derive(Debug)]
pub(super) struct TaskPlace {
    pattern: &'static str,
    pub(super) usage: PlaceUsage,
    pub(super) new_file: NewFileRule,
}

/// Tells whether ralph works on a file because it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceUsage {
    /// It is made for agents to work on.
    Taken,
    /// It may be meant for people: one of them has to say so.
    Offered,
}

/// Tells what becomes of a new file that an agent makes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewFileRule {
    /// Only ralph looks there: it is moved to the logs, and its tasks are suggestions.
    SetAside,
    /// It may be what the project is about: it lands, its tasks are suggestions, and it is no source of tasks.
    Suggests,
    /// It lands like any other file.
    Lands,
}

/// A file that is there, by the path that it was looked for at.
#[derive(Debug)]
pub(super) struct PlacedFile {
    pub(super) path: PathBuf,
    pub(super) place: &'static TaskPlace,
}

/// The places, in the order in which files are named to people.
static PLACES: [TaskPlace; 29] = {
    use NewFileRule::{Lands, SetAside, Suggests};
    [
        taken("prd.json", Suggests),
        taken("tasks.json", Suggests),
        taken("scripts/ralph/prd.json", SetAside),
        taken("ralph/prd.json", Suggests),
        taken("tasks/prd.json", Suggests),
        taken(".ralph/prd.json", SetAside),
        taken("plans/prd.json", Suggests),
        taken("docs/prd.json", Suggests),
        taken(".agents/tasks/prd*.json", Suggests),
        taken(".taskmaster/tasks/tasks.json", Suggests),
        // Where Taskmaster had its tasks before it had a folder of its own.
        taken("tasks/tasks.json", Suggests),
        taken(".artefacts/*/tasks.json", SetAside),
        offered("feature_list.json", Lands),
        offered("docs/feature_list.json", Lands),
        offered(".ralph/feature_list.json", SetAside),
        offered(".beads/issues.jsonl", Suggests),
        offered("fix_plan.md", Lands),
        offered("@fix_plan.md", Lands),
        offered(".ralph/fix_plan.md", SetAside),
        offered(".ralph/@fix_plan.md", SetAside),
        offered("RALPH_TASK.md", Lands),
        offered("IMPLEMENTATION_PLAN.md", Lands),
        offered("docs/IMPLEMENTATION_PLAN.md", Lands),
        offered("TODO.md", Lands),
        offered("specs/*/tasks.md", Lands),
        offered(".specify/specs/*/tasks.md", Lands),
        offered("openspec/changes/*/tasks.md", Lands),
        offered(".kiro/specs/*/tasks.md", Lands),
        offered("docs/plans/*.md", Lands),
    ]
};

const fn taken(pattern: &'static str, new_file: NewFileRule) -> TaskPlace {
    TaskPlace {
        pattern,
        usage: PlaceUsage::Taken,
        new_file,
    }
}

const fn offered(pattern: &'static str, new_file: NewFileRule) -> TaskPlace {
    TaskPlace {
        pattern,
        usage: PlaceUsage::Offered,
        new_file,
    }
}

impl TaskPlace {
    /// The folder and the name of the file, as patterns.
    fn parts(&self) -> (&'static str, &'static str) {
        self.pattern.rsplit_once('/').unwrap_or(("", self.pattern))
    }

    fn fits(&self, path: &Path) -> bool {
        let (folder, name) = self.parts();
        let Some(own_name) = path.file_name().and_then(|name| name.to_str()) else {
            return false;
        };
        let own_folder = path.parent().and_then(Path::to_str).unwrap_or_default();
        let mut own_folders = own_folder.split('/');
        let mut folders = folder.split('/');
        folders.all(|part| {
            own_folders
                .next()
                .is_some_and(|own| own == part || fits(part, own))
        }) && own_folders.next().is_none()
            && fits_in_any_case(name, own_name)
    }
}

/// Returns the rule for a new file with this path from the root; `None` where ralph looks for no tasks.
pub(super) fn new_file_rule(path: &Path) -> Option<NewFileRule> {
    let place = PLACES.iter().find(|place| place.fits(path))?;
    Some(place.new_file)
}

/// Finds the files in places that are wanted, in the order of the table and then of their names.
pub(super) fn files_in_places(root: &Path, wanted: fn(&TaskPlace) -> bool) -> Vec<PlacedFile> {
    let mut listed = ListedFolders::default();
    let mut found = Vec::new();
    for place in PLACES.iter().filter(|place| wanted(place)) {
        let files = listed.files_of(place, root).into_iter();
        let files = files.filter(|path| path.is_file());
        found.extend(files.map(|path| PlacedFile { path, place }));
    }
    found
}

/// Folders of the table with the names in them, each listed once.
#[derive(Default)]
struct ListedFolders(Vec<(PathBuf, Vec<String>)>);

impl ListedFolders {
    fn files_of(&mut self, place: &TaskPlace, root: &Path) -> Vec<PathBuf> {
        let (folder, name) = place.parts();
        let Some((above, below)) = folder.split_once('*') else {
            let folder = root.join(folder);
            let names = self.names(&folder).iter();
            let names = names.filter(|own| fits_in_any_case(name, own));
            return names.map(|own| folder.join(own)).collect();
        };
        // One look at each of many folders is enough.
        let above = root.join(above);
        let names = self.names(&above).iter().filter(|own| fits("*", own));
        let files = names.map(|own| above.join(format!("{own}{below}")).join(name));
        files.collect()
    }

    fn names(&mut self, folder: &Path) -> &[String] {
        let known = self.0.iter().position(|(path, _)| path == folder);
        let at = known.unwrap_or_else(|| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let mut names: Vec<String> = names.collect();
            names.sort();
            self.0.push((folder.to_owned(), names));
            self.0.len() - 1
        });
        &self.0[at].1
    }
}

fn fits_in_any_case(pattern: &str, name: &str) -> bool {
    fits(&pattern.to_ascii_lowercase(), &name.to_ascii_lowercase())
}

fn fits(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let rest = name.strip_prefix(before);
    rest.is_some_and(|rest| rest.ends_with(after)) && !(before.is_empty() && name.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let found = files_in_places(&root, |_| true).into_iter();
        found
            .map(|file| crate::source::name_of(&file.path, &root))
            .collect()
    }

    #[test]
    fn files_are_found_in_all_places_and_named_in_the_order_of_the_table() {
        let files = [
            "prd.json",
            "tasks.json",
            "scripts/ralph/PRD.json",
            "ralph/prd.json",
            "tasks/prd.json",
            ".ralph/prd.json",
            "plans/prd.json",
            "docs/prd.json",
            ".agents/tasks/prd-cart.json",
            ".agents/tasks/prd.json",
            ".taskmaster/tasks/tasks.json",
            "tasks/tasks.json",
            ".artefacts/shop/tasks.json",
            "feature_list.json",
            "docs/feature_list.json",
            ".ralph/feature_list.json",
            ".beads/issues.jsonl",
            "fix_plan.md",
            "@fix_plan.md",
            ".ralph/fix_plan.md",
            ".ralph/@fix_plan.md",
            "RALPH_TASK.md",
            "implementation_plan.md",
            "docs/IMPLEMENTATION_PLAN.md",
            "Todo.md",
            "specs/001-cart/tasks.md",
            "specs/002-login/tasks.md",
            ".specify/specs/001-cart/tasks.md",
            "openspec/changes/add-cart/tasks.md",
            ".kiro/specs/cart/tasks.md",
            "docs/plans/2026-01-02-cart.md",
        ];
        assert_eq!(found(&files), files);
        for file in files {
            assert!(new_file_rule(Path::new(file)).is_some(), "{file}");
        }
    }

    #[test]
    fn files_of_other_names_and_places_are_not_looked_at() {
        let files = [
            "package.json",
            "prd.json.bak",
            "src/prd.json",
            "tasks/other.json",
            ".agents/tasks/notes.json",
            ".vscode/tasks.json",
            "tasks.md",
            "specs/tasks.md",
            "specs/a/b/tasks.md",
            "specs/.old/tasks.md",
            "openspec/changes/archive/2026-01-02-cart/tasks.md",
            "docs/plans/completed/cart.md",
            "docs/plans/.draft.md",
            "docs/TODO.txt",
            "prd.json.d/prd.json",
        ];
        assert_eq!(found(&files), [""; 0]);
        for file in files {
            assert_eq!(new_file_rule(Path::new(file)), None, "{file}");
        }
    }

    #[test]
    fn new_files_are_set_aside_only_where_ralph_alone_looks() {
        use NewFileRule::{Lands, SetAside, Suggests};
        let table = [
            (".ralph/PRD.json", SetAside),
            ("scripts/ralph/prd.json", SetAside),
            (".ralph/fix_plan.md", SetAside),
            (".artefacts/shop/tasks.json", SetAside),
            ("PRD.json", Suggests),
            ("docs/prd.json", Suggests),
            (".taskmaster/tasks/tasks.json", Suggests),
            (".beads/issues.jsonl", Suggests),
            ("TODO.md", Lands),
            ("specs/001-cart/tasks.md", Lands),
            ("feature_list.json", Lands),
        ];
        for (path, rule) in table {
            assert_eq!(new_file_rule(Path::new(path)), Some(rule), "{path}");
        }
    }
}
