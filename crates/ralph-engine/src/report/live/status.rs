//! The status line: what the loop is at right now, in the columns there are.
//!
//! Keeps what the events said last. Draws nothing.

use jiff::{Timestamp, tz::TimeZone};
use ralph_core::{
    agent::{AgentEvent, Usage},
    command::CommandState,
    event::{Event, WaitReason},
    figures::{usage, whole_seconds},
    sanitize::{columns, one_line},
};

use crate::report::{
    human::tool,
    paint::{Paint, Tone},
    waiting,
};

/// One turn in two and a half seconds at four ticks a second.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS: i64 = 250;

/// The activity gets at least so many columns before figures are shown beside it.
const MIN_DOING: usize = 16;

/// Longest text that is kept of anything.
const MAX_KEPT: usize = 240;

/// Tools that run at once and are remembered.
const MAX_TOOLS: usize = 32;

const SEPARATOR: &str = " · ";

pub(super) struct StatusLine {
    zone: TimeZone,
    state: LiveState,
    since: Option<Timestamp>,
    task: Option<LiveTask>,
    doing: String,
    /// The reason of a wait and its end.
    waiting: Option<(WaitReason, Timestamp)>,
    /// Tools that have not ended: the last one is shown.
    tools: Vec<RunningTool>,
    /// Runs of this iteration that are over, and the one that is on its way.
    spent: Usage,
    current: Usage,
}

#[derive(Default, PartialEq)]
enum LiveState {
    #[default]
    Waiting,
    Running,
    Over,
}

struct RunningTool {
    id: String,
    name: String,
    target: String,
}

struct LiveTask {
    id: String,
    nth: String,
    since: Timestamp,
}

impl StatusLine {
    pub(super) fn new(zone: TimeZone) -> Self {
        Self {
            zone,
            state: LiveState::default(),
            since: None,
            task: None,
            doing: String::new(),
            waiting: None,
            tools: Vec::new(),
            spent: Usage::default(),
            current: Usage::default(),
        }
    }

    /// There is something to show from now on.
    pub(super) fn begin(&mut self, at: Timestamp) {
        if self.state == LiveState::Waiting {
            self.state = LiveState::Running;
            self.since = Some(at);
            self.doing = "starting".into();
        }
    }

    pub(super) fn end(&mut self) {
        self.state = LiveState::Over;
    }

    pub(super) fn observe(&mut self, event: &Event, at: Timestamp) {
        self.begin(at);
        match event {
            Event::LoopStarted { .. } => self.doing("starting"),
            Event::Notice { .. } | Event::Warning { .. } => {}
            Event::BaselineStarted { .. } => self.doing("running the baseline"),
            Event::BaselineEnded { .. } => self.doing("choosing a task"),
            Event::CleanChecked { .. } => self.doing("ending"),
            Event::IterationStarted {
                task,
                nth,
                max_iterations,
                ..
            } => {
                self.task = Some(LiveTask {
                    id: one_line(task, 24),
                    nth: match max_iterations {
                        0 => nth.to_string(),
                        max => format!("{nth}/{max}"),
                    },
                    since: at,
                });
                self.spent = Usage::default();
                self.current = Usage::default();
                self.doing("preparing");
            }
            Event::RunStarted { .. } => {
                let current = std::mem::take(&mut self.current);
                self.spent.add(&current);
                self.doing("starting the agent");
            }
            Event::Agent(event) => self.agent(event),
            Event::Inspected { .. } => self.doing("change inspected"),
            Event::VerifyStarted { command } => self.doing(&format!("verify {command}")),
            Event::VerifyEnded { .. } => self.doing("verifying"),
            Event::Landed { .. } => self.doing("recording"),
            Event::IterationEnded { .. } => {
                self.task = None;
                self.doing("choosing a task");
            }
            Event::Waiting { reason, until, .. } => {
                self.doing("waiting");
                self.waiting = Some((*reason, *until));
            }
            Event::TaskBlocked { .. }
            | Event::Gutter { .. }
            | Event::Diagnosis { .. }
            | Event::HandoffAsked { .. }
            | Event::Health { .. }
            | Event::Intervention { .. }
            | Event::Breaker { .. }
            | Event::Question { .. } => {}
            Event::Commanded {
                command, report, ..
            } => match (command.as_str(), report.state) {
                ("pause", CommandState::Done) if self.task.is_none() => {
                    self.doing("paused; `ralph resume` continues");
                }
                ("resume", CommandState::Done) if self.task.is_none() => {
                    self.doing("choosing a task");
                }
                (_, _) => {}
            },
            Event::LoopEnded { .. } => self.end(),
        }
    }

    fn agent(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Started { .. } => self.doing("thinking"),
            AgentEvent::Text { text } if text.trim().is_empty() => {}
            AgentEvent::Text { text } => self.doing(text),
            AgentEvent::Tool { id, name, target } => {
                if self.tools.len() == MAX_TOOLS {
                    self.tools.remove(0);
                }
                self.tools.push(RunningTool {
                    id: id.clone(),
                    name: one_line(name, MAX_KEPT),
                    target: one_line(target, MAX_KEPT),
                });
            }
            AgentEvent::ToolDone { id, .. } => {
                self.tools.retain(|running| running.id != *id);
                self.doing = "thinking".into();
            }
            AgentEvent::Usage(usage) => self.current = *usage,
            AgentEvent::Retry { attempt, reason } => {
                self.doing(&format!(
                    "waiting for its model (retry {attempt}): {reason}"
                ));
            }
            AgentEvent::Limit { rejected: true, .. } => self.doing("usage limit reached"),
            AgentEvent::Limit {
                rejected: false, ..
            }
            | AgentEvent::Turn { .. }
            | AgentEvent::Background { .. }
            | AgentEvent::Compacted { .. }
            | AgentEvent::ModelChanged { .. }
            | AgentEvent::Hook { .. }
            | AgentEvent::Nudge { .. }
            | AgentEvent::Notice { .. }
            | AgentEvent::Other { .. } => {}
            AgentEvent::Thinking { .. } => self.doing("thinking"),
            AgentEvent::Result(_) => self.doing("inspecting the change"),
        }
    }

    fn doing(&mut self, what: &str) {
        self.tools.clear();
        self.waiting = None;
        self.doing = one_line(what, MAX_KEPT);
    }

    /// The line in at most `width` columns, or nothing if there is nothing to show.
    pub(super) fn line(&self, now: Timestamp, width: usize, paint: Paint) -> Option<String> {
        if self.state != LiveState::Running {
            return None;
        }
        let elapsed = |since: Timestamp| now.as_millisecond() - since.as_millisecond();
        let frame = elapsed(self.since?).max(0) / FRAME_MS;
        let spinner = SPINNER[usize::try_from(frame).unwrap_or(0) % SPINNER.len()];
        let mut head: Vec<&str> = Vec::new();
        let mut tail: Vec<String> = Vec::new();
        let since = self.task.as_ref().map_or(self.since?, |task| task.since);
        let seconds = elapsed(since).max(0) / 1000;
        tail.push(whole_seconds(seconds.unsigned_abs()));
        if let Some(task) = &self.task {
            head.extend([task.id.as_str(), task.nth.as_str()]);
            tail.extend(self.figures());
        }
        // Figures go first, then the count, then the task: what is being done stays.
        let mut room = room_for_doing(width, &head, &tail);
        let enough = MIN_DOING.min(columns(&self.doing_in(now, width)));
        while room < enough {
            if tail.pop().is_none() && head.pop().is_none() {
                break;
            }
            room = room_for_doing(width, &head, &tail);
        }
        if width < 3 {
            return Some(one_line(spinner, width));
        }
        Some(painted(
            spinner,
            &head,
            &self.doing_in(now, room),
            &tail,
            paint,
        ))
    }

    /// The present activity, in at most `room` columns.
    fn doing_in(&self, now: Timestamp, room: usize) -> String {
        if let Some((reason, until)) = self.waiting {
            return one_line(&waiting::sentence(reason, until, now, &self.zone), room);
        }
        match self.tools.last() {
            Some(running) => tool(&running.name, &running.target, 0, room),
            None => one_line(&self.doing, room),
        }
    }

    fn figures(&self) -> Vec<String> {
        let mut sum = self.spent;
        sum.add(&self.current);
        usage(&sum)
    }
}

fn room_for_doing(width: usize, head: &[&str], tail: &[String]) -> usize {
    let beside = |text: &str| columns(text) + columns(SEPARATOR);
    let head: usize = head.iter().map(|text| beside(text)).sum();
    let tail: usize = tail.iter().map(|text| beside(text)).sum();
    // The spinner and the space behind it.
    width.saturating_sub(2 + head + tail)
}

fn painted(spinner: &str, head: &[&str], doing: &str, tail: &[String], paint: Paint) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (i, text) in head.iter().enumerate() {
        parts.push(if i == 0 {
            paint.text(Tone::Heading, text)
        } else {
            (*text).to_owned()
        });
    }
    parts.push(doing.to_owned());
    parts.extend(tail.iter().map(|text| paint.text(Tone::Faint, text)));
    format!(
        "{} {}",
        paint.text(Tone::Name, spinner),
        parts.join(SEPARATOR)
    )
}
