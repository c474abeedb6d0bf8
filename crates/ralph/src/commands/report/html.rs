//! A report as one page of HTML: no script, no network, no other file.
//!
//! `page.html` is the template, [`Page`] all that it is filled with. No text reaches a page but through
//! [`write_escaped`], and templates have no way around it.

mod axis;
mod plots;

use std::fmt::Write as _;

use jiff::{Timestamp, tz::TimeZone};
use minijinja::{
    AutoEscape, Environment, Error, Output, State, Value,
    value::{Serde, ValueKind},
};
use ralph_core::{
    economics::Caller,
    escalation::{Amended, Question},
    figures,
    sanitize::terminal_safe,
};
use ralph_engine::store::LoopModelCost;
use serde::Serialize;

use super::{dress::Dress, shape::ReportFacts, show};
use crate::error::CommandError;
use plots::Plots;

/// Rows of a table or lines of a list; `--json` has all.
const MOST_LINES: usize = 200;
/// Rows of the table of models.
const MOST_MODELS: usize = 30;

/// All that the template is filled with.
#[derive(Serialize)]
struct Page<'a> {
    title: String,
    /// In the shape of its JSON form.
    report: &'a ReportFacts,
    tokens: u64,
    forecasts: Vec<ForecastTile>,
    plots: Option<Plots<'a>>,
    models: Vec<ModelRow<'a>>,
    models_left_out: usize,
    answers: Vec<AnswerLine<'a>>,
    what_is_left: Vec<String>,
    most: usize,
    width: f64,
    left: f64,
    right: f64,
    style: Value,
    version: &'static str,
    made_at: String,
    time_zone: String,
}

#[derive(Serialize)]
struct ForecastTile {
    expected: String,
    sentence: String,
}

#[derive(Serialize)]
struct ModelRow<'a> {
    model: &'a str,
    agent: &'a str,
    asked_by: &'static str,
    calls: u64,
    tokens: u64,
    spent: String,
    /// Of input, output, what was read from a cache and written to it; `None` for nothing.
    cost_by_kind: [Option<String>; 4],
}

#[derive(Serialize)]
struct AnswerLine<'a> {
    task_id: &'a str,
    question: &'a str,
    how: String,
    by: &'a str,
    told: Vec<&'a str>,
    amended: Option<&'a Amended>,
}

pub(super) fn render(facts: &ReportFacts, now: Timestamp) -> Result<String, CommandError> {
    let zone = TimeZone::system();
    let branch = facts.loops.last().map_or("", |row| row.branch.as_str());
    let forecasts = facts.economics.forecasts.iter();
    let page = Page {
        title: format!("{} on {branch}", facts.source),
        report: facts,
        tokens: facts.usage.total_tokens(),
        forecasts: forecasts
            .map(|one| ForecastTile {
                expected: one.compared.kept.forecast.expected_usd.to_string(),
                sentence: one.compared.sentence(),
            })
            .collect(),
        plots: Plots::new(facts, &zone),
        models: facts
            .parts
            .iter()
            .take(MOST_MODELS)
            .map(model_row)
            .collect(),
        models_left_out: facts.parts.len().saturating_sub(MOST_MODELS),
        answers: facts.questions.iter().filter_map(answer_line).collect(),
        what_is_left: show::left(facts, Dress::Plain),
        most: MOST_LINES,
        width: plots::WIDTH,
        left: plots::LEFT,
        right: plots::RIGHT,
        style: Value::from_safe_string(include_str!("html/style.css").to_owned()),
        version: env!("CARGO_PKG_VERSION"),
        made_at: now.to_string(),
        time_zone: now.to_zoned(zone.clone()).strftime("%Z").to_string(),
    };
    let page = Value::from(Serde(&page));
    fill(include_str!("html/page.html"), page, zone).map_err(CommandError::internal)
}

/// Fills a template with values that are escaped, every one of them.
fn fill(template: &str, values: Value, zone: TimeZone) -> Result<String, Error> {
    let mut env = Environment::new();
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    let syntax = minijinja::syntax::SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    env.set_syntax(syntax);
    env.set_auto_escape_callback(|_| AutoEscape::Html);
    env.set_formatter(write_escaped);
    // Only what templates themselves say is markup.
    env.remove_filter("safe");
    env.add_filter("duration", figures::duration);
    env.add_filter("compact", figures::compact);
    env.add_filter("usd", figures::usd);
    env.add_filter("percent", figures::percent);
    env.add_filter("short_commit", |commit: String| {
        figures::short_commit(&commit).to_owned()
    });
    env.add_filter("counted", |n: usize, one: String, many: String| {
        figures::count(n, &one, &many)
    });
    env.add_filter("local_time", move |text: String| {
        text.parse().map_or_else(
            |_| text.clone(),
            |at: Timestamp| {
                let local = at.to_zoned(zone.clone());
                local.strftime("%-d %b %Y, %H:%M").to_string()
            },
        )
    });
    env.template_from_str(template)?.render(values)
}

/// Writes a value as text that is only text, in an element and in an attribute. What a reader would not
/// see, or what turns letters around, is written out as well. Of places in a drawing, tenths of a pixel
/// are enough; what is missing is empty.
fn write_escaped(out: &mut Output, _: &mut State, value: &Value) -> Result<(), Error> {
    let text = match value.kind() {
        ValueKind::None | ValueKind::Undefined => return Ok(()),
        ValueKind::Number if !value.is_integer() => {
            let number = f64::try_from(value.clone())?;
            return write!(out, "{number:.1}").map_err(Error::from);
        }
        _ => value.to_string(),
    };
    // The result of a macro, whose own values were escaped when it was made.
    if value.is_safe() {
        return out.write_str(&text).map_err(Error::from);
    }
    for c in terminal_safe(&text).chars() {
        match c {
            '&' => out.write_str("&amp;")?,
            '<' => out.write_str("&lt;")?,
            '>' => out.write_str("&gt;")?,
            '"' => out.write_str("&quot;")?,
            '\'' => out.write_str("&#39;")?,
            c => out.write_char(c)?,
        }
    }
    Ok(())
}

fn model_row(part: &LoopModelCost) -> ModelRow<'_> {
    let (totals, cost) = (&part.totals, part.totals.cost);
    ModelRow {
        model: part.model.as_deref().unwrap_or(plots::NO_MODEL),
        agent: &part.agent,
        asked_by: match part.caller {
            Caller::Agent => "the agent itself",
            Caller::Subagent => "subagents",
            Caller::Rest => "reported only as a total",
        },
        calls: totals.calls,
        tokens: totals.tokens.total(),
        spent: totals.spent.to_string(),
        cost_by_kind: [cost.input, cost.output, cost.cache_read, cost.cache_write]
            .map(|cost| (cost.millionths() > 0).then(|| cost.to_string())),
    }
}

fn answer_line(question: &Question) -> Option<AnswerLine<'_>> {
    let answer = question.answer.as_ref()?;
    let told = answer.told.iter().flat_map(|told| told.lines().skip(1));
    Some(AnswerLine {
        task_id: question.task_id.as_str(),
        question: &question.question,
        how: answer.how.word(),
        by: &answer.by,
        told: told.collect(),
        amended: answer.amended.as_ref(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, text: &str) -> Result<String, Error> {
        fill(template, minijinja::context! { text }, TimeZone::UTC)
    }

    #[test]
    fn whatever_is_said_is_text_in_an_element_and_in_an_attribute() {
        let template = "{% macro quoted(text) %}<q>{{ text }}</q>{% endmacro %}<p title=\"{{ text }}\">{{ quoted(text) }}</p>";
        let text = "<script>alert(\"1\")</script> & 'x'\u{202e}";
        let escaped =
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;\\u{202e}";
        assert_eq!(
            filled(template, text).unwrap(),
            format!("<p title=\"{escaped}\"><q>{escaped}</q></p>")
        );
    }

    #[test]
    fn no_template_can_leave_a_value_as_it_is_or_misspell_it() {
        let error = |template: &str| filled(template, "x").unwrap_err().to_string();
        assert!(error("{{ text|safe }}").contains("safe"));
        assert!(error("{{ txet }}").contains("undefined"));
    }
}
