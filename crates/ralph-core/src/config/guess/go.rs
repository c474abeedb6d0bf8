//! Go projects.

use super::{Guess, GuessKind, ProjectFiles, argv};

pub(super) fn guess(files: &ProjectFiles) -> Vec<Guess> {
    if !files.has("go.mod") {
        return Vec::new();
    }
    let why = "go.mod is there";
    let mut guesses = vec![
        argv(GuessKind::Build, &["go", "build", "./..."], why),
        argv(GuessKind::Lint, &["go", "vet", "./..."], why),
    ];
    let linter = [
        ".golangci.yml",
        ".golangci.yaml",
        ".golangci.toml",
        ".golangci.json",
    ];
    if let Some(name) = files.first_of(&linter) {
        let why = format!("{name} is there");
        guesses.push(argv(GuessKind::Lint, &["golangci-lint", "run"], why));
    }
    guesses.push(argv(GuessKind::Test, &["go", "test", "./..."], why));
    guesses
}
