//! The loop as a whole: where it starts from, and how it ended.

use ralph_core::{
    event::{Blocked, Event, NextStep, Tally},
    figures::count,
    termination::Stop,
};

use super::{HumanText, safe, verdict::figures};
use crate::report::{
    Verbosity,
    page::Page,
    paint::{Mark, Tone},
};

/// Blocked tasks that are listed at normal verbosity.
const MAX_BLOCKED: usize = 20;

/// Commands that are longer do not push the others' descriptions to the right.
const WIDE: usize = 44;

impl HumanText {
    pub(super) fn loop_started(&mut self, page: &mut Page, event: &Event) {
        let Event::LoopStarted {
            loop_id,
            command,
            source,
            branch,
            from,
            agent,
            workspace,
            sandbox,
            tasks,
            max_iterations,
            resumed,
        } = event
        else {
            return;
        };
        let title = if *resumed {
            format!("{}, resumed", safe(command))
        } else {
            safe(command)
        };
        let date = page.date();
        page.banner(&title, &date);
        page.line(&format!("tasks   {} · {}", safe(source), tally(tasks)));
        let from = from.as_ref().map(|from| format!(" from {}", safe(from)));
        let from = from.unwrap_or_default();
        page.more(&format!("branch  {}{from}", safe(branch)));
        page.more(&format!("agent   {}", safe(agent)));
        page.more(&format!("where   {}", safe(workspace)));
        page.more(&format!("sandbox {}", safe(sandbox)));
        let most = match max_iterations {
            0 => "no limit of iterations".to_owned(),
            max => format!(
                "at most {}",
                count(*max as usize, "iteration", "iterations")
            ),
        };
        page.more(&format!("limits  {most}"));
        if *resumed {
            page.more("        continues the interrupted loop");
        }
        if self.shows(Verbosity::Verbose) {
            page.more(&format!("loop    {}", safe(loop_id.as_str())));
        }
    }

    pub(super) fn loop_ended(&mut self, page: &mut Page, event: &Event) {
        let Event::LoopEnded {
            stop,
            sentence,
            hint,
            exit_code,
            blocked,
            tasks,
            next,
            ..
        } = event
        else {
            return;
        };
        let title = if *exit_code == 0 { "Done" } else { "Stopped" };
        page.blank();
        let date = page.date();
        page.banner(title, &date);
        page.marked(
            mark(*exit_code),
            &page.paint().text(Tone::Heading, &safe(sentence)),
        );
        if let Stop::UsageLimit {
            resets_at: Some(at),
        } = stop
        {
            page.more(&format!("  that is {} here", self.local(*at)));
        }
        let (work, figures) = self.sums(event);
        page.more(&format!("  {work}"));
        page.more(&format!("  {figures}"));
        let most = if self.shows(Verbosity::Verbose) {
            usize::MAX
        } else {
            MAX_BLOCKED
        };
        for task in blocked.iter().take(most) {
            page.more(&format!("  {}", waits(task)));
        }
        if blocked.len() > most {
            page.more(&format!("  … {} more", blocked.len() - most));
        }
        if let Some(hint) = hint {
            page.more(&format!(
                "  {} {}",
                page.paint().text(Tone::Name, "hint:"),
                safe(hint)
            ));
        }
        if *exit_code != 0 {
            page.more(&format!("  exit code {exit_code}: {}", meaning(*exit_code)));
        }
        next_steps(page, next);
        // The last line of all: the work must not be taken for verified.
        let unverified = self.unverified(tasks);
        if *exit_code == 0 && unverified > 0 {
            let many = count(unverified, "task", "tasks");
            let words = format!("unverified: {many} without a verify command");
            page.more(&format!("  {}", page.paint().text(Tone::Careful, &words)));
        }
    }

    /// The end for `-q`.
    pub(super) fn one_line_end(&mut self, page: &mut Page, event: &Event) {
        let Event::LoopEnded {
            sentence,
            exit_code,
            ..
        } = event
        else {
            return;
        };
        let (work, figures) = self.sums(event);
        let mut text = format!("{} · {work} · {figures}", safe(sentence));
        if *exit_code != 0 {
            text.push_str(&format!(" · exit code {exit_code}"));
        }
        page.marked(mark(*exit_code), &text);
    }

    /// The tasks that no command verified, those of earlier loops among them; or steps towards a goal.
    fn unverified(&self, tasks: &Tally) -> usize {
        tasks.unverified.max(self.memory.unverified_tasks)
    }

    /// The completed work, and its time and cost.
    fn sums(&self, event: &Event) -> (String, String) {
        let Event::LoopEnded {
            iterations,
            tasks,
            seconds,
            usage,
            cost,
            ..
        } = event
        else {
            return Default::default();
        };
        let unverified = match self.unverified(tasks) {
            0 => String::new(),
            n => format!(", {n} unverified"),
        };
        let iterations = count(*iterations as usize, "iteration", "iterations");
        (
            format!("{}{unverified}", tally(tasks)),
            format!("{iterations} · {}", figures(*seconds, usage, cost)),
        )
    }
}

/// The commands that a person can type next, each with what it does: beside it, or below where not all of them
/// have the room.
fn next_steps(page: &mut Page, next: &[NextStep]) {
    if next.is_empty() {
        return;
    }
    page.more(&format!("  {}", page.paint().text(Tone::Name, "next:")));
    let width = next.iter().map(|step| step.command.chars().count());
    let width = width.filter(|width| *width <= WIDE).max().unwrap_or(0);
    let beside = next.iter().map(|step| {
        let command = safe(&step.command);
        format!("    {command:width$}   {}", safe(&step.what))
    });
    let beside: Vec<String> = beside.collect();
    if beside.iter().all(|line| page.has_room(line)) {
        beside.iter().for_each(|line| page.more(line));
        return;
    }
    for step in next {
        page.more(&format!("    {}", safe(&step.command)));
        page.more(&format!("      {}", safe(&step.what)));
    }
}

/// `2/6 complete (3 remaining: 2 ready, 1 waiting), 1 skipped`
fn tally(tasks: &Tally) -> String {
    let left = tasks.total.saturating_sub(tasks.completed + tasks.skipped);
    let others = [
        (tasks.ready, "ready"),
        (tasks.asking, "with a question"),
        (tasks.waiting, "waiting"),
        (tasks.blocked, "blocked"),
        (tasks.failed, "failed"),
    ];
    let others = others.into_iter().filter(|(n, _)| *n > 0);
    let others: Vec<String> = others.map(|(n, word)| format!("{n} {word}")).collect();
    let colon = if others.is_empty() { "" } else { ": " };
    let mut text = format!(
        "{}/{} complete ({left} remaining{colon}{})",
        tasks.completed,
        tasks.total,
        others.join(", ")
    );
    if tasks.skipped > 0 {
        text.push_str(&format!(", {} skipped", tasks.skipped));
    }
    text
}

fn waits(blocked: &Blocked) -> String {
    let task = safe(&blocked.task);
    if blocked.by.is_empty() {
        return format!("{task} can't be started");
    }
    format!("{task} can't be started: {}", safe(&blocked.by.join("; ")))
}

fn mark(exit_code: u8) -> Mark {
    match exit_code {
        0 => Mark::Good,
        1 | 2 | 7 => Mark::Bad,
        _ => Mark::Look,
    }
}

/// The meaning of an exit code of `ralph run`.
fn meaning(exit_code: u8) -> &'static str {
    match exit_code {
        0 => "everything asked for is complete",
        1 => "ralph itself failed",
        2 => "invalid usage, configuration or task file",
        3 => "stopped by a limit with work left",
        4 => "a person is needed",
        5 => "budget exhausted",
        6 => "agent unavailable",
        7 => "no progress",
        129.. => "interrupted, after a clean stop",
        _ => "unknown",
    }
}
