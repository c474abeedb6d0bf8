//! Outcome by task: a square an attempt, in the order in which they were made.

use super::{dressed, markup::Markup};
use crate::{commands::report::shape::Point, view::figures::count};

/// Tasks that are listed, and squares of one of them.
const MOST_TASKS: usize = 100;
const MOST_SQUARES: usize = 40;

pub(super) fn outcomes(points: &[Point]) -> Markup {
    let mut tasks: Vec<(&str, Vec<&Point>)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for point in points {
        let at = *known.entry(point.task_id.as_str()).or_insert_with(|| {
            tasks.push((&point.task_id, Vec::new()));
            tasks.len() - 1
        });
        tasks[at].1.push(point);
    }
    let mut section = Markup::default();
    section.raw("<section>\n<h2>Outcome by task</h2>\n<table class=\"outcomes\">\n<tbody>\n");
    for (id, points) in tasks.iter().take(MOST_TASKS) {
        section
            .raw("<tr><th scope=\"row\">")
            .text(id)
            .raw("</th><td>");
        section.text(points.last().map_or("", |point| point.title.as_str()));
        section.raw("</td><td class=\"squares\">");
        squares(&mut section, points);
        section.raw("</td></tr>\n");
    }
    section.raw("</tbody>\n</table>\n");
    let hidden = tasks.len().saturating_sub(MOST_TASKS);
    if hidden > 0 {
        section.raw("<p class=\"faint\">… and ");
        section.text(count(hidden, "more task", "more tasks"));
        section.raw("</p>\n");
    }
    section.raw("</section>\n");
    section
}

fn squares(section: &mut Markup, points: &[&Point]) {
    let hidden = points.len().saturating_sub(MOST_SQUARES);
    if hidden > 0 {
        section
            .raw("<span class=\"faint\">")
            .number(hidden)
            .raw(" before </span>");
    }
    for point in &points[hidden..] {
        let (class, sign, word) = dressed(point.look);
        section.raw("<i class=\"dot ").raw(class).raw("\" title=\"");
        section.text(format!("iteration {}: {word}", point.iteration));
        section.raw("\">").raw(sign).raw("</i>");
    }
}
