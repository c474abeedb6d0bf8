//! `ralph qa verify` and `ralph qa wait`: checks of the page that is open, as in flows.

use std::process::ExitCode;

use ralph_qa::session::{WordsMistake, check_of_text, step_text, target_of_text, wait_of_text};
use serde_json::{Map, Value, json};

use super::act::{ShownAs, perform};
use crate::{cli::Global, error::CommandError};

/// Each check is waited for, for as long as `qa.timeout` says.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A text that must be seen, or a check as in a flow: 'count: {role: listitem, is: 3}'
    #[arg(value_name = "CHECK")]
    checks: Vec<String>,

    #[command(flatten)]
    usual: UsualChecks,

    /// No error is in the console
    #[arg(long)]
    no_console_errors: bool,

    /// No request has failed
    #[arg(long)]
    no_failed_requests: bool,

    /// Everything that can be acted on has a name, and texts have enough contrast
    #[arg(long)]
    accessible: bool,

    #[command(flatten)]
    shown: ShownAs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WaitArgs {
    /// A time such as 500ms, `idle` (no request is under way), or a check as in a flow
    #[arg(value_name = "WAIT")]
    waits: Vec<String>,

    /// Wait until this is gone, written as for `ralph qa click`
    #[arg(long, value_name = "TARGET")]
    gone: Option<String>,

    #[command(flatten)]
    usual: UsualChecks,

    #[command(flatten)]
    shown: ShownAs,
}

/// The checks that are needed most.
#[derive(Debug, Default, clap::Args)]
pub(super) struct UsualChecks {
    /// A text that must be seen
    #[arg(long, value_name = "TEXT")]
    text: Vec<String>,

    /// A text that must not be seen
    #[arg(long, value_name = "TEXT")]
    no_text: Vec<String>,

    /// A thing that must be there, written as for `ralph qa click`
    #[arg(long, value_name = "TARGET")]
    element: Vec<String>,

    /// A thing that must not be there
    #[arg(long, value_name = "TARGET")]
    no_element: Vec<String>,

    /// The path or the address of the page; `*` stands for anything
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The title of the page; `*` stands for anything
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let mut checks = args.usual.checks().map_err(CommandError::user)?;
    for text in &args.checks {
        checks.push(check_of_text(text).map_err(CommandError::user)?);
    }
    for (is_wanted, name) in [
        (args.no_console_errors, "no_console_errors"),
        (args.no_failed_requests, "no_failed_requests"),
        (args.accessible, "accessible"),
    ] {
        if is_wanted {
            checks.push(json!({name: true}));
        }
    }
    if checks.is_empty() {
        return Err(
            CommandError::user("expected at least one check, found none")
                .hint("`ralph qa verify \"Hello Ada\"`, `ralph qa verify --element role=alert`"),
        );
    }
    perform(verify_step(checks), &args.shown, global)
}

pub(crate) fn wait(args: &WaitArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let mut waits = args.usual.checks().map_err(CommandError::user)?;
    if let Some(gone) = &args.gone {
        waits.push(json!({"gone": target_of_text(gone).map_err(CommandError::user)?}));
    }
    if !args.waits.is_empty() {
        waits.push(wait_of_text(&args.waits.join(" ")).map_err(CommandError::user)?);
    }
    match <[Value; 1]>::try_from(waits) {
        Ok([wait]) => perform(step_text("wait", wait), &args.shown, global),
        Err(_) => Err(
            CommandError::user("expected one thing to wait for").hint(
                "`ralph qa wait --text Saved`, `ralph qa wait --gone role=progressbar`, `ralph qa wait idle`",
            ),
        ),
    }
}

/// The step that holds checks, each a map of its own or a list of such.
pub(crate) fn verify_step(checks: Vec<Value>) -> Result<String, WordsMistake> {
    let flat = checks.into_iter().flat_map(|check| match check {
        Value::Array(all) => all,
        one => vec![one],
    });
    step_text("verify", flat.collect::<Vec<Value>>())
}

impl UsualChecks {
    fn checks(&self) -> Result<Vec<Value>, WordsMistake> {
        let mut checks: Vec<Value> = Vec::new();
        let mut add = |name: &str, value: Value| {
            checks.push(Map::from_iter([(name.to_owned(), value)]).into());
        };
        for text in &self.text {
            add("text", text.as_str().into());
        }
        for text in &self.no_text {
            add("no_text", text.as_str().into());
        }
        for target in &self.element {
            add("element", target_of_text(target)?.into());
        }
        for target in &self.no_element {
            add("no_element", target_of_text(target)?.into());
        }
        if let Some(url) = &self.url {
            add("url", url.as_str().into());
        }
        if let Some(title) = &self.title {
            add("title", title.as_str().into());
        }
        Ok(checks)
    }
}
