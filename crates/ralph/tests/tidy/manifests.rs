//! The crates: what each may depend on, and that the list of reasons is whole.

use std::collections::BTreeSet;

use crate::repository::{assert_none, files, read};

/// The core does no input or output, so it gets nothing that could.
const OF_THE_CORE: [&str; 12] = [
    "globset",
    "jiff",
    "memchr",
    "minijinja",
    "regex",
    "schemars",
    "serde",
    "serde-saphyr",
    "serde_json",
    "sha2",
    "strsim",
    "thiserror",
];

/// The names in one table of a manifest.
fn table(manifest: &str, heading: &str) -> BTreeSet<String> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != heading)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn crates() -> Vec<String> {
    let manifest = |name: String| {
        let folder = name.strip_suffix("/Cargo.toml")?;
        folder.starts_with("crates/").then(|| folder.to_owned())
    };
    files().into_iter().filter_map(manifest).collect()
}

#[test]
fn the_core_depends_on_nothing_that_has_effects() {
    let manifest = read("crates/ralph-core/Cargo.toml");
    let allowed: BTreeSet<String> = OF_THE_CORE.iter().map(|n| (*n).to_owned()).collect();
    assert_eq!(table(&manifest, "[dependencies]"), allowed);
    assert!(!manifest.contains("[build-dependencies]"));
}

#[test]
fn crates_depend_in_one_direction() {
    let ours = |name: &str| -> BTreeSet<String> {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let all = table(&manifest, "[dependencies]");
        all.into_iter().filter(|d| d.starts_with("ralph")).collect()
    };
    let set = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|n| (*n).into()).collect() };
    assert_eq!(ours("ralph-core"), set(&[]));
    assert_eq!(ours("ralph-store"), set(&["ralph-core"]));
    assert_eq!(ours("ralph-engine"), set(&["ralph-core", "ralph-store"]));
    assert_eq!(ours("ralph-testkit"), set(&[]));
    assert_eq!(ours("ralph-qa"), set(&["ralph-core", "ralph-engine"]));
    assert_eq!(
        ours("ralph"),
        set(&["ralph-core", "ralph-engine", "ralph-qa"])
    );
}

/// The tables of a manifest that name dependencies.
const HEADINGS: [&str; 3] = [
    "[dependencies]",
    "[dev-dependencies]",
    "[target.'cfg(target_os = \"linux\")'.dependencies]",
];

#[test]
fn every_dependency_is_used_where_it_is_named() {
    let mut idle = Vec::new();
    for folder in crates() {
        let is_source =
            |name: &String| name.starts_with(&format!("{folder}/")) && name.ends_with(".rs");
        let texts: Vec<String> = files()
            .into_iter()
            .filter(is_source)
            .map(|name| read(&name))
            .collect();
        let manifest = read(&format!("{folder}/Cargo.toml"));
        for heading in HEADINGS {
            for name in table(&manifest, heading) {
                let word = name.replace('-', "_");
                let uses = [format!("{word}::"), format!("use {word};")];
                let used = |text: &String| uses.iter().any(|u| text.contains(u));
                if !texts.iter().any(used) {
                    idle.push(format!("{folder}: {name}"));
                }
            }
        }
    }
    assert_none("dependencies that nothing uses", &idle);
}

#[test]
fn every_dependency_of_the_workspace_is_taken_by_a_crate() {
    let mut taken = BTreeSet::new();
    for folder in crates() {
        let manifest = read(&format!("{folder}/Cargo.toml"));
        taken.extend(
            HEADINGS
                .iter()
                .flat_map(|heading| table(&manifest, heading)),
        );
    }
    let all = table(&read("Cargo.toml"), "[workspace.dependencies]");
    let idle: Vec<String> = all.difference(&taken).cloned().collect();
    assert_none("dependencies that no crate takes", &idle);
}

#[test]
fn every_dependency_has_its_reason_written_down() {
    let reasons = read("docs/dependencies.md");
    let all = table(&read("Cargo.toml"), "[workspace.dependencies]");
    assert!(all.len() > 20, "{all:?}");
    let missing: Vec<String> = all
        .into_iter()
        .filter(|name| !name.starts_with("ralph-"))
        .filter(|name| !reasons.contains(&format!("`{name}`")))
        .collect();
    assert_none("not in docs/dependencies.md", &missing);
}
