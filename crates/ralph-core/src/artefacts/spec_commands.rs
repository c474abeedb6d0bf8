//! The verify commands that a brief names: under its heading "Verify commands", in a fenced block, as a
//! list, or one a line.
//!
//! A sentence is not run as a command: what is not plainly one is given back, to be said.

/// Describes what stands under the heading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecCommands {
    pub commands: Vec<String>,
    /// Lines that are no command, as far as can be told.
    pub unclear: Vec<String>,
}

/// Reads the section of a brief.
pub fn parse_verify_commands(spec: &str) -> SpecCommands {
    let mut found = SpecCommands::default();
    let mut place = TextPlace::Elsewhere;
    let without_comments = strip_comments(spec);
    for line in without_comments.lines() {
        let text = line.trim();
        place = match (place, heading(line)) {
            (TextPlace::Fence { within }, _) if text.starts_with("```") => within.outside(),
            (TextPlace::Fence { within }, _) => {
                if within == Within::Section && !text.is_empty() && !text.starts_with('#') {
                    found.add(text.strip_prefix("$ ").unwrap_or(text));
                }
                TextPlace::Fence { within }
            }
            (_, Some(title)) if is_ours(title) => TextPlace::Section,
            (_, Some(_)) => TextPlace::Elsewhere,
            (place, None) if text.starts_with("```") => TextPlace::Fence {
                within: match place {
                    TextPlace::Section => Within::Section,
                    TextPlace::Elsewhere | TextPlace::Fence { .. } => Within::Elsewhere,
                },
            },
            (TextPlace::Section, None) => {
                found.take_line(text);
                TextPlace::Section
            }
            (TextPlace::Elsewhere, None) => TextPlace::Elsewhere,
        };
    }
    found
}

#[derive(Clone, Copy)]
enum TextPlace {
    Elsewhere,
    Section,
    Fence { within: Within },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Elsewhere,
    Section,
}

impl Within {
    fn outside(self) -> TextPlace {
        match self {
            Self::Elsewhere => TextPlace::Elsewhere,
            Self::Section => TextPlace::Section,
        }
    }
}

impl SpecCommands {
    fn add(&mut self, command: &str) {
        if !self.commands.iter().any(|known| known == command) {
            self.commands.push(command.to_owned());
        }
    }

    /// A line outside of a fence: an item of a list, or a line of its own.
    fn take_line(&mut self, text: &str) {
        let text = item(text).trim();
        if text.is_empty() {
            return;
        }
        // A code span that the line begins with is the command, whatever is said behind it.
        if let Some((command, _)) = text.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
            self.add(command.trim());
        } else if is_sentence(text) {
            self.unclear.push(text.to_owned());
        } else {
            self.add(text);
        }
    }
}

/// Returns what stands behind the mark of a list.
fn item(text: &str) -> &str {
    let marked = ["- [ ] ", "- [x] ", "- ", "* ", "+ "];
    if let Some(rest) = marked.iter().find_map(|mark| text.strip_prefix(mark)) {
        return rest;
    }
    match text.split_once([')', '.']) {
        Some((number, rest))
            if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            rest
        }
        _ => text,
    }
}

/// Commands begin with a small letter, a path or a variable, and end without a mark.
fn is_sentence(text: &str) -> bool {
    let starts = text.chars().next().is_some_and(|c| {
        c.is_ascii_lowercase() || matches!(c, '.' | '/' | '~' | '!' | '(' | '[' | '{' | '$')
    });
    let first = text.split_whitespace().next().unwrap_or_default();
    let sets = first.contains('=') && first.starts_with(|c: char| c.is_ascii_uppercase());
    let says_none = ["none", "no", "nothing", "n/a", "tbd", "todo"].contains(&first);
    !(starts || sets)
        || says_none
        || text.ends_with(['.', ':', '?', ',', '…'])
        || text.contains('`')
}

/// The title of a heading, without its marks.
fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (level > 0 && rest.starts_with(' ')).then(|| rest.trim())
}

fn is_ours(title: &str) -> bool {
    let title = title.trim_end_matches(':').to_lowercase();
    matches!(
        title.as_str(),
        "verify commands" | "verify command" | "verification commands"
    )
}

/// Guidance for anyone who fills the brief in is no part of it.
fn strip_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        out.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artefacts::{ProjectName, blank_spec};

    fn commands(section: &str) -> Vec<String> {
        let spec =
            format!("# X\n\nrun this\n\n## Verify commands\n\n{section}\n\n## Other\n\n- rm x\n");
        parse_verify_commands(&spec).commands
    }

    #[test]
    fn a_fence_a_list_and_lines_are_read() {
        let fence = "```sh\n# all of it\nnpm test\n$ npm run lint\n\n```";
        assert_eq!(commands(fence), ["npm test", "npm run lint"]);
        let list = "- npm test\n* `cargo test -q`: all green\n1. ./check.sh\n- [ ] make test";
        assert_eq!(
            commands(list),
            ["npm test", "cargo test -q", "./check.sh", "make test"]
        );
        assert_eq!(
            commands("npm test\nCI=1 make\nnpm test"),
            ["npm test", "CI=1 make"]
        );
    }

    #[test]
    fn a_sentence_is_not_run_but_given_back() {
        let spec = "## Verify commands:\n- Run the tests\nnone yet\nas in CI, see below:\n";
        let found = parse_verify_commands(spec);
        assert_eq!(found.commands, [""; 0]);
        assert_eq!(
            found.unclear,
            ["Run the tests", "none yet", "as in CI, see below:"]
        );
    }

    #[test]
    fn a_blank_brief_and_a_fence_elsewhere_have_none() {
        let name = ProjectName::parse("shop").unwrap();
        assert_eq!(
            parse_verify_commands(&blank_spec(&name)),
            SpecCommands::default()
        );
        let fenced = "```md\n## Verify commands\nnpm test\n```\n";
        assert_eq!(parse_verify_commands(fenced), SpecCommands::default());
        assert_eq!(parse_verify_commands(""), SpecCommands::default());
    }
}
