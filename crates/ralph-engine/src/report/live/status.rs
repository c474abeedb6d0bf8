//! The status line: what the loop is at right now, in the columns there are; above it the last tools of the
//! agent, below it the last line of a verify command.
//!
//! Keeps what the events said last. Draws nothing.

use jiff::{Timestamp, tz::TimeZone};
use ralph_core::{
    agent::{AgentEvent, Usage},
    command::CommandState,
    event::{Event, WaitReason},
    figures::{usage, whole_seconds},
    loop_machine::PauseState,
    sanitize::{columns, one_line},
};

use super::ShownPause;
use crate::{
    iteration::LOGS,
    report::{
        human::{TOOL_NAME_COLUMNS, tool},
        paint::{Paint, Tone},
        waiting,
    },
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

/// Tools that are remembered after they have ended, and the columns around each: an indent, and that it
/// failed.
const MAX_RECENT: usize = 8;
const BESIDE_RECENT: usize = 13;

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
    /// The last calls of tools in this iteration, the running ones among them; oldest first.
    recent: Vec<RunningTool>,
    verifying: Option<VerifyingCommand>,
    pause: PauseState,
    /// The name of the log that is written now.
    log: Option<String>,
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

/// A command of verification that runs.
struct VerifyingCommand {
    command: String,
    since: Timestamp,
    /// The last line of its output.
    output: String,
}

#[derive(Clone)]
struct RunningTool {
    id: String,
    name: String,
    target: String,
    failed: bool,
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
            recent: Vec::new(),
            verifying: None,
            pause: PauseState::default(),
            log: None,
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
            Event::BaselineStarted { .. } => {
                self.log = Some("baseline".into());
                self.doing("running the baseline");
            }
            Event::BaselineEnded { .. } => self.doing("choosing a task"),
            Event::CleanChecked { .. } => self.doing("ending"),
            Event::IterationStarted {
                iteration,
                task,
                nth,
                max_iterations,
                ..
            } => {
                self.log = Some(format!("iteration-{iteration}"));
                self.recent.clear();
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
            Event::VerifyStarted { command } => {
                self.doing("verifying");
                self.verifying = Some(VerifyingCommand {
                    command: one_line(command, MAX_KEPT),
                    since: at,
                    output: String::new(),
                });
            }
            Event::VerifyOutput { line, .. } => {
                if let Some(verifying) = &mut self.verifying {
                    verifying.output = one_line(line, MAX_KEPT);
                }
            }
            Event::VerifyEnded { .. } => self.doing("verifying"),
            Event::Landed { .. } => self.doing("recording"),
            Event::IterationEnded { .. } => {
                self.task = None;
                self.recent.clear();
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
            | Event::BudgetAlert { .. }
            | Event::Question { .. } => {}
            Event::Commanded {
                command, report, ..
            } => match (command.as_str(), report.state) {
                ("pause", CommandState::Done) => self.pause = PauseState::Paused,
                ("resume", CommandState::Done) => self.pause = PauseState::Running,
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
            AgentEvent::Tool {
                id, name, target, ..
            } => {
                if self.tools.len() == MAX_TOOLS {
                    self.tools.remove(0);
                }
                let tool = RunningTool {
                    id: id.clone(),
                    name: one_line(name, MAX_KEPT),
                    target: one_line(target, MAX_KEPT),
                    failed: false,
                };
                if self.recent.len() == MAX_RECENT {
                    self.recent.remove(0);
                }
                self.recent.push(tool.clone());
                self.tools.push(tool);
            }
            AgentEvent::ToolDone { id, ok, .. } => {
                self.tools.retain(|running| running.id != *id);
                let ended = self.recent.iter_mut().rev().find(|tool| tool.id == *id);
                if let Some(ended) = ended {
                    ended.failed = !ok;
                }
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

    pub(super) fn doing(&mut self, what: &str) {
        self.tools.clear();
        self.waiting = None;
        self.verifying = None;
        self.doing = one_line(what, MAX_KEPT);
    }

    /// The line in at most `width` columns, or nothing if there is nothing to show.
    pub(super) fn line(&self, now: Timestamp, width: usize, paint: Paint) -> Option<String> {
        if self.state != LiveState::Running {
            return None;
        }
        let elapsed = |since: Timestamp| now.as_millisecond() - since.as_millisecond();
        let frame = elapsed(self.since?).max(0) / FRAME_MS;
        let spinner = match self.pause() {
            ShownPause::Paused => "‖",
            ShownPause::No | ShownPause::Asked => {
                SPINNER[usize::try_from(frame).unwrap_or(0) % SPINNER.len()]
            }
        };
        let mut head: Vec<&str> = Vec::new();
        let mut tail: Vec<String> = Vec::new();
        let since = self.task.as_ref().map_or(self.since?, |task| task.since);
        let seconds = elapsed(since).max(0) / 1000;
        tail.push(whole_seconds(seconds.unsigned_abs()));
        if self.pause() == ShownPause::Asked {
            tail.insert(0, "then pauses".into());
        }
        if let Some(task) = &self.task {
            head.extend([task.id.as_str(), task.nth.as_str()]);
            // A command needs the room more.
            if self.verifying.is_none() {
                tail.extend(self.figures());
            }
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
        if self.pause() == ShownPause::Paused {
            return one_line("paused; `ralph resume` continues", room);
        }
        if let Some(verifying) = &self.verifying {
            let seconds = now.as_second().saturating_sub(verifying.since.as_second());
            let clock = whole_seconds(u64::try_from(seconds).unwrap_or(0));
            let before = "verify ";
            let room = room.saturating_sub(columns(before) + columns(&clock) + 1);
            let command = one_line(&verifying.command, room);
            return format!("{before}{command} {clock}");
        }
        match self.tools.last() {
            Some(running) => tool(&running.name, &running.target, 0, room),
            None => one_line(&self.doing, room),
        }
    }

    pub(super) fn pause(&self) -> ShownPause {
        match (&self.pause, &self.task) {
            (PauseState::Running, _) => ShownPause::No,
            (PauseState::Paused, Some(_)) => ShownPause::Asked,
            (PauseState::Paused, None) => ShownPause::Paused,
        }
    }

    pub(super) fn log(&self) -> Option<String> {
        self.log.as_ref().map(|name| format!("{LOGS}/{name}.txt"))
    }

    /// The last tools before the one that the status line shows, at most `most`, each in `width` columns.
    pub(super) fn recent(&self, most: usize, width: usize, paint: Paint) -> Vec<String> {
        let shown = self.tools.last();
        let others = self.recent.iter();
        let others = others.filter(|tool| shown.is_none_or(|shown| shown.id != tool.id));
        let mut lines: Vec<String> = others
            .rev()
            .take(if width > BESIDE_RECENT { most } else { 0 })
            .map(|recent| {
                let room = width - BESIDE_RECENT;
                let line = tool(&recent.name, &recent.target, TOOL_NAME_COLUMNS, room);
                let after = if recent.failed { " (failed)" } else { "" };
                paint.text(Tone::Faint, &format!("    {line}{after}"))
            })
            .collect();
        lines.reverse();
        lines
    }

    /// The last line of the command that verifies, if it has printed any.
    pub(super) fn output(&self, width: usize, paint: Paint) -> Option<String> {
        let output = &self.verifying.as_ref()?.output;
        let line = format!("  │ {}", one_line(output, width.saturating_sub(4)));
        let is_shown = !output.is_empty() && width > 4;
        is_shown.then(|| paint.text(Tone::Faint, &line))
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
