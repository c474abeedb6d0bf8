//! Interviews with the real Claude Code, on the terminal and without a conversation.

use crate::support::{Scene, ralph};

/// A task that the linter has nothing to say against.
const TASKS: &str = r#"{"project_name": "shop", "version": 1, "tasks": [{"id": "T1", "title": "Keep the entries", "description": "Write src/store.py with a function that appends an entry to a file.", "acceptance": ["`make test` passes"], "verify": ["make test"], "status": "pending", "dependencies": [], "attempts": 0, "max_attempts": 3, "blocked": false}]}"#;

fn turn(say: &str, tools: &[String]) -> serde_json::Value {
    match tools.is_empty() {
        true => serde_json::json!({"say": say}),
        false => {
            let tools: Vec<_> = tools
                .iter()
                .map(|command| serde_json::json!({"bash": command}))
                .collect();
            serde_json::json!({"say": say, "tools": tools})
        }
    }
}

fn append(line: &str) -> String {
    format!("echo '{line}' >> .artefacts/shop/spec.md")
}

fn tasks() -> String {
    format!("cat > .artefacts/shop/tasks.json <<'END'\n{TASKS}\nEND")
}

fn done() -> String {
    "echo all said > .artefacts/shop/done.md".to_owned()
}

#[test]
fn claude_asks_in_two_rounds_amends_the_brief_and_makes_the_tasks() {
    let scenario = serde_json::json!({"conversations": [
        {"when": "round 1 of 2", "turns": [
            turn("Which database do you want?", &[]),
            turn("Noted.", &[append("- The database is postgres."), done()]),
            turn("Goodbye.", &[]),
        ]},
        {"when": "round 2 of 2", "turns": [
            turn("Who will use it?", &[]),
            turn("I write the tasks.", &[append("- For one person."), tasks(), done()]),
            turn("Goodbye.", &[]),
        ]},
    ]});
    let (scene, model) = Scene::with_claude(&scenario.to_string());
    scene.write("repo/.artefacts/shop/spec.md", "# shop\n");
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    let (mark, ralph) = (scene.mark(), ralph());
    pane.line(&format!(
        "{mark} {} interview shop --rounds 2; echo code=$?",
        ralph.display()
    ));
    pane.wait_for("Which database do you want?");
    pane.line("postgres please");
    pane.wait_for("+ - The database is postgres.");
    pane.wait_for("Enter continues with round 2 of 2, [s]top:");
    pane.key("Enter");
    pane.wait_for("Who will use it?");
    pane.line("only me");
    pane.wait_for("→ T1 Keep the entries  next");
    pane.wait_for("code=0");
    pane.assert_plain();
    assert_eq!(pane.keep_modes(&scene, "after"), before);
    scene.assert_all_dead();
    let spec = std::fs::read_to_string(scene.repo().join(".artefacts/shop/spec.md")).unwrap();
    assert_eq!(
        spec,
        "# shop\n- The database is postgres.\n- For one person.\n"
    );
    let asked = model.requests();
    let said = |text: &str| asked.iter().any(|r| r.text().contains(text));
    assert!(said("postgres please") && said("only me"));
    assert!(model.unscripted().is_empty(), "{:?}", model.unscripted());
}

#[test]
fn claude_gives_its_questions_as_json_and_writes_down_the_answers_of_a_file() {
    let questions = r#"{"questions": [{"id": "storage", "question": "Where is it kept?", "why": "It decides."}]}"#;
    let scenario = serde_json::json!({"conversations": [
        {"when": "Questions about the project", "turns": [turn(&format!("```json\n{questions}\n```"), &[])]},
        {"when": "Write down what was answered", "turns": [
            turn("I write.", &[append("- Kept in a file."), tasks()]),
            turn("Done.", &[]),
        ]},
    ]});
    let (scene, model) = Scene::with_claude(&scenario.to_string());
    scene.write("repo/.artefacts/shop/spec.md", "# shop\n");
    scene.write("repo/answers.yaml", "storage: a file\n");
    let output = std::process::Command::new(ralph())
        .args(["interview", "shop", "--headless", "--rounds", "1"])
        .args(["--answers", "answers.yaml"])
        .env_clear()
        .envs(scene.env())
        .current_dir(scene.repo())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let failed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}\n{failed}");
    assert!(said.contains("→ T1 Keep the entries  next"), "{said}");
    let spec = std::fs::read_to_string(scene.repo().join(".artefacts/shop/spec.md")).unwrap();
    assert_eq!(spec, "# shop\n- Kept in a file.\n");
    let asked = model.requests();
    assert!(asked.iter().any(|r| r.text().contains("Answer: a file")));
}
