//! The axis of time that plots share: as wide as the work took, with long pauses cut short.
//!
//! A loop that waits for a usage limit all night would otherwise be two dots at the edges.

use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

/// The width of a shortened pause.
const PAUSE: f64 = 18.0;
/// Least distance between two labels.
const LABEL: f64 = 64.0;

#[derive(Debug)]
pub(super) struct Axis {
    pieces: Vec<AxisPiece>,
    zone: TimeZone,
}

/// A stretch of time and where it is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AxisPiece {
    from: f64,
    to: f64,
    x0: f64,
    x1: f64,
    kind: PieceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    Work,
    /// Cut short.
    Pause,
}

/// Where a label stands, and what it says: the time, and the day where it is another one.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct AxisLabel {
    pub(super) x: f64,
    pub(super) time: String,
    pub(super) day: Option<String>,
}

impl Axis {
    /// An axis for these stretches of work, between two edges of the drawing.
    pub(super) fn new(
        spans: &[(Timestamp, Timestamp)],
        edges: std::ops::Range<f64>,
        zone: TimeZone,
    ) -> Self {
        let blocks = blocks(spans);
        let worked: f64 = blocks.iter().map(|(from, to)| to - from).sum();
        let long = (worked * 0.1).max(60.0);
        let mut times: Vec<(f64, f64, PieceKind)> = Vec::new();
        for (from, to) in blocks {
            if let Some((_, end, _)) = times.last().copied() {
                let is_pause = from - end > long;
                let kind = if is_pause {
                    PieceKind::Pause
                } else {
                    PieceKind::Work
                };
                times.push((end, from, kind));
            }
            times.push((from, to, PieceKind::Work));
        }
        let (work, pauses): (Vec<_>, Vec<_>) = times
            .iter()
            .partition(|(_, _, kind)| *kind == PieceKind::Work);
        let shown: f64 = work.iter().map(|(from, to, _)| to - from).sum();
        let (width, pauses) = (edges.end - edges.start, pauses.len() as f64);
        let pause = PAUSE.min(width * 0.3 / pauses.max(1.0));
        let scale = (width - pause * pauses) / shown.max(1.0);
        let mut x = edges.start;
        let pieces = times.into_iter().map(|(from, to, kind)| {
            let x0 = x;
            x += match kind {
                PieceKind::Work => (to - from) * scale,
                PieceKind::Pause => pause,
            };
            AxisPiece {
                from,
                to,
                x0,
                x1: x,
                kind,
            }
        });
        Self {
            pieces: pieces.collect(),
            zone,
        }
    }

    pub(super) fn x(&self, at: Timestamp) -> f64 {
        let at = second(at);
        let piece = self.pieces.iter().find(|piece| at <= piece.to);
        match piece.or(self.pieces.last()) {
            Some(piece) if piece.to > piece.from => {
                let share = (at - piece.from) / (piece.to - piece.from);
                piece.x0 + share.clamp(0.0, 1.0) * (piece.x1 - piece.x0)
            }
            Some(piece) => piece.x0,
            None => 0.0,
        }
    }

    /// The middle of each pause that is cut short.
    pub(super) fn pauses(&self) -> impl Iterator<Item = f64> {
        let pauses = self
            .pieces
            .iter()
            .filter(|piece| piece.kind == PieceKind::Pause);
        pauses.map(|piece| f64::midpoint(piece.x0, piece.x1))
    }

    /// Labels at round times, none over another.
    pub(super) fn labels(&self) -> Vec<AxisLabel> {
        let mut labels: Vec<AxisLabel> = Vec::new();
        let mut day = None;
        for at in self.marks() {
            let x = self.x(at);
            if labels.last().is_some_and(|last| x - last.x < LABEL) {
                continue;
            }
            let local = at.to_zoned(self.zone.clone());
            let today = local.date();
            labels.push(AxisLabel {
                x,
                time: local.strftime("%H:%M").to_string(),
                day: (day != Some(today)).then(|| local.strftime("%-d %b %Y").to_string()),
            });
            day = Some(today);
        }
        labels
    }

    /// Where work began, at first and after each pause, and round times within it.
    fn marks(&self) -> Vec<Timestamp> {
        const STEPS: [f64; 9] = [
            60.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21_600.0, 43_200.0, 86_400.0,
        ];
        let mut marks = Vec::new();
        let mut after_pause = true;
        for piece in &self.pieces {
            if piece.kind == PieceKind::Pause {
                after_pause = true;
                continue;
            }
            if after_pause {
                marks.extend(moment(piece.from));
            }
            after_pause = false;
            let scale = (piece.x1 - piece.x0) / (piece.to - piece.from).max(1.0);
            let step = STEPS.into_iter().find(|step| step * scale >= LABEL);
            let step = step.unwrap_or(86_400.0);
            let mut at = (piece.from / step).ceil() * step;
            // A piece of months has a label a day at most, and no more than fit.
            while at < piece.to && marks.len() < 500 {
                marks.extend(moment(at));
                at += step;
            }
        }
        marks
    }
}

/// The stretches in order, those that overlap as one.
fn blocks(spans: &[(Timestamp, Timestamp)]) -> Vec<(f64, f64)> {
    let seconds = spans.iter().map(|(from, to)| (second(*from), second(*to)));
    let mut spans: Vec<(f64, f64)> = seconds.map(|(a, b)| (a, b.max(a + 1.0))).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut blocks: Vec<(f64, f64)> = Vec::new();
    for (from, to) in spans {
        match blocks.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            Some(_) | None => blocks.push((from, to)),
        }
    }
    blocks
}

fn second(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

fn moment(second: f64) -> Option<Timestamp> {
    Timestamp::from_millisecond((second * 1000.0) as i64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Timestamp {
        format!("2026-01-{time}Z").parse().unwrap()
    }

    /// Ten minutes of work, a night, ten minutes of work.
    fn night() -> Axis {
        let spans = [
            (at("02T20:00:00"), at("02T20:10:00")),
            (at("03T08:00:00"), at("03T08:10:00")),
        ];
        Axis::new(&spans, 0.0..218.0, TimeZone::UTC)
    }

    #[test]
    fn a_night_is_as_wide_as_a_pause_and_the_rest_as_the_work_took() {
        let axis = night();
        let places = [
            "02T20:00:00",
            "02T20:05:00",
            "02T20:10:00",
            "03T08:00:00",
            "03T08:10:00",
        ];
        let found: Vec<f64> = places.iter().map(|time| axis.x(at(time)).round()).collect();
        assert_eq!(found, [0.0, 50.0, 100.0, 118.0, 218.0]);
        assert_eq!(axis.pauses().collect::<Vec<_>>(), [109.0]);
    }

    #[test]
    fn labels_tell_the_day_once_and_stand_apart() {
        let found: Vec<(String, Option<String>)> = night()
            .labels()
            .into_iter()
            .map(|label| (label.time, label.day))
            .collect();
        let day = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            [
                ("20:00".to_owned(), day("2 Jan 2026")),
                ("08:00".to_owned(), day("3 Jan 2026")),
            ]
        );
    }

    #[test]
    fn what_took_no_time_still_has_a_place() {
        let moment = at("02T20:00:00");
        let axis = Axis::new(&[(moment, moment)], 10.0..110.0, TimeZone::UTC);
        assert_eq!(axis.x(moment), 10.0);
        assert!(Axis::new(&[], 0.0..1.0, TimeZone::UTC).labels().is_empty());
    }
}
