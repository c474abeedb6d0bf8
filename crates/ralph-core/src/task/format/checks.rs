//! Commands around the list by which a file says that work is to be checked. They are offered, and never run
//! unasked.

use super::layout::Layout;
use super::read;
use super::tree::{At, Kind, Tree};
use crate::task::VerifyCommand;

/// A command, and where the file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCheck {
    pub command: VerifyCommand,
    /// The offset of the member or the line that it is in.
    pub offset: u32,
}

/// Adds a command that is not there yet.
pub(super) fn add(checks: &mut Vec<NamedCheck>, command: VerifyCommand, offset: usize) {
    if !checks
        .iter()
        .any(|known| known.command.is_same_as(&command))
    {
        checks.push(NamedCheck {
            command,
            offset: offset as u32,
        });
    }
}

/// Names of members that hold commands.
const COMMANDS: &[&str] = &[
    "verifyCommand",
    "verifyCommands",
    "verify_command",
    "verify_commands",
    "testCommand",
    "testCommands",
    "test_command",
    "test_commands",
];

/// Names of members that hold commands or sentences.
const GATES: &[&str] = &[
    "qualityGates",
    "quality_gates",
    "qualityChecks",
    "quality_checks",
];

/// Programs by which a text is told from a sentence.
const PROGRAMS: &[&str] = &[
    "bash",
    "bun",
    "bundle",
    "cargo",
    "cmake",
    "composer",
    "ctest",
    "dart",
    "deno",
    "dotnet",
    "eslint",
    "flutter",
    "go",
    "golangci-lint",
    "gradle",
    "jest",
    "just",
    "make",
    "mix",
    "mvn",
    "mypy",
    "node",
    "npm",
    "npx",
    "php",
    "phpunit",
    "playwright",
    "pnpm",
    "poetry",
    "pytest",
    "python",
    "python3",
    "rake",
    "rspec",
    "ruff",
    "sh",
    "swift",
    "tox",
    "tsc",
    "turbo",
    "uv",
    "vitest",
    "yarn",
    "zig",
];

/// The commands, each once, in the order of the file.
pub(super) fn of(tree: &Tree<'_>, layout: &Layout) -> Vec<NamedCheck> {
    let Some(header) = layout.header else {
        return Vec::new();
    };
    let around = (header != 0).then_some(0);
    in_objects(tree, [Some(header), around].into_iter().flatten(), 0)
}

/// The same for the members of these objects, in a tree that begins at an offset of the file.
pub(super) fn in_objects(
    tree: &Tree<'_>,
    objects: impl Iterator<Item = At>,
    from: usize,
) -> Vec<NamedCheck> {
    let mut found: Vec<NamedCheck> = Vec::new();
    for map in objects {
        for (key, value) in tree.members(map) {
            let name = tree.text(key);
            let is_command = COMMANDS.contains(&&*name);
            if !is_command && !GATES.contains(&&*name) {
                continue;
            }
            let commands = commands(tree, value).into_iter();
            for command in commands.filter(|one| is_command || starts_program(one)) {
                add(&mut found, command, from + tree.start(key));
            }
        }
    }
    found
}

/// The commands of a value: one, a list, or an object that names each.
fn commands(tree: &Tree<'_>, at: At) -> Vec<VerifyCommand> {
    match tree.kind(at) {
        Kind::Map if tree.member(at, "command").is_none() => {
            let values = tree.members(at).map(|(_, value)| value);
            values
                .flat_map(|value| read::commands(tree, value).unwrap_or_default())
                .collect()
        }
        Kind::List => {
            let items = tree.children(at);
            items
                .flat_map(|item| read::commands(tree, item).unwrap_or_default())
                .collect()
        }
        _ => read::commands(tree, at).unwrap_or_default(),
    }
}

/// Returns true if a command begins with a program that is known by name.
pub(super) fn starts_program(command: &VerifyCommand) -> bool {
    let program = match command {
        VerifyCommand::Argv(argv) => argv.first().cloned().unwrap_or_default(),
        VerifyCommand::Shell(line) => line.split_whitespace().next().unwrap_or("").to_owned(),
    };
    PROGRAMS.contains(&&*program) || program.starts_with("./")
}
