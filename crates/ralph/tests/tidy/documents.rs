//! The documents: keys, commands, flags, exit codes and links that they name must be real, and those
//! that are real must be named.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::repository::{assert_none, files, read, root};

/// Every key of the configuration: its path and its default.
fn keys() -> Vec<(String, Value)> {
    fn walk(schema: &Value, path: &str, into: &mut Vec<(String, Value)>) {
        let properties = schema["properties"].as_object().into_iter().flatten();
        for (name, property) in properties {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            if property.get("properties").is_some() {
                walk(property, &path, into);
            } else {
                into.push((path, property["default"].clone()));
            }
        }
    }
    let mut keys = Vec::new();
    walk(&ralph_core::config::schema(), "", &mut keys);
    assert!(keys.len() > 40, "{keys:?}");
    keys
}

#[test]
fn every_key_is_documented_with_its_default_and_its_variable() {
    let text = read("docs/configuration.md");
    let mut missing = Vec::new();
    for (key, default) in keys() {
        let variable = format!("RALPH_{}", key.to_uppercase().replace('.', "_"));
        let default = match &default {
            Value::Null => "none".to_owned(),
            other => format!("`{other}`"),
        };
        let row = format!("| `{key}` | {default} | `{variable}` |");
        if !text.contains(&row) {
            missing.push(row);
        }
    }
    assert_none("rows that docs/configuration.md does not have", &missing);
}

/// Keys that no code reads: those that are said not to be in force, and the one with a single value.
const UNREAD: [&str; 2] = ["tasks.backend", "git.sign_off"];

#[test]
fn every_key_has_an_effect_or_is_known_to_have_none() {
    // The configuration itself names every key, and tests prove no use.
    let is_reader = |name: &String| {
        let code = [
            "crates/ralph-core/src/",
            "crates/ralph-engine/src/",
            "crates/ralph-store/src/",
            "crates/ralph/src/",
        ];
        code.iter().any(|folder| name.starts_with(folder))
            && !name.starts_with("crates/ralph-core/src/config")
            && !name.contains("/tests")
    };
    let texts: Vec<String> = files()
        .into_iter()
        .filter(is_reader)
        .map(|name| read(&name))
        .collect();
    let mut wrong = Vec::new();
    for (key, _) in keys() {
        let name = key.rsplit('.').next().unwrap();
        let field = format!(".{name}");
        let is_read = texts.iter().any(|text| text.contains(&field));
        if is_read == UNREAD.contains(&key.as_str()) {
            wrong.push(format!("{key}: read: {is_read}"));
        }
    }
    assert_none("keys that are not as the list says", &wrong);
}

#[test]
fn every_documented_key_exists() {
    let known: BTreeSet<String> = keys().into_iter().map(|(key, _)| key).collect();
    let text = read("docs/configuration.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let unknown: Vec<String> = rows
        .filter_map(|row| Some(row.split_once('`')?.0.to_owned()))
        .filter(|key| key.contains('.') && !known.contains(key))
        .collect();
    assert_none("keys that there are not", &unknown);
}

/// What the documents show of the command line: everything after `ralph` in code.
fn shown_commands() -> Vec<(String, String)> {
    let mut shown = Vec::new();
    for name in files().into_iter().filter(|name| name.ends_with(".md")) {
        if name.contains("/src/") {
            continue;
        }
        for code in code_of(&read(&name)) {
            let code = code.trim_start_matches("$ ");
            if let Some(rest) = code.strip_prefix("ralph ") {
                shown.push((name.clone(), rest.to_owned()));
            }
        }
    }
    assert!(shown.len() > 20, "{shown:?}");
    shown
}

/// The code in a document: lines of its blocks, and code spans outside of them.
fn code_of(text: &str) -> Vec<String> {
    let mut code = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            // What follows a hash is for the reader.
            code.push(line.split(" #").next().unwrap_or(line).trim().to_owned());
        } else {
            code.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    code
}

fn help(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ralph"))
        .args(words)
        .arg("--help")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn commands_and_flags_in_documents_exist() {
    let all = help(&[]);
    let commands: BTreeSet<&str> = all
        .lines()
        .skip_while(|line| *line != "Commands:")
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|word| !word.is_empty() && !word.starts_with('-'))
        .collect();
    assert!(
        commands.contains("run") && commands.contains("status"),
        "{all}"
    );
    let mut wrong = Vec::new();
    for (name, rest) in shown_commands() {
        let mut words = rest.split_whitespace();
        let Some(command) = words.next().filter(|word| !word.starts_with('-')) else {
            continue;
        };
        // Sentences such as "ralph itself runs" are no code, but `ralph …` stands for any.
        let is_word = command.chars().all(|c| c.is_ascii_lowercase());
        if !is_word {
            continue;
        }
        if !commands.contains(command) {
            wrong.push(format!(
                "{name}: ralph {rest}: there is no command {command}"
            ));
            continue;
        }
        let mut path = vec![command];
        let mut known = help(&path);
        for word in words.clone() {
            let is_name = word.chars().all(|c| c.is_ascii_lowercase());
            if !is_name || !has_subcommand(&help(&path), word) {
                break;
            }
            path.push(word);
            known.push_str(&help(&path));
        }
        for flag in words.filter(|word| word.starts_with("--")) {
            let flag = flag.split(['=', ']', '|', ',']).next().unwrap_or(flag);
            if !known.contains(flag) {
                wrong.push(format!("{name}: ralph {rest}: there is no flag {flag}"));
            }
        }
    }
    assert_none("commands that there are not", &wrong);
}

/// Tells whether a help text lists a command of this name.
fn has_subcommand(help: &str, name: &str) -> bool {
    let listed = help.split_once("\nCommands:\n");
    let listed = listed.map_or("", |(_, rest)| {
        rest.split("\n\n").next().unwrap_or_default()
    });
    listed
        .lines()
        .any(|line| line.split_whitespace().next() == Some(name))
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for name in files().into_iter().filter(|name| name.ends_with(".md")) {
        let folder = root().join(&name).parent().unwrap().to_owned();
        let text = read(&name);
        let targets = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|t| !t.contains("://") && !t.starts_with('#')) {
            let path = target.split('#').next().unwrap_or(target);
            if !folder.join(path).exists() {
                broken.push(format!("{name}: {target}"));
            }
        }
    }
    assert_none("broken links", &broken);
}

/// Words in code spans that are the name of a test: sentences of lowercase words.
fn named_tests(text: &str) -> BTreeSet<&str> {
    let spans = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_sentence = |word: &&str| {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        word.matches('_').count() >= 4 && word.chars().all(is_plain)
    };
    spans.filter(is_sentence).collect()
}

#[test]
fn tests_that_show_a_promise_are_there() {
    let text = read("docs/safety.md");
    let named = named_tests(&text);
    assert!(named.len() > 15, "{named:?}");
    let sources = files().into_iter().filter(|name| name.ends_with(".rs"));
    let sources: String = sources.map(|name| read(&name)).collect();
    let is_missing = |name: &&&str| !sources.contains(&format!("fn {name}("));
    let missing: Vec<&&str> = named.iter().filter(is_missing).collect();
    let missing: Vec<String> = missing.into_iter().map(|name| (*name).to_owned()).collect();
    assert_none("tests that there are not", &missing);
    let paths = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let paths = paths.filter(|path| path.starts_with("crates/"));
    let gone: Vec<String> = paths
        .filter(|path| !root().join(path).exists())
        .map(str::to_owned)
        .collect();
    assert_none("files of tests that there are not", &gone);
}

#[test]
fn every_document_is_linked_from_the_readme() {
    let readme = read("README.md");
    let missing: Vec<String> = files()
        .into_iter()
        .filter(|name| name.starts_with("docs/") && name.ends_with(".md"))
        .filter(|name| !readme.contains(&format!("]({name})")))
        .collect();
    assert_none("documents that the README does not link to", &missing);
}

#[test]
fn the_first_screen_says_how_to_run_it_and_how_to_test_it() {
    let readme = read("README.md");
    let first: Vec<&str> = readme.lines().take(24).collect();
    for command in ["cargo run --release -- demo", "scripts/test"] {
        let there = first.contains(&command);
        assert!(there, "{command} is not on the first screen");
    }
}
