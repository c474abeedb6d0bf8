//! A report as text that is also Markdown: to be read here, or put into a pull request.

mod lines;

pub(super) use lines::left;

use super::{dress::Dress, shape::ReportFacts};
use crate::{
    commands::status::facts::LoopState,
    view::{
        figures::{count, duration, usage},
        paint::Tone,
    },
};

/// Lines that a section has at most; `--json` has all.
const MOST: usize = 50;

pub(super) fn render(facts: &ReportFacts, dress: Dress) -> String {
    let heading = format!("# {}", title(facts, dress));
    let mut text = format!("{}\n\n", dress.paint(Tone::Heading, &heading));
    text.push_str(&summary(facts, dress));
    if facts.loops.len() == 1 {
        ended(&mut text, facts, dress);
    }
    let mut section = |name: &str, lines: &[String]| put_section(&mut text, name, lines, dress);
    let figures = lines::figures(facts);
    let figures: Vec<String> = figures.into_iter().map(|line| dress.plain(line)).collect();
    section("Figures", &figures);
    section("Commits", &lines::commits(&facts.commits, dress));
    section("Reverted", &lines::commits(&facts.reverted, dress));
    section("Completed", &lines::completed(facts, dress));
    section("Attempts that did not land", &lines::failed(facts, dress));
    section("Diagnoses by agents", &lines::diagnoses(facts, dress));
    section("Verification", &lines::verification(facts, dress));
    section("Highlights from agents", &lines::highlights(facts, dress));
    if let Some(now) = &facts.now {
        section("Blocked", &lines::blocked(now, dress));
        section("Skipped", &lines::skipped(now, dress));
        section("Open questions", &lines::questions(now, dress));
    }
    section("Answered questions", &lines::answers(facts, dress));
    section("Flags", &lines::flagged(facts, dress));
    section("Suggested by agents", &lines::suggestions(facts, dress));
    section("Remaining work", &lines::left(facts, dress));
    text
}

fn title(facts: &ReportFacts, dress: Dress) -> String {
    let branch = facts.loops.last().map_or("", |row| row.branch.as_str());
    let (source, branch) = (dress.said(&facts.source, 200), dress.said(branch, 200));
    match facts.loops.len() {
        1 => format!("{source} on {branch}"),
        n => format!("{source} on {branch}, {n} loops"),
    }
}

fn summary(facts: &ReportFacts, dress: Dress) -> String {
    let unverified = facts.completed.iter().filter(|task| task.unverified);
    let unverified = unverified.count();
    let mut completed = count(facts.completed.len(), "task", "tasks");
    completed.push_str(" completed");
    if unverified > 0 {
        let said = format!(" ({unverified} unverified)");
        completed.push_str(&dress.paint(Tone::Careful, &said));
    }
    let mut parts = vec![completed, count(facts.commits.len(), "commit", "commits")];
    if !facts.reverted.is_empty() {
        let said = format!("{} reverted", facts.reverted.len());
        parts.push(dress.paint(Tone::Careful, &said));
    }
    parts.extend([
        count(facts.iterations, "iteration", "iterations"),
        duration(facts.seconds),
    ]);
    parts.extend(usage(&facts.usage));
    format!("{}.\n", dress.plain(parts.join(", ")))
}

fn ended(text: &mut String, facts: &ReportFacts, dress: Dress) {
    for row in &facts.loops {
        let line = match row.state {
            LoopState::Running => "It is still running.".to_owned(),
            LoopState::Interrupted => "It was interrupted; `ralph run` continues it.".to_owned(),
            LoopState::Ended => {
                let why = row.sentence.as_deref().unwrap_or("for an unknown reason");
                format!("It ended: {}.", dress.said(why, 500))
            }
        };
        text.push_str(&format!("{line}\n"));
    }
}

fn put_section(text: &mut String, name: &str, lines: &[String], dress: Dress) {
    if lines.is_empty() {
        return;
    }
    let heading = dress.paint(Tone::Heading, &format!("## {name}"));
    text.push_str(&format!("\n{heading}\n\n"));
    for line in lines.iter().take(MOST) {
        text.push_str(&format!("- {line}\n"));
    }
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        text.push_str(&format!("- … {more} more; `ralph report --json` has all\n"));
    }
}
