//! The samples that people copy: the example files, and the script in its document.

use ralph_engine::agent::script::Script;

use crate::repository::{read, root};

fn example(name: &str) -> std::path::PathBuf {
    root().join("examples").join(name)
}

#[test]
fn the_task_files_read_and_their_graphs_are_right() {
    for (name, first) in [
        ("prd.json", "US-001"),
        ("tasks", "api"),
        ("tasks.json", "setup"),
    ] {
        let (_, tasks) = ralph_engine::source::Source::read(&example(name), &root())
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let (graph, problems) = ralph_core::task::graph::Graph::build(tasks);
        assert!(problems.is_empty(), "{name}: {problems:?}");
        assert_eq!(graph.tasks()[0].id.as_str(), first, "{name}");
    }
}

#[test]
fn the_configuration_is_taken_without_a_word() {
    use ralph_core::config::{ConfigFile, Layers, resolve};
    let file = ConfigFile {
        path: example("ralph.yaml"),
        text: read("examples/ralph.yaml"),
    };
    let layers = Layers {
        project: Some(file),
        ..Layers::default()
    };
    let resolved = resolve(&layers).unwrap();
    assert!(resolved.notes.is_empty(), "{:?}", resolved.notes);
    assert!(
        resolved.not_in_force.is_empty(),
        "{:?}",
        resolved.not_in_force
    );
    let commands: Vec<String> = resolved
        .config
        .verification
        .commands
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(commands, ["npm run typecheck", "npm test -- --run"]);
}

#[test]
fn the_script_of_the_examples_knows_all_its_tasks() {
    let script = Script::read(&example("script.yaml")).unwrap();
    for task in ["US-001", "US-002", "US-003"] {
        assert!(script.tasks.contains_key(task), "{task}");
    }
}

#[test]
fn the_script_in_the_document_can_be_played() {
    let text = read("docs/script-agent.md");
    let block = text
        .split("```yaml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.yaml");
    std::fs::write(&path, block.expect("the document has a script")).unwrap();
    let script = Script::read(&path).unwrap();
    assert!(script.actions("US-001", 1, 1).is_some());
    assert!(script.default.is_some());
}

/// The first block of YAML in a document, as a configuration.
fn configured(document: &str) -> ralph_core::config::Config {
    use ralph_core::config::{ConfigFile, Layers, resolve};
    let text = read(document);
    let block = text
        .split("```yaml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let file = ConfigFile {
        path: "ralph.yaml".into(),
        text: block.expect("the document has a block").to_owned(),
    };
    let layers = Layers {
        project: Some(file),
        ..Layers::default()
    };
    resolve(&layers).unwrap().config
}

#[test]
fn the_container_in_the_document_gets_the_folder_the_key_and_what_ralph_adds() {
    use std::os::unix::fs::PermissionsExt;
    let ralph_core::config::AgentChoice::Custom(agent) = configured("docs/agents.md").agent else {
        panic!("the first block has a program of the user's");
    };
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    let docker = here.join("docker");
    std::fs::write(&docker, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
    std::fs::set_permissions(&docker, PermissionsExt::from_mode(0o755)).unwrap();
    let words = agent.command.as_slice();
    let path = format!("{}:/usr/bin:/bin", here.display());
    let output = std::process::Command::new(&words[0])
        .args(&words[1..])
        .args(["--model", "a b"])
        .env_clear()
        .env("PATH", path)
        .current_dir(&here)
        .output()
        .unwrap();
    let here = here.display();
    let said = String::from_utf8(output.stdout).unwrap();
    let expected = format!(
        "run --rm --init -i -v {here}:{here} -w {here} -e ANTHROPIC_API_KEY my-claude --model"
    );
    let mut expected: Vec<&str> = expected.split(' ').collect();
    expected.push("a b");
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}
