//! The lines of each section of a report. A section without lines is left out.

use super::MOST;
use crate::{
    commands::report::{
        dress::Dress,
        economics::Economics,
        shape::{Commit, Completed, FailedAttempt, Flagged, Now, ReportFacts, Suggested},
    },
    view::{
        figures::{compact, count, duration, percent, short_commit, usd},
        paint::Tone,
    },
};

/// The success metrics in words.
pub(super) fn figures(facts: &ReportFacts) -> Vec<String> {
    let metrics = &facts.metrics;
    let figures = &metrics.figures;
    let mut lines = Vec::new();
    if let Some(share) = figures.verified_share {
        let all = count(facts.iterations, "iteration", "iterations");
        lines.push(format!(
            "{} of {all} ended with a verified commit ({})",
            figures.verified_commits,
            percent(share)
        ));
    }
    if let Some(each) = figures.iterations_per_task {
        lines.push(format!("{each:.1} iterations per completed task"));
    }
    if let Some(all) = metrics.iterations_per_feature {
        let all = count(all, "iteration", "iterations");
        lines.push(format!("the feature was complete after {all}"));
    }
    let open = match figures.not_recovered {
        0 => String::new(),
        n => format!("; {} not recovered", count(n, "task has", "tasks have")),
    };
    match figures.mean_seconds_to_recovery {
        Some(mean) => lines.push(format!(
            "{} from a failure to a verified attempt on average, over {}{open}",
            duration(mean),
            figures.recoveries
        )),
        None if figures.not_recovered > 0 => {
            lines.push(format!("no task recovered from a failure{open}"));
        }
        None => {}
    }
    if let Some(cost) = figures.cost_per_verified_task_usd {
        lines.push(format!("{} per verified task", usd(cost)));
    }
    lines.extend(economics(&facts.economics));
    if facts.iterations > 0 {
        lines.push(format!(
            "time spent by agents: {}, by verification: {}",
            duration(facts.agent_seconds),
            duration(facts.verify_seconds)
        ));
    }
    lines
}

/// The efficiency of token use, and the forecast beside the real cost.
fn economics(economics: &Economics) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(tokens) = economics.tokens_per_tool_call {
        let tools = count(economics.tool_calls as usize, "tool call", "tool calls");
        lines.push(format!(
            "{} tokens per tool call, over {tools}",
            compact(tokens as u64)
        ));
    }
    if let Some(rate) = economics.cache_hit_rate {
        let rate = percent(rate);
        lines.push(format!("{rate} of the input tokens came from a cache"));
    }
    let forecasts = economics.forecasts.iter();
    lines.extend(forecasts.map(|one| one.compared.sentence()));
    lines
}

pub(super) fn commits(list: &[Commit], dress: Dress) -> Vec<String> {
    let line = |one: &Commit| {
        let commit = dress.paint(Tone::Name, short_commit(&one.commit));
        let (id, title) = (dress.said(&one.task_id, 120), dress.said(&one.title, 100));
        let squashed = one.squashed_into.as_deref();
        let squashed = squashed.map_or_else(String::new, |into| {
            format!(" (squashed into {})", short_commit(into))
        });
        format!("{commit} {id} {title}{squashed}")
    };
    list.iter().map(line).collect()
}

pub(super) fn completed(facts: &ReportFacts, dress: Dress) -> Vec<String> {
    let line = |one: &Completed| {
        let (id, title) = (dress.said(&one.task_id, 120), dress.said(&one.title, 100));
        let mut line = format!("{id} {title}");
        if one.attempt > 1 {
            line.push_str(&format!(", at attempt {}", one.attempt));
        }
        if one.unverified {
            let said = " — unverified: no verify command for it";
            line.push_str(&dress.paint(Tone::Careful, said));
        } else if !one.verified_by.is_empty() {
            let by: Vec<String> = one
                .verified_by
                .iter()
                .map(|by| {
                    format!(
                        "{} ({})",
                        dress.code(&by.command, 100),
                        duration(by.seconds)
                    )
                })
                .collect();
            line.push_str(&format!("\n  verified by {}", by.join(", ")));
        }
        if let Some(said) = &one.summary {
            line.push_str(&format!("\n  the agent says: {}", dress.said(said, 300)));
        }
        line
    };
    facts.completed.iter().map(line).collect()
}

pub(super) fn failed(facts: &ReportFacts, dress: Dress) -> Vec<String> {
    let line = |one: &FailedAttempt| {
        format!(
            "iteration {}, {}, attempt {}: {}",
            one.iteration,
            dress.said(&one.task_id, 120),
            one.attempt,
            dress.said(&one.sentence, 300)
        )
    };
    facts.failed_attempts.iter().map(line).collect()
}

pub(super) fn diagnoses(facts: &ReportFacts, dress: Dress) -> Vec<String> {
    let diagnoses = facts.diagnoses.iter();
    diagnoses
        .map(|one| {
            let (task, why) = (dress.said(&one.task_id, 120), dress.said(&one.why, 300));
            let text = dress.said(&one.text, 1_000);
            format!("iteration {}, {task}, because {why}: {text}", one.iteration)
        })
        .collect()
}

pub(super) fn verification(facts: &ReportFacts, dress: Dress) -> Vec<String> {
    let commands = facts.verification.iter();
    commands
        .map(|one| {
            let runs = count(one.runs, "run", "runs");
            let command = dress.code(&one.command, 200);
            let (passed, failed) = (one.passed, one.failed);
            let took = duration(one.seconds);
            format!("{command}: {runs}, {passed} passed, {failed} failed, {took}")
        })
        .collect()
}

pub(super) fn highlights(facts: &ReportFacts, dress: Dress) -> Vec<String> {
    let highlights = facts.highlights.iter();
    highlights
        .map(|one| {
            let (task, text) = (dress.said(&one.task_id, 120), dress.said(&one.text, 300));
            format!("{} ({task}): {text}", one.kind.verb())
        })
        .collect()
}

pub(super) fn blocked(now: &Now, dress: Dress) -> Vec<String> {
    let blocked = now.blocked.iter();
    blocked
        .map(|one| {
            let id = dress.said(one.task_id.as_str(), 120);
            format!("{id}: {}", dress.said(&one.by.join("; "), 300))
        })
        .collect()
}

pub(super) fn skipped(now: &Now, dress: Dress) -> Vec<String> {
    let skipped = now.skipped.iter();
    let mut lines: Vec<String> = skipped
        .map(|one| {
            let id = dress.said(one.task_id.as_str(), 120);
            let (title, why) = (dress.said(&one.title, 100), dress.said(&one.why, 300));
            format!("{id} {title}: {why}")
        })
        .collect();
    let more = now.tasks.skipped.saturating_sub(lines.len());
    if more > 0 {
        lines.truncate(MOST - 1);
        let more = now.tasks.skipped - lines.len();
        lines.push(format!("… {more} more"));
    }
    lines
}

/// Answers of people, each with its question.
pub(super) fn answers(facts: &ReportFacts, dress: Dress) -> Vec<String> {
    let answered = facts.questions.iter().filter_map(|question| {
        let answer = question.answer.as_ref()?;
        let (task, asked) = (
            dress.said(question.task_id.as_str(), 120),
            dress.said(&question.question, 300),
        );
        let by = dress.said(&answer.by, 60);
        let mut line = format!(
            "iteration {}, {task}: {asked}\n  {}, by {by}",
            question.iteration,
            answer.how.word()
        );
        let told = answer.told.iter().flat_map(|told| told.lines().skip(1));
        let told: Vec<&str> = told.collect();
        if !told.is_empty() {
            line.push_str(&format!(": {}", dress.said(&told.join(" "), 300)));
        }
        if let Some(amended) = &answer.amended {
            let (before, after) = (
                dress.said(&amended.before, 200),
                dress.said(&amended.after, 200),
            );
            line.push_str(&format!("\n  amended: {before} → {after}"));
        }
        Some(line)
    });
    answered.collect()
}

pub(super) fn questions(now: &Now, dress: Dress) -> Vec<String> {
    let questions = now.questions.iter();
    questions
        .map(|held| {
            let id = dress.said(held.task_id.as_str(), 120);
            format!("{id}: {}", dress.said(&held.question, 500))
        })
        .collect()
}

pub(super) fn flagged(facts: &ReportFacts, dress: Dress) -> Vec<String> {
    let line = |one: &Flagged| {
        let task = dress.said(&one.task_id, 120);
        let what = dress.said(&one.what, 300);
        format!("iteration {}, {task}: {what}", one.iteration)
    };
    facts.flagged.iter().map(line).collect()
}

pub(super) fn suggestions(facts: &ReportFacts, dress: Dress) -> Vec<String> {
    let line = |one: &Suggested| {
        let title = dress.said(&one.title, 100);
        let from = format!("(iteration {})", one.iteration);
        format!(
            "{}. {title} {}",
            one.number,
            dress.paint(Tone::Faint, &from)
        )
    };
    let mut lines: Vec<String> = facts.suggestions.iter().take(MOST - 1).map(line).collect();
    if !lines.is_empty() {
        lines.push("`ralph tasks add --from-suggestions N` adds one as a task".into());
    }
    lines
}

/// Remaining work to do, and what to do about it.
pub(in crate::commands::report) fn left(facts: &ReportFacts, dress: Dress) -> Vec<String> {
    let Some(now) = &facts.now else {
        let source = dress.said(&facts.source, 200);
        return vec![format!("{source} can't be read; `ralph lint` shows why")];
    };
    let tasks = &now.tasks;
    let open = tasks.total - tasks.completed - tasks.skipped;
    let branch = facts.loops.last().map_or("", |row| row.branch.as_str());
    if open == 0 {
        let branch = dress.code(branch, 200);
        return vec![format!(
            "Nothing: all tasks are complete. The work is on {branch}."
        )];
    }
    let asking = match tasks.asking {
        0 => String::new(),
        asking => format!(" {asking} with a question,"),
    };
    let mut lines = vec![format!(
        "{open} of {} tasks: {} ready,{asking} {} waiting, {} blocked, {} failed",
        tasks.total, tasks.ready, tasks.waiting, tasks.blocked, tasks.failed
    )];
    if let Some(next) = &now.next {
        let id = dress.said(next.task.id.as_str(), 120);
        let title = dress.said(&next.task.title, 100);
        lines.push(format!("`ralph run` continues with {id} {title}"));
    }
    let last = facts.loops.last();
    let hint = last
        .and_then(|row| row.stop.as_ref())
        .and_then(|stop| stop.hint());
    lines.extend(hint.map(str::to_owned));
    lines
}
