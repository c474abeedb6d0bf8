//! Which commands are guessed for which kind of project.

use crate::config::{Guess, ProjectFiles, guess_prepare, guess_verify, needs_prepare};

/// Files given as `(name, text)`; a name whose text is never looked at may have none.
fn guesses(files: &[(&str, &str)]) -> Vec<String> {
    shown(&guess_verify(&project(files)))
}

fn shown(guesses: &[Guess]) -> Vec<String> {
    guesses
        .iter()
        .map(|guess| format!("{} ({})", guess.command, guess.why))
        .collect()
}

fn project(files: &[(&str, &str)]) -> ProjectFiles {
    ProjectFiles {
        names: files.iter().map(|(name, _)| (*name).to_owned()).collect(),
        texts: files
            .iter()
            .filter(|(name, _)| ProjectFiles::READ.contains(name))
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect(),
    }
}

#[test]
fn an_empty_project_gives_no_guess() {
    assert_eq!(guesses(&[("README.md", "")]), Vec::<String>::new());
}

#[test]
fn rust_projects() {
    let package = "[package]\nname = \"x\"\n";
    assert_eq!(
        guesses(&[("Cargo.toml", package)]),
        ["cargo test (Cargo.toml is there)"]
    );
    let workspace = "[workspace]\nmembers = []\n\n[workspace.lints.rust]\nunsafe_code = \"deny\"\n";
    assert_eq!(
        guesses(&[("Cargo.toml", workspace), ("rustfmt.toml", "")]),
        [
            "cargo fmt --check (rustfmt.toml is there)",
            "cargo clippy --workspace --all-targets -- -D warnings (Cargo.toml configures lints)",
            "cargo test --workspace (Cargo.toml has a workspace)",
        ]
    );
    assert_eq!(
        guesses(&[("Cargo.toml", package), ("clippy.toml", "")])[0],
        "cargo clippy --all-targets -- -D warnings (clippy.toml is there)"
    );
}

#[test]
fn node_projects_by_script_and_package_manager() {
    let scripts = r#"{"scripts": {"test": "vitest", "build": "tsc", "lint": "eslint .",
                      "typecheck": "tsc --noEmit", "dev": "vite"}}"#;
    assert_eq!(
        guesses(&[("package.json", scripts), ("pnpm-lock.yaml", "")]),
        [
            "pnpm run typecheck (package.json has the script `typecheck`, pnpm because of pnpm-lock.yaml)",
            "pnpm run lint (package.json has the script `lint`, pnpm because of pnpm-lock.yaml)",
            "pnpm test (package.json has the script `test`, pnpm because of pnpm-lock.yaml)",
            "pnpm run build (package.json has the script `build`, pnpm because of pnpm-lock.yaml)",
        ]
    );
    let test = r#"{"scripts": {"test": "node --test"}}"#;
    let program = |lock: &str| guesses(&[("package.json", test), (lock, "")])[0].clone();
    assert!(program("package-lock.json").starts_with("npm test ("));
    assert!(program("yarn.lock").starts_with("yarn test ("));
    // `bun test` would start bun's own runner instead of the script.
    assert!(program("bun.lock").starts_with("bun run test ("));
    assert!(program("x").ends_with("npm because there is no lock file)"));
    let named = r#"{"packageManager": "yarn@4.1.0", "scripts": {"test": "jest"}}"#;
    assert_eq!(
        guesses(&[("package.json", named), ("package-lock.json", "")]),
        ["yarn test (package.json has the script `test`, its packageManager is yarn)"]
    );
}

#[test]
fn scripts_that_prove_nothing_or_never_end_are_left_out() {
    let useless = r#"{"scripts": {
        "test": "echo \"Error: no test specified\" && exit 1",
        "lint": "eslint . --watch", "build": "", "typecheck": 5}}"#;
    assert_eq!(guesses(&[("package.json", useless)]), Vec::<String>::new());
    assert_eq!(
        guesses(&[("package.json", "{broken")]),
        Vec::<String>::new()
    );
}

#[test]
fn go_projects() {
    assert_eq!(
        guesses(&[("go.mod", "module x\n"), (".golangci.yml", "")]),
        [
            "go build ./... (go.mod is there)",
            "go vet ./... (go.mod is there)",
            "golangci-lint run (.golangci.yml is there)",
            "go test ./... (go.mod is there)",
        ]
    );
}

#[test]
fn python_projects() {
    let full = "[project]\nname = \"x\"\n[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n";
    assert_eq!(
        guesses(&[("pyproject.toml", full), ("uv.lock", "")]),
        [
            "uv run ruff check (pyproject.toml configures ruff)",
            "uv run mypy . (pyproject.toml configures mypy)",
            "uv run pytest (pyproject.toml configures pytest)",
        ]
    );
    assert_eq!(
        guesses(&[("pytest.ini", "")]),
        ["pytest (pytest.ini is there)"]
    );
    assert_eq!(
        guesses(&[("setup.cfg", "[metadata]\n[tool:pytest]\n[mypy]\n")]),
        [
            "mypy . (setup.cfg configures mypy)",
            "pytest (setup.cfg configures pytest)"
        ]
    );
    let dependency = "[dependency-groups]\ndev = [\n  \"pytest>=8\",\n]\n";
    assert_eq!(
        guesses(&[("pyproject.toml", dependency)]),
        ["pytest (pyproject.toml names pytest as a dependency)"]
    );
    assert_eq!(
        guesses(&[("pyproject.toml", "[tool.ruffian]\n")]),
        Vec::<String>::new()
    );
}

#[test]
fn a_makefile_adds_what_the_other_tools_leave_open() {
    let makefile = "TEST := x\n.PHONY: test lint\n\ntest: build\n\tcheck: y\nlint:\n\techo\n";
    assert_eq!(
        guesses(&[("Makefile", makefile)]),
        [
            "make lint (Makefile has the target `lint`)",
            "make test (Makefile has the target `test`)",
        ]
    );
    assert_eq!(
        guesses(&[("Makefile", makefile), ("Cargo.toml", "[package]\n")]),
        [
            "cargo test (Cargo.toml is there)",
            "make lint (Makefile has the target `lint`)",
        ]
    );
    assert_eq!(
        guesses(&[("Makefile", "test := 1\ncheck = 2\n")]),
        Vec::<String>::new()
    );
}

#[test]
fn what_makes_a_checkout_ready_is_guessed_from_what_it_installs() {
    let package = r#"{"devDependencies": {"jest": "1"}}"#;
    for (files, command, needed) in [
        (
            &[("package.json", package), ("package-lock.json", "")][..],
            "npm ci",
            true,
        ),
        (&[("package.json", package)], "npm install", true),
        (
            &[("package.json", package), ("pnpm-lock.yaml", "")],
            "pnpm install --frozen-lockfile",
            true,
        ),
        (
            &[("package.json", package), ("yarn.lock", "")],
            "yarn install --frozen-lockfile",
            true,
        ),
        (
            &[
                ("package.json", package),
                ("yarn.lock", ""),
                (".yarnrc.yml", ""),
            ],
            "yarn install --immutable",
            true,
        ),
        (
            &[("package.json", package), ("bun.lock", "")],
            "bun install --frozen-lockfile",
            true,
        ),
        (
            &[("pyproject.toml", ""), ("uv.lock", "")],
            "uv sync --locked",
            true,
        ),
        (
            &[("pyproject.toml", ""), ("poetry.lock", "")],
            "poetry install",
            true,
        ),
        (
            &[("requirements.txt", "")],
            "python3 -m venv .venv && .venv/bin/pip install --quiet -r requirements.txt",
            true,
        ),
        (&[("Gemfile", "gem \"rake\"\n")], "bundle install", true),
        (
            &[("composer.json", r#"{"require": {"a/b": "1"}}"#)],
            "composer install",
            true,
        ),
        (
            &[("go.mod", "module x\nrequire a/b v1\n")],
            "go mod download",
            false,
        ),
    ] {
        let project = project(files);
        let found = shown(&guess_prepare(&project));
        assert_eq!(found.len(), 1, "{files:?}");
        assert!(
            found[0].starts_with(&format!("{command} (")),
            "{}",
            found[0]
        );
        assert_eq!(needs_prepare(&project), needed, "{command}");
    }
}

#[test]
fn where_nothing_is_installed_nothing_is_prepared() {
    for files in [
        &[("Cargo.toml", "[package]\n"), ("Cargo.lock", "")][..],
        &[(
            "package.json",
            r#"{"scripts": {"test": "x"}, "dependencies": {}}"#,
        )],
        &[("package.json", "broken")],
        &[("go.mod", "module x\n")],
        &[("README.md", "")],
    ] {
        let project = project(files);
        assert_eq!(
            shown(&guess_prepare(&project)),
            Vec::<String>::new(),
            "{files:?}"
        );
        assert!(!needs_prepare(&project));
    }
}
