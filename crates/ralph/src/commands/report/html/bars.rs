//! Cost by model as bars, the dearest first. Where nobody knows what it cost, tokens.

use ralph_core::dollars::Dollars;

use super::{LEFT, RIGHT, drawing, markup::Markup};
use crate::{
    commands::report::economics::{Economics, ModelSum},
    view::figures::short,
};

/// Bars that are drawn.
const MOST: usize = 12;
const HEIGHT: f64 = 26.0;
const THICK: f64 = 16.0;
/// Room for the figure behind the longest bar.
const FIGURE: f64 = 110.0;
/// Letters of a name that fit before the bars.
const NAME: usize = 17;

pub(super) fn bars(economics: &Economics) -> Markup {
    let mut section = Markup::default();
    let models: Vec<&ModelSum> = economics.models.iter().take(MOST).collect();
    let in_dollars = economics.total.spent_usd > Dollars::NOTHING;
    let value = |one: &ModelSum| match in_dollars {
        true => one.figures.spent_usd.usd(),
        false => one.figures.tokens.total() as f64,
    };
    let longest = models.iter().map(|one| value(one)).fold(0.0, f64::max);
    if longest <= 0.0 {
        return section;
    }
    match in_dollars {
        true => section.raw("<section>\n<h2>Cost by model</h2>\n"),
        false => section.raw("<section>\n<h2>Tokens by model</h2>\n"),
    };
    drawing(&mut section, "cost by model", models.len() as f64 * HEIGHT);
    for (at, one) in models.iter().enumerate() {
        let top = at as f64 * HEIGHT + (HEIGHT - THICK) / 2.0;
        let width = (RIGHT - LEFT - FIGURE) * value(one) / longest;
        let name = one.model.as_deref().unwrap_or("no model named");
        let figure = match in_dollars {
            true => one.figures.spent_usd.to_string(),
            false => short(one.figures.tokens.total()),
        };
        section.raw("<g><title>").text(format!("{name}: {figure}"));
        section
            .raw("</title><text class=\"name\" x=\"")
            .place(LEFT - 8.0);
        section.raw("\" y=\"").place(top + 12.0).raw("\">");
        section.text(shortened(name)).raw("</text>\n");
        section
            .raw("<rect class=\"spent\" rx=\"3\" x=\"")
            .place(LEFT);
        section.raw("\" y=\"").place(top);
        section.raw("\" width=\"").place(width.max(1.0));
        section.raw("\" height=\"").place(THICK).raw("\"/>\n");
        section.raw("<text x=\"").place(LEFT + width.max(1.0) + 8.0);
        section.raw("\" y=\"").place(top + 12.0).raw("\">");
        section.text(figure).raw("</text></g>\n");
    }
    section.raw("</svg>\n</div>\n</section>\n");
    section
}

/// Of a long name the beginning; the whole is told to who points at it, and in the table below.
fn shortened(name: &str) -> String {
    match name.chars().count() > NAME {
        true => name.chars().take(NAME - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}
