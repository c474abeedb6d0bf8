//! The same for a person: a few lines a loop, or one.

use jiff::Timestamp;
use ralph_core::{
    breaker::BreakerState,
    health::{Choice, HealthReport, HealthState},
    monitor::ProcessState,
    sanitize::one_line,
    time::seconds,
};

use super::facts::{HealthFacts, LoopHealth, WorktreeHealth};
use crate::{
    output,
    view::{
        Cell, Table, Tone, cell,
        figures::{ago, ago_text, count, duration},
        paint,
    },
};

pub(super) fn render(facts: &HealthFacts, now: Timestamp) -> String {
    if facts.loops.is_empty() {
        let here = facts.here.as_ref().map(|here| worktree(here, now));
        return format!("no loop is running here\n{}", here.unwrap_or_default());
    }
    let loops: Vec<String> = facts.loops.iter().map(|one| block(one, now)).collect();
    loops.join("\n")
}

/// The breaker, and the last events that were kept: a loop that has ended leaves them behind.
fn worktree(here: &WorktreeHealth, now: Timestamp) -> String {
    let mut rows = Table::new(1, 2);
    let breaker = &here.breaker;
    let failed = match (breaker.failures, breaker.of) {
        (_, 0) => "no iterations yet".to_owned(),
        (0, of) => format!(
            "none of the last {} failed",
            count(of as usize, "iteration", "iterations")
        ),
        (failures, of) => format!("{failures} of the last {of} iterations failed"),
    };
    let state = state_word(breaker.state);
    let text = match breaker.state {
        BreakerState::Closed => format!("{state}: {failed}"),
        BreakerState::HalfOpen => format!("{state}: {failed}; the next one decides"),
        BreakerState::Open => {
            let left = breaker.until.map(|at| duration(seconds(now, at)));
            let left = left.map_or_else(String::new, |left| format!(" for another {left}"));
            format!("{state}{left}: {failed}; `ralph run` tries one at once")
        }
    };
    rows.row([
        cell(Tone::Faint, "breaker"),
        cell(breaker_tone(breaker.state), text),
    ]);
    for event in &here.events {
        let line = format!("{}, {}", event.line(), ago(event.at, now));
        rows.row([cell(Tone::Faint, "event"), cell(Tone::Plain, line)]);
    }
    // Not cut at the terminal's edge: what to do stands at the end of a line.
    rows.render_wrapped(output::width())
}

fn state_word(state: BreakerState) -> String {
    state.as_str().replace('_', "-")
}

fn breaker_tone(state: BreakerState) -> Tone {
    match state {
        BreakerState::Closed => Tone::Plain,
        BreakerState::HalfOpen => Tone::Careful,
        BreakerState::Open => Tone::Bad,
    }
}

/// One line, for who reads along without a terminal.
pub(super) fn line(one: &LoopHealth, now: Timestamp) -> String {
    let mut parts = vec![
        one.row.id.to_string(),
        one.row.worktree.clone(),
        process(one),
    ];
    if let Some(health) = &one.health {
        parts.push(format!("agent {}", health.state.as_str()));
        parts.push(doing(health));
        parts.extend(done_about_it(health));
        parts.extend(asks(health, now));
    }
    if let Some(note) = &one.note {
        parts.push(format!("monitor: {}", note.sentence));
    }
    one_line(&parts.join("; "), usize::MAX)
}

fn block(one: &LoopHealth, now: Timestamp) -> String {
    let what = match one.row.goal.as_str() {
        "" => one.row.source.clone(),
        goal => format!("{goal} ({})", one.row.source),
    };
    let mut head = Table::new(1, 0);
    head.row([
        cell(Tone::Name, one.row.id.as_str()),
        cell(Tone::Heading, what),
        cell(Tone::Faint, &one.row.worktree),
    ]);
    let mut rows = Table::new(1, 2);
    let mut row = |name: &str, value: Cell| rows.row([cell(Tone::Faint, name), value]);
    row("process", cell(process_tone(one), process(one)));
    if let Some(at) = &one.row.paused_at {
        row("paused", cell(Tone::Careful, ago_text(at, now)));
    }
    match &one.health {
        Some(health) => {
            for (name, tone, text) in of_health(one, health, now) {
                row(name, cell(tone, text));
            }
        }
        None => row("agent", cell(Tone::Faint, "it reports no health")),
    }
    if let Some(note) = &one.note {
        let text = format!("{}, {}", note.sentence, ago_text(&note.at, now));
        row("monitor", cell(Tone::Careful, text));
    }
    if one.process == ProcessState::Gone {
        let hint = format!("`ralph -C {} resume {}`", one.row.worktree, one.row.id);
        row("hint", cell(Tone::Name, hint));
    }
    let width = output::width();
    format!("{}{}", head.render(width), rows.render(width))
}

fn of_health(
    one: &LoopHealth,
    health: &HealthReport,
    now: Timestamp,
) -> Vec<(&'static str, Tone, String)> {
    let old = match one.process {
        ProcessState::Alive => String::new(),
        ProcessState::Hangs | ProcessState::Gone => {
            format!(", as of {}", ago(health.written_at, now))
        }
    };
    let since = duration(seconds(health.since, now));
    let state = format!("{} for {since}{old}", health.state.as_str());
    let when = |at: Option<Timestamp>| at.map_or_else(|| "none yet".to_owned(), |at| ago(at, now));
    let (tone, steps) = match (health.errors, health.steps) {
        (0, 0) => (Tone::Plain, "no steps yet".to_owned()),
        (0, steps) => (Tone::Plain, format!("none in the last {steps} steps")),
        (errors, steps) => (Tone::Careful, format!("{errors} of the last {steps} steps")),
    };
    let mut rows = vec![
        ("agent", state_tone(health.state), state),
        ("doing", Tone::Plain, doing(health)),
        ("heartbeat", Tone::Plain, when(health.last_heartbeat)),
        ("progress", Tone::Plain, when(health.last_progress)),
        ("errors", tone, steps),
    ];
    if health.repeats > 0 {
        let text = format!("the same call {} times", health.repeats);
        rows.push(("repeats", Tone::Plain, text));
    }
    if let Some(text) = done_about_it(health) {
        rows.push(("done", Tone::Careful, text));
    }
    if let Some(text) = asks(health, now) {
        rows.push(("asks", Tone::Bad, text));
    }
    let tone = breaker_tone(health.breaker);
    rows.push(("breaker", tone, state_word(health.breaker)));
    rows
}

fn doing(health: &HealthReport) -> String {
    let mut text = health.doing.clone();
    if let Some(agent) = &health.agent {
        text.push_str(&format!(" {agent}"));
    }
    if let Some(task) = &health.task_id {
        text.push_str(&format!(", task {task}"));
    }
    if let Some(n) = health.iteration {
        text.push_str(&format!(", iteration {n}"));
    }
    text
}

fn done_about_it(health: &HealthReport) -> Option<String> {
    let last = health.intervention?.as_str();
    let reminded = match health.nudges {
        1 => "reminded once".to_owned(),
        n => format!("reminded {n} times"),
    };
    Some(format!("{last}; {reminded}"))
}

fn asks(health: &HealthReport, now: Timestamp) -> Option<String> {
    let left = duration(seconds(now, health.answer_until?));
    let choices = Choice::ALL.map(Choice::as_str).join("|");
    Some(format!(
        "a person, for another {left}: `ralph intervene {choices}`"
    ))
}

fn process(one: &LoopHealth) -> String {
    let pid = one.pid.map_or_else(String::new, |pid| format!(" ({pid})"));
    let stopped = if one.stopped {
        ", stopped by a signal"
    } else {
        ""
    };
    format!("{}{pid}{stopped}", one.process.as_str())
}

fn process_tone(one: &LoopHealth) -> Tone {
    match one.process {
        ProcessState::Alive if !one.stopped => Tone::Good,
        ProcessState::Alive => Tone::Careful,
        ProcessState::Hangs | ProcessState::Gone => Tone::Bad,
    }
}

fn state_tone(state: HealthState) -> Tone {
    match state {
        HealthState::Healthy => Tone::Good,
        HealthState::Degraded => Tone::Careful,
        HealthState::Stuck | HealthState::Failing | HealthState::Terminated => Tone::Bad,
    }
}

/// The last line about a loop that has ended.
pub(super) fn over(one: &LoopHealth) -> String {
    let text = format!("{}; {}; over", one.row.id, one.row.worktree);
    paint(Tone::Plain, &one_line(&text, usize::MAX))
}
