//! Decides whether a command uses only programs that are listed.
//!
//! A guard rail for agents that mean well, not a wall: what a listed program or script starts is not seen. What
//! is not understood is refused, never passed. Runs nothing.

mod line;
#[cfg(test)]
mod tests;
mod wrapper;

use crate::task::VerifyCommand;
use line::{DEEPEST, SimpleCommand, Word, WordCertainty, read_line};
use wrapper::{SHELLS, Wrapped, Wrapper, commands_of_find, line_of_shell};

/// The programs that may be started, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowlist {
    entries: Vec<AllowedProgram>,
}

/// A program by name or path, perhaps with the first words behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedProgram {
    words: Vec<String>,
}

/// The reason why a command is not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandRefusal {
    #[error("`{program}` is not in `safety.allowed_commands` ({allowed})")]
    NotListed { program: String, allowed: String },
    #[error(
        "it can't be told which programs the command starts: {what}; write it in a simpler way, with programs \
         of `safety.allowed_commands` ({allowed})"
    )]
    NotUnderstood { what: String, allowed: String },
}

/// Words of a shell that start no program.
const BUILT_IN: [&str; 38] = [
    ":", "[", "[[", "bg", "break", "cd", "continue", "declare", "dirs", "disown", "echo", "exit",
    "export", "false", "fg", "getopts", "jobs", "kill", "local", "popd", "printf", "pushd", "pwd",
    "read", "readonly", "return", "set", "shift", "shopt", "test", "times", "true", "type",
    "typeset", "ulimit", "umask", "unset", "wait",
];

/// Builtins whose words are text and nothing else.
const TEXT_ONLY: [&str; 5] = [":", "echo", "false", "printf", "true"];

/// Builtins that set variables by the names in their words.
const SETTERS: [&str; 8] = [
    "declare", "export", "local", "printf", "read", "readonly", "typeset", "unset",
];

/// Folders in which a program is the one of its name.
const SYSTEM_FOLDERS: [&str; 7] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
];

/// The number of words of the list that a reason has.
const MOST_SHOWN: usize = 30;

impl Allowlist {
    /// Returns `None` for an empty list, which allows everything.
    pub fn new(entries: &[String]) -> Option<Self> {
        let words = |entry: &String| entry.split_whitespace().map(str::to_owned).collect();
        let entries = entries.iter().map(|entry| AllowedProgram {
            words: words(entry),
        });
        let entries: Vec<AllowedProgram> = entries.collect();
        (!entries.is_empty()).then_some(Self { entries })
    }

    /// Checks a line as a shell would run it.
    pub fn check_line(&self, line: &str) -> Result<(), CommandRefusal> {
        self.line(line, 0).map_err(|problem| self.refusal(problem))
    }

    /// Checks a verify command.
    pub fn check_command(&self, command: &VerifyCommand) -> Result<(), CommandRefusal> {
        match command {
            VerifyCommand::Shell(line) => self.check_line(line),
            VerifyCommand::Argv(argv) => {
                let words: Vec<Word> = argv.iter().map(|word| Word::known(word)).collect();
                let start = CommandStart::default();
                self.command(&words, &start)
                    .map_err(|problem| self.refusal(problem))
            }
        }
    }

    fn refusal(&self, problem: LineProblem) -> CommandRefusal {
        let entries = self.entries.iter().take(MOST_SHOWN);
        let mut allowed: Vec<String> = entries.map(|entry| entry.words.join(" ")).collect();
        if self.entries.len() > MOST_SHOWN {
            allowed.push("…".to_owned());
        }
        let allowed = allowed.join(", ");
        match problem {
            LineProblem::NotListed(program) => CommandRefusal::NotListed { program, allowed },
            LineProblem::Unclear(what) => CommandRefusal::NotUnderstood { what, allowed },
        }
    }

    fn line(&self, line: &str, depth: usize) -> Result<(), LineProblem> {
        let commands = read_line(line, depth).map_err(LineProblem::Unclear)?;
        let has_functions = commands.iter().any(|command| command.calls_function);
        for command in &commands {
            self.simple(command, has_functions, depth)?;
        }
        Ok(())
    }

    fn simple(
        &self,
        command: &SimpleCommand,
        has_functions: bool,
        depth: usize,
    ) -> Result<(), LineProblem> {
        for word in &command.assignments {
            refuse_variable(word.assigns.as_deref().unwrap_or_default())?;
            refuse_hidden(word)?;
        }
        let name = command.words.first().and_then(Word::known_text);
        if has_functions && name == Some("unset") {
            return unclear("`unset` beside functions");
        }
        if command.words.is_empty() || command.calls_function {
            return Ok(());
        }
        let start = CommandStart {
            depth,
            ..CommandStart::default()
        };
        self.command(&command.words, &start)
    }

    fn command(&self, words: &[Word], start: &CommandStart) -> Result<(), LineProblem> {
        let [first, rest @ ..] = words else {
            return unclear("a command without a word");
        };
        if start.depth > DEEPEST {
            return unclear("it is nested too deeply");
        }
        let Some(program) = first.known_text().filter(|text| !text.is_empty()) else {
            return unclear(&format!(
                "the program `{}` is known only when it runs",
                first.raw
            ));
        };
        let name = system_name(program);
        start.refuse_replaced(words, is_starter(name))?;
        if name == "command"
            && rest
                .first()
                .is_some_and(|word| ["-v", "-V"].contains(&word.text.as_str()))
        {
            return Ok(());
        }
        if let Some(wrapper) = Wrapper::find(name) {
            if wrapper.must_be_listed {
                self.find(name, program, rest)?;
            }
            let wrapped = wrapper.unwrap(rest).map_err(LineProblem::Unclear)?;
            return self.wrapped(name, &wrapped, start);
        }
        if SHELLS.contains(&name)
            && let Some(line) = line_of_shell(rest).map_err(LineProblem::Unclear)?
        {
            return self.inner_line(line, start);
        }
        match name {
            "eval" => return self.eval(rest, start),
            "trap" => return self.trap(rest, start),
            "find" => {
                self.find(name, program, rest)?;
                if start.is_appended {
                    return unclear("find gets words from elsewhere");
                }
                for command in commands_of_find(rest).map_err(LineProblem::Unclear)? {
                    let inner = start.below(Some("{}".to_owned()), false);
                    self.command(command, &inner)?;
                }
                return Ok(());
            }
            _ => {}
        }
        if BUILT_IN.contains(&name) {
            return refuse_in_builtin(name, rest);
        }
        self.find(name, program, rest)
    }

    fn wrapped(
        &self,
        name: &str,
        wrapped: &Wrapped<'_>,
        start: &CommandStart,
    ) -> Result<(), LineProblem> {
        for variable in &wrapped.assignments {
            refuse_variable(variable)?;
        }
        let is_appended = start.is_appended || (name == "xargs" && wrapped.replaces.is_none());
        if !wrapped.command.is_empty() {
            let replaces = wrapped.replaces.clone().or_else(|| start.replaces.clone());
            let inner = start.below(replaces, is_appended);
            return self.command(wrapped.command, &inner);
        }
        if start.is_appended {
            return unclear(&format!("{name} gets its command from elsewhere"));
        }
        Ok(())
    }

    fn inner_line(&self, line: &Word, start: &CommandStart) -> Result<(), LineProblem> {
        match line.known_text() {
            Some(text) => self.line(text, start.depth + 1),
            None => unclear(&format!(
                "the line `{}` is known only when it runs",
                line.raw
            )),
        }
    }

    fn eval(&self, words: &[Word], start: &CommandStart) -> Result<(), LineProblem> {
        let known: Option<Vec<&str>> = words.iter().map(Word::known_text).collect();
        match known {
            Some(words) if !start.is_appended => self.line(&words.join(" "), start.depth + 1),
            _ => unclear("`eval` of what is known only when it runs"),
        }
    }

    fn trap(&self, words: &[Word], start: &CommandStart) -> Result<(), LineProblem> {
        let mut words = words.iter().skip_while(|word| word.text == "--");
        match words.next() {
            None => Ok(()),
            Some(word) if ["-", "-l", "-p"].contains(&word.raw.as_str()) => Ok(()),
            Some(line) => self.inner_line(line, start),
        }
    }

    /// Looks for an entry that allows the program with the words behind it.
    fn find(&self, name: &str, program: &str, rest: &[Word]) -> Result<(), LineProblem> {
        let matches = |entry: &AllowedProgram| {
            let [own, first_words @ ..] = entry.words.as_slice() else {
                return false;
            };
            let begins = first_words
                .iter()
                .enumerate()
                .all(|(at, own)| rest.get(at).and_then(Word::known_text) == Some(own.as_str()));
            (own == program || own == name) && begins
        };
        if self.entries.iter().any(matches) {
            return Ok(());
        }
        let is_known = |entry: &&AllowedProgram| {
            entry
                .words
                .first()
                .is_some_and(|own| own == program || own == name)
        };
        let longest = self
            .entries
            .iter()
            .filter(is_known)
            .map(|entry| entry.words.len())
            .max();
        let shown = rest.iter().take(longest.unwrap_or(1).saturating_sub(1));
        let shown: Vec<&str> = std::iter::once(program)
            .chain(shown.map(|word| word.raw.as_str()))
            .collect();
        Err(LineProblem::NotListed(shown.join(" ")))
    }
}

/// The way in which a command is started.
#[derive(Debug, Default)]
struct CommandStart {
    depth: usize,
    /// The text in its words that others stand in for.
    replaces: Option<String>,
    /// True if more words follow when it is started.
    is_appended: bool,
}

impl CommandStart {
    fn below(&self, replaces: Option<String>, is_appended: bool) -> Self {
        Self {
            depth: self.depth + 1,
            replaces,
            is_appended,
        }
    }

    /// Refuses words that are replaced, where they decide what is started.
    fn refuse_replaced(&self, words: &[Word], is_starter: bool) -> Result<(), LineProblem> {
        let Some(replaced) = &self.replaces else {
            return Ok(());
        };
        let deciding = if is_starter { words.len() } else { 1 };
        let mut deciding = words.iter().take(deciding);
        if deciding.any(|word| word.text.contains(replaced.as_str())) {
            return unclear(&format!("`{replaced}` in what is started"));
        }
        Ok(())
    }
}

/// The kinds of refusals, without the list.
#[derive(Debug)]
enum LineProblem {
    NotListed(String),
    Unclear(String),
}

fn unclear(what: &str) -> Result<(), LineProblem> {
    Err(LineProblem::Unclear(what.to_owned()))
}

/// Tells whether a program starts what its words say.
fn is_starter(name: &str) -> bool {
    Wrapper::find(name).is_some() || SHELLS.contains(&name) || ["eval", "trap"].contains(&name)
}

/// The name of a program that lies in a folder of the system, else the program as it is.
fn system_name(program: &str) -> &str {
    match program.rsplit_once('/') {
        Some((folder, name)) if SYSTEM_FOLDERS.contains(&folder) => name,
        _ => program,
    }
}

/// Refuses to set a variable that changes what names mean, or what is run unasked.
fn refuse_variable(name: &str) -> Result<(), LineProblem> {
    const DECIDING: [&str; 7] = [
        "BASH_ENV",
        "ENV",
        "PATH",
        "PROMPT_COMMAND",
        "PS4",
        "SHELLOPTS",
        "path",
    ];
    let is_deciding =
        DECIDING.contains(&name) || name.starts_with("LD_") || name.starts_with("BASH_FUNC");
    if is_deciding {
        return unclear(&format!("it sets `{name}`, which changes what is started"));
    }
    Ok(())
}

/// Refuses text that some shells run where they expect a number or a variable.
fn refuse_hidden(word: &Word) -> Result<(), LineProblem> {
    if word.text.contains("$(") || word.text.contains('`') {
        return unclear(&format!("the quoted substitution in `{}`", word.raw));
    }
    Ok(())
}

fn refuse_in_builtin(name: &str, words: &[Word]) -> Result<(), LineProblem> {
    let sets_by_option = words
        .first()
        .is_some_and(|word| word.text.starts_with("-v"));
    let is_text = TEXT_ONLY.contains(&name) && !(name == "printf" && sets_by_option);
    if is_text {
        return Ok(());
    }
    for word in words {
        refuse_hidden(word)?;
        if !SETTERS.contains(&name) {
            continue;
        }
        if word.certainty == WordCertainty::Any && word.assigns.is_none() {
            return unclear(&format!("`{}` as a variable", word.raw));
        }
        let variable = word.text.split(['=', '+']).next().unwrap_or_default();
        let variable = variable
            .strip_prefix("-v")
            .filter(|_| name == "printf")
            .unwrap_or(variable);
        refuse_variable(variable)?;
    }
    Ok(())
}
