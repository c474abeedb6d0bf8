//! A report as one page of HTML: no script, no network, no other file.

mod axis;
mod plots;

use jiff::{Timestamp, tz::TimeZone};
use minijinja::{Environment, Value, context, value::Serde};
use ralph_core::{dollars::Dollars, figures::usd, sanitize::terminal_safe};
use ralph_engine::store::LoopModelCost;

use super::{answers, dress::Dress, shape::ReportFacts, template, text};
use crate::{
    commands::cost::figures::{Figures, NO_MODEL, asked_by},
    error::CommandError,
};

/// Rows of a table or lines of a list; `--json` has all.
const MOST_LINES: usize = 200;
/// Rows of the table of models.
const MOST_MODELS: usize = 30;

pub(super) fn render(facts: &ReportFacts, now: Timestamp) -> Result<String, CommandError> {
    let zone = TimeZone::system();
    let models = facts.parts.iter().take(MOST_MODELS).map(model_row);
    let forecasts = facts.economics.forecasts.iter().map(|one| {
        context! {
            expected => one.compared.kept.forecast.expected_usd.to_string(),
            sentence => one.compared.sentence(),
        }
    });
    let page = context! {
        title => format!("{} on {}", facts.source, facts.branch()),
        report => Value::from(Serde(facts)),
        tokens => facts.usage.total_tokens(),
        cost => cost_tile(facts),
        forecasts => forecasts.collect::<Vec<_>>(),
        plots => plots::plots(facts, &zone),
        models => models.collect::<Vec<_>>(),
        models_left_out => facts.parts.len().saturating_sub(MOST_MODELS),
        answers => answers(facts),
        what_is_left => text::left(facts, Dress::Plain),
        most => MOST_LINES,
        width => plots::WIDTH,
        left => plots::LEFT,
        right => plots::RIGHT,
        style => Value::from_safe_string(include_str!("html/style.css").to_owned()),
        version => env!("CARGO_PKG_VERSION"),
        made_at => now.to_string(),
        time_zone => now.to_zoned(zone.clone()).strftime("%Z").to_string(),
    };
    let env = environment(zone)?;
    let page = env.render_str(include_str!("html/page.html"), page);
    page.map_err(CommandError::internal)
}

/// The cost, and where it is from; none where nothing is known of it.
fn cost_tile(facts: &ReportFacts) -> Option<Value> {
    let spent = facts.cost();
    if spent.spent_usd == Dollars::NOTHING && facts.usage.cost_usd.is_none() {
        return None;
    }
    let told = facts.usage.cost_usd.map(Dollars::told);
    let source = if spent.estimated_usd > Dollars::NOTHING {
        "estimated by the family of the model"
    } else if told == Some(spent.spent_usd) {
        "as reported by agents"
    } else {
        "as reported by agents, else by the price table"
    };
    let amount = spent.with(|amount| usd(amount.usd()));
    Some(context! { amount, source })
}

fn environment(zone: TimeZone) -> Result<Environment<'static>, CommandError> {
    let mut env = template::environment(escaped)?;
    env.add_filter("local_time", move |text: String| {
        text.parse().map_or_else(
            |_| text.clone(),
            |at: Timestamp| {
                let local = at.to_zoned(zone.clone());
                local.strftime("%-d %b %Y, %H:%M").to_string()
            },
        )
    });
    Ok(env)
}

/// Text that is only text, in an element and in an attribute. What a reader would not see, or what turns
/// letters around, is written out as well.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in terminal_safe(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn model_row(part: &LoopModelCost) -> Value {
    let totals = &part.totals;
    let figures = Figures::from(part.totals);
    context! {
        model => part.model.as_deref().unwrap_or(NO_MODEL),
        agent => part.agent.as_str(),
        asked_by => asked_by(part.caller),
        calls => totals.calls,
        tokens => totals.tokens.total(),
        spent => figures.spent().to_string(),
        // `None` for nothing.
        cost_by_kind => figures
            .kinds()
            .map(|(_, _, cost)| cost.map(|cost| cost.to_string()))
            .to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, text: &str) -> Result<String, minijinja::Error> {
        let env = environment(TimeZone::UTC).unwrap();
        env.render_str(template, context! { text })
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
