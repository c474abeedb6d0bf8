//! Turns events into lines for people: which ones, and in which words.
//!
//! Shared by the log and the terminal, so that both say the same. Writes nothing. Remembers only
//! what a later line needs in order not to contradict or repeat an earlier one.

mod agent;
mod attention;
mod totals;
mod verdict;

pub(super) use agent::{TOOL_NAME_COLUMNS, tool};

use jiff::Timestamp;
use ralph_core::{
    command::CommandState,
    event::Event,
    figures::{count, duration},
    iteration::ChangedFile,
    sanitize::{columns, one_line},
    verify::{CleanOutcome, excerpt},
};

use super::{
    ReportStyle, Verbosity,
    page::{Extent, LineWidth, Page},
    paint::{Mark, Paint, Tone},
    waiting,
};

/// Longest sentence, title or name on a line of its own.
const MAX_SENTENCE: usize = 240;

/// Of a failure that a fresh run is about to fix.
const RETRY_TAIL_LINES: usize = 6;

/// Lines of the output of a command that failed; `-v` shows more, `-vv` all.
const EXCERPT_LINES: usize = 12;
const VERBOSE_EXCERPT_LINES: usize = 60;

/// Columns that commands are padded to, so that their times stand below one another.
const COMMAND_COLUMNS: usize = 36;

/// Files that are named at normal verbosity.
const MAX_FILES_NAMED: usize = 4;

/// The place where the agent's tools are shown at normal verbosity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tools {
    Listed,
    /// The status line shows them.
    InStatus,
}

pub(super) struct HumanText {
    look: ReportStyle,
    tools: Tools,
    width: LineWidth,
    memory: Memory,
}

#[derive(Default)]
struct Memory {
    /// Commands of the baseline: none can't be green.
    baseline: usize,
    /// The refusal of the inspection, until the verdict has said it.
    refusal: Option<String>,
    /// The number of such tasks in this run of the command.
    unverified_tasks: usize,
    /// The last tool line: the same one twice says nothing new.
    tool: String,
    /// Tools that have not ended, by id.
    running: Vec<(String, String)>,
    /// The output of a command that failed stands below it already.
    failure_shown: bool,
}

impl HumanText {
    pub(super) fn new(look: ReportStyle, tools: Tools, width: LineWidth) -> Self {
        Self {
            look,
            tools,
            width,
            memory: Memory::default(),
        }
    }

    /// For a terminal that was resized.
    pub(super) fn set_columns(&mut self, columns: usize) {
        self.width = LineWidth::Terminal(columns);
    }

    /// Events that happened at once as whole lines; empty if none of them is shown.
    pub(super) fn render(&mut self, events: &[Event], at: Timestamp) -> String {
        let paint = Paint(self.look.colours);
        let mut page = Page::new(at, &self.look.time_zone, paint, self.width);
        for event in events {
            if self.look.verbosity == Verbosity::Quiet {
                self.quiet(&mut page, event);
            } else {
                self.all(&mut page, event, at);
            }
        }
        page.into_text()
    }

    /// Renders only what needs a person, and the end.
    fn quiet(&mut self, page: &mut Page, event: &Event) {
        match event {
            Event::Warning { message } => page.marked(Mark::Look, &safe(message)),
            Event::BaselineEnded { red } => self.baseline_red(page, red),
            Event::CleanChecked {
                outcome: CleanOutcome::Failed,
                message,
                ..
            } => page.marked(Mark::Look, &safe(message)),
            Event::TaskBlocked { task, reason } => blocked(page, task, reason),
            Event::Gutter { .. } | Event::Question { .. } | Event::BudgetAlert { .. } => {
                attention::render(page, event);
            }
            Event::Intervention { .. } if attention::needs_a_person(event) => {
                attention::render(page, event);
            }
            Event::Landed {
                unverified: true, ..
            } => self.memory.unverified_tasks += 1,
            Event::LoopEnded { .. } => self.one_line_end(page, event),
            Event::LoopStarted { .. }
            | Event::Notice { .. }
            | Event::BaselineStarted { .. }
            | Event::CleanChecked { .. }
            | Event::IterationStarted { .. }
            | Event::RunStarted { .. }
            | Event::Agent(_)
            | Event::Inspected { .. }
            | Event::VerifyStarted { .. }
            | Event::VerifyOutput { .. }
            | Event::VerifyEnded { .. }
            | Event::Landed { .. }
            | Event::Waiting { .. }
            | Event::Commanded { .. }
            | Event::Diagnosis { .. }
            | Event::HandoffAsked { .. }
            | Event::Health { .. }
            | Event::Intervention { .. }
            | Event::Breaker { .. }
            | Event::IterationEnded { .. } => {}
        }
    }

    fn all(&mut self, page: &mut Page, event: &Event, at: Timestamp) {
        match event {
            Event::LoopStarted { .. } => self.loop_started(page, event),
            Event::Notice { message } => page.line(&safe(message)),
            Event::Warning { message } => page.marked(Mark::Look, &safe(message)),
            Event::BaselineStarted { commands } => self.baseline_started(page, *commands),
            Event::BaselineEnded { red } if red.is_empty() && self.memory.baseline > 0 => {
                let said = "baseline: all verify commands pass before any work";
                page.marked(Mark::Good, said);
            }
            Event::BaselineEnded { red } => self.baseline_red(page, red),
            Event::CleanChecked {
                outcome,
                message,
                tail,
                ..
            } => {
                let mark = match outcome {
                    CleanOutcome::Passed => Mark::Good,
                    CleanOutcome::Failed | CleanOutcome::NotChecked => Mark::Look,
                };
                page.marked(mark, &safe(message));
                page.quote(tail, Extent::Last(RETRY_TAIL_LINES));
            }
            Event::IterationStarted { .. } => self.iteration_started(page, event),
            Event::RunStarted {
                run,
                fix_only,
                tail,
                agent: _,
            } => {
                if !self.memory.failure_shown {
                    page.quote(tail, Extent::Last(RETRY_TAIL_LINES));
                }
                self.memory.failure_shown = false;
                self.run_started(page, *run, *fix_only);
            }
            Event::Agent(event) => self.agent(page, event),
            Event::Inspected {
                files,
                flags,
                refusal,
            } => {
                self.changed(page, files);
                for flag in flags {
                    page.indented(Mark::Look, &safe(flag));
                }
                self.memory.refusal.clone_from(refusal);
            }
            Event::VerifyStarted { command } if self.shows(Verbosity::Verbose) => {
                page.indented(Mark::Begin, &safe(command));
            }
            Event::VerifyStarted { .. } | Event::VerifyOutput { .. } => {}
            Event::VerifyEnded { .. } => self.verify_ended(page, event),
            Event::Landed { .. } => self.landed(page, event),
            Event::IterationEnded { .. } => self.iteration_ended(page, event),
            Event::Waiting {
                reason,
                until,
                nth,
                detail,
                ..
            } => {
                // The status line counts down where there is one.
                if *nth == 1 || self.tools == Tools::Listed {
                    let said = waiting::sentence(*reason, *until, at, &self.look.time_zone);
                    let more = if detail.is_empty() { "" } else { ": " };
                    page.marked(Mark::Look, &format!("{said}{more}{}", safe(detail)));
                }
            }
            Event::TaskBlocked { task, reason } => blocked(page, task, reason),
            Event::Commanded {
                command, report, ..
            } => {
                let mark = match report.state {
                    CommandState::Done => Mark::Begin,
                    CommandState::Refused => Mark::Look,
                };
                let said = format!("ralph {}: {}", safe(command), safe(&report.sentence));
                page.marked(mark, &said);
            }
            Event::Gutter { .. }
            | Event::Diagnosis { .. }
            | Event::Question { .. }
            | Event::HandoffAsked { .. }
            | Event::Health { .. }
            | Event::Intervention { .. }
            | Event::BudgetAlert { .. }
            | Event::Breaker { .. } => attention::render(page, event),
            Event::LoopEnded { .. } => self.loop_ended(page, event),
        }
    }

    fn shows(&self, least: Verbosity) -> bool {
        self.look.verbosity >= least
    }

    fn baseline_started(&mut self, page: &mut Page, commands: usize) {
        self.memory.baseline = commands;
        if commands > 0 {
            let commands = count(commands, "command", "commands");
            let said = format!("baseline: {commands} before any work");
            page.marked(Mark::Begin, &said);
        }
    }

    fn baseline_red(&self, page: &mut Page, red: &[String]) {
        for command in red {
            let said = format!("already fails before any work: {}", safe(command));
            page.marked(Mark::Look, &said);
        }
    }

    fn iteration_started(&mut self, page: &mut Page, event: &Event) {
        let Event::IterationStarted {
            iteration,
            iteration_id,
            task,
            title,
            attempt,
            max_attempts,
            nth,
            max_iterations,
            guidance,
            diagnoses,
        } = event
        else {
            return;
        };
        self.memory.refusal = None;
        self.memory.failure_shown = false;
        self.memory.tool.clear();
        page.blank();
        let guided = if *guidance > 0 {
            " (with guidance)"
        } else {
            ""
        };
        page.banner(
            &format!("Iteration {iteration}: {task}{guided}"),
            &match max_iterations {
                0 => nth.to_string(),
                max => format!("{nth} of {max}"),
            },
        );
        let title = page.paint().text(Tone::Heading, &safe(title));
        let which = match diagnoses {
            None => format!("attempt {attempt} of {max_attempts}"),
            Some(gutter) => format!("a diagnosis: {}", safe(&gutter.sentence())),
        };
        page.marked(Mark::Begin, &format!("{title} · {which}"));
        if self.shows(Verbosity::VeryVerbose) {
            page.more(&format!("iteration id {}", safe(iteration_id.as_str())));
        }
    }

    fn run_started(&mut self, page: &mut Page, run: u32, fix_only: bool) {
        self.memory.tool.clear();
        self.memory.running.clear();
        let what = match (run, fix_only) {
            (_, true) => "a new agent, to fix only what failed",
            (2.., false) => "a new agent",
            (_, false) if self.shows(Verbosity::Verbose) => "a new agent",
            (_, false) => return,
        };
        page.indented(Mark::Begin, &format!("run {run}: {what}"));
    }

    fn changed(&self, page: &mut Page, files: &[ChangedFile]) {
        if files.is_empty() {
            page.line("  changed nothing");
            return;
        }
        let named = |file: &ChangedFile| {
            let path = safe(&file.path);
            match file.kind.as_str() {
                "modified" => path,
                "added" => format!("{path} (new)"),
                other => format!("{path} ({})", safe(other).replace('_', " ")),
            }
        };
        let total = count(files.len(), "file", "files");
        if self.shows(Verbosity::Verbose) {
            page.line(&format!("  changed {total}"));
            for file in files {
                page.more(&format!("    {}", named(file)));
            }
            return;
        }
        let mut names: Vec<String> = files.iter().take(MAX_FILES_NAMED).map(named).collect();
        if files.len() > MAX_FILES_NAMED {
            names.push(format!("{} more", files.len() - MAX_FILES_NAMED));
        }
        page.line(&format!("  changed {total}: {}", names.join(", ")));
    }

    /// A command and how it ended; where it failed, with the lines that say what did.
    fn verify_ended(&mut self, page: &mut Page, event: &Event) {
        let Event::VerifyEnded {
            command,
            passed,
            seconds,
            against_baseline,
            tail,
            log,
        } = event
        else {
            return;
        };
        verify_line(page, (command, *passed), *seconds, against_baseline);
        // One that failed in the baseline, too, says so there.
        if *passed || tail.trim().is_empty() {
            return;
        }
        let most = match self.look.verbosity {
            Verbosity::Quiet | Verbosity::Normal => EXCERPT_LINES,
            Verbosity::Verbose => VERBOSE_EXCERPT_LINES,
            Verbosity::VeryVerbose => usize::MAX,
        };
        page.quote(&excerpt(tail, most), Extent::All);
        page.more(&format!("  log {}", safe(log)));
        self.memory.failure_shown = true;
    }
}

fn verify_line(
    page: &mut Page,
    (command, passed): (&str, bool),
    seconds: f64,
    against_baseline: &str,
) {
    let mark = if passed { Mark::Good } else { Mark::Bad };
    let command = safe(command);
    let pad = " ".repeat(COMMAND_COLUMNS.saturating_sub(columns(&command)));
    let time = duration(seconds);
    let mut text = format!("  {} {command}{pad} {time:>6}", page.paint().mark(mark));
    if let (false, Some(note)) = (passed, baseline_note(against_baseline)) {
        text.push_str(&format!("  {}", page.paint().text(Tone::Careful, &note)));
    }
    page.line(&text);
}

/// Describes the baseline's result for a failed command.
fn baseline_note(against_baseline: &str) -> Option<String> {
    match against_baseline {
        "" | "passed" => None,
        "regressed" => Some("regressed".into()),
        "already_broken" | "alreadyBroken" => Some("was already broken".into()),
        "new_failure" | "newFailure" => Some("not in the baseline".into()),
        other => Some(safe(other)),
    }
}

fn blocked(page: &mut Page, task: &str, reason: &str) {
    let said = format!("{} is blocked: {}", safe(task), safe(reason));
    page.marked(Mark::Look, &said);
}

/// One line that a terminal only shows.
fn safe(text: &str) -> String {
    one_line(text, MAX_SENTENCE)
}
