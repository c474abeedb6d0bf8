//! What was spent by model and by kind of token, as a table.

use ralph_core::{dollars::Dollars, economics::Caller};
use ralph_engine::store::LoopModelCost;

use super::markup::Markup;
use crate::view::figures::short;

/// Rows that are shown.
const MOST: usize = 30;

pub(super) fn models(parts: &[LoopModelCost]) -> Markup {
    let mut section = Markup::default();
    if parts.is_empty() {
        return section;
    }
    section
        .raw("<section>\n<h2>Cost by model and kind</h2>\n<p class=\"faint\">Spent is what the agent ")
        .raw("says, where it says anything; the kinds are what the table of prices makes of them.</p>\n")
        .raw("<div class=\"wide\">\n<table>\n<thead><tr><th>Model</th><th>Asked by</th>")
        .raw("<th class=\"n\">Calls</th><th class=\"n\">Tokens</th><th class=\"n\">Spent</th>")
        .raw("<th class=\"n\">Input</th><th class=\"n\">Output</th><th class=\"n\">Cache read</th>")
        .raw("<th class=\"n\">Cache write</th></tr></thead>\n<tbody>\n");
    for part in parts.iter().take(MOST) {
        row(&mut section, part);
    }
    section.raw("</tbody>\n</table>\n</div>\n");
    if parts.len() > MOST {
        let hidden = parts.len() - MOST;
        section.raw("<p class=\"faint\">… and ").number(hidden);
        section.raw(" more</p>\n");
    }
    section.raw("</section>\n");
    section
}

fn row(section: &mut Markup, part: &LoopModelCost) {
    let by = match part.caller {
        Caller::Agent => "the agent itself",
        Caller::Subagent => "subagents",
        Caller::Rest => "told only in sum",
    };
    let (totals, cost) = (&part.totals, part.totals.cost);
    section
        .raw("<tr><td><code>")
        .text(part.model.as_deref().unwrap_or("no model named"))
        .raw("</code> <span class=\"faint\">")
        .text(&part.agent)
        .raw("</span></td><td>")
        .raw(by)
        .raw("</td><td class=\"n\">")
        .text(totals.calls.to_string())
        .raw("</td><td class=\"n\">")
        .text(short(totals.tokens.total()))
        .raw("</td><td class=\"n\">")
        .text(totals.spent.to_string());
    for kind in [cost.input, cost.output, cost.cache_read, cost.cache_write] {
        section.raw("</td><td class=\"n\">");
        match kind == Dollars::NOTHING {
            true => section.raw("–"),
            false => section.text(kind.to_string()),
        };
    }
    section.raw("</td></tr>\n");
}
