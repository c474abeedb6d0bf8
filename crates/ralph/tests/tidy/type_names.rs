//! Type names: one name, one type within a crate, so that a name says which one is meant.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::{assert_none, files, read};

/// What every command calls its arguments.
const ALLOWED: &str = "Args";

/// Names that are still used twice, by crate. An entry that is no longer true fails the test.
const STILL_DOUBLE: [(&str, &[&str]); 0] = [];

/// Declares the types of `process/linux` for other platforms: of the two, one is compiled.
const OTHER_PLATFORM: &str = "process/portable";

/// The name of the type that a line declares. Associated types are no types of their own: a `type` counts
/// only at the beginning of its line.
fn declared(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => code,
    };
    let (keyword, rest) = code.split_once(' ')?;
    let is_alias = keyword == "type" && !line.starts_with(' ');
    if !is_alias && !["struct", "enum", "union", "trait"].contains(&keyword) {
        return None;
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    name.starts_with(char::is_uppercase).then_some(name)
}

/// The files that declare each type, by crate; tests left out.
fn declarations() -> BTreeMap<String, BTreeMap<String, Vec<String>>> {
    let mut crates: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for file in files() {
        let Some((name, path)) = file
            .strip_prefix("crates/")
            .and_then(|rest| rest.split_once("/src/"))
        else {
            continue;
        };
        let is_test = path.contains("tests/") || path.ends_with("tests.rs");
        if !path.ends_with(".rs") || is_test || path.starts_with(OTHER_PLATFORM) {
            continue;
        }
        let text = read(&file);
        let code = text
            .split("\n#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or("");
        let types = crates.entry(name.to_owned()).or_default();
        for declared in code.lines().filter_map(declared) {
            let places = types.entry(declared.to_owned()).or_default();
            places.push(path.to_owned());
        }
    }
    crates
}

#[test]
fn no_type_name_is_used_twice_in_a_crate() {
    let crates = declarations();
    assert!(crates.len() >= 4, "{:?}", crates.keys());
    let mut found = Vec::new();
    for (name, types) in &crates {
        assert!(types.len() > 5, "{name}: {types:?}");
        let known = STILL_DOUBLE.iter().find(|(of, _)| of == name);
        let known: BTreeSet<&str> = known
            .map_or(&[][..], |(_, names)| names)
            .iter()
            .copied()
            .collect();
        let double = types
            .iter()
            .filter(|(name, places)| places.len() > 1 && *name != ALLOWED);
        let double: BTreeMap<&str, &Vec<String>> = double
            .map(|(name, places)| (name.as_str(), places))
            .collect();
        for (ty, places) in &double {
            if !known.contains(ty) {
                found.push(format!("{name}: {ty} in {}", places.join(", ")));
            }
        }
        for stale in known.iter().filter(|ty| !double.contains_key(*ty)) {
            found.push(format!(
                "{name}: {stale} is unique now, take it off the list"
            ));
        }
    }
    assert_none("type names that are not unique in their crate", &found);
}

#[test]
fn declarations_are_told_from_other_lines() {
    for (line, name) in [
        ("pub(crate) struct Facts {", Some("Facts")),
        ("    pub(in crate::report) enum Tone<'a> {", Some("Tone")),
        ("pub trait Reporter: Send {", Some("Reporter")),
        ("type Outcome<T> = Result<T, Error>;", Some("Outcome")),
        ("    type Error = String;", None),
        ("/// struct Facts", None),
        ("public struct Facts", None),
        ("struct of_people", None),
    ] {
        assert_eq!(declared(line), name, "{line}");
    }
}
