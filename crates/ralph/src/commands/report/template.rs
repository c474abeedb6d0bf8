//! Templates of a report. No value reaches a text but through the escape that belongs to its form, and
//! templates have no way around it.

use minijinja::{AutoEscape, Environment, Error, Output, State, Value, value::ValueKind};
use ralph_core::figures;

use crate::error::CommandError;

/// What all templates can use; values go in as `escape` has them.
pub(super) fn environment(
    escape: impl Fn(&str) -> String + Send + Sync + 'static,
) -> Result<Environment<'static>, CommandError> {
    let mut env = Environment::new();
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    let syntax = minijinja::syntax::SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build();
    env.set_syntax(syntax?);
    env.set_auto_escape_callback(|_| AutoEscape::Html);
    env.set_formatter(move |out, _: &mut State, value| write_escaped(out, value, &escape));
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
    Ok(env)
}

/// Of places in a drawing, tenths of a pixel are enough; what is missing is empty.
fn write_escaped(
    out: &mut Output,
    value: &Value,
    escape: &impl Fn(&str) -> String,
) -> Result<(), Error> {
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => {}
        ValueKind::Number if !value.is_integer() => {
            write!(out, "{:.1}", f64::try_from(value.clone())?)?;
        }
        // The result of a macro or a filter that escapes: its own values were escaped when it was made.
        _ if value.is_safe() => out.write_str(&value.to_string())?,
        _ => out.write_str(&escape(&value.to_string()))?,
    }
    Ok(())
}
