//! Reads what an agent says about its own work: claims, promises, questions, the closing block.
//!
//! Looks at the agent's final message alone; the caller never passes tool results, quoted files or
//! the prompt. A signal is a claim, and a claim only starts verification.

mod block;
mod escalate;

pub use block::{BlockedItem, ClosingBlock, FollowUp};
pub use escalate::{Escalation, EscalationKind};

use serde::{Deserialize, Serialize};

use crate::task::TaskId;

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
    let visible = hide_quoted(&rest);
    let mut signals = Signals {
        block,
        promise: promise(&visible),
        escalation: escalate::parse(&rest),
        ..Signals::default()
    };
    for line in visible.lines() {
        match claimed(line) {
            Some(Claimed::Plain) => {
                signals.claim.get_or_insert(Claim::Plain);
            }
            Some(Claimed::Id(id)) if same_id(id, task.as_str()) => {
                signals.claim = Some(Claim::ById);
            }
            Some(Claimed::Id(id)) => signals.foreign_claims.push(id.chars().take(80).collect()),
            None => {}
        }
    }
    signals
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

enum Claimed<'a> {
    Plain,
    Id(&'a str),
}

/// "Task complete", "Task [US-001] is done.", "✅ **Task US-001 complete**: added the form".
///
/// The line must begin with it, and what follows the last word must end the sentence: "Task 1
/// complete once the tests pass" claims nothing.
fn claimed(line: &str) -> Option<Claimed<'_>> {
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let rest = strip_word(line, "task")?;
    let rest = rest.trim_start_matches([' ', '\t', ':', '*', '_', '#']);
    if ends_claim(rest) {
        return Some(Claimed::Plain);
    }
    // An id may hold spaces: try every cut before a word that could end the claim.
    let mut at = 0;
    while let Some(step) = rest[at..].find(char::is_whitespace) {
        at += step;
        if ends_claim(rest[at..].trim_start()) {
            let id =
                rest[..at].trim_matches(|c: char| "[]()*_`\"':".contains(c) || c.is_whitespace());
            return (!id.is_empty()).then_some(Claimed::Id(id));
        }
        at += rest[at..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

/// `[is|has been] [now] complete|completed|done|finished`, and then the end of the sentence.
fn ends_claim(text: &str) -> bool {
    let mut rest = text;
    for skipped in ["is", "has", "been", "now", "fully"] {
        if let Some(after) = strip_word(rest, skipped) {
            rest = after.trim_start();
        }
    }
    let Some(after) = ["completed", "complete", "done", "finished"]
        .iter()
        .find_map(|word| strip_word(rest, word))
    else {
        return false;
    };
    let after = after.trim_start_matches(['*', '_', ']', ')', '`']);
    match after.trim_start().chars().next() {
        None => true,
        Some(c) if ".!:;,—–✓✅✔🎉(".contains(c) => true,
        Some('-') => after.trim_start().starts_with("- ") || after.trim_start().starts_with("--"),
        Some(_) => false,
    }
}

/// Strips a leading word, whatever its case, if it ends there.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    let rest = &text[word.len()..];
    let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric());
    (head.eq_ignore_ascii_case(word) && ends).then_some(rest)
}

fn same_id(claimed: &str, id: &str) -> bool {
    claimed.eq_ignore_ascii_case(id)
}

/// `text` with everything quoted in it blanked out.
///
/// Hidden text becomes spaces, so that lines and offsets stay what they were.
fn hide_quoted(text: &str) -> String {
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
            None => hide_spans(line, &mut out),
        }
    }
    out
}

/// Blanks `code spans` and "quotations" within one line. An opening mark without a closing one is
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
            '“' => rest[c.len_utf8()..]
                .find('”')
                .map(|i| c.len_utf8() + i + '”'.len_utf8()),
            '«' => rest[c.len_utf8()..]
                .find('»')
                .map(|i| c.len_utf8() + i + '»'.len_utf8()),
            _ => None,
        };
        if let Some(end) = closing {
            if is_name(&rest[..end]) {
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

fn blank(text: &str, out: &mut String) {
    out.extend(text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}

#[cfg(test)]
mod tests;
