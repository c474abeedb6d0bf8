//! The programs that a verify command needs, as far as its text or its output tells for sure.
//!
//! Looks for none of them. A line that is more than a chain of plain commands names none: what a shell makes of
//! it can't be told without one.

use crate::task::VerifyCommand;

/// Words that a shell takes for itself.
const BUILT_IN: [&str; 29] = [
    ":", "[", "[[", "bg", "break", "cd", "continue", "echo", "exit", "false", "fg", "getopts",
    "jobs", "kill", "let", "local", "popd", "printf", "pushd", "pwd", "read", "return", "shift",
    "test", "times", "trap", "true", "ulimit", "umask",
];

/// Words after which other rules hold: they change what a name means, or begin something longer.
const UNCLEAR: [&str; 28] = [
    "!", ".", "alias", "builtin", "case", "command", "coproc", "declare", "do", "enable", "eval",
    "exec", "export", "for", "function", "hash", "if", "readonly", "select", "set", "shopt",
    "source", "time", "type", "typeset", "unalias", "until", "while",
];

/// Returns the programs without which the command can't pass.
pub fn required_programs(command: &VerifyCommand) -> Vec<&str> {
    match command {
        VerifyCommand::Argv(argv) => argv.first().map(String::as_str).into_iter().collect(),
        VerifyCommand::Shell(line) => of_line(line).unwrap_or_default(),
    }
}

/// Words of a shell before the program that a part of a line starts.
const BEFORE_PROGRAM: [&str; 16] = [
    "!", "if", "then", "else", "elif", "while", "until", "do", "time", "exec", "command", "env",
    "sudo", "nohup", "nice", "eval",
];

/// Tells whether the text of a command starts one of these programs, as far as can be seen without running it.
pub fn starts_one_of(command: &VerifyCommand, programs: &[&str]) -> bool {
    let is_one = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        programs.contains(&name)
    };
    match command {
        VerifyCommand::Argv(argv) => argv.first().is_some_and(|word| is_one(word)),
        VerifyCommand::Shell(line) => line
            .split([';', '&', '|', '(', ')', '{', '}', '`', '\n'])
            .filter_map(|part| {
                let mut words = part
                    .split_whitespace()
                    .map(|word| word.trim_matches(['\'', '"']));
                words.find(|word| !is_assignment(word) && !BEFORE_PROGRAM.contains(word))
            })
            .any(is_one),
    }
}

/// The programs of `a && b`, each a plain command, perhaps with assignments before it; `None` for any other line.
fn of_line(line: &str) -> Option<Vec<&str>> {
    if without_quoted(line)?
        .contains(['|', ';', '(', ')', '{', '}', '`', '#', '\n', '\\', '!', '~'])
    {
        return None;
    }
    let mut programs = Vec::new();
    for part in line.split("&&") {
        // A quoted `&&`, or a `&` of its own: not a chain of plain commands.
        if without_quoted(part)?.replace(">&", "").contains('&') {
            return None;
        }
        let mut words = part.split_whitespace();
        let word = words.find(|word| !is_assignment(word))?;
        if part
            .split_whitespace()
            .any(|word| word.starts_with("PATH="))
            || UNCLEAR.contains(&word)
        {
            return None;
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
        if word.chars().all(is_plain) {
            programs.push(word);
        } else if !BUILT_IN.contains(&word) {
            return None;
        }
    }
    programs.retain(|program| !BUILT_IN.contains(program));
    Some(programs)
}

/// The line without what stands in quotes; `None` if a quote is not closed.
fn without_quoted(line: &str) -> Option<String> {
    let mut rest = String::new();
    let mut open = None;
    for c in line.chars() {
        match (open, c) {
            (None, '"' | '\'') => open = Some(c),
            (None, c) => rest.push(c),
            (Some(quote), c) if c == quote => open = None,
            (Some(_), _) => {}
        }
    }
    open.is_none().then_some(rest)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let mut chars = name.chars();
        let starts = chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        starts && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns the program that a shell says it can't find or may not run, where its output ends with that.
pub fn program_not_found(output: &str) -> Option<&str> {
    let line = output.lines().rev().find(|line| !line.trim().is_empty())?;
    let said = ["command not found", "not found", "Permission denied"];
    let before = said.into_iter().find_map(|end| {
        let before = line.trim().strip_suffix(end)?;
        before.strip_suffix(": ")
    })?;
    let program = before.rsplit(": ").next()?;
    let is_word = !program.is_empty() && !program.contains(char::is_whitespace);
    is_word.then_some(program)
}

/// Returns true if the word stands by itself in the text of a command.
pub fn names_program(command: &VerifyCommand, program: &str) -> bool {
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
    command
        .to_string()
        .split(|c: char| !part_of_name(c))
        .any(|word| word == program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_seen_wherever_a_line_starts_it_and_not_where_it_is_only_named() {
        let starts = |line: &str| {
            let command = VerifyCommand::Shell(line.to_owned());
            starts_one_of(&command, &["docker", "podman"])
        };
        for line in [
            "docker compose up",
            "CI=1 /usr/bin/docker ps",
            "npm test; docker ps",
            "npm ci && (sudo docker ps | cat)",
            "if docker info; then true; fi",
            "id=$(podman run -d db) && npm test",
        ] {
            assert!(starts(line), "{line}");
        }
        for line in [
            "cat docker/file",
            "cd docker && make",
            "echo docker",
            "dockerize",
            "",
        ] {
            assert!(!starts(line), "{line}");
        }
        let argv = VerifyCommand::Argv(vec!["docker".into(), "ps".into()]);
        assert!(starts_one_of(&argv, &["docker"]));
    }

    #[test]
    fn only_programs_that_are_needed_for_sure_are_named() {
        let table: [(&str, &[&str]); 22] = [
            ("npm test", &["npm"]),
            ("CI=1 FOO=\"ab\" npm test", &["npm"]),
            ("cd web && npm ci && npm test", &["npm", "npm"]),
            ("./check.sh -v", &["./check.sh"]),
            ("test -f a.txt && grep -q 'a | b' a.txt", &["grep"]),
            ("make test > log 2>&1", &["make"]),
            ("echo done", &[]),
            // Another program may make these pass.
            ("nosuch || true", &[]),
            ("nosuch; true", &[]),
            ("nosuch | cat", &[]),
            ("! nosuch", &[]),
            ("(nosuch)", &[]),
            ("if nosuch; then true; fi", &[]),
            // A name may mean something else here.
            ("PATH=bin:$PATH tool", &[]),
            (". ./env && tool", &[]),
            ("export PATH=x && tool", &[]),
            ("$RUNNER test", &[]),
            ("grep -q 'a && b' x", &[]),
            ("\"my tool\" x", &[]),
            ("command -v tool", &[]),
            ("sleep 1 & wait", &[]),
            ("", &[]),
        ];
        for (line, programs) in table {
            let command = VerifyCommand::Shell(line.into());
            assert_eq!(required_programs(&command), programs, "{line}");
        }
        let argv = VerifyCommand::Argv(vec!["my tool".into(), "x".into()]);
        assert_eq!(required_programs(&argv), ["my tool"]);
    }

    #[test]
    fn the_words_of_shells_name_what_they_did_not_find() {
        let table = [
            ("/bin/sh: 1: nosuch: not found\n", Some("nosuch")),
            ("bash: line 1: nosuch: command not found", Some("nosuch")),
            ("sh: nosuch: not found\n\n", Some("nosuch")),
            (
                "/bin/sh: 1: ./check.sh: Permission denied",
                Some("./check.sh"),
            ),
            ("sh: 1: x: not found\nnpm ERR! failed", None),
            ("error: file not found", None),
            ("page: the thing: not found", None),
            ("", None),
        ];
        for (output, program) in table {
            assert_eq!(program_not_found(output), program, "{output:?}");
        }
    }

    #[test]
    fn a_program_is_named_by_a_whole_word() {
        let command = VerifyCommand::Shell("(pytest -q) || exit 1".into());
        assert!(names_program(&command, "pytest"));
        assert!(!names_program(&command, "test"));
    }
}
