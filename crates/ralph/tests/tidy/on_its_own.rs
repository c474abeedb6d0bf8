//! The repository on its own: a plain clone with nothing beside it builds and passes. No file may name a
//! path that leads out of the repository.

use std::path::{Component, Path, PathBuf};

use crate::repository::{assert_none, files, read, root};

/// A folder that once lay beside the repository. Written in two halves, so that this file does not find
/// itself.
const BESIDE: &str = concat!("../sha", "red");

#[test]
fn no_file_names_a_path_that_leads_out_of_the_repository() {
    let mut found = Vec::new();
    for name in files().into_iter().filter(|name| !is_recording(name)) {
        for path in paths_out(&name, &read(&name)) {
            found.push(format!("{name}: {path}"));
        }
    }
    assert_none("paths that lead out of the repository", &found);
}

#[test]
fn the_search_for_paths_that_lead_out_can_find_one() {
    let up = |times: usize| "../".repeat(times);
    let manifest = concat!("CARGO_MANIFEST", "_DIR");
    let included = format!("const A: &str = include_str!(\"{}x.md\");", up(5));
    let joined = format!("Path::new(env!(\"{manifest}\"))\n    .join(\"{}x\")", up(3));
    for (name, text, is_out) in [
        ("crates/a/src/b/c.rs", included.clone(), true),
        ("crates/a/src/b/d/c.rs", included, false),
        ("crates/a/src/b.rs", joined.clone(), true),
        (
            "crates/a/src/b.rs",
            joined.replace("../../../", "../../"),
            false,
        ),
        ("docs/a.md", format!("[a]({}a.md)", up(2)), true),
        ("docs/a.md", format!("[a]({}a.md)", up(1)), false),
        ("scripts/a", format!("cd \"$here/{}b\"", up(2)), true),
        ("scripts/a", format!("cd \"$here/{}b\"", up(1)), false),
        (
            "crates/a/Cargo.toml",
            format!("b = {{ path = \"{}b\" }}", up(3)),
            true,
        ),
        ("crates/a/src/b.rs", format!("// see {BESIDE}/x"), true),
    ] {
        let found = paths_out(name, &text);
        assert_eq!(!found.is_empty(), is_out, "{name}: {text}: {found:?}");
    }
}

#[test]
fn no_link_in_the_file_system_leads_out_of_the_repository() {
    let top = root().canonicalize().unwrap();
    let mut found = Vec::new();
    for name in files() {
        let target = root().join(&name).canonicalize().unwrap();
        if !target.starts_with(&top) {
            found.push(format!("{name}: {}", target.display()));
        }
    }
    assert_none("links out of the repository", &found);
}

/// Recordings are data of other programs, whose paths are theirs.
fn is_recording(name: &str) -> bool {
    name.starts_with("crates/ralph-testkit/captures/")
}

/// The paths in a file that climb above the top of the repository.
fn paths_out(name: &str, text: &str) -> Vec<String> {
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let mut found: Vec<String> = Vec::new();
    if text.contains(BESIDE) {
        found.push(BESIDE.to_owned());
    }
    let candidates: Vec<(PathBuf, &str)> = match Path::new(name).extension() {
        Some(end) if end == "rs" => rust_paths(folder, text),
        Some(end) if end == "md" => after_each(text, "](", ')')
            .map(|p| (folder.into(), p))
            .collect(),
        Some(end) if end == "toml" => after_each(text, "path = \"", '"')
            .map(|p| (folder.into(), p))
            .collect(),
        _ if name.starts_with("scripts/") || name.starts_with(".ci/") => words(folder, text),
        _ => Vec::new(),
    };
    let out = candidates
        .into_iter()
        .filter(|(from, path)| climbs_out(&from.join(path.trim_start_matches('/'))));
    found.extend(out.map(|(_, path)| path.to_owned()));
    found
}

/// Paths that are included at compile time, relative to their file, and those that begin at the folder of
/// the crate. Other texts with `..` in them are data of tests.
fn rust_paths<'a>(folder: &Path, text: &'a str) -> Vec<(PathBuf, &'a str)> {
    /// How far behind the folder of the crate its path goes on.
    const REACH: usize = 160;
    let mut paths: Vec<(PathBuf, &str)> = Vec::new();
    for macro_name in ["include_str!(\"", "include_bytes!(\"", "#[path = \""] {
        paths.extend(after_each(text, macro_name, '"').map(|path| (folder.into(), path)));
    }
    let crate_folder: PathBuf = folder.components().take(2).collect();
    for rest in text.split(concat!("CARGO_MANIFEST", "_DIR")).skip(1) {
        let end = rest
            .char_indices()
            .map(|(at, _)| at)
            .nth(REACH)
            .unwrap_or(rest.len());
        let quoted = rest[..end].split('"').filter(|part| part.contains(".."));
        paths.extend(quoted.map(|path| (crate_folder.clone(), path)));
    }
    paths
}

/// Words of a script that climb, from the folder that the script is in.
fn words<'a>(folder: &Path, text: &'a str) -> Vec<(PathBuf, &'a str)> {
    let climbing = text
        .split(|c: char| c.is_whitespace() || c == '"' || c == '\'')
        .filter_map(|word| word.find("../").map(|at| &word[at..]));
    climbing.map(|word| (folder.into(), word)).collect()
}

fn after_each<'a>(text: &'a str, before: &'a str, end: char) -> impl Iterator<Item = &'a str> {
    text.split(before)
        .skip(1)
        .filter_map(move |rest| rest.split(end).next())
        .filter(|path| !path.contains("://"))
}

fn climbs_out(path: &Path) -> bool {
    let mut depth = 0_i32;
    path.components().any(|part| {
        depth += match part {
            Component::ParentDir => -1,
            Component::Normal(_) => 1,
            Component::CurDir | Component::RootDir | Component::Prefix(_) => 0,
        };
        depth < 0
    })
}
