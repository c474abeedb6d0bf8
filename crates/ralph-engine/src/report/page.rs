//! Lays out lines for people: times in front, continuations below them, quotations, banners.
//!
//! Everything that an agent, a task or a command wrote is made safe by the caller, except in
//! `quote` and `said`, which do it themselves. A quoted line always begins with a bar, so that nothing an agent
//! prints can pass for a line of ralph's own.

use jiff::{Timestamp, Zoned, tz::TimeZone};
use ralph_core::{figures::count, sanitize};

use super::paint::{Mark, Paint, Tone};

/// As wide as `[HH:MM:SS] `.
const INDENT: &str = "           ";

/// Banners are no wider than this, however wide the terminal.
const MAX_BANNER: usize = 80;

/// Columns of a banner that are neither text nor filling: two ends of three, and four spaces.
const BANNER_FRAME: usize = 10;

/// Longest line that is quoted.
const MAX_QUOTED: usize = 400;

pub(super) struct Page {
    text: String,
    at: Timestamp,
    zone: TimeZone,
    /// The time in front of its lines, once there is one.
    stamp: Option<String>,
    paint: Paint,
    columns: usize,
}

/// The part of a quotation to show.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extent {
    First(usize),
    Last(usize),
    All,
}

impl Page {
    pub(super) fn new(at: Timestamp, zone: &TimeZone, paint: Paint, columns: usize) -> Self {
        Self {
            text: String::new(),
            at,
            zone: zone.clone(),
            stamp: None,
            paint,
            columns,
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn paint(&self) -> Paint {
        self.paint
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn date(&self) -> String {
        self.local().strftime("%Y-%m-%d").to_string()
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line with its time.
    pub(super) fn line(&mut self, text: &str) {
        self.line_behind("", text);
    }

    fn line_behind(&mut self, indent: &str, text: &str) {
        if self.stamp.is_none() {
            let time = self.local().strftime("[%H:%M:%S]").to_string();
            self.stamp = Some(self.paint.text(Tone::Faint, &time));
        }
        self.text
            .push_str(self.stamp.as_deref().unwrap_or_default());
        self.text.push(' ');
        self.text.push_str(indent);
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    fn local(&self) -> Zoned {
        self.at.to_zoned(self.zone.clone())
    }

    pub(super) fn marked(&mut self, mark: Mark, text: &str) {
        let sign = self.paint.mark(mark);
        self.line(&format!("{sign} {text}"));
    }

    /// A line within an iteration, behind its mark.
    pub(super) fn indented(&mut self, mark: Mark, text: &str) {
        let sign = self.paint.mark(mark);
        self.line(&format!("  {sign} {text}"));
    }

    /// A line about the agent that most readers pass over.
    pub(super) fn faint(&mut self, text: &str) {
        let text = self.paint.text(Tone::Faint, text);
        self.line_behind("    ", &text);
    }

    /// A line that belongs to the one before it.
    pub(super) fn more(&mut self, text: &str) {
        self.text
            .push_str(&format!("{INDENT}{}\n", text.trim_end()));
    }

    /// `━━━ left ━━━━━━━━━━━━━━ right ━━━`
    pub(super) fn banner(&mut self, left: &str, right: &str) {
        let width = self.columns.clamp(24, MAX_BANNER);
        let free = width.saturating_sub(BANNER_FRAME + sanitize::columns(right));
        let left = sanitize::one_line(left, free.saturating_sub(1));
        let fill = free.saturating_sub(sanitize::columns(&left));
        let text = format!(
            "{} {} {} {} {}\n",
            self.paint.text(Tone::Faint, "━━━"),
            self.paint.text(Tone::Heading, &left),
            self.paint.text(Tone::Faint, &"━".repeat(fill)),
            self.paint.text(Tone::Faint, right),
            self.paint.text(Tone::Faint, "━━━")
        );
        self.text.push_str(&text);
    }

    /// Other people's words, below the line that they belong to.
    pub(super) fn quote(&mut self, text: &str, extent: Extent) {
        for line in self.quoted(text, extent) {
            self.more(&format!("  {line}"));
        }
    }

    /// The agent's words, with the time at which it said them.
    pub(super) fn said(&mut self, text: &str, extent: Extent) {
        let mut lines = self.quoted(text, extent).into_iter();
        if let Some(first) = lines.next() {
            self.line(&format!("    {first}"));
        }
        for line in lines {
            self.more(&format!("    {line}"));
        }
    }

    /// Line by line behind a bar; what was left out is said.
    fn quoted(&self, text: &str, extent: Extent) -> Vec<String> {
        let safe = sanitize::terminal_safe(text.trim_matches(['\n', '\r']));
        if safe.trim().is_empty() {
            return Vec::new();
        }
        let all: Vec<&str> = safe.lines().collect();
        let (from, to) = match extent {
            Extent::All => (0, all.len()),
            Extent::First(n) => (0, all.len().min(n)),
            Extent::Last(n) => (all.len().saturating_sub(n), all.len()),
        };
        let bar = self.paint.text(Tone::Faint, "│");
        let mut lines = Vec::new();
        lines.extend(self.left_out(from, "earlier"));
        lines.extend(all[from..to].iter().map(|line| {
            let line = sanitize::truncate_middle(line.trim_end(), MAX_QUOTED);
            format!("{bar} {line}")
        }));
        lines.extend(self.left_out(all.len() - to, "more"));
        lines
    }

    fn left_out(&self, lines: usize, which: &str) -> Option<String> {
        let left_out = count(lines, &format!("{which} line"), &format!("{which} lines"));
        (lines > 0).then(|| self.paint.text(Tone::Faint, &format!("… {left_out}")))
    }
}
