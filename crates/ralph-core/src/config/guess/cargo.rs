//! Rust projects.

use super::{Guess, GuessKind, ProjectFiles, argv, has_table};

pub(super) fn guess(files: &ProjectFiles) -> Vec<Guess> {
    let Some(manifest) = files.text("Cargo.toml") else {
        return Vec::new();
    };
    let is_workspace = has_table(manifest, "workspace");
    let scope: &[&str] = if is_workspace { &["--workspace"] } else { &[] };
    let mut guesses = Vec::new();
    if let Some(name) = files.first_of(&["rustfmt.toml", ".rustfmt.toml"]) {
        let why = format!("{name} is there");
        guesses.push(argv(GuessKind::Lint, &["cargo", "fmt", "--check"], why));
    }
    let lints = has_table(manifest, "lints") || has_table(manifest, "workspace.lints");
    let clippy = files
        .first_of(&["clippy.toml", ".clippy.toml"])
        .map(|name| format!("{name} is there"))
        .or_else(|| lints.then(|| "Cargo.toml configures lints".to_owned()));
    if let Some(why) = clippy {
        let words = [
            &["cargo", "clippy"],
            scope,
            &["--all-targets", "--", "-D", "warnings"],
        ];
        guesses.push(argv(GuessKind::Lint, &words.concat(), why));
    }
    let why = if is_workspace {
        "Cargo.toml has a workspace"
    } else {
        "Cargo.toml is there"
    };
    guesses.push(argv(
        GuessKind::Test,
        &[&["cargo", "test"], scope].concat(),
        why,
    ));
    guesses
}
