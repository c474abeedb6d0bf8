//! Tells daily work on a manifest from a change of what it decides: a new dependency would wear the flag out.

use std::path::Path;

use serde_json::Value;

/// Keys of a JSON manifest that decide what is run and checked.
const JSON_KEYS: [&str; 20] = [
    "scripts",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "nyc",
    "c8",
    "tap",
    "babel",
    "eslintConfig",
    "eslintIgnore",
    "prettier",
    "stylelint",
    "lint-staged",
    "husky",
    "simple-git-hooks",
    "wireit",
    "nx",
    "workspaces",
    "config",
];

/// Tells whether only a part of a file decides, so that both versions are worth reading.
pub(in crate::change) fn has_parts(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    [
        "package.json",
        "composer.json",
        "Cargo.toml",
        "pyproject.toml",
        "Pipfile",
        "go.mod",
        "Gemfile",
    ]
    .iter()
    .any(|manifest| name == *manifest)
}

/// Tells whether a manifest differs in what it decides. True for every file that is none, or can't be read.
pub(in crate::change) fn deciding_part_changed(path: &Path, before: &[u8], now: &[u8]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.as_ref() {
        "package.json" | "composer.json" => {
            json_part(before) != json_part(now) || json_part(now).is_none()
        }
        "Cargo.toml" | "pyproject.toml" | "Pipfile" => toml_part(before) != toml_part(now),
        "go.mod" => go_part(before) != go_part(now),
        "Gemfile" => ruby_part(before) != ruby_part(now),
        _ => true,
    }
}

fn json_part(text: &[u8]) -> Option<Vec<Value>> {
    let json: Value = serde_json::from_slice(text).ok()?;
    json.as_object()?;
    Some(
        JSON_KEYS
            .map(|key| json.get(key).cloned().unwrap_or_default())
            .into(),
    )
}

/// The lines of a TOML text outside of tables and lists of dependencies, and without its own version.
fn toml_part(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text).into_owned();
    let mut kept = Vec::new();
    let mut table = String::new();
    let mut in_list = false;
    for line in text.lines().map(str::trim) {
        if in_list {
            in_list = !line.ends_with(']');
            continue;
        }
        if line.starts_with('[') && line.ends_with(']') {
            table = line.to_ascii_lowercase();
        }
        let is_dependency = [
            "dependencies",
            "dependency-groups",
            "[packages]",
            "[dev-packages]",
        ]
        .iter()
        .any(|part| table.contains(part));
        let key = line.split('=').next().unwrap_or("").trim();
        let of_project = [
            "[package]",
            "[project]",
            "[workspace.package]",
            "[tool.poetry]",
        ]
        .contains(&table.as_str());
        if is_dependency || line.is_empty() || line.starts_with('#') {
            continue;
        }
        if of_project && key == "dependencies" {
            in_list = line.contains('[') && !line.ends_with(']');
            continue;
        }
        if !(of_project
            && ["version", "description", "authors", "keywords", "readme"].contains(&key))
        {
            kept.push(line.to_owned());
        }
    }
    kept
}

/// A module's name, replacements, tools and version of the language; not what it requires.
fn go_part(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text).into_owned();
    let mut in_require = false;
    let mut kept = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with("require") {
            in_require = line.ends_with('(');
        } else if in_require {
            in_require = line != ")";
        } else {
            kept.push(line.to_owned());
        }
    }
    kept
}

fn ruby_part(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text).into_owned();
    let lines = text.lines().map(str::trim);
    let kept = lines
        .filter(|line| !line.is_empty() && !line.starts_with("gem ") && !line.starts_with('#'));
    kept.map(str::to_owned).collect()
}
