//! Cost over time: what was spent up to each moment, and what landed for it. Where nobody knows what
//! it cost, tokens.

use ralph_core::dollars::Dollars;

use super::{LEFT, RIGHT, axis::Axis, drawing, markup::Markup, time_axis};
use crate::{
    commands::report::shape::{Look, Point},
    view::{figures::short, scale::ceiling},
};

const TOP: f64 = 12.0;
const BOTTOM: f64 = 172.0;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Dollars,
    Tokens,
}

impl Unit {
    fn of(self, point: &Point) -> f64 {
        match self {
            Self::Dollars => dollars(point).unwrap_or(0.0),
            Self::Tokens => point.tokens as f64,
        }
    }

    fn label(self, value: f64) -> String {
        match self {
            Self::Dollars => format!("${value:.2}"),
            Self::Tokens => short(value as u64),
        }
    }
}

/// What counts as spent; in journals of before calls were kept, what the agent told.
fn dollars(point: &Point) -> Option<f64> {
    point.spent_usd.map(Dollars::usd).or(point.cost_usd)
}

pub(super) fn cost(points: &[Point], axis: &Axis) -> Markup {
    let mut section = Markup::default();
    let unit = match points.iter().any(|point| dollars(point).is_some()) {
        true => Unit::Dollars,
        false => Unit::Tokens,
    };
    let total: f64 = points.iter().map(|point| unit.of(point)).sum();
    if total <= 0.0 {
        return section;
    }
    match unit {
        Unit::Dollars => section.raw("<section>\n<h2>Cost over time</h2>\n"),
        Unit::Tokens => section.raw("<section>\n<h2>Tokens over time</h2>\n"),
    };
    section.raw("<p class=\"faint\">A dot is a commit that landed verified.</p>\n");
    drawing(&mut section, "cost over time", BOTTOM + 38.0);
    let top = ceiling(total);
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value / top;
    for quarter in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let value = top * quarter;
        section.raw("<line class=\"row\" x1=\"").place(LEFT);
        section.raw("\" x2=\"").place(RIGHT);
        section.raw("\" y1=\"").place(y(value));
        section.raw("\" y2=\"").place(y(value));
        section
            .raw("\"/>\n<text class=\"name\" x=\"")
            .place(LEFT - 8.0);
        section.raw("\" y=\"").place(y(value) + 4.0);
        section.raw("\">").text(unit.label(value)).raw("</text>\n");
    }
    time_axis(&mut section, axis, (TOP, BOTTOM));
    curve(&mut section, points, axis, (unit, &y));
    section.raw("</svg>\n</div>\n</section>\n");
    section
}

/// A line that climbs while an iteration lasts, the area below it, and a dot where one landed.
fn curve(svg: &mut Markup, points: &[Point], axis: &Axis, (unit, y): (Unit, &dyn Fn(f64) -> f64)) {
    let mut spent = 0.0;
    let mut line = vec![(LEFT, y(0.0))];
    let mut dots = Vec::new();
    for point in points {
        line.push((axis.x(point.started_at), y(spent)));
        spent += unit.of(point);
        let at = (axis.x(point.ended_at), y(spent));
        line.push(at);
        if point.look == Look::Verified && point.commit.is_some() {
            dots.push((at, point, spent));
        }
    }
    let end = line.last().map_or(LEFT, |(x, _)| *x);
    for (class, closes) in [("area", true), ("line", false)] {
        svg.raw("<path class=\"").raw(class).raw("\" d=\"M");
        for (at, (x, y)) in line.iter().enumerate() {
            if at > 0 {
                svg.raw("L");
            }
            svg.place(*x).raw(" ").place(*y);
        }
        if closes {
            svg.raw("L").place(end).raw(" ").place(BOTTOM).raw("Z");
        }
        svg.raw("\"/>\n");
    }
    for ((x, y), point, spent) in dots {
        svg.raw("<circle class=\"landed\" r=\"3.5\" cx=\"").place(x);
        svg.raw("\" cy=\"").place(y).raw("\"><title>");
        svg.text(format!(
            "{} landed in iteration {}, {} spent",
            point.task_id,
            point.iteration,
            unit.label(spent)
        ));
        svg.raw("</title></circle>\n");
    }
}
