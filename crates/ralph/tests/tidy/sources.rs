//! The source files: that each says what it is for, that none is forgotten, and what none may do.

use std::path::Path;

use crate::repository::{assert_none, files, read, root};

fn rust_files() -> Vec<String> {
    files().into_iter().filter(|n| n.ends_with(".rs")).collect()
}

fn is_test(name: &str) -> bool {
    name.contains("/tests/") || name.ends_with("/tests.rs")
}

#[test]
fn every_file_begins_by_saying_what_it_is_for() {
    let silent: Vec<String> = rust_files()
        .into_iter()
        .filter(|name| !read(name).starts_with("//! "))
        .collect();
    assert_none("files without a `//!` at their top", &silent);
}

/// What an agent or a verify command gets of the environment is decided once: a second place would
/// forget a secret that the first one withholds.
#[test]
fn environments_are_made_in_one_place() {
    let makers: Vec<String> = rust_files()
        .into_iter()
        .filter(|name| name.starts_with("crates/ralph/src/"))
        .filter(|name| read(name).contains("Environment::scrub("))
        .collect();
    assert_eq!(makers, ["crates/ralph/src/project.rs"]);
}

#[test]
fn every_file_is_part_of_a_crate() {
    let orphans: Vec<String> = rust_files()
        .into_iter()
        .filter(|name| !is_root(name) && !is_declared(name))
        .collect();
    assert_none(
        "files that no `mod` brings in, so that nothing compiles them",
        &orphans,
    );
}

/// Files that cargo itself finds.
fn is_root(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    match parts.as_slice() {
        ["crates", _, "src", "main.rs" | "lib.rs"]
        | ["crates", _, "build.rs"]
        | ["crates", _, "src", "bin", _]
        | ["fuzz", "fuzz_targets", _]
        | ["fuzz", "src", "lib.rs"]
        | ["crates", _, "tests" | "benches" | "examples", _] => true,
        ["crates", _, "tests", _, file] => *file == "main.rs",
        _ => false,
    }
}

/// Whether the module above a file has a `mod` for it.
fn is_declared(name: &str) -> bool {
    let path = Path::new(name);
    let (Some(stem), Some(folder)) = (path.file_stem().and_then(|s| s.to_str()), path.parent())
    else {
        return false;
    };
    let above = [
        folder.with_extension("rs"),
        folder.join("main.rs"),
        folder.join("lib.rs"),
        folder.join("mod.rs"),
    ];
    let declaration = format!("mod {stem};");
    above
        .iter()
        .filter_map(|file| std::fs::read_to_string(root().join(file)).ok())
        .any(|text| {
            text.lines().any(|line| {
                line == declaration || line.trim_start().ends_with(&format!(" {declaration}"))
            })
        })
}

#[test]
fn the_search_for_orphans_can_find_one() {
    assert!(is_declared("crates/ralph/src/cli.rs"));
    assert!(!is_declared("crates/ralph/src/forgotten.rs"));
    assert!(!is_root("crates/ralph/tests/tidy/sources.rs"));
}

/// What the core must not reach for, in code.
const EFFECTS: [&str; 9] = [
    "std::fs",
    "std::process",
    "std::env",
    "std::net",
    "std::thread",
    "std::io::std",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
];

#[test]
fn the_core_reaches_for_nothing_outside() {
    let mut found = Vec::new();
    let of_the_core = |name: &String| name.starts_with("crates/ralph-core/src/");
    for name in rust_files().into_iter().filter(of_the_core) {
        // Tests may measure time.
        let text = read(&name);
        let code = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        for effect in EFFECTS.iter().filter(|_| !is_test(&name)) {
            if code.contains(effect) {
                found.push(format!("{name}: {effect}"));
            }
        }
    }
    assert_none("effects in the core", &found);
}

/// Where an agent may be known by its name: its folder, the section of the configuration that it has, what ralph is
/// inside of it, and the one table.
fn may_name_an_agent(file: &str, agent: &str) -> bool {
    let own = [
        format!("crates/ralph-engine/src/agent/{agent}.rs"),
        format!("crates/ralph-engine/src/agent/{agent}/"),
        format!("crates/ralph-core/src/config/{agent}.rs"),
        format!("crates/ralph/src/integration/{agent}.rs"),
        format!("crates/ralph/src/session/{agent}.rs"),
        "crates/ralph/src/integration/files.rs".to_owned(),
        "crates/ralph-engine/src/agent/table.rs".to_owned(),
    ];
    own.iter().any(|path| file.starts_with(path.as_str()))
}

/// Tells whether code holds an agent's name as a text, alone or before one of its keys.
fn names_agent(code: &str, agent: &str) -> bool {
    let texts = [
        format!("\"{agent}\""),
        format!("\"{agent}."),
        format!("`{agent}."),
    ];
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| texts.iter().any(|text| line.contains(text.as_str())))
}

#[test]
fn an_agent_is_known_by_its_name_only_in_its_own_files() {
    let mut found = Vec::new();
    let shipped = |name: &String| {
        ["ralph", "ralph-core", "ralph-store", "ralph-engine"]
            .iter()
            .any(|of| name.starts_with(&format!("crates/{of}/src/")))
    };
    for name in rust_files().into_iter().filter(shipped) {
        let text = read(&name);
        let code = text.split("#[cfg(test)]\nmod tests {").next();
        for kind in ralph_engine::agent::kinds() {
            // `text` is a word of many other formats, and the kind of any program rather than an agent.
            let is_agent = kind.name != "text" && !is_test(&name);
            if is_agent
                && !may_name_an_agent(&name, kind.name)
                && names_agent(code.unwrap_or_default(), kind.name)
            {
                found.push(format!("{name}: {}", kind.name));
            }
        }
    }
    assert_none("agents that are known by name outside their folder", &found);
}

#[test]
fn the_search_for_names_of_agents_can_find_one() {
    assert!(names_agent("    if name == \"pi\" {\n", "pi"));
    assert!(names_agent("hint(\"set `claude.command`\")", "claude"));
    assert!(!names_agent("/// Such as \"pi\".\n\"pipe\"", "pi"));
    assert!(may_name_an_agent(
        "crates/ralph-engine/src/agent/pi/stream.rs",
        "pi"
    ));
    assert!(!may_name_an_agent(
        "crates/ralph/src/commands/plan.rs",
        "pi"
    ));
}
