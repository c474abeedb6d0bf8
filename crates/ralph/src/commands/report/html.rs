//! A report as one page of HTML: no script, no network, no other file. The plots are drawings that
//! are made here.
//!
//! All that agents and files say goes in as text; see `markup`.

mod axis;
mod bars;
mod cost;
mod markup;
mod models;
mod outcomes;
mod sections;
mod tiles;
mod timeline;

use jiff::{Timestamp, tz::TimeZone};

use super::shape::{Facts, Look, Point};
use crate::commands::status::facts::LoopState;
use axis::Axis;
use markup::Markup;

/// Iterations that are drawn at most: the newest.
const MOST_DRAWN: usize = 1_000;
/// Width of a drawing, and where its axes begin and end.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 120.0;
const RIGHT: f64 = 744.0;

pub(super) fn render(facts: &Facts, now: Timestamp) -> String {
    let zone = TimeZone::system();
    let mut page = Markup::default();
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        // Nothing may be loaded or run, whatever should get into the page.
        .raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n")
        .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .raw("<meta name=\"color-scheme\" content=\"light dark\">\n<title>")
        .text(title(facts))
        .raw(" · ralph report</title>\n<style>\n")
        .raw(include_str!("html/style.css"))
        .raw("</style>\n</head>\n<body>\n<main>\n");
    header(&mut page, facts, &zone);
    page.piece(&tiles::tiles(facts));
    page.piece(&sections::needs_a_person(facts));
    plots(&mut page, facts, &zone);
    page.piece(&sections::sections(facts));
    page.raw("<footer>Made by ralph ")
        .text(env!("CARGO_PKG_VERSION"))
        .raw(" on ")
        .text(moment(now, &zone))
        .raw(". Times are ")
        .text(now.to_zoned(zone.clone()).strftime("%Z").to_string())
        .raw(". What agents say is quoted, and no evidence of anything.</footer>\n")
        .raw("</main>\n</body>\n</html>\n");
    page.into_text()
}

fn title(facts: &Facts) -> String {
    let branch = facts.loops.last().map_or("", |row| row.branch.as_str());
    format!("{} on {branch}", facts.source)
}

fn header(page: &mut Markup, facts: &Facts, zone: &TimeZone) {
    page.raw("<header>\n<p class=\"kind\">ralph report</p>\n<h1>")
        .text(title(facts))
        .raw("</h1>\n");
    let many = facts.loops.len();
    if many > 1 {
        page.raw("<p>").number(many).raw(" loops, the last:</p>\n");
    }
    if let Some(row) = facts.loops.last() {
        let when = |text: &str| match text.parse::<Timestamp>() {
            Ok(at) => moment(at, zone),
            Err(_) => text.to_owned(),
        };
        page.raw("<p class=\"faint\">with ")
            .text(&row.agent)
            .raw(", started ")
            .text(when(&row.started_at));
        if let Some(ended) = &row.ended_at {
            page.raw(", ended ").text(when(ended));
        }
        page.raw("</p>\n<p class=\"ended\">");
        match row.state {
            LoopState::Running => page.raw("It is still running."),
            LoopState::Interrupted => {
                page.raw("It was interrupted; <code>ralph run</code> goes on with it.")
            }
            LoopState::Ended => {
                let why = row.sentence.as_deref().unwrap_or("for a reason unknown");
                page.raw("It ended: ").text(why).raw(".")
            }
        };
        page.raw("</p>\n");
    }
    page.raw("</header>\n");
}

fn plots(page: &mut Markup, facts: &Facts, zone: &TimeZone) {
    let skipped = facts.timeline.len().saturating_sub(MOST_DRAWN);
    let points = &facts.timeline[skipped..];
    if points.is_empty() {
        return;
    }
    let spans: Vec<_> = points.iter().map(|p| (p.started_at, p.ended_at)).collect();
    let axis = Axis::new(&spans, (LEFT, RIGHT), zone.clone());
    page.raw("<section>\n<h2>Timeline</h2>\n");
    if skipped > 0 {
        page.raw("<p class=\"faint\">The plots show the newest ")
            .number(MOST_DRAWN)
            .raw(" of ")
            .number(facts.timeline.len())
            .raw(" iterations.</p>\n");
    }
    page.piece(&legend(points, &axis));
    page.piece(&timeline::timeline(points, &axis));
    page.raw("</section>\n");
    page.piece(&cost::cost(points, &axis));
    page.piece(&bars::bars(&facts.economics));
    page.piece(&models::models(&facts.parts));
    page.piece(&outcomes::outcomes(points));
}

fn legend(points: &[Point], axis: &Axis) -> Markup {
    let mut looks: Vec<Look> = points.iter().map(|point| point.look).collect();
    looks.sort_unstable();
    looks.dedup();
    let mut legend = Markup::default();
    legend.raw("<p class=\"legend\">");
    for look in looks {
        let (class, sign, word) = dressed(look);
        legend
            .raw("<span><i class=\"dot ")
            .raw(class)
            .raw("\">")
            .raw(sign)
            .raw("</i>")
            .raw(word)
            .raw("</span> ");
    }
    if axis.pauses().next().is_some() {
        legend.raw("<span><i class=\"gap\"></i>a pause, cut short</span>");
    }
    legend.raw("</p>\n");
    legend
}

/// The class, the sign and the word of an outcome: never told by its colour alone.
fn dressed(look: Look) -> (&'static str, &'static str, &'static str) {
    match look {
        Look::Verified => ("ok", "✓", "verified"),
        Look::Unverified => ("unsure", "~", "completed, unverified"),
        Look::TakenBack => ("other", "↶", "taken back"),
        Look::Failed => ("bad", "✗", "did not land"),
        Look::Asks => ("asks", "?", "asked a person"),
        Look::Diagnosed => ("asks", "⌕", "looked for the cause"),
        Look::Other => ("other", "–", "limit, interruption or outage"),
    }
}

/// The time labels below a drawing, the marks above them, and the pauses that are cut short.
fn time_axis(into: &mut Markup, axis: &Axis, (top, bottom): (f64, f64)) {
    for x in axis.pauses() {
        into.raw("<line class=\"pause\" x1=\"").place(x);
        into.raw("\" x2=\"").place(x);
        into.raw("\" y1=\"").place(top);
        into.raw("\" y2=\"").place(bottom);
        into.raw("\"><title>a pause, cut short</title></line>\n");
    }
    for label in axis.labels() {
        into.raw("<line class=\"tick\" x1=\"").place(label.x);
        into.raw("\" x2=\"").place(label.x);
        into.raw("\" y1=\"").place(top);
        into.raw("\" y2=\"").place(bottom + 4.0);
        into.raw("\"/>\n<text class=\"axis\" x=\"").place(label.x);
        into.raw("\" y=\"").place(bottom + 18.0);
        into.raw("\">").text(&label.time).raw("</text>\n");
        if let Some(day) = &label.day {
            into.raw("<text class=\"axis\" x=\"").place(label.x);
            into.raw("\" y=\"").place(bottom + 32.0);
            into.raw("\">").text(day).raw("</text>\n");
        }
    }
}

/// The beginning of a drawing, which the reader of a screen is told the name of.
fn drawing(into: &mut Markup, name: &'static str, height: f64) {
    into.raw("<div class=\"plot\">\n<svg role=\"img\" aria-label=\"")
        .raw(name);
    into.raw("\" viewBox=\"0 0 ")
        .place(WIDTH)
        .raw(" ")
        .place(height);
    into.raw("\">\n");
}

fn moment(at: Timestamp, zone: &TimeZone) -> String {
    let local = at.to_zoned(zone.clone());
    local.strftime("%-d %b %Y, %H:%M").to_string()
}
