//! The sandboxes that agents have of their own, inside ralph's, for an ordinary user: which work there, and what comes
//! of those that do not. The table in `docs/safety.md` says the same.

use std::path::{Path, PathBuf};

use ralph_testkit::{
    TestRepo, agents,
    model::{Scenario, ScriptedModel},
};
use serde_json::{Value, json};

use crate::{
    other_user::{ORDINARY, link},
    support::{Project, prd, story},
};

/// A shell command of the agent that writes into the repository, and says whether it could write into its home: ralph's
/// sandbox lets it, its own does not.
const PROBE: &str = r#"
conversations:
- turns:
  - tools: [{bash: "echo x > A.txt; if touch \"$HOME/probe\" 2>/dev/null; then echo open > wall.txt; else echo closed > wall.txt; fi"}]
  - say: "Wrote A.txt.\n\nTask A complete"
"#;

/// An agent with its sandbox turned on.
struct Nested<'a> {
    /// The parts of what `scripts/agents` installed that it needs.
    parts: &'a [&'a str],
    /// Its part of the configuration, given the folder of these.
    config: &'a dyn Fn(&Path) -> Value,
    env: fn(&Path, &str) -> Vec<(String, String)>,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
struct Nesting {
    verdict: String,
    /// What its shell command said of the wall around it, if it ran.
    wall: Option<String>,
    /// Answers of its tools, and what it said on stderr.
    said: String,
}

/// Where `scripts/agents` put them.
fn installed() -> PathBuf {
    let node = agents::node();
    let folder = node.parent().and_then(Path::parent).unwrap();
    folder.canonicalize().unwrap()
}

impl Nested<'_> {
    fn run(&self, sandbox: &str) -> Nesting {
        let model = ScriptedModel::start(Scenario::parse(PROBE).unwrap());
        // Not in /tmp, which such sandboxes let their commands write to.
        let project = Project::of(TestRepo::new_in(Path::new("/var/tmp")));
        project.repo.prd(&prd(&[story("A")])).commit("tasks");
        let folder = project.outside("agents");
        let project = project.config(&(self.config)(&folder).to_string());
        let mut vars = (self.env)(&project.repo.home(), &model.url());
        vars.retain(|(name, _)| name != "PATH");
        vars.extend([
            ("RALPH_SAFETY_SANDBOX".to_owned(), sandbox.to_owned()),
            ("RALPH_SAFETY_ALLOW_WRITE".to_owned(), "[]".to_owned()),
            (
                "RALPH_SAFETY_ALLOW_READ".to_owned(),
                json!([folder]).to_string(),
            ),
            ("RALPH_LOOP_MAX_ATTEMPTS".to_owned(), "1".to_owned()),
        ]);
        let vars = vars.into_iter();
        let project = vars.fold(project, |project, (name, value)| project.env(&name, value));
        project.give_to(ORDINARY);
        for part in self.parts {
            link(&installed().join(part), &folder.join(part));
        }
        let ran = project.run_as(Some(ORDINARY));
        let verdicts = ran.verdicts();
        let [verdict] = &verdicts[..] else {
            panic!("{}", ran.all());
        };
        let shown = project
            .repo
            .command("git")
            .args(["-c", "safe.directory=*", "show", "HEAD:wall.txt"])
            .output()
            .unwrap();
        let wall = String::from_utf8(shown.stdout).unwrap();
        let stream = project.repo.read(".ralph/logs/iteration-1.stream");
        let told = |line: &&str| {
            let marks = ["tool_result", "aggregated_output", "[stderr]"];
            marks.iter().any(|mark| line.contains(mark))
        };
        Nesting {
            verdict: verdict.strip_prefix("A ").unwrap().to_owned(),
            wall: shown.status.success().then(|| wall.trim().to_owned()),
            said: stream.lines().filter(told).collect::<Vec<_>>().join("\n"),
        }
    }
}

/// Its commands run, in its own walls.
#[track_caller]
fn assert_works(nesting: &Nesting) {
    assert_eq!(nesting.verdict, "verified", "{nesting:?}");
    assert_eq!(nesting.wall.as_deref(), Some("closed"), "{nesting:?}");
}

/// It starts no command, says why, and nothing lands.
#[track_caller]
fn assert_runs_nothing(nesting: &Nesting) {
    assert_eq!(nesting.verdict, "no_change", "{nesting:?}");
    let why = "bwrap: No permissions to create new namespace";
    assert!(nesting.said.contains(why), "{nesting:?}");
}

fn claude(part: &str) -> [Nesting; 2] {
    let program = |folder: &Path| {
        let bin = "node_modules/@anthropic-ai/claude-code/bin/claude.exe";
        folder.join(part).join(bin)
    };
    let settings = json!({"sandbox": {"enabled": true, "allowUnsandboxedCommands": false}});
    let nested = Nested {
        parts: &[part],
        config: &|folder| {
            let claude = json!({"command": [program(folder)], "settings": settings.to_string()});
            json!({"agent": "claude", "claude": claude})
        },
        env: agents::claude_env,
    };
    ["auto", "required"].map(|sandbox| nested.run(sandbox))
}

#[test]
fn the_sandbox_of_claude_code_works_inside_unless_a_sandbox_is_required() {
    let [auto, required] = claude("claude");
    assert_works(&auto);
    assert_runs_nothing(&required);
}

#[test]
fn the_sandbox_of_a_second_version_of_claude_code_works_inside_unless_a_sandbox_is_required() {
    let [auto, required] = claude("claude-second");
    assert_works(&auto);
    assert_runs_nothing(&required);
}

#[test]
fn the_sandbox_of_codex_works_inside_unless_a_sandbox_is_required() {
    let nested = Nested {
        parts: &["node", "codex"],
        config: &|folder| {
            let node = folder.join("node/node_modules/node/bin/node");
            let codex = folder.join("codex/node_modules/@openai/codex/bin/codex.js");
            json!({"agent": {
                "name": "mine", "command": [node, codex], "dialect": "codex", "model": "scripted-1",
                "args": ["-c", "sandbox_mode=\"workspace-write\""],
            }})
        },
        env: agents::codex_env,
    };
    assert_works(&nested.run("auto"));
    assert_runs_nothing(&nested.run("required"));
}

#[test]
fn gemini_cli_does_not_start_with_its_sandbox_which_is_a_container() {
    let nested = Nested {
        parts: &["node", "gemini"],
        config: &|folder| {
            let node = folder.join("node/node_modules/node/bin/node");
            let gemini = folder.join("gemini/node_modules/@google/gemini-cli/bundle/gemini.js");
            json!({"agent": {
                "name": "mine", "command": [node, gemini], "dialect": "gemini",
                "model": agents::GEMINI_MODEL, "args": ["--sandbox"],
            }})
        },
        env: agents::gemini_env,
    };
    let nesting = nested.run("auto");
    assert_eq!(nesting.verdict, "agent_unavailable", "{nesting:?}");
    assert!(nesting.said.contains("Sandbox"), "{nesting:?}");
}
