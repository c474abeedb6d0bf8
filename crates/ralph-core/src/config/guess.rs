//! Guesses the commands that verify a project, from the files at its root.
//!
//! Only proposes: every guess says what it rests on, and a person decides. Reads no file itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::task::VerifyCommand;

/// The files at the root of a project, as far as guessing needs them.
#[derive(Debug, Clone, Default)]
pub struct ProjectFiles {
    /// The names of everything at the root.
    pub names: BTreeSet<String>,
    /// The contents of those files of [`ProjectFiles::READ`] that are there.
    pub texts: BTreeMap<String, String>,
}

impl ProjectFiles {
    /// The files whose text is looked at.
    pub const READ: [&'static str; 11] = [
        "Cargo.toml",
        "GNUmakefile",
        "Gemfile",
        "Makefile",
        "composer.json",
        "go.mod",
        "makefile",
        "package.json",
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
    ];

    fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.texts.contains_key(name)
    }

    /// The first of these names that is there.
    fn first_of<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.has(name))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}

/// A command that probably verifies the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    pub command: VerifyCommand,
    pub kind: GuessKind,
    /// Tells what the guess rests on, as part of a sentence: "package.json has the script `test`".
    pub why: String,
}

/// Describes what a command verifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuessKind {
    /// It makes a checkout ready, and verifies nothing.
    Prepare,
    Build,
    Lint,
    Test,
}

/// The commands that probably verify a project, in the order in which they are worth running.
pub fn guess_verify(files: &ProjectFiles) -> Vec<Guess> {
    let mut guesses = cargo(files);
    guesses.extend(node(files));
    guesses.extend(go(files));
    guesses.extend(python(files));
    // A Makefile mostly wraps the tools above; it adds only what they leave open.
    let open: Vec<Guess> = make(files)
        .into_iter()
        .filter(|one| !guesses.iter().any(|other| other.kind == one.kind))
        .collect();
    guesses.extend(open);
    guesses
}

/// The commands that probably make a fresh checkout of a project ready: they install what it needs.
pub fn guess_prepare(files: &ProjectFiles) -> Vec<Guess> {
    let mut guesses: Vec<Guess> = prepare_node(files).into_iter().collect();
    guesses.extend(prepare_python(files));
    guesses.extend(prepare_others(files));
    if files
        .text("go.mod")
        .is_some_and(|text| text.contains("require"))
    {
        let why = "go.mod requires modules";
        guesses.push(argv(GuessKind::Prepare, &["go", "mod", "download"], why));
    }
    guesses
}

/// Returns whether a fresh checkout of a project is of no use before something is installed. The tools of Rust
/// and Go install by themselves what they need.
pub fn needs_prepare(files: &ProjectFiles) -> bool {
    let guesses = guess_prepare(files);
    guesses.iter().any(|guess| match &guess.command {
        VerifyCommand::Argv(words) => words.first().is_none_or(|program| program != "go"),
        VerifyCommand::Shell(_) => true,
    })
}

fn prepare_node(files: &ProjectFiles) -> Option<Guess> {
    let package: Value = serde_json::from_str(files.text("package.json")?).ok()?;
    let names = ["dependencies", "devDependencies", "workspaces"];
    let has = |name: &&str| match package.get(name) {
        Some(Value::Object(map)) => !map.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        _ => false,
    };
    let named = names.iter().find(|name| has(name))?;
    let manager = manager(files, &package);
    let is_locked = files
        .first_of(&["package-lock.json", "npm-shrinkwrap.json"])
        .is_some();
    let words: &[&str] = match manager.program {
        "pnpm" => &["pnpm", "install", "--frozen-lockfile"],
        // The first yarn knows another word for it.
        "yarn" if files.first_of(&[".yarnrc.yml"]).is_some() => &["yarn", "install", "--immutable"],
        "yarn" => &["yarn", "install", "--frozen-lockfile"],
        "bun" => &["bun", "install", "--frozen-lockfile"],
        _ if is_locked => &["npm", "ci"],
        _ => &["npm", "install"],
    };
    let why = format!("package.json has {named}, {}", manager.why);
    Some(argv(GuessKind::Prepare, words, why))
}

fn prepare_python(files: &ProjectFiles) -> Option<Guess> {
    const LOCKS: [(&str, &[&str]); 4] = [
        ("uv.lock", &["uv", "sync", "--locked"]),
        ("poetry.lock", &["poetry", "install"]),
        ("pdm.lock", &["pdm", "sync"]),
        ("Pipfile.lock", &["pipenv", "sync", "--dev"]),
    ];
    if let Some((name, words)) = LOCKS.iter().find(|(name, _)| files.has(name)) {
        let why = format!("{name} is there");
        return Some(argv(GuessKind::Prepare, words, why));
    }
    let name = files.first_of(&["requirements.txt", "requirements-dev.txt"])?;
    let line = format!("python3 -m venv .venv && .venv/bin/pip install --quiet -r {name}");
    Some(Guess {
        command: VerifyCommand::Shell(line),
        kind: GuessKind::Prepare,
        why: format!("{name} is there"),
    })
}

fn prepare_others(files: &ProjectFiles) -> Vec<Guess> {
    let mut guesses = Vec::new();
    let has_gems = |text: &str| {
        text.lines()
            .any(|line| line.trim_start().starts_with("gem"))
    };
    if files.text("Gemfile").is_some_and(has_gems) {
        let why = "Gemfile names gems";
        guesses.push(argv(GuessKind::Prepare, &["bundle", "install"], why));
    }
    let composer = files.text("composer.json").map(serde_json::from_str);
    if let Some(Ok(package)) = composer {
        let package: Value = package;
        if package.get("require").is_some() || package.get("require-dev").is_some() {
            let why = "composer.json requires packages";
            guesses.push(argv(GuessKind::Prepare, &["composer", "install"], why));
        }
    }
    guesses
}

fn argv(kind: GuessKind, words: &[&str], why: impl Into<String>) -> Guess {
    Guess {
        command: VerifyCommand::Argv(words.iter().map(|&word| word.to_owned()).collect()),
        kind,
        why: why.into(),
    }
}

/// Returns true if a TOML or INI text has a table whose name begins so. Enough for a guess: no parser of
/// the format is needed to see that a tool is configured.
fn has_table(text: &str, start: &str) -> bool {
    text.lines().any(|line| {
        line.trim_start()
            .trim_start_matches('[')
            .strip_prefix(start)
            .is_some_and(|rest| line.trim_start().starts_with('[') && rest.starts_with([']', '.']))
    })
}

/// Rust projects.
fn cargo(files: &ProjectFiles) -> Vec<Guess> {
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

/// Go projects.
fn go(files: &ProjectFiles) -> Vec<Guess> {
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

const TARGETS: [(&str, GuessKind); 3] = [
    ("lint", GuessKind::Lint),
    ("check", GuessKind::Test),
    ("test", GuessKind::Test),
];

/// Targets of a Makefile.
fn make(files: &ProjectFiles) -> Vec<Guess> {
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

/// JavaScript and TypeScript projects.
fn node(files: &ProjectFiles) -> Vec<Guess> {
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

/// Python projects.
fn python(files: &ProjectFiles) -> Vec<Guess> {
    let tools = [
        (GuessKind::Lint, ruff(files), &["ruff", "check"][..]),
        (GuessKind::Build, mypy(files), &["mypy", "."][..]),
        (GuessKind::Test, pytest(files), &["pytest"][..]),
    ];
    let runner: &[&str] = if files.has("uv.lock") {
        &["uv", "run"]
    } else if files.has("poetry.lock") {
        &["poetry", "run"]
    } else {
        &[]
    };
    tools
        .into_iter()
        .filter_map(|(kind, why, words)| Some(argv(kind, &[runner, words].concat(), why?)))
        .collect()
}

fn ruff(files: &ProjectFiles) -> Option<String> {
    there(files, &["ruff.toml", ".ruff.toml"])
        .or_else(|| configures(files, "pyproject.toml", "tool.ruff", "ruff"))
}

fn mypy(files: &ProjectFiles) -> Option<String> {
    there(files, &["mypy.ini", ".mypy.ini"])
        .or_else(|| configures(files, "pyproject.toml", "tool.mypy", "mypy"))
        .or_else(|| configures(files, "setup.cfg", "mypy", "mypy"))
}

fn pytest(files: &ProjectFiles) -> Option<String> {
    there(files, &["pytest.ini", ".pytest.ini", "conftest.py"])
        .or_else(|| configures(files, "pyproject.toml", "tool.pytest", "pytest"))
        .or_else(|| configures(files, "setup.cfg", "tool:pytest", "pytest"))
        .or_else(|| configures(files, "tox.ini", "pytest", "pytest"))
        .or_else(|| names_dependency(files, "pytest"))
}

fn there(files: &ProjectFiles, names: &[&str]) -> Option<String> {
    files.first_of(names).map(|name| format!("{name} is there"))
}

fn configures(files: &ProjectFiles, file: &str, table: &str, tool: &str) -> Option<String> {
    has_table(files.text(file)?, table).then(|| format!("{file} configures {tool}"))
}

/// A dependency in `pyproject.toml`: `"pytest>=8"` in a list, or `pytest = "^8"` in a table.
fn names_dependency(files: &ProjectFiles, name: &str) -> Option<String> {
    let text = files.text("pyproject.toml")?;
    let named = text.lines().map(str::trim).any(|line| {
        let rest = line.trim_start_matches(['"', '\'']).strip_prefix(name);
        let in_list = line.contains(&format!("\"{name}\"")) || line.contains(&format!("\"{name}>"));
        in_list || rest.is_some_and(|rest| rest.starts_with([' ', '=', '>', '~', '<', '"', '\'']))
    });
    named.then(|| format!("pyproject.toml names {name} as a dependency"))
}
