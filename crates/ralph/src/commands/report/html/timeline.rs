//! The timeline: a row a task, a bar an iteration, as long as it took.

use ralph_core::{metrics::seconds, sanitize::truncate_middle};

use super::{LEFT, RIGHT, axis::Axis, drawing, dressed, markup::Markup, time_axis};
use crate::{commands::report::shape::Point, view::time::span};

/// Tasks that have a row: those that were worked at last.
const MOST_ROWS: usize = 30;
const ROW: f64 = 24.0;
const BAR: f64 = 16.0;
/// Bars are seen, however short the iteration was.
const LEAST_WIDTH: f64 = 3.0;

pub(super) fn timeline(points: &[Point], axis: &Axis) -> Markup {
    let rows = rows(points);
    let hidden = tasks(points) - rows.len();
    let top = 4.0;
    let bottom = top + ROW * rows.len() as f64;
    let mut svg = Markup::default();
    if hidden > 0 {
        svg.raw("<p class=\"faint\">The tasks that were worked at last; ")
            .number(hidden)
            .raw(" more are not drawn.</p>\n");
    }
    drawing(&mut svg, "timeline of iterations", bottom + 38.0);
    time_axis(&mut svg, axis, (top, bottom));
    for (row, task) in rows.iter().enumerate() {
        let y = top + ROW * row as f64;
        svg.raw("<line class=\"row\" x1=\"").place(LEFT);
        svg.raw("\" x2=\"").place(RIGHT);
        svg.raw("\" y1=\"").place(y + ROW);
        svg.raw("\" y2=\"").place(y + ROW);
        svg.raw("\"/>\n<text class=\"name\" x=\"").place(LEFT - 8.0);
        svg.raw("\" y=\"").place(y + 16.5);
        svg.raw("\">")
            .text(truncate_middle(task, 14))
            .raw("</text>\n");
        for point in points.iter().filter(|point| point.task_id == **task) {
            bar(&mut svg, point, axis, y + (ROW - BAR) / 2.0);
        }
    }
    svg.raw("</svg>\n</div>\n");
    svg
}

fn bar(svg: &mut Markup, point: &Point, axis: &Axis, y: f64) {
    let (class, sign, word) = dressed(point.look);
    let (from, to) = (axis.x(point.started_at), axis.x(point.ended_at));
    let width = (to - from - 1.0).max(LEAST_WIDTH);
    svg.raw("<g class=\"bar ").raw(class).raw("\"><title>");
    svg.text(format!(
        "iteration {}, {}, attempt {}: {word}, {}",
        point.iteration,
        point.task_id,
        point.attempt,
        span(seconds(point.started_at, point.ended_at))
    ));
    svg.raw("</title><rect x=\"").place(from);
    svg.raw("\" y=\"").place(y);
    svg.raw("\" width=\"").place(width);
    svg.raw("\" height=\"").place(BAR);
    svg.raw("\" rx=\"2\"/>");
    if width > 13.0 {
        svg.raw("<text x=\"").place(from + width / 2.0);
        svg.raw("\" y=\"").place(y + 12.0);
        svg.raw("\">").raw(sign).raw("</text>");
    }
    svg.raw("</g>\n");
}

/// The tasks with a row, in the order in which they were first worked at.
fn rows(points: &[Point]) -> Vec<&str> {
    let mut last: Vec<&str> = Vec::new();
    for point in points.iter().rev() {
        if last.len() == MOST_ROWS {
            break;
        }
        if !last.contains(&point.task_id.as_str()) {
            last.push(&point.task_id);
        }
    }
    let mut rows: Vec<&str> = Vec::new();
    for point in points {
        let id = point.task_id.as_str();
        if last.contains(&id) && !rows.contains(&id) {
            rows.push(id);
        }
    }
    rows
}

fn tasks(points: &[Point]) -> usize {
    let ids = points.iter().map(|point| point.task_id.as_str());
    ids.collect::<std::collections::HashSet<_>>().len()
}
