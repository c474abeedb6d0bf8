//! Targets of a Makefile.

use super::{Guess, GuessKind, ProjectFiles, argv};

const TARGETS: [(&str, GuessKind); 3] = [
    ("lint", GuessKind::Lint),
    ("check", GuessKind::Test),
    ("test", GuessKind::Test),
];

pub(super) fn guess(files: &ProjectFiles) -> Vec<Guess> {
    // The order in which GNU make looks for them.
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let Some((name, text)) = names
        .iter()
        .find_map(|name| Some((*name, files.text(name)?)))
    else {
        return Vec::new();
    };
    TARGETS
        .into_iter()
        .filter(|(target, _)| has_target(text, target))
        .map(|(target, kind)| {
            let why = format!("{name} has the target `{target}`");
            argv(kind, &["make", target], why)
        })
        .collect()
}

fn has_target(makefile: &str, target: &str) -> bool {
    makefile.lines().any(|line| {
        // A rule begins at the first column; `test := x` is a variable, `.PHONY: test` no rule.
        let Some((targets, rest)) = line.split_once(':') else {
            return false;
        };
        let is_rule = !line.starts_with(['\t', ' ', '#']) && !rest.starts_with('=');
        let is_assignment = rest.starts_with(":=") || targets.contains('=');
        is_rule && !is_assignment && targets.split_whitespace().any(|name| name == target)
    })
}
