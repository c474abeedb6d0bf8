//! JavaScript and TypeScript projects.

use serde_json::Value;

use super::{Guess, GuessKind, ProjectFiles, argv};

/// Scripts that verify something, cheapest first; of each group the first that is there counts.
const SCRIPTS: [(GuessKind, &[&str]); 4] = [
    (
        GuessKind::Build,
        &[
            "typecheck",
            "type-check",
            "check-types",
            "check:types",
            "tsc",
        ],
    ),
    (GuessKind::Lint, &["lint"]),
    (GuessKind::Test, &["test"]),
    (GuessKind::Build, &["build"]),
];

pub(super) fn guess(files: &ProjectFiles) -> Vec<Guess> {
    let package: Value = match files.text("package.json").map(serde_json::from_str) {
        Some(Ok(package)) => package,
        // A broken package.json is the package manager's to complain about.
        Some(Err(_)) | None => return Vec::new(),
    };
    let manager = manager(files, &package);
    let script = |name: &str| package.pointer("/scripts")?.get(name)?.as_str();
    let mut guesses = Vec::new();
    for (kind, names) in SCRIPTS {
        let found = names.iter().find(|name| script(name).is_some_and(verifies));
        if let Some(&name) = found {
            let words = match (manager.program, name) {
                ("npm" | "pnpm" | "yarn", "test") => vec![manager.program, "test"],
                _ => vec![manager.program, "run", name],
            };
            let why = format!("package.json has the script `{name}`, {}", manager.why);
            guesses.push(argv(kind, &words, why));
        }
    }
    guesses
}

/// Returns true if a script proves something and ends: npm writes one that only fails into every new
/// package, and a watcher never ends.
fn verifies(script: &str) -> bool {
    let placeholder = script.contains("no test specified");
    let watches = script.split_whitespace().any(|word| {
        matches!(
            word,
            "--watch" | "-w" | "--watchAll" | "--watch=true" | "watch" | "nodemon"
        )
    });
    !script.trim().is_empty() && !placeholder && !watches
}

struct Manager {
    program: &'static str,
    why: String,
}

fn manager(files: &ProjectFiles, package: &Value) -> Manager {
    const LOCKS: [(&str, &str); 6] = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
        ("npm-shrinkwrap.json", "npm"),
    ];
    let named = package.get("packageManager").and_then(Value::as_str);
    if let Some(name) = named.and_then(|text| text.split('@').next())
        && let Some((_, program)) = LOCKS.iter().find(|(_, program)| *program == name)
    {
        let why = format!("its packageManager is {program}");
        return Manager { program, why };
    }
    match LOCKS.iter().find(|(lock, _)| files.has(lock)) {
        Some((lock, program)) => Manager {
            program,
            why: format!("{program} because of {lock}"),
        },
        None => Manager {
            program: "npm",
            why: "npm because there is no lock file".to_owned(),
        },
    }
}
