//! The parts of the page that are lists and tables. Each is left out where there is nothing in it.

use super::markup::Markup;
use crate::{
    commands::report::{
        dress::Dress,
        shape::{Completed, Facts},
        show,
    },
    view::{
        figures::{count, short_commit},
        time::span,
    },
};

/// Rows of a table or lines of a list; `--json` has all.
const MOST: usize = 200;

/// What waits for a person, before all else.
pub(super) fn needs_a_person(facts: &Facts) -> Markup {
    let mut page = Markup::default();
    let Some(now) = &facts.now else {
        return page;
    };
    if now.questions.is_empty() && now.blocked.is_empty() {
        return page;
    }
    page.raw("<section class=\"careful\">\n<h2>Waits for a person</h2>\n<ul>\n");
    for held in now.questions.iter().take(MOST) {
        page.raw("<li><b>").text(held.task_id.as_str());
        page.raw("</b> asks: <q>")
            .text(&held.question)
            .raw("</q></li>\n");
    }
    for one in now.blocked.iter().take(MOST) {
        page.raw("<li><b>").text(one.task_id.as_str()).raw("</b>: ");
        page.text(one.by.join("; ")).raw("</li>\n");
    }
    page.raw("</ul>\n</section>\n");
    page
}

fn answered(page: &mut Markup, facts: &Facts) {
    let lines = facts.questions.iter().filter_map(|question| {
        let answer = question.answer.as_ref()?;
        let mut line = Markup::default();
        line.raw("<b>")
            .text(question.task_id.as_str())
            .raw("</b> <q>");
        line.text(&question.question).raw("</q> ");
        line.text(answer.how.word()).raw(", by ").text(&answer.by);
        let told = answer.told.iter().flat_map(|told| told.lines().skip(1));
        for told in told {
            line.raw(": ").text(told);
        }
        if let Some(amended) = &answer.amended {
            line.raw("; amended: <del>").text(&amended.before);
            line.raw("</del> <ins>").text(&amended.after).raw("</ins>");
        }
        Some(line)
    });
    list(page, "Questions that were answered", lines);
}

pub(super) fn sections(facts: &Facts) -> Markup {
    let mut page = Markup::default();
    completed(&mut page, facts);
    let failed = facts.failed_attempts.iter().map(|one| {
        let mut line = Markup::default();
        line.raw("iteration ")
            .text(one.iteration.to_string())
            .raw(", <b>");
        line.text(&one.task_id).raw("</b>, attempt ");
        line.text(one.attempt.to_string())
            .raw(": ")
            .text(&one.sentence);
        line
    });
    list(&mut page, "Attempts that did not land", failed);
    let diagnoses = facts.diagnoses.iter().map(|one| {
        let mut line = Markup::default();
        line.raw("iteration ").text(one.iteration.to_string());
        line.raw(", <b>").text(&one.task_id).raw("</b>, because ");
        line.text(&one.why).raw(": <q>").text(&one.text).raw("</q>");
        line
    });
    list(&mut page, "Diagnoses, as agents tell them", diagnoses);
    verification(&mut page, facts);
    let highlights = facts.highlights.iter().map(|one| {
        let mut line = Markup::default();
        line.raw("<b>").text(&one.task_id).raw("</b> ");
        line.raw(one.kind.verb())
            .raw(": <q>")
            .text(&one.text)
            .raw("</q>");
        line
    });
    list(&mut page, "Highlights, as agents tell them", highlights);
    let skipped = facts.now.iter().flat_map(|now| &now.skipped).map(|one| {
        let mut line = Markup::default();
        line.raw("<b>").text(one.task_id.as_str()).raw("</b> ");
        line.text(&one.title).raw(": ").text(&one.why);
        line
    });
    list(&mut page, "Skipped", skipped);
    answered(&mut page, facts);
    let flagged = facts.flagged.iter().map(|one| {
        let mut line = Markup::default();
        line.raw("iteration ")
            .text(one.iteration.to_string())
            .raw(", <b>");
        line.text(&one.task_id).raw("</b>: ").text(&one.what);
        line
    });
    list(&mut page, "Worth a look", flagged);
    let suggestions = facts.suggestions.iter().map(|one| {
        let mut line = Markup::default();
        line.number(one.number).raw(". <b>").text(&one.title);
        line.raw("</b> ").text(&one.description);
        line
    });
    list(&mut page, "Suggested by agents", suggestions);
    let left = show::left(facts, Dress::Plain).into_iter().map(|text| {
        let mut line = Markup::default();
        // Commands stand between backticks.
        for (at, part) in text.split('`').enumerate() {
            match at % 2 {
                0 => line.text(part),
                _ => line.raw("<code>").text(part).raw("</code>"),
            };
        }
        line
    });
    list(&mut page, "What is left", left);
    page
}

fn list(page: &mut Markup, name: &'static str, lines: impl Iterator<Item = Markup>) {
    let mut items = Markup::default();
    let mut hidden = 0;
    for (at, line) in lines.enumerate() {
        if at < MOST {
            items.raw("<li>").piece(&line).raw("</li>\n");
        } else {
            hidden += 1;
        }
    }
    if items.is_empty() {
        return;
    }
    page.raw("<section>\n<h2>")
        .raw(name)
        .raw("</h2>\n<ul>\n")
        .piece(&items);
    page.raw("</ul>\n");
    more(page, hidden);
    page.raw("</section>\n");
}

fn more(page: &mut Markup, hidden: usize) {
    if hidden > 0 {
        page.raw("<p class=\"faint\">… ").number(hidden);
        page.raw(" more; <code>ralph report --json</code> has all</p>\n");
    }
}

fn completed(page: &mut Markup, facts: &Facts) {
    if facts.completed.is_empty() {
        return;
    }
    page.raw("<section>\n<h2>Completed</h2>\n<div class=\"wide\">\n<table>\n<thead><tr>")
        .raw(
            "<th>Task</th><th class=\"n\">Commit</th><th class=\"half\">Verified by</th></tr></thead>\n<tbody>\n",
        );
    for one in facts.completed.iter().take(MOST) {
        page.raw("<tr><td><b>")
            .text(&one.task_id)
            .raw("</b> ")
            .text(&one.title);
        if one.attempt > 1 {
            page.raw(" <span class=\"faint\">at attempt ");
            page.text(one.attempt.to_string()).raw("</span>");
        }
        if let Some(said) = &one.summary {
            page.raw("<br><q class=\"faint\">").text(said).raw("</q>");
        }
        page.raw("</td><td class=\"n\">");
        if let Some(commit) = &one.commit {
            page.raw("<code>").text(short_commit(commit)).raw("</code>");
        }
        page.raw("</td><td>");
        verified_by(page, one);
        page.raw("</td></tr>\n");
    }
    page.raw("</tbody>\n</table>\n</div>\n");
    more(page, facts.completed.len().saturating_sub(MOST));
    page.raw("</section>\n");
}

fn verified_by(page: &mut Markup, one: &Completed) {
    if one.unverified {
        page.raw("<span class=\"unsure-text\">unverified: no command stood behind it</span>");
        return;
    }
    for (at, by) in one.verified_by.iter().enumerate() {
        if at > 0 {
            page.raw("<br>");
        }
        page.raw("<code>").text(&by.command);
        page.raw("</code> <span class=\"faint\" title=\"")
            .text(&by.outcome);
        page.raw("\">").text(span(by.seconds)).raw("</span>");
    }
}

fn verification(page: &mut Markup, facts: &Facts) {
    if facts.verification.is_empty() {
        return;
    }
    page.raw("<section>\n<h2>How it was verified</h2>\n<div class=\"wide\">\n<table>\n<thead><tr>")
        .raw("<th>Command</th><th class=\"n\">Runs</th><th class=\"n\">Passed</th>")
        .raw("<th class=\"n\">Failed</th><th class=\"n\">Time</th></tr></thead>\n<tbody>\n");
    for one in facts.verification.iter().take(MOST) {
        page.raw("<tr><td><code>")
            .text(&one.command)
            .raw("</code></td><td class=\"n\">");
        page.number(one.runs).raw("</td><td class=\"n\">");
        page.number(one.passed).raw("</td><td class=\"n\">");
        page.number(one.failed).raw("</td><td class=\"n\">");
        page.text(span(one.seconds)).raw("</td></tr>\n");
    }
    page.raw("</tbody>\n</table>\n</div>\n");
    let hidden = facts.verification.len().saturating_sub(MOST);
    if hidden > 0 {
        page.raw("<p class=\"faint\">… and ");
        page.text(count(hidden, "more command", "more commands"));
        page.raw("</p>\n");
    }
    page.raw("</section>\n");
}
