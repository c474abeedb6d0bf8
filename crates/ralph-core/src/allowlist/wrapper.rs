//! Programs that start the command in their own arguments, and where in them it begins.

use super::line::{Word, is_name};

/// A program that starts what its arguments say.
pub(super) struct Wrapper {
    name: &'static str,
    /// Short options without a value.
    flags: &'static str,
    /// Short options with one.
    valued: &'static str,
    long_flags: &'static [&'static str],
    long_valued: &'static [&'static str],
    /// The words before the command.
    operands: usize,
    takes_assignments: bool,
    /// True if it gives more than the command has by itself.
    pub(super) must_be_listed: bool,
}

const PLAIN: Wrapper = Wrapper {
    name: "",
    flags: "",
    valued: "",
    long_flags: &[],
    long_valued: &[],
    operands: 0,
    takes_assignments: false,
    must_be_listed: false,
};

const WRAPPERS: [Wrapper; 15] = [
    Wrapper {
        name: "env",
        flags: "i0v",
        valued: "uC",
        long_flags: &["ignore-environment", "null", "debug"],
        long_valued: &["unset", "chdir"],
        takes_assignments: true,
        ..PLAIN
    },
    Wrapper {
        name: "xargs",
        flags: "0rtpxo",
        valued: "nPLIdEasJ",
        long_flags: &[
            "null",
            "no-run-if-empty",
            "verbose",
            "exit",
            "interactive",
            "open-tty",
        ],
        long_valued: &[
            "max-args",
            "max-procs",
            "max-lines",
            "delimiter",
            "arg-file",
            "max-chars",
            "replace",
        ],
        ..PLAIN
    },
    Wrapper {
        name: "nice",
        flags: "0123456789",
        valued: "n",
        long_valued: &["adjustment"],
        ..PLAIN
    },
    Wrapper {
        name: "ionice",
        flags: "t",
        valued: "cn",
        long_flags: &["ignore"],
        long_valued: &["class", "classdata"],
        ..PLAIN
    },
    Wrapper {
        name: "time",
        flags: "pvaq",
        valued: "fo",
        long_flags: &["portability", "verbose", "append", "quiet"],
        long_valued: &["format", "output"],
        ..PLAIN
    },
    Wrapper {
        name: "timeout",
        flags: "fvp",
        valued: "ks",
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "nohup",
        ..PLAIN
    },
    Wrapper {
        name: "setsid",
        flags: "cfw",
        long_flags: &["ctty", "fork", "wait"],
        ..PLAIN
    },
    Wrapper {
        name: "stdbuf",
        valued: "ioe",
        long_valued: &["input", "output", "error"],
        ..PLAIN
    },
    Wrapper {
        name: "command",
        flags: "p",
        ..PLAIN
    },
    Wrapper {
        name: "builtin",
        ..PLAIN
    },
    Wrapper {
        name: "exec",
        flags: "cl",
        valued: "a",
        ..PLAIN
    },
    Wrapper {
        name: "busybox",
        ..PLAIN
    },
    Wrapper {
        name: "sudo",
        flags: "AbEHknPS",
        valued: "CDghpRrTtUu",
        long_flags: &[
            "non-interactive",
            "preserve-env",
            "set-home",
            "stdin",
            "background",
        ],
        long_valued: &["user", "group", "chdir", "prompt", "host"],
        takes_assignments: true,
        must_be_listed: true,
        ..PLAIN
    },
    Wrapper {
        name: "doas",
        flags: "nL",
        valued: "uC",
        must_be_listed: true,
        ..PLAIN
    },
];

/// The command that a wrapper starts.
#[derive(Debug)]
pub(super) struct Wrapped<'a> {
    pub(super) assignments: Vec<&'a str>,
    /// Empty where it starts none.
    pub(super) command: &'a [Word],
    /// The text that is replaced by others in the command.
    pub(super) replaces: Option<String>,
}

impl Wrapper {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        WRAPPERS.iter().find(|wrapper| wrapper.name == name)
    }

    /// Finds the command in the words behind the wrapper's name.
    pub(super) fn unwrap<'a>(&self, mut words: &'a [Word]) -> Result<Wrapped<'a>, String> {
        let mut assignments = Vec::new();
        let mut replaces = None;
        let mut operands = self.operands;
        let mut takes_options = true;
        while let [word, rest @ ..] = words {
            let Some(text) = word.known_text() else {
                return Err(format!(
                    "`{}` before the command that {} starts",
                    word.raw, self.name
                ));
            };
            if takes_options && text == "--" {
                takes_options = false;
                words = rest;
            } else if takes_options
                && text.starts_with('-')
                && (text.len() > 1 || self.name == "env")
            {
                words = self.option(text, rest, &mut replaces)?;
            } else if operands > 0 {
                takes_options = false;
                operands -= 1;
                words = rest;
            } else if let Some((name, _)) = text.split_once('=')
                && self.takes_assignments
            {
                if !is_name(name) {
                    return Err(format!(
                        "`{text}` before the command that {} starts",
                        self.name
                    ));
                }
                takes_options = false;
                assignments.push(name);
                words = rest;
            } else {
                break;
            }
        }
        Ok(Wrapped {
            assignments,
            command: words,
            replaces,
        })
    }

    /// Returns the words behind an option and its value.
    fn option<'a>(
        &self,
        text: &str,
        rest: &'a [Word],
        replaces: &mut Option<String>,
    ) -> Result<&'a [Word], String> {
        let unknown = || Err(format!("the option `{text}` of {}", self.name));
        let skip_value = || match rest {
            [value, behind @ ..] if value.known_text().is_some() => {
                Ok((value.text.clone(), behind))
            }
            _ => Err(format!("the value of `{text}` of {}", self.name)),
        };
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long
                .split_once('=')
                .map_or((long, None), |(n, v)| (n, Some(v)));
            if value.is_none() && self.long_flags.contains(&name) {
                return Ok(rest);
            }
            if !self.long_valued.contains(&name) {
                return unknown();
            }
            if name == "replace" {
                *replaces = Some(value.unwrap_or("{}").to_owned());
                return Ok(rest);
            }
            return value.map_or_else(|| skip_value().map(|(_, behind)| behind), |_| Ok(rest));
        }
        for (at, c) in text.char_indices().skip(1) {
            if self.flags.contains(c) {
                continue;
            }
            if !self.valued.contains(c) {
                return unknown();
            }
            let attached = &text[at + c.len_utf8()..];
            let (value, behind) = if attached.is_empty() {
                skip_value()?
            } else {
                (attached.to_owned(), rest)
            };
            if self.name == "xargs" && matches!(c, 'I' | 'J') {
                *replaces = Some(value);
            }
            return Ok(behind);
        }
        Ok(rest)
    }
}

/// Programs that read commands, as `-c` has them.
pub(super) const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"];

/// Long options that some shells also take with one dash.
const LONG_OPTIONS: [&str; 9] = [
    "debugger",
    "init-file",
    "login",
    "noediting",
    "noprofile",
    "norc",
    "posix",
    "rcfile",
    "restricted",
];

/// Returns the word that a shell takes for its line, if it is given one by `-c`.
pub(super) fn line_of_shell(words: &[Word]) -> Result<Option<&Word>, String> {
    let mut rest = words.iter();
    let mut has_line = false;
    while let Some(word) = rest.next() {
        let Some(text) = word.known_text() else {
            return if has_line { Ok(Some(word)) } else { Ok(None) };
        };
        let Some(option) = text
            .strip_prefix(['-', '+'])
            .filter(|rest| !rest.is_empty())
        else {
            return Ok(has_line.then_some(word));
        };
        if text == "--" {
            return Ok(rest.next().filter(|_| has_line));
        }
        if let Some(long) = text.strip_prefix("--") {
            if !["login", "norc", "noprofile", "posix", "verbose"].contains(&long) {
                return Err(format!("the option `{text}` of a shell"));
            }
            continue;
        }
        if LONG_OPTIONS.contains(&option) {
            return Err(format!("the option `{text}` of a shell"));
        }
        has_line |= option.contains('c') && text.starts_with('-');
        if option.contains(['o', 'O'])
            && rest.next().is_none_or(|value| value.known_text().is_none())
        {
            return Err(format!("the value of `{text}` of a shell"));
        }
    }
    if has_line {
        return Err("a shell that gets its line from elsewhere".to_owned());
    }
    Ok(None)
}

/// Returns the commands that `find` starts.
pub(super) fn commands_of_find(words: &[Word]) -> Result<Vec<&[Word]>, String> {
    let mut commands = Vec::new();
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        rest = behind;
        if word.certainty == super::line::WordCertainty::Any {
            return Err(format!("`{}` among the words of find (quote it)", word.raw));
        }
        if !["-exec", "-execdir", "-ok", "-okdir"].contains(&word.text.as_str()) {
            continue;
        }
        let mut ends = (0..rest.len()).filter(|at| {
            let text = |at: usize| rest.get(at).map(|word| word.text.as_str());
            let is_behind_file = *at > 0 && text(*at - 1) == Some("{}");
            text(*at) == Some(";") || (text(*at) == Some("+") && is_behind_file)
        });
        let end = ends.next();
        let Some(end) = end.filter(|end| *end > 0) else {
            return Err(format!("`{}` of find without an end", word.text));
        };
        let (command, behind) = rest.split_at(end);
        commands.push(command);
        rest = behind;
    }
    Ok(commands)
}
