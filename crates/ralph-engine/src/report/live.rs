//! A terminal: lines that scroll, and below them a few lines that move: the last tools, the status line, and
//! at the foot what can be typed.
//!
//! The moving lines are cleared before others are printed and at the end. No thread: who runs the loop ticks,
//! and so does who reads the keys. Each change is one write, so that nothing is seen half drawn.

mod status;

use std::{
    io::Write,
    slice,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use ralph_core::{
    event::Event,
    id::QuestionId,
    sanitize::{columns, one_line},
    verify::strip_terminal,
};

use self::status::StatusLine;
use super::{
    ReportStyle, Reporter, Verbosity,
    human::{HumanText, Tools},
    lines::ReportSink,
    page::LineWidth,
    paint::{Paint, Tone},
};

/// Shortest time between two drawings of the moving lines that no printed line asks for.
const MIN_REDRAW_MS: i64 = 100;

/// To the first column, and the line emptied.
const CLEAR: &str = "\r\x1b[2K";

/// A line that is a column too long after all, because a terminal draws a character wider than was
/// reckoned, must not wrap: what wrapped could not be cleared.
const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";

/// Tools that stay visible, and the rows of a terminal that are left to lines that scroll.
const MAX_RECENT: usize = 3;
const MIN_SCROLLED: usize = 8;

/// A terminal that can be written to.
pub trait Screen: Write + Send {
    /// The present width.
    fn columns(&self) -> usize;

    /// The present height.
    fn rows(&self) -> usize {
        24
    }
}

impl Screen for console::Term {
    fn columns(&self) -> usize {
        usize::from(self.size().1)
    }

    fn rows(&self) -> usize {
        usize::from(self.size().0)
    }
}

/// The reporter of a terminal.
pub struct Live {
    area: Arc<Mutex<LiveArea>>,
}

/// The same terminal, for who reads its keys.
#[derive(Clone)]
pub struct LiveScreen {
    area: Arc<Mutex<LiveArea>>,
}

/// The line below all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Foot {
    #[default]
    Empty,
    /// The keys that can be pressed; the first part is something that waits for the reader.
    Keys { notice: String, keys: String },
    /// A line that is typed; the cursor stands behind it.
    Input { prompt: String, text: String },
}

/// Tells whether a pause was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownPause {
    No,
    /// When the iteration has ended.
    Asked,
    Paused,
}

struct LiveArea {
    sink: ReportSink<Box<dyn Screen>>,
    human: HumanText,
    status: StatusLine,
    foot: Foot,
    paint: Paint,
    verbosity: Verbosity,
    drawn: Option<DrawnLines>,
    /// Another program has the terminal.
    hidden: bool,
    /// The question that was the last thing to be printed.
    question: Option<QuestionId>,
}

/// The moving lines as they stand on the screen.
struct DrawnLines {
    lines: Vec<String>,
    at: Timestamp,
}

fn lock(area: &Mutex<LiveArea>) -> MutexGuard<'_, LiveArea> {
    area.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    pub fn new(screen: Box<dyn Screen>, look: ReportStyle) -> Self {
        let area = LiveArea {
            paint: Paint(look.colours),
            verbosity: look.verbosity,
            status: StatusLine::new(look.time_zone.clone()),
            human: HumanText::new(look, Tools::InStatus, LineWidth::Terminal(screen.columns())),
            sink: ReportSink::new(screen),
            foot: Foot::Empty,
            drawn: None,
            hidden: false,
            question: None,
        };
        Self {
            area: Arc::new(Mutex::new(area)),
        }
    }

    pub fn screen(&self) -> LiveScreen {
        LiveScreen {
            area: Arc::clone(&self.area),
        }
    }
}

impl LiveScreen {
    /// Prints whole lines above those that move.
    pub fn print(&self, lines: &str, now: Timestamp) {
        lock(&self.area).print(lines, now);
    }

    /// Shows another line at the foot, at once.
    pub fn set_foot(&self, foot: Foot, now: Timestamp) {
        let mut area = lock(&self.area);
        if area.foot != foot {
            area.foot = foot;
            area.redraw_now(now);
        }
    }

    pub fn tick(&self, now: Timestamp) {
        lock(&self.area).tick(now);
    }

    /// Shows no line that moves while another program has the terminal.
    pub fn set_in_foreground(&self, in_foreground: bool) {
        let mut area = lock(&self.area);
        if area.hidden == in_foreground {
            area.hidden = !in_foreground;
            area.drawn = None;
        }
    }

    /// Leaves the terminal to others until the next tick.
    pub fn clear(&self) {
        lock(&self.area).clear();
    }

    pub fn pause(&self) -> ShownPause {
        lock(&self.area).status.pause()
    }

    pub fn columns(&self) -> usize {
        lock(&self.area).sink.get().columns()
    }

    /// Returns true if nothing was printed below this question yet.
    pub fn shows_question(&self, id: QuestionId) -> bool {
        lock(&self.area).question == Some(id)
    }

    /// Returns where the log is that is written now, below the repository's folder.
    pub fn log(&self) -> Option<String> {
        lock(&self.area).status.log()
    }
}

impl LiveArea {
    /// Prints lines above the moving ones.
    fn print(&mut self, lines: &str, at: Timestamp) {
        let mut text = self.clearing();
        text.push_str(lines);
        text.push_str(&self.draw(at));
        self.sink.write(&text);
    }

    fn redraw(&mut self, at: Timestamp) {
        let last = self.drawn.as_ref();
        let age = last.map(|drawn| at.as_millisecond() - drawn.at.as_millisecond());
        // A clock that was set back must not stop the line: only a short time forward is too soon.
        if age.is_some_and(|ms| (0..MIN_REDRAW_MS).contains(&ms)) {
            return;
        }
        self.redraw_now(at);
    }

    fn redraw_now(&mut self, at: Timestamp) {
        let clear = self.clearing();
        let before = self.drawn.take().map(|drawn| drawn.lines);
        let text = self.draw(at);
        if before.as_ref() != self.drawn.as_ref().map(|drawn| &drawn.lines) {
            self.sink.write(format!("{clear}{text}"));
        }
    }

    /// Returns the text that takes the moving lines away.
    fn clearing(&self) -> String {
        let width = self.sink.get().columns().max(1);
        let rows = self.drawn.as_ref().map_or(0, |drawn| {
            let lines = drawn.lines.iter();
            // A terminal that became narrower has wrapped them.
            let rows = lines.map(|line| {
                let plain = strip_terminal(line);
                columns(&plain).div_ceil(width).max(1)
            });
            rows.sum()
        });
        match rows {
            0 => String::new(),
            1 => CLEAR.to_owned(),
            rows => format!("\r\x1b[{}A\x1b[J", rows - 1),
        }
    }

    /// Returns the text that draws the moving lines at the cursor; remembers that they are drawn.
    fn draw(&mut self, at: Timestamp) -> String {
        self.drawn = None;
        if self.hidden {
            return String::new();
        }
        // The last column stays free: some terminals wrap as soon as it is filled.
        let width = self.sink.get().columns().saturating_sub(1);
        let Some(status) = self.status.line(at, width, self.paint) else {
            return String::new();
        };
        let most = match self.verbosity {
            Verbosity::Quiet | Verbosity::Normal => MAX_RECENT,
            // They are printed.
            Verbosity::Verbose | Verbosity::VeryVerbose => 0,
        };
        let most = most.min(self.sink.get().rows().saturating_sub(MIN_SCROLLED));
        let mut lines = self.status.recent(most, width, self.paint);
        lines.push(status);
        lines.extend(self.status.output(width, self.paint));
        lines.extend(self.foot_line(width));
        let drawing = format!("{WRAP_OFF}{}{WRAP_ON}", lines.join("\n"));
        self.drawn = Some(DrawnLines { lines, at });
        drawing
    }

    fn foot_line(&self, width: usize) -> Option<String> {
        let faint = |text: &str| self.paint.text(Tone::Faint, text);
        match &self.foot {
            Foot::Empty => None,
            Foot::Keys { notice, keys } if notice.is_empty() => {
                let keys = one_line(keys, width.saturating_sub(2));
                Some(faint(&format!("  {keys}")))
            }
            Foot::Keys { notice, keys } => {
                let notice = one_line(notice, width.saturating_sub(2));
                let room = width.saturating_sub(columns(&notice) + 5);
                let keys = one_line(keys, room);
                let notice = self.paint.text(Tone::Careful, &notice);
                Some(format!("  {notice}{}", faint(&format!(" · {keys}"))))
            }
            // The end of what is typed stays in sight.
            Foot::Input { prompt, text } => {
                let room = width.saturating_sub(columns(prompt) + 1);
                let mut shown = text.as_str();
                while columns(shown) > room {
                    let mut chars = shown.chars();
                    chars.next();
                    shown = chars.as_str();
                }
                Some(format!("{}{shown}", self.paint.text(Tone::Name, prompt)))
            }
        }
    }

    fn tick(&mut self, now: Timestamp) {
        self.status.begin(now);
        self.redraw(now);
    }

    fn clear(&mut self) {
        let clear = self.clearing();
        if self.drawn.take().is_some() {
            self.sink.write(&clear);
        }
    }
}

impl Reporter for Live {
    fn report(&mut self, event: &Event, at: Timestamp) {
        self.report_all(slice::from_ref(event), at);
    }

    fn report_all(&mut self, events: &[Event], at: Timestamp) {
        let mut area = lock(&self.area);
        let columns = area.sink.get().columns();
        area.human.set_columns(columns);
        for event in events {
            area.status.observe(event, at);
        }
        let lines = area.human.render(events, at);
        if lines.is_empty() {
            area.redraw(at);
            return;
        }
        area.question = match events.last() {
            Some(Event::Question { id, .. }) => Some(*id),
            _ => None,
        };
        area.print(&lines, at);
    }

    fn wants_ticks(&self) -> bool {
        true
    }

    fn tick(&mut self, now: Timestamp) {
        lock(&self.area).tick(now);
    }

    fn begin(&mut self, what: &str) {
        lock(&self.area).status.doing(what);
    }

    fn make_room(&mut self) {
        lock(&self.area).clear();
    }

    fn finish(&mut self) {
        let mut area = lock(&self.area);
        area.status.end();
        area.clear();
    }
}

/// Also when ralph fails half-way: an error message must not be written into the moving lines.
impl Drop for Live {
    fn drop(&mut self) {
        self.finish();
    }
}
