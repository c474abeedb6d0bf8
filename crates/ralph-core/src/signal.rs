//! Reads what an agent says about its own work: claims, promises, questions, the closing block.
//!
//! Looks at the agent's final message alone; the caller never passes tool results or quoted files, and takes
//! out what is the prompt's. A signal is a claim, and a claim only starts verification.

mod block;
mod claim;
mod echo;
mod escalate;

pub use block::{BlockedItem, ClosingBlock, FollowUp};
pub use echo::without_prompt;
pub use escalate::{Escalation, EscalationKind};

use serde::{Deserialize, Serialize};

use crate::task::TaskId;
use claim::Claimed;

/// Everything that a final message signals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Signals {
    pub claim: Option<Claim>,
    /// Ids of other tasks that were claimed: ignored, and shown.
    pub foreign_claims: Vec<String>,
    pub promise: Option<String>,
    pub escalation: Option<Escalation>,
    pub block: ClosingBlock,
}

impl Signals {
    /// Returns true if the message says that its own task is done.
    pub fn claims_done(&self) -> bool {
        self.claim.is_some() || self.promise.is_some()
    }

    fn add_claims(&mut self, line: &str, task: &TaskId) {
        for claimed in claim::claims(line, task.as_str()) {
            match claimed {
                Claimed::Plain => {
                    self.claim.get_or_insert(Claim::Plain);
                }
                Claimed::Own => self.claim = Some(Claim::ById),
                Claimed::Other(id) => self.foreign_claims.push(id.chars().take(80).collect()),
            }
        }
    }
}

/// The way completion was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// "Task US-001 complete"
    ById,
    /// "Task complete"
    Plain,
    /// By a file of its project: `done.md`, or what it wrote down about the task.
    ByFile,
}

/// Reads the signals of `message`, the final words of an agent that was given `task`.
pub fn parse_signals(message: &str, task: &TaskId) -> Signals {
    let (rest, block) = block::split(message);
    let visible = hide_quoted(&rest, Quotations::Hidden);
    let mut signals = Signals {
        block,
        promise: promise(&visible),
        escalation: escalate::parse(&rest, &visible),
        ..Signals::default()
    };
    let claiming = hide_quoted(&rest, Quotations::AloneShown);
    let mut before = "";
    for line in claiming.lines().filter(|line| !line.trim().is_empty()) {
        if !claim::announces(before) {
            signals.add_claims(line, task);
        }
        before = line;
    }
    signals
}

/// Reads the promise that a final message makes, if it makes one.
pub fn promise_in(message: &str) -> Option<String> {
    let (rest, _) = block::split(message);
    promise(&hide_quoted(&rest, Quotations::Hidden))
}

/// The first promise that is made rather than mentioned, white space normalised.
///
/// Made means: nothing but punctuation follows it on its line, and it stands in no code span,
/// fence or quotation (those are hidden already).
fn promise(visible: &str) -> Option<String> {
    const OPEN: &str = "<promise>";
    const CLOSE: &str = "</promise>";
    let mut from = 0;
    while let Some(start) = visible[from..].find(OPEN).map(|i| i + from) {
        let body = start + OPEN.len();
        let end = visible[body..].find(CLOSE).map(|i| i + body)?;
        let after = end + CLOSE.len();
        let tail = visible[after..].lines().next().unwrap_or("");
        let text = visible[body..end].split_whitespace().collect::<Vec<_>>();
        if !text.is_empty() && tail.chars().all(is_mark) {
            return Some(text.join(" "));
        }
        from = after;
    }
    None
}

fn is_mark(c: char) -> bool {
    c.is_whitespace() || c.is_ascii_punctuation() || matches!(c, '…' | '。' | '！')
}

/// The way quotations are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotations {
    Hidden,
    /// A quotation that is a whole sentence and ends its line is shown without its marks, unless the
    /// line before introduces it.
    AloneShown,
}

/// `text` with everything quoted in it blanked out.
///
/// Hidden text becomes spaces, so that lines and offsets stay what they were.
fn hide_quoted(text: &str, quotations: Quotations) -> String {
    let mut introduced = false;
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<(char, usize)> = None;
    for line in text.split_inclusive('\n') {
        let body = line.trim_start();
        let mark = body.chars().next().unwrap_or(' ');
        let run = body.chars().take_while(|c| *c == mark).count();
        let is_fence = matches!(mark, '`' | '~') && run >= 3;
        match fence {
            Some((open, length)) => {
                if is_fence
                    && mark == open
                    && run >= length
                    && body.trim_end().chars().all(|c| c == mark)
                {
                    fence = None;
                }
                blank(line, &mut out);
            }
            None if is_fence => {
                fence = Some((mark, run));
                blank(line, &mut out);
            }
            None if mark == '>' => blank(line, &mut out),
            None if quotations == Quotations::AloneShown && !introduced => match unquoted(line) {
                Some(line) => out.push_str(&line),
                None => hide_spans(line, &mut out),
            },
            None => hide_spans(line, &mut out),
        }
        if !body.is_empty() {
            introduced = body.trim_end().ends_with(':');
        }
    }
    out
}

/// Returns the line without the marks of a quotation or code span that is all it says, or its last
/// sentence.
fn unquoted(line: &str) -> Option<String> {
    const PAIRS: [(char, char); 4] = [('"', '"'), ('“', '”'), ('«', '»'), ('`', '`')];
    let end = line.trim_end_matches(|c: char| c.is_whitespace() || ".!*_✅🎉\u{fe0f}".contains(c));
    let (open, close) = PAIRS.into_iter().find(|(_, close)| end.ends_with(*close))?;
    let last = end.len() - close.len_utf8();
    let first = end[..last].rfind(open)?;
    let before = line[..first].trim_end_matches(|c: char| c.is_whitespace() || "*_".contains(c));
    let alone = !before.contains(char::is_alphanumeric)
        || before.ends_with(['.', '!', ')', ']'])
            && !before.contains(|c| PAIRS.iter().any(|(open, close)| c == *open || c == *close));
    let mut bare = line.to_owned();
    if !alone {
        return None;
    }
    for (at, mark) in [(last, close), (first, open)] {
        bare.replace_range(at..at + mark.len_utf8(), &" ".repeat(mark.len_utf8()));
    }
    Some(bare)
}

/// Blanks `code spans`, ~~struck words~~ and "quotations" within one line. An opening mark without a closing one is
/// only a mark.
fn hide_spans(line: &str, out: &mut String) {
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let closing = match c {
            '`' => {
                let ticks = rest.chars().take_while(|c| *c == '`').count();
                let open = &rest[..ticks];
                rest[ticks..].find(open).map(|i| ticks + i + ticks)
            }
            '"' => rest[1..].find('"').map(|i| i + 2),
            '~' if rest.starts_with("~~") => rest[2..].find("~~").map(|i| i + 4),
            '“' => rest[c.len_utf8()..]
                .find('”')
                .map(|i| c.len_utf8() + i + '”'.len_utf8()),
            '«' => rest[c.len_utf8()..]
                .find('»')
                .map(|i| c.len_utf8() + i + '»'.len_utf8()),
            _ => None,
        };
        if let Some(end) = closing {
            if is_name(&rest[..end]) || names_a_task(out) {
                out.push_str(&rest[..end]);
            } else {
                blank(&rest[..end], out);
            }
            rest = &rest[end..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
}

/// A quoted word is how people write a name ("Task `US-001` complete"): it says nothing by itself,
/// and hiding it would turn a claim for one task into a claim for any.
fn is_name(quoted: &str) -> bool {
    !quoted.contains(|c: char| c.is_whitespace() || c == '<' || c == '>')
}

/// Tells whether a quotation that comes next is the name of a task: `Task "Login form" complete`.
fn names_a_task(before: &str) -> bool {
    let last = before
        .trim_end()
        .rsplit(|c: char| !c.is_alphanumeric())
        .next();
    last.is_some_and(|word| {
        ["task", "story"]
            .iter()
            .any(|noun| word.eq_ignore_ascii_case(noun))
    })
}

fn blank(text: &str, out: &mut String) {
    for c in text.chars() {
        if c == '\n' {
            out.push(c);
        } else {
            out.extend(std::iter::repeat_n(' ', c.len_utf8()));
        }
    }
}

#[cfg(test)]
mod tests;
