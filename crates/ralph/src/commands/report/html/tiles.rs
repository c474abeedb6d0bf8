//! The figures at the top of the page, each in a tile. A figure that is not known has none.

use super::markup::Markup;
use crate::{
    commands::report::shape::Facts,
    view::{
        figures::{count, short},
        time::span,
    },
};

struct Tile {
    name: &'static str,
    figure: String,
    note: String,
}

pub(super) fn tiles(facts: &Facts) -> Markup {
    let mut page = Markup::default();
    page.raw("<section class=\"tiles\" aria-label=\"figures\">\n");
    for tile in of_work(facts).into_iter().chain(of_means(facts)) {
        page.raw("<div><span>").raw(tile.name).raw("</span><b>");
        page.text(tile.figure).raw("</b><small>").text(tile.note);
        page.raw("</small></div>\n");
    }
    page.raw("</section>\n");
    page
}

/// What came of it.
fn of_work(facts: &Facts) -> Vec<Tile> {
    let metrics = &facts.metrics;
    let figures = &metrics.figures;
    let mut tiles = Vec::new();
    let unverified = figures.completed_tasks - figures.verified_tasks;
    let all = match &facts.now {
        Some(now) => format!(
            "{} of {} are complete now",
            now.tasks.completed, now.tasks.total
        ),
        None => String::new(),
    };
    tiles.push(Tile {
        name: "Tasks completed",
        figure: figures.completed_tasks.to_string(),
        note: match unverified {
            0 => all,
            n => format!("{n} of them unverified; {all}"),
        },
    });
    if let Some(share) = figures.verified_share {
        let iterations = count(facts.iterations, "iteration", "iterations");
        tiles.push(Tile {
            name: "Ended in verified commits",
            figure: format!("{:.0} %", share * 100.0),
            note: format!("{} of {iterations}", figures.verified_commits),
        });
    }
    if let Some(each) = figures.iterations_per_task {
        tiles.push(Tile {
            name: "Iterations per task",
            figure: format!("{each:.1}"),
            note: match metrics.iterations_per_feature {
                Some(all) => format!("{all} for the whole feature"),
                None => "of those completed".to_owned(),
            },
        });
    }
    let open = figures.not_recovered;
    let open = (open > 0).then(|| count(open, "task has not", "tasks have not") + " recovered");
    if let Some(mean) = figures.mean_seconds_to_recovery {
        let of = count(figures.recoveries, "recovery", "recoveries");
        tiles.push(Tile {
            name: "Mean time to recovery",
            figure: span(mean),
            note: open.map_or_else(|| format!("of {of}"), |open| format!("of {of}; {open}")),
        });
    } else if let Some(open) = open {
        tiles.push(Tile {
            name: "Mean time to recovery",
            figure: "–".to_owned(),
            note: open,
        });
    }
    tiles
}

/// What it took.
fn of_means(facts: &Facts) -> Vec<Tile> {
    let mut tiles = vec![Tile {
        name: "Time",
        figure: span(facts.seconds),
        note: format!(
            "agents {}, verification {}",
            span(facts.agent_seconds),
            span(facts.verify_seconds)
        ),
    }];
    let tokens = facts.usage.total_tokens();
    if tokens > 0 {
        tiles.push(Tile {
            name: "Tokens",
            figure: short(tokens),
            note: format!(
                "{} in, {} cached, {} out",
                short(facts.usage.input_tokens + facts.usage.cache_write_tokens),
                short(facts.usage.cache_read_tokens),
                short(facts.usage.output_tokens)
            ),
        });
    }
    if let Some(cost) = facts.usage.cost_usd {
        tiles.push(Tile {
            name: "Cost",
            figure: format!("${cost:.2}"),
            note: "as agents tell it".to_owned(),
        });
    }
    for one in &facts.economics.forecasts {
        let compared = &one.compared;
        tiles.push(Tile {
            name: "Forecast",
            figure: compared.kept.forecast.expected_usd.to_string(),
            note: compared.sentence(),
        });
    }
    if let Some(rate) = facts.economics.cache_hit_rate {
        tiles.push(Tile {
            name: "Cache hit rate",
            figure: format!("{:.0} %", rate * 100.0),
            note: "of what models read".to_owned(),
        });
    }
    if let Some(tokens) = facts.economics.tokens_per_tool_call {
        let tools = facts.economics.tool_calls as usize;
        tiles.push(Tile {
            name: "Tokens a tool call",
            figure: short(tokens as u64),
            note: format!("of {}", count(tools, "tool call", "tool calls")),
        });
    }
    if let Some(each) = facts.metrics.figures.cost_per_verified_task_usd {
        let verified = facts.metrics.figures.verified_tasks;
        tiles.push(Tile {
            name: "Cost per verified task",
            figure: format!("${each:.2}"),
            note: format!("of {}", count(verified, "task", "tasks")),
        });
    }
    tiles
}
