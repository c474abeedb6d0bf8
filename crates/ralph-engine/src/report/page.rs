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

/// A log has no width of its own.
const LOG_COLUMNS: usize = 100;

/// Banners are no wider than this, however wide the terminal.
const MAX_BANNER: usize = 80;

/// Columns of a banner that are neither text nor filling: two ends of three, and four spaces.
const BANNER_FRAME: usize = 10;

/// Columns in front of a quoted line, at most: the time, its indentation and the bar.
const BEFORE_QUOTED: usize = INDENT.len() + 6;

/// Longest line that is quoted.
const MAX_QUOTED: usize = 400;

/// The width of the lines.
#[derive(Debug, Clone, Copy)]
pub(super) enum LineWidth {
    /// A log: what shows it wraps its lines.
    Log,
    /// A terminal of so many columns, which would break a line in the middle of a word.
    Terminal(usize),
}

impl LineWidth {
    fn columns(self) -> usize {
        match self {
            Self::Log => LOG_COLUMNS,
            Self::Terminal(columns) => columns,
        }
    }

    /// The columns that are left behind so many others, where lines are wrapped. The last one stays free: some
    /// terminals wrap as soon as it is filled.
    fn room(self, taken: usize) -> Option<usize> {
        match self {
            Self::Log => None,
            Self::Terminal(columns) => Some(columns.saturating_sub(taken + 1)),
        }
    }
}

pub(super) struct Page {
    text: String,
    at: Timestamp,
    zone: TimeZone,
    /// The time in front of its lines, once there is one.
    stamp: Option<String>,
    paint: Paint,
    width: LineWidth,
}

/// The part of a quotation to show.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extent {
    First(usize),
    Last(usize),
    All,
}

impl Page {
    pub(super) fn new(at: Timestamp, zone: &TimeZone, paint: Paint, width: LineWidth) -> Self {
        Self {
            text: String::new(),
            at,
            zone: zone.clone(),
            stamp: None,
            paint,
            width,
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn paint(&self) -> Paint {
        self.paint
    }

    pub(super) fn columns(&self) -> usize {
        self.width.columns()
    }

    pub(super) fn date(&self) -> String {
        self.local().strftime("%Y-%m-%d").to_string()
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line with its time.
    pub(super) fn line(&mut self, text: &str) {
        if self.stamp.is_none() {
            let time = self.local().strftime("[%H:%M:%S]").to_string();
            self.stamp = Some(self.paint.text(Tone::Faint, &time));
        }
        self.text
            .push_str(self.stamp.as_deref().unwrap_or_default());
        self.text.push(' ');
        self.end_line(text.trim_end());
    }

    /// Returns true if the text goes into one line behind the time.
    pub(super) fn has_room(&self, text: &str) -> bool {
        let room = self.width.room(INDENT.len());
        room.is_none_or(|room| sanitize::columns(text) <= room)
    }

    /// Adds the rest of a line; what does not fit in a terminal goes on below.
    fn end_line(&mut self, text: &str) {
        match self.width.room(INDENT.len()) {
            Some(room) => {
                let wrapped = sanitize::wrapped_lines(text, room);
                let below = format!("\n{INDENT}");
                self.text.push_str(&wrapped.replace('\n', &below));
            }
            None => self.text.push_str(text),
        }
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
        self.line(&["    ", &text].concat());
    }

    /// A line that belongs to the one before it.
    pub(super) fn more(&mut self, text: &str) {
        self.text.push_str(INDENT);
        self.end_line(text.trim_end());
    }

    /// `━━━ left ━━━━━━━━━━━━━━ right ━━━`
    pub(super) fn banner(&mut self, left: &str, right: &str) {
        let width = self.columns().clamp(24, MAX_BANNER);
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
        let room = self.width.room(BEFORE_QUOTED).unwrap_or(usize::MAX);
        for line in &all[from..to] {
            let line = sanitize::truncate_middle(line.trim_end(), MAX_QUOTED);
            let wrapped = sanitize::wrapped(&line, room, 0);
            lines.extend(wrapped.split('\n').map(|part| format!("{bar} {part}")));
        }
        lines.extend(self.left_out(all.len() - to, "more"));
        lines
    }

    fn left_out(&self, lines: usize, which: &str) -> Option<String> {
        let left_out = count(lines, &format!("{which} line"), &format!("{which} lines"));
        (lines > 0).then(|| self.paint.text(Tone::Faint, &format!("… {left_out}")))
    }
}
