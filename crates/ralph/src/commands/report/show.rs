//! A report as text that is also Markdown: to be read here, or put into a pull request.

use ralph_core::sanitize::one_line;

use super::facts::{Facts, Now};
use crate::{
    commands::status::facts::LoopState,
    view::{
        figures::{count, short_commit, usage},
        paint::{Tone, paint},
        time::span,
    },
};

/// Lines that a section has at most; `--json` has all.
const MOST: usize = 50;

pub(super) fn render(facts: &Facts) -> String {
    let mut text = format!(
        "{}\n\n",
        paint(Tone::Heading, &format!("# {}", title(facts)))
    );
    text.push_str(&summary(facts));
    if facts.loops.len() == 1 {
        ended(&mut text, facts);
    }
    section(&mut text, "Commits", &commits(facts));
    section(&mut text, "Completed", &completed(facts));
    section(&mut text, "Attempts that did not land", &failed(facts));
    if let Some(now) = &facts.now {
        section(&mut text, "Blocked", &blocked(now));
        section(&mut text, "Questions for a person", &questions(now));
        section(&mut text, "Skipped", &skipped(now));
    }
    section(&mut text, "Worth a look", &flagged(facts));
    section(&mut text, "Suggested by agents", &suggestions(facts));
    section(&mut text, "What is left", &left(facts));
    text
}

fn title(facts: &Facts) -> String {
    let branch = facts.loops.last().map_or("", |row| row.branch.as_str());
    match facts.loops.len() {
        1 => format!("{} on {branch}", facts.source),
        n => format!("{} on {branch}, {n} loops", facts.source),
    }
}

fn summary(facts: &Facts) -> String {
    let unverified = facts
        .completed
        .iter()
        .filter(|task| task.unverified)
        .count();
    let mut completed = count(facts.completed.len(), "task", "tasks");
    completed.push_str(" completed");
    if unverified > 0 {
        let said = format!(" ({unverified} unverified)");
        completed.push_str(&paint(Tone::Careful, &said));
    }
    let mut parts = vec![
        completed,
        count(facts.commits.len(), "commit", "commits"),
        count(facts.iterations, "iteration", "iterations"),
        span(facts.seconds),
    ];
    parts.extend(usage(&facts.usage));
    format!("{}.\n", parts.join(", "))
}

fn ended(text: &mut String, facts: &Facts) {
    for row in &facts.loops {
        let line = match row.state {
            LoopState::Running => "It is still running.".to_owned(),
            LoopState::Interrupted => "It was interrupted; `ralph run` goes on with it.".to_owned(),
            LoopState::Ended => {
                let why = row.sentence.as_deref().unwrap_or("for a reason unknown");
                format!("It ended: {}.", one_line(why, 500))
            }
        };
        text.push_str(&format!("{line}\n"));
    }
}

fn section(text: &mut String, name: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!(
        "\n{}\n\n",
        paint(Tone::Heading, &format!("## {name}"))
    ));
    for line in lines.iter().take(MOST) {
        text.push_str(&format!("- {line}\n"));
    }
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        text.push_str(&format!("- … {more} more; `ralph report --json` has all\n"));
    }
}

fn commits(facts: &Facts) -> Vec<String> {
    let line = |one: &super::facts::Commit| {
        let commit = paint(Tone::Name, short_commit(&one.commit));
        format!(
            "{commit} {} {}",
            one_line(&one.task_id, 120),
            one_line(&one.title, 100)
        )
    };
    facts.commits.iter().map(line).collect()
}

fn completed(facts: &Facts) -> Vec<String> {
    let line = |one: &super::facts::Completed| {
        let id = one_line(&one.task_id, 120);
        let mut line = format!("{id} {}", one_line(&one.title, 100));
        if one.attempt > 1 {
            line.push_str(&format!(", at attempt {}", one.attempt));
        }
        if one.unverified {
            let said = " — unverified: no command stood behind it";
            line.push_str(&paint(Tone::Careful, said));
        }
        if let Some(said) = &one.summary {
            line.push_str(&format!("\n  the agent says: {}", one_line(said, 300)));
        }
        line
    };
    facts.completed.iter().map(line).collect()
}

fn failed(facts: &Facts) -> Vec<String> {
    let line = |one: &super::facts::Failed| {
        format!(
            "iteration {}, {}, attempt {}: {}",
            one.iteration,
            one_line(&one.task_id, 120),
            one.attempt,
            one_line(&one.sentence, 300)
        )
    };
    facts.failed_attempts.iter().map(line).collect()
}

fn blocked(now: &Now) -> Vec<String> {
    let blocked = now.blocked.iter();
    blocked
        .map(|one| format!("{}: {}", one.task_id, one_line(&one.by.join("; "), 300)))
        .collect()
}

fn questions(now: &Now) -> Vec<String> {
    let questions = now.questions.iter();
    questions
        .map(|held| format!("{}: {}", held.task_id, one_line(&held.question, 500)))
        .collect()
}

fn skipped(now: &Now) -> Vec<String> {
    let skipped = now.skipped.iter();
    skipped
        .map(|one| format!("{}: {}", one.task_id, one_line(&one.reason, 300)))
        .collect()
}

fn flagged(facts: &Facts) -> Vec<String> {
    let line = |one: &super::facts::Flagged| {
        let task = one_line(&one.task_id, 120);
        format!(
            "iteration {}, {task}: {}",
            one.iteration,
            one_line(&one.what, 300)
        )
    };
    facts.flagged.iter().map(line).collect()
}

fn suggestions(facts: &Facts) -> Vec<String> {
    let line = |one: &super::facts::Suggested| {
        let title = one_line(&one.title, 100);
        let from = format!("(iteration {})", one.iteration);
        format!("{}. {title} {}", one.number, paint(Tone::Faint, &from))
    };
    let mut lines: Vec<String> = facts.suggestions.iter().take(MOST - 1).map(line).collect();
    if !lines.is_empty() {
        lines.push("`ralph tasks add --from-suggestions N` makes one a task".into());
    }
    lines
}

/// What is left to do, and what to do about it.
fn left(facts: &Facts) -> Vec<String> {
    let Some(now) = &facts.now else {
        return vec![format!(
            "{} can't be read now; `ralph lint` says why",
            facts.source
        )];
    };
    let tasks = &now.tasks;
    let open = tasks.total - tasks.completed - tasks.skipped;
    let branch = facts.loops.last().map_or("", |row| row.branch.as_str());
    if open == 0 {
        return vec![format!(
            "Nothing: all tasks are complete. The work is on `{branch}`."
        )];
    }
    let mut lines = vec![format!(
        "{open} of {} tasks: {} ready, {} waiting, {} blocked, {} failed",
        tasks.total, tasks.ready, tasks.waiting, tasks.blocked, tasks.failed
    )];
    if let Some(next) = &now.next {
        let title = one_line(&next.task.title, 100);
        lines.push(format!("`ralph run` goes on with {} {title}", next.task.id));
    }
    let last = facts.loops.last();
    let hint = last
        .and_then(|row| row.stop.as_ref())
        .and_then(|stop| stop.hint());
    lines.extend(hint.map(str::to_owned));
    lines
}
