//! The `<escalate>` block: a question that only a person can answer.
//!
//! Recognised here, answered elsewhere. A malformed block is still a question: what is missing
//! stays empty, and the block's own text is kept to be shown.

use serde::{Deserialize, Serialize};

/// Longest block that is kept.
const MAX_CHARS: usize = 8_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Escalation {
    #[serde(rename = "type")]
    pub kind: EscalationKind,
    pub summary: String,
    pub context: String,
    pub options: Vec<String>,
    pub question: String,
    /// The block as it was written.
    pub raw: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationKind {
    /// It can't go on.
    Stuck,
    /// It could, but should not without being told to.
    Deviation,
    /// The type was missing or another word.
    Other,
}

/// The escalation in `message`, of which `visible` is what it does not quote. A mention in a code
/// span, a fence or the middle of a sentence is none: the tag must open its line. What further blocks ask is
/// part of the first one's context, so that the person who answers sees it.
pub(super) fn parse(message: &str, visible: &str) -> Option<Escalation> {
    let (mut escalation, mut end) = parse_from(message, visible, 0)?;
    while let Some((next, next_end)) = parse_from(message, visible, end) {
        end = next_end;
        let mut parts = vec![
            escalation.context,
            "Asked as well:".to_owned(),
            next.summary,
            next.context,
        ];
        parts.extend(next.options.iter().map(|option| format!("- {option}")));
        parts.push(next.question);
        parts.retain(|part| !part.is_empty());
        escalation.context = capped(&parts.join("\n"));
        escalation.raw = capped(&format!("{}\n{}", escalation.raw, next.raw));
    }
    Some(escalation)
}

fn capped(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}

/// The first block that begins at `from` or after it, and where it ends.
fn parse_from(message: &str, visible: &str, from: usize) -> Option<(Escalation, usize)> {
    let lower = message.to_ascii_lowercase();
    let visible = visible.to_ascii_lowercase();
    let start = visible
        .match_indices("<escalate")
        .map(|(i, _)| i)
        .filter(|i| *i >= from)
        .find(|i| {
            let opens_line = lower[..*i]
                .rsplit('\n')
                .next()
                .is_some_and(|before| before.trim().is_empty());
            let tag_ends = lower[*i + 9..].starts_with(|c: char| c.is_whitespace() || c == '>');
            opens_line && tag_ends
        })?;
    // A tag that is never closed ends with its line: the question is in what follows.
    let line_end = lower[start..].find('\n').map_or(lower.len(), |i| start + i);
    let tag_end = lower[start..].find('>').map(|i| start + i + 1);
    let tag_end = tag_end.unwrap_or(line_end);
    // Its own text may quote, also carelessly.
    let end = visible[tag_end..]
        .find("</escalate")
        .or_else(|| lower[tag_end..].find("</escalate"))
        .map_or(lower.len(), |i| tag_end + i);
    let tag = &lower[start..tag_end];
    let kind = if tag.contains("stuck") {
        EscalationKind::Stuck
    } else if tag.contains("deviation") {
        EscalationKind::Deviation
    } else {
        EscalationKind::Other
    };
    let body = &message[tag_end..end];
    let escalation = Escalation {
        kind,
        summary: part(body, "summary"),
        context: part(body, "context"),
        options: options(&part(body, "options")),
        question: part(body, "question"),
        raw: capped(message[start..end].trim_end()),
    };
    Some((escalation, end))
}

/// The parts of a block, in the order in which they are asked for.
const PARTS: [&str; 4] = ["summary", "context", "options", "question"];

/// Returns what stands between the tags of a part. One that is not closed ends where another begins.
fn part(body: &str, name: &str) -> String {
    let lower = body.to_ascii_lowercase();
    let Some((_, start)) = tag(&lower, "<", name) else {
        return String::new();
    };
    let rest = &lower[start..];
    let closed = tag(rest, "</", name).map(|(at, _)| at);
    let others = PARTS.iter().filter_map(|other| tag(rest, "<", other));
    let end = closed.or_else(|| others.map(|(at, _)| at).min());
    let end = end.map_or(lower.len(), |at| start + at);
    capped(body[start..end].trim())
}

/// Where a tag begins and ends, whatever white space is in it.
fn tag(lower: &str, open: &str, name: &str) -> Option<(usize, usize)> {
    lower.match_indices(open).find_map(|(at, _)| {
        let inside = lower[at + open.len()..].trim_start();
        let after = inside.strip_prefix(name)?.trim_start();
        let after = after.strip_prefix('>')?;
        Some((at, lower.len() - after.len()))
    })
}

/// The numbered options, at most nine; a line without a number goes on with the option before it.
fn options(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
        // Bold numbers and the word itself are how some write them: `**Option 1:** Use v2`.
        let bare = line.trim_start_matches(['*', '_']);
        let bare = bare
            .strip_prefix("Option ")
            .or_else(|| bare.strip_prefix("option "))
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or(bare);
        let unnumbered = bare.trim_start_matches(|c: char| c.is_ascii_digit());
        let marked = unnumbered.trim_start_matches(['.', ')', ':', '-', '*', '_']);
        if marked.len() < line.len() || found.is_empty() {
            found.push(marked.trim().to_owned());
        } else if let Some(last) = found.last_mut() {
            last.push(' ');
            last.push_str(line);
        }
    }
    found.truncate(9);
    found
}
