//! `ralph qa click`, `type`, `press`, `select`, `hover` and `step`: act on the page that is open.
//!
//! Each is a step of a flow, written on one line.

use std::process::ExitCode;

use ralph_qa::session::{SessionRequest, WordsMistake, step_text, target_of_text};
use serde_json::{Map, Value};

use super::session::{SessionCaller, print_reply, shown_reply};
use crate::{cli::Global, error::CommandError, project};

/// TARGET is the text of what is meant (`Sign in`), pairs (`role=button name=Sign in`, `label=Name`, `css=.total`,
/// with `nth=2` or `within=…`), or a map as in a flow (`{role: button, name: Sign in}`).
#[derive(Debug, clap::Args)]
pub(crate) struct ClickArgs {
    /// The thing to click
    #[arg(required = true)]
    target: Vec<String>,

    /// Click twice
    #[arg(long)]
    double: bool,

    /// The button of the mouse: left, middle or right
    #[arg(long, value_name = "BUTTON")]
    button: Option<String>,

    #[command(flatten)]
    shown: ShownAs,
}

/// TARGET is written as for `ralph qa click`; the last word is the text.
#[derive(Debug, clap::Args)]
pub(crate) struct TypeArgs {
    /// The field, then the text that is typed: it replaces what is there
    #[arg(
        required = true,
        value_name = "TARGET TEXT",
        allow_negative_numbers = true
    )]
    words: Vec<String>,

    /// Type the value of this variable, which is shown nowhere; then all words are the field
    #[arg(long, value_name = "VARIABLE")]
    secret: Option<String>,

    /// Keep what is in the field, and add to it
    #[arg(long)]
    append: bool,

    /// Press this key afterwards, such as Enter
    #[arg(long, value_name = "KEY")]
    press: Option<String>,

    #[command(flatten)]
    shown: ShownAs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PressArgs {
    /// The key: Enter, a, Control+A
    key: String,

    /// The thing that gets it, written as for `ralph qa click` [default: what has the focus]
    target: Vec<String>,

    #[command(flatten)]
    shown: ShownAs,
}

/// TARGET is written as for `ralph qa click`; the last word is the option.
#[derive(Debug, clap::Args)]
pub(crate) struct SelectArgs {
    /// The field, then the option, by its text or its value
    #[arg(required = true, value_name = "TARGET OPTION")]
    words: Vec<String>,

    #[command(flatten)]
    shown: ShownAs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct HoverArgs {
    /// The thing to point at, written as for `ralph qa click`
    #[arg(required = true)]
    target: Vec<String>,

    #[command(flatten)]
    shown: ShownAs,
}

/// Any step but a fixture and a screenshot: `ralph qa step 'resize: mobile'`.
#[derive(Debug, clap::Args)]
pub(crate) struct StepArgs {
    /// The step, as it stands in a flow
    step: String,

    #[command(flatten)]
    shown: ShownAs,
}

#[derive(Debug, clap::Args)]
pub(super) struct ShownAs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn click(args: &ClickArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let mut value = target(&args.target)?;
    if args.double {
        value.insert("double".to_owned(), true.into());
    }
    if let Some(button) = &args.button {
        value.insert("button".to_owned(), button.as_str().into());
    }
    perform(step_text("click", value), &args.shown, global)
}

pub(crate) fn type_text(args: &TypeArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let typed = match (&args.secret, args.words.split_last()) {
        (Some(variable), _) => TypedWords {
            target: &args.words,
            key: "secret",
            value: variable,
        },
        (None, Some((text, target))) if !target.is_empty() => TypedWords {
            target,
            key: "text",
            value: text,
        },
        (None, _) => {
            let message = "expected a field and a text";
            return Err(CommandError::user(message).hint("`ralph qa type Name Ada`"));
        }
    };
    let mut value = target(typed.target)?;
    if value.contains_key("text") {
        let message = "`text` is what is typed, and names no field";
        return Err(CommandError::user(message)
            .hint("name the field by `label=…`, `role=textbox name=…` or its name alone"));
    }
    value.insert(typed.key.to_owned(), typed.value.into());
    if args.append {
        value.insert("append".to_owned(), true.into());
    }
    if let Some(key) = &args.press {
        value.insert("press".to_owned(), key.as_str().into());
    }
    perform(step_text("type", value), &args.shown, global)
}

/// The field and what is typed into it.
struct TypedWords<'a> {
    target: &'a [String],
    key: &'static str,
    value: &'a str,
}

pub(crate) fn press(args: &PressArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let value = if args.target.is_empty() {
        Value::from(args.key.as_str())
    } else {
        let mut value = target(&args.target)?;
        value.insert("key".to_owned(), args.key.as_str().into());
        value.into()
    };
    perform(step_text("press", value), &args.shown, global)
}

pub(crate) fn select(args: &SelectArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let Some((option, field)) = args
        .words
        .split_last()
        .filter(|(_, field)| !field.is_empty())
    else {
        let message = "expected a field and an option";
        return Err(CommandError::user(message).hint("`ralph qa select Size Large`"));
    };
    let mut value = target(field)?;
    value.insert("option".to_owned(), option.as_str().into());
    perform(step_text("select", value), &args.shown, global)
}

pub(crate) fn hover(args: &HoverArgs, global: &Global) -> Result<ExitCode, CommandError> {
    perform(
        step_text("hover", target(&args.target)?),
        &args.shown,
        global,
    )
}

pub(crate) fn step(args: &StepArgs, global: &Global) -> Result<ExitCode, CommandError> {
    perform(Ok(args.step.clone()), &args.shown, global)
}

fn target(words: &[String]) -> Result<Map<String, Value>, CommandError> {
    target_of_text(&words.join(" ")).map_err(CommandError::user)
}

/// Has the session perform a step.
pub(super) fn perform(
    step: Result<String, WordsMistake>,
    shown: &ShownAs,
    global: &Global,
) -> Result<ExitCode, CommandError> {
    let step = step.map_err(CommandError::user)?;
    let caller = SessionCaller::find(global)?;
    let request = SessionRequest::Step { step };
    let reply = project::block_on(caller.ask(&request))?;
    print_reply(&shown_reply(reply, caller.root(), None)?, shown.json)
}
