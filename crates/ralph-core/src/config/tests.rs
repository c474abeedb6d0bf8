//! Tests of the configuration, by what they are about.

mod guesses;
mod health;
mod layers;
mod limits;
mod mistakes;
mod notify;
mod shown;

use super::{ConfigErrors, ConfigFile, Layers, Resolved, resolve};

/// The example of the specification that the keys come from, word for word.
const SEED_EXAMPLE: &str = r#"repo:
  root: .
  branch_prefix: "ralph/"
tasks:
  backend: "local"
  path: ".ralph/tasks"
  parent_id_file: ".ralph/parent-task-id"
memory:
  progress_file: ".ralph/progress.md"
  archive_dir: ".ralph/archive"
claude:
  # Claude Code CLI invocation
  command: ["claude", "code"]
  # optional preset/profile if Claude supports it in your environment
  args: []
verification:
  commands:
    - ["npm", "run", "typecheck"]
    - ["npm", "test"]
loop:
  max_iterations: 50
  max_minutes_per_iteration: 20
  gutter:
    max_same_failure: 3
    max_churn_commits: 2
safety:
  sandbox: true
  allowed_commands:
    - "npm"
    - "go"
    - "git"
"#;

fn file(path: &str, text: &str) -> Option<ConfigFile> {
    Some(ConfigFile {
        path: path.into(),
        text: text.to_owned(),
    })
}

fn project(text: &str) -> Result<Resolved, ConfigErrors> {
    resolve(&Layers {
        project: file("ralph.yaml", text),
        ..Layers::default()
    })
}

fn mistakes(text: &str) -> String {
    match project(text) {
        Ok(_) => "no mistake".to_owned(),
        Err(errors) => errors.to_string(),
    }
}

fn env(vars: &[(&str, &str)]) -> Vec<(String, String)> {
    vars.iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}
