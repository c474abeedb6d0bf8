//! The drawings of the page: where everything stands, in pixels. Writes no markup.

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;
use ralph_core::{
    dollars::Dollars,
    figures,
    sanitize::{one_line, truncate_middle},
    time::seconds,
};
use serde::Serialize;

use super::axis::{Axis, AxisLabel};
use crate::{
    commands::report::{
        economics::{Economics, ModelSum},
        shape::{Point, PointOutcome, ReportFacts},
    },
    view::scale::ceiling,
};

/// Width of a drawing, and where its axes begin and end.
pub(super) const WIDTH: f64 = 760.0;
pub(super) const LEFT: f64 = 120.0;
pub(super) const RIGHT: f64 = 744.0;
/// The name shown for calls to an unnamed model.
pub(super) const NO_MODEL: &str = "unknown model";

/// Iterations that are drawn at most: the newest.
const MOST_DRAWN: usize = 1_000;
/// Tasks that have a row in the timeline: those that were worked at last.
const MOST_ROWS: usize = 30;
/// Tasks that are listed with their outcomes, and attempts of one of them.
const MOST_TASKS: usize = 100;
const MOST_ATTEMPTS: usize = 40;
/// Bars of models.
const MOST_BARS: usize = 12;

#[derive(Serialize)]
pub(super) struct Plots<'a> {
    drawn: usize,
    left_out: usize,
    /// Those that occur: the legend.
    outcomes: Vec<OutcomeSign>,
    pauses: Vec<f64>,
    labels: Vec<AxisLabel>,
    timeline: Timeline<'a>,
    curve: Option<Curve<'a>>,
    by_model: Option<ModelBars<'a>>,
    tasks: Vec<TaskOutcomes<'a>>,
    tasks_left_out: usize,
}

/// The look of an outcome: never a colour alone.
#[derive(Clone, Copy, Serialize)]
struct OutcomeSign {
    class: &'static str,
    sign: &'static str,
    word: &'static str,
}

/// A row a task, a bar an iteration, as long as it took.
#[derive(Serialize)]
struct Timeline<'a> {
    top: f64,
    bottom: f64,
    rows: Vec<TimelineRow<'a>>,
    tasks_left_out: usize,
}

#[derive(Serialize)]
struct TimelineRow<'a> {
    id: &'a str,
    name: String,
    baseline: f64,
    bottom: f64,
    bars: Vec<TimelineBar>,
}

#[derive(Serialize)]
struct TimelineBar {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    iteration: u64,
    attempt: u32,
    seconds: f64,
    outcome: OutcomeSign,
}

/// The cost up to each moment, and the commits that landed.
#[derive(Serialize)]
struct Curve<'a> {
    unit: Unit,
    top: f64,
    bottom: f64,
    levels: Vec<CurveLevel>,
    points: Vec<CurvePoint>,
    dots: Vec<LandedDot<'a>>,
}

#[derive(Serialize)]
struct CurveLevel {
    y: f64,
    label: String,
}

#[derive(Clone, Copy, Serialize)]
struct CurvePoint {
    x: f64,
    y: f64,
}

#[derive(Serialize)]
struct LandedDot<'a> {
    #[serde(flatten)]
    at: CurvePoint,
    task_id: &'a str,
    iteration: u64,
    spent: String,
}

/// The dearest model first.
#[derive(Serialize)]
struct ModelBars<'a> {
    unit: Unit,
    height: f64,
    bars: Vec<ModelBar<'a>>,
}

#[derive(Serialize)]
struct ModelBar<'a> {
    model: &'a str,
    /// As much of it as fits before the bar.
    name: String,
    figure: String,
    y: f64,
    width: f64,
    height: f64,
}

/// A square an attempt, in the order in which they were made.
#[derive(Serialize)]
struct TaskOutcomes<'a> {
    id: &'a str,
    title: &'a str,
    left_out: usize,
    attempts: Vec<AttemptOutcome>,
}

#[derive(Serialize)]
struct AttemptOutcome {
    iteration: u64,
    outcome: OutcomeSign,
}

/// The unit of a chart: tokens, if the cost is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Unit {
    #[serde(rename = "Cost")]
    Dollars,
    Tokens,
}

impl<'a> Plots<'a> {
    /// `None` where there is no iteration to draw.
    pub(super) fn new(facts: &'a ReportFacts, zone: &TimeZone) -> Option<Self> {
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
        let mut tasks = outcomes(points);
        let tasks_left_out = tasks.len().saturating_sub(MOST_TASKS);
        tasks.truncate(MOST_TASKS);
        Some(Self {
            drawn: points.len(),
            left_out,
            outcomes: looks.into_iter().map(OutcomeSign::of).collect(),
            pauses: axis.pauses().collect(),
            labels: axis.labels(),
            timeline: timeline(points, &axis),
            curve: curve(points, &axis),
            by_model: model_bars(&facts.economics),
            tasks,
            tasks_left_out,
        })
    }
}

impl OutcomeSign {
    fn of(look: PointOutcome) -> Self {
        let (class, sign, word) = match look {
            PointOutcome::Verified => ("ok", "✓", "verified"),
            PointOutcome::Unverified => ("unsure", "~", "completed, unverified"),
            PointOutcome::TakenBack => ("other", "↶", "taken back"),
            PointOutcome::Failed => ("bad", "✗", "did not land"),
            PointOutcome::Asks => ("asks", "?", "asked a person"),
            PointOutcome::Diagnosed => ("asks", "⌕", "looked for the cause"),
            PointOutcome::Other => ("other", "–", "limit, interruption or outage"),
        };
        Self { class, sign, word }
    }
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
            Self::Dollars => figures::usd(value),
            Self::Tokens => figures::compact(value as u64),
        }
    }
}

/// The cost that counts; in old journals without calls, the one that the agent reported.
fn dollars(point: &Point) -> Option<f64> {
    point.spent_usd.map(Dollars::usd).or(point.cost_usd)
}

fn timeline<'a>(points: &'a [Point], axis: &Axis) -> Timeline<'a> {
    const TOP: f64 = 4.0;
    const ROW: f64 = 24.0;
    const BAR: f64 = 16.0;
    /// Bars are seen, however short the iteration was.
    const LEAST_WIDTH: f64 = 3.0;

    let tasks = last_worked(points);
    let all: HashSet<&str> = points.iter().map(|point| point.task_id.as_str()).collect();
    let bar = |point: &Point, y: f64| {
        let (from, to) = (axis.x(point.started_at), axis.x(point.ended_at));
        TimelineBar {
            x: from,
            y: y + (ROW - BAR) / 2.0,
            width: (to - from - 1.0).max(LEAST_WIDTH),
            height: BAR,
            iteration: point.iteration,
            attempt: point.attempt,
            seconds: seconds(point.started_at, point.ended_at),
            outcome: OutcomeSign::of(point.look),
        }
    };
    let rows = tasks.iter().enumerate().map(|(at, id)| {
        let y = TOP + ROW * at as f64;
        let own = points.iter().filter(|point| point.task_id == *id);
        TimelineRow {
            id,
            name: truncate_middle(id, 14).into_owned(),
            baseline: y + 16.5,
            bottom: y + ROW,
            bars: own.map(|point| bar(point, y)).collect(),
        }
    });
    Timeline {
        top: TOP,
        bottom: TOP + ROW * tasks.len() as f64,
        rows: rows.collect(),
        tasks_left_out: all.len() - tasks.len(),
    }
}

/// The tasks that were worked at last, in the order in which they were first worked at.
fn last_worked(points: &[Point]) -> Vec<&str> {
    let mut last = HashSet::new();
    for point in points.iter().rev() {
        if last.len() == MOST_ROWS {
            break;
        }
        last.insert(point.task_id.as_str());
    }
    let ids = points.iter().map(|point| point.task_id.as_str());
    ids.filter(|id| last.remove(id)).collect()
}

/// A line that climbs while an iteration lasts, and a dot where one landed verified.
fn curve<'a>(points: &'a [Point], axis: &Axis) -> Option<Curve<'a>> {
    const TOP: f64 = 12.0;
    const BOTTOM: f64 = 172.0;

    let in_dollars = points.iter().any(|point| dollars(point).is_some());
    let unit = if in_dollars {
        Unit::Dollars
    } else {
        Unit::Tokens
    };
    let total: f64 = points.iter().map(|point| unit.of(point)).sum();
    if total <= 0.0 {
        return None;
    }
    let highest = ceiling(total);
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value / highest;
    let levels = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| CurveLevel {
        y: y(highest * share),
        label: unit.label(highest * share),
    });
    let mut spent = 0.0;
    let mut line = vec![CurvePoint { x: LEFT, y: y(0.0) }];
    let mut dots = Vec::new();
    for point in points {
        line.push(CurvePoint {
            x: axis.x(point.started_at),
            y: y(spent),
        });
        spent += unit.of(point);
        let at = CurvePoint {
            x: axis.x(point.ended_at),
            y: y(spent),
        };
        line.push(at);
        if point.look == PointOutcome::Verified && point.commit.is_some() {
            dots.push(LandedDot {
                at,
                task_id: &point.task_id,
                iteration: point.iteration,
                spent: unit.label(spent),
            });
        }
    }
    Some(Curve {
        unit,
        top: TOP,
        bottom: BOTTOM,
        levels: levels.into(),
        points: line,
        dots,
    })
}

fn model_bars(economics: &Economics) -> Option<ModelBars<'_>> {
    const ROW: f64 = 26.0;
    const BAR: f64 = 16.0;
    /// Room for the figure behind the longest bar.
    const FIGURE: f64 = 110.0;
    /// Letters of a name that fit before the bars.
    const NAME: usize = 17;

    let in_dollars = economics.total.spent_usd > Dollars::NOTHING;
    let unit = if in_dollars {
        Unit::Dollars
    } else {
        Unit::Tokens
    };
    let value = |one: &ModelSum| match unit {
        Unit::Dollars => one.figures.spent_usd.usd(),
        Unit::Tokens => one.figures.tokens.total() as f64,
    };
    let models = &economics.models[..economics.models.len().min(MOST_BARS)];
    let longest = models.iter().map(value).fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let bars = models.iter().enumerate().map(|(at, one)| {
        let model = one.model.as_deref().unwrap_or(NO_MODEL);
        ModelBar {
            model,
            name: one_line(model, NAME),
            figure: match unit {
                Unit::Dollars => one.figures.spent_usd.to_string(),
                Unit::Tokens => figures::compact(one.figures.tokens.total()),
            },
            y: at as f64 * ROW + (ROW - BAR) / 2.0,
            width: ((RIGHT - LEFT - FIGURE) * value(one) / longest).max(1.0),
            height: BAR,
        }
    });
    Some(ModelBars {
        unit,
        height: models.len() as f64 * ROW,
        bars: bars.collect(),
    })
}

fn outcomes(points: &[Point]) -> Vec<TaskOutcomes<'_>> {
    let mut tasks: Vec<TaskOutcomes<'_>> = Vec::new();
    let mut known = HashMap::new();
    for point in points {
        let at = *known.entry(point.task_id.as_str()).or_insert(tasks.len());
        if at == tasks.len() {
            tasks.push(TaskOutcomes {
                id: &point.task_id,
                title: "",
                left_out: 0,
                attempts: Vec::new(),
            });
        }
        tasks[at].title = &point.title;
        tasks[at].attempts.push(AttemptOutcome {
            iteration: point.iteration,
            outcome: OutcomeSign::of(point.look),
        });
    }
    for task in &mut tasks {
        task.left_out = task.attempts.len().saturating_sub(MOST_ATTEMPTS);
        task.attempts.drain(..task.left_out);
    }
    tasks
}
