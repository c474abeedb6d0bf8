//! Writes the first `ralph.yaml` of a project: short, commented, and every guess with its reason.
//!
//! Says what ralph's own defaults are by reading them, so that the text cannot grow stale.

use std::path::PathBuf;

use serde_json::Value;

use super::guess::Guess;
use super::show::flow;
use super::{AgentChoice, ClaudeConfig, Config};

/// Describes what the first `ralph.yaml` is made from.
#[derive(Debug, Clone, Default)]
pub struct InitPlan {
    pub guesses: Vec<Guess>,
    /// The agent that was asked for, if one was.
    pub agent: Option<AgentChoice>,
    /// The task file or folder that was asked for, if one was.
    pub tasks_source: Option<PathBuf>,
}

/// The text of a new `ralph.yaml`.
pub fn render_ralph_yaml(plan: &InitPlan) -> String {
    let mut text = String::from(
        "# How ralph works in this repository. Every key has a default; `ralph config` shows what\n\
         # is in force and where it comes from.\n",
    );
    if let Some(agent) = &plan.agent {
        text.push_str(&format!("\nagent: {}\n", flow(&agent.to_string().into())));
    }
    if let Some(source) = &plan.tasks_source {
        let source = source.to_string_lossy();
        text.push_str(&format!(
            "\ntasks:\n  source: {}\n",
            flow(&Value::from(source.as_ref()))
        ));
    }
    verification(&mut text, &plan.guesses);
    defaults(&mut text);
    text
}

fn verification(text: &mut String, guesses: &[Guess]) {
    text.push_str(
        "\nverification:\n  \
         # ralph runs these itself after every attempt. All must pass before anything is committed.\n",
    );
    if guesses.is_empty() {
        text.push_str(
            "  # Nothing was found that verifies this project. Without commands a task is completed\n  \
             # as `unverified`. For example:\n  \
             #   - [\"make\", \"test\"]\n  \
             commands: []\n",
        );
        return;
    }
    text.push_str("  commands:\n");
    for guess in guesses {
        let why = guess.why.replace(char::is_control, " ");
        let command =
            serde_json::to_value(&guess.command).expect("a command is a text or a list of texts");
        text.push_str(&format!(
            "    # Guessed: {why}.\n    - {}\n",
            flow(&command)
        ));
    }
}

/// The keys that people most often change, with their defaults, commented out.
fn defaults(text: &mut String) {
    const SHOWN: [(&str, &[(&str, &str)]); 3] = [
        (
            "loop",
            &[
                ("max_iterations", "of one run"),
                (
                    "max_minutes_per_iteration",
                    "of an agent; verify commands have their own limit",
                ),
                ("max_attempts", "at one task"),
            ],
        ),
        (ClaudeConfig::SECTION, ClaudeConfig::OFTEN_SET),
        (
            "safety",
            &[("protected_paths", "globs that no change may touch")],
        ),
    ];
    let defaults = serde_json::to_value(Config::default())
        .expect("the defaults are plain values with text keys");
    text.push_str("\n# Some defaults; take away the `#` to change one.\n");
    for (section, keys) in SHOWN {
        text.push_str(&format!("#{section}:\n"));
        for (key, comment) in keys {
            let value = defaults.get(section).and_then(|s| s.get(key));
            let value = flow(value.unwrap_or(&Value::Null));
            text.push_str(&format!("#  {key}: {value}  # {comment}\n"));
        }
    }
}
