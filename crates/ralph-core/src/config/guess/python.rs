//! Python projects.

use super::{Guess, GuessKind, ProjectFiles, argv, has_table};

pub(super) fn guess(files: &ProjectFiles) -> Vec<Guess> {
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
