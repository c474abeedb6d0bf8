//! The drawings of the page: where everything stands along the axes, in pixels. Writes no markup.

use std::collections::HashSet;

use jiff::tz::TimeZone;
use minijinja::{Value, context, value::Serde};
use ralph_core::{
    dollars::Dollars,
    figures,
    sanitize::{one_line, truncate_middle},
    time::seconds,
};

use super::axis::Axis;
use crate::{
    commands::{
        cost::figures::NO_MODEL,
        report::shape::{Economics, ModelSum, Point, PointOutcome, ReportFacts},
    },
    view::plot::ceiling,
};

/// Width of a drawing, and where its axes begin and end.
pub(super) const WIDTH: f64 = 760.0;
pub(super) const LEFT: f64 = 120.0;
pub(super) const RIGHT: f64 = 744.0;

/// Iterations that are drawn at most: the newest.
const MOST_DRAWN: usize = 1_000;
/// Tasks that have a row in the timeline: those that were worked at last.
const MOST_ROWS: usize = 30;
/// Tasks that are listed with their outcomes, and attempts of one of them.
const MOST_TASKS: usize = 100;
const MOST_ATTEMPTS: usize = 40;
/// Bars of models.
const MOST_BARS: usize = 12;

/// The unit of a chart: tokens, if the cost is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Dollars,
    Tokens,
}

/// `None` where there is no iteration to draw.
pub(super) fn plots(facts: &ReportFacts, zone: &TimeZone) -> Option<Value> {
    let left_out = facts.timeline.len().saturating_sub(MOST_DRAWN);
    let points = &facts.timeline[left_out..];
    if points.is_empty() {
        return None;
    }
    let spans: Vec<_> = points.iter().map(|p| (p.started_at, p.ended_at)).collect();
    let axis = Axis::new(&spans, LEFT..RIGHT, zone.clone());
    let mut looks: Vec<PointOutcome> = points.iter().map(|point| point.look).collect();
    looks.sort_unstable();
    looks.dedup();
    let mut seen = HashSet::new();
    let ids = points.iter().map(|point| point.task_id.as_str());
    let ids: Vec<&str> = ids.filter(|id| seen.insert(*id)).collect();
    let tasks = ids.iter().take(MOST_TASKS).map(|id| outcomes(points, id));
    Some(context! {
        drawn => points.len(),
        left_out,
        // Those that occur: the legend.
        outcomes => looks.into_iter().map(sign).collect::<Vec<_>>(),
        pauses => axis.pauses().collect::<Vec<_>>(),
        labels => Value::from(Serde(axis.labels())),
        timeline => timeline(points, &ids, &axis),
        curve => curve(points, &axis),
        by_model => model_bars(&facts.economics),
        tasks => tasks.collect::<Vec<_>>(),
        tasks_left_out => ids.len().saturating_sub(MOST_TASKS),
    })
}

/// The look of an outcome: never a colour alone.
fn sign(look: PointOutcome) -> Value {
    let (class, sign, word) = match look {
        PointOutcome::Verified => ("ok", "✓", "verified"),
        PointOutcome::Unverified => ("unsure", "~", "completed, unverified"),
        PointOutcome::TakenBack => ("other", "↶", "taken back"),
        PointOutcome::Failed => ("bad", "✗", "did not land"),
        PointOutcome::Asks => ("asks", "?", "asked a person"),
        PointOutcome::Diagnosed => ("asks", "⌕", "looked for the cause"),
        PointOutcome::Other => ("other", "–", "limit, interruption or outage"),
    };
    context! { class, sign, word }
}

impl Unit {
    /// Dollars, where there are any.
    fn of(in_dollars: bool) -> Self {
        if in_dollars {
            Self::Dollars
        } else {
            Self::Tokens
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Dollars => "Cost",
            Self::Tokens => "Tokens",
        }
    }

    fn label(self, value: f64) -> String {
        match self {
            Self::Dollars => figures::usd(value),
            Self::Tokens => figures::compact(value as u64),
        }
    }
}

/// A row a task, a bar an iteration, as long as it took; of the tasks that were worked at last.
fn timeline(points: &[Point], ids: &[&str], axis: &Axis) -> Value {
    /// Bars are seen, however short the iteration was.
    const LEAST_WIDTH: f64 = 3.0;

    let mut last = HashSet::new();
    for point in points.iter().rev() {
        if last.len() == MOST_ROWS {
            break;
        }
        last.insert(point.task_id.as_str());
    }
    let bar = |point: &Point| {
        let (from, to) = (axis.x(point.started_at), axis.x(point.ended_at));
        context! {
            x => from,
            width => (to - from - 1.0).max(LEAST_WIDTH),
            iteration => point.iteration,
            attempt => point.attempt,
            seconds => seconds(point.started_at, point.ended_at),
            outcome => sign(point.look),
        }
    };
    let rows = ids.iter().filter(|id| last.contains(*id)).map(|id| {
        let own = points.iter().filter(|point| point.task_id == *id);
        context! {
            id => *id,
            name => truncate_middle(id, 14),
            bars => own.map(bar).collect::<Vec<_>>(),
        }
    });
    context! {
        rows => rows.collect::<Vec<_>>(),
        tasks_left_out => ids.len() - last.len(),
    }
}

/// The cost up to each moment, as a line that climbs while an iteration lasts, and a dot where one landed
/// verified.
fn curve(points: &[Point], axis: &Axis) -> Option<Value> {
    const TOP: f64 = 12.0;
    const BOTTOM: f64 = 172.0;

    // The cost that counts; in old journals without calls, the one that the agent reported.
    let dollars = |point: &Point| point.spent_usd.map(Dollars::usd).or(point.cost_usd);
    let unit = Unit::of(points.iter().any(|point| dollars(point).is_some()));
    let used = |point: &Point| match unit {
        Unit::Dollars => dollars(point).unwrap_or(0.0),
        Unit::Tokens => point.tokens as f64,
    };
    let total: f64 = points.iter().map(used).sum();
    if total <= 0.0 {
        return None;
    }
    let highest = ceiling(total);
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value / highest;
    let levels = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| {
        let level = highest * share;
        context! { y => y(level), label => unit.label(level) }
    });
    let mut spent = 0.0;
    let mut line = vec![context! { x => LEFT, y => y(0.0) }];
    let mut dots = Vec::new();
    for point in points {
        line.push(context! { x => axis.x(point.started_at), y => y(spent) });
        spent += used(point);
        let at = context! { x => axis.x(point.ended_at), y => y(spent) };
        line.push(at.clone());
        if point.look == PointOutcome::Verified && point.commit.is_some() {
            dots.push(context! {
                at,
                task_id => point.task_id.as_str(),
                iteration => point.iteration,
                spent => unit.label(spent),
            });
        }
    }
    Some(context! {
        unit => unit.word(),
        top => TOP,
        bottom => BOTTOM,
        levels => levels.to_vec(),
        points => line,
        dots,
    })
}

/// The dearest model first.
fn model_bars(economics: &Economics) -> Option<Value> {
    /// Room for the figure behind the longest bar.
    const FIGURE: f64 = 110.0;
    /// Letters of a name that fit before the bars.
    const NAME: usize = 17;

    let unit = Unit::of(economics.used.total.spent_usd > Dollars::NOTHING);
    let value = |one: &ModelSum| match unit {
        Unit::Dollars => one.figures.spent_usd.usd(),
        Unit::Tokens => one.figures.tokens.total() as f64,
    };
    let models = &economics.models[..economics.models.len().min(MOST_BARS)];
    let longest = models.iter().map(value).fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let bars = models.iter().map(|one| {
        let model = one.model.as_deref().unwrap_or(NO_MODEL);
        context! {
            model,
            // As much of it as fits before the bar.
            name => one_line(model, NAME),
            figure => match unit {
                Unit::Dollars => one.figures.spent().to_string(),
                Unit::Tokens => figures::compact(one.figures.tokens.total()),
            },
            width => ((RIGHT - LEFT - FIGURE) * value(one) / longest).max(1.0),
        }
    });
    Some(context! { unit => unit.word(), bars => bars.collect::<Vec<_>>() })
}

/// A square an attempt, in the order in which they were made.
fn outcomes(points: &[Point], id: &str) -> Value {
    let own: Vec<&Point> = points.iter().filter(|point| point.task_id == id).collect();
    let left_out = own.len().saturating_sub(MOST_ATTEMPTS);
    let attempts = own[left_out..].iter().map(|point| {
        context! { iteration => point.iteration, outcome => sign(point.look) }
    });
    context! {
        id,
        title => own.last().map_or("", |point| point.title.as_str()),
        left_out,
        attempts => attempts.collect::<Vec<_>>(),
    }
}
