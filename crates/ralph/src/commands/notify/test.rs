//! `ralph notify test`: a sample in all ways that are configured, and what each answered.

use std::process::ExitCode;

use ralph_core::notification::{Notification, Occasion};
use ralph_engine::notify::{HAS_WEBHOOKS, ways};

use super::post;
use crate::{
    commands::run::detection,
    error::CommandError,
    output,
    project::{Project, block_on},
    view::{Table, Tone, cell},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Event of the sample: escalation, complete, halt, limit or budget_alert
    #[arg(long, value_name = "OCCASION", default_value = "escalation")]
    on: Occasion,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    post::check_built_in(&project.config().notify, HAS_WEBHOOKS)?;
    let root = project.root();
    let environment = project.environment(root);
    let containment = detection(project)?.containment;
    let means = post::means(project, &environment, containment);
    let ways = ways(&means);
    if ways.is_empty() {
        let error = CommandError::user("no notifications are configured");
        return Err(error.hint(
            "set `notify.command` or `notify.webhook`; desktop \
             notifications need `notify-send` and a session bus",
        ));
    }
    let config = &project.config().notify;
    if !config.on.contains(&args.on) {
        output::print_warning(&format!(
            "`notify.on` does not include {}: a loop would not send this",
            args.on
        ));
    }
    let redaction = post::redaction(project.config(), &means);
    let sample = Notification::sample(args.on, &post::project_name(root), Project::now())
        .fit_to_send(&redaction);
    let mut table = Table::new(2, 0);
    let mut all_sent = true;
    for way in ways {
        let answer = block_on(async { Ok(way.send(&sample).await) })?;
        let (tone, word, said) = match answer {
            Ok(said) => (Tone::Good, "sent", said),
            Err(error) => {
                all_sent = false;
                (
                    Tone::Bad,
                    "failed",
                    redaction.hide(&error.to_string()).into_owned(),
                )
            }
        };
        table.row([
            cell(tone, word),
            cell(Tone::Heading, way.name()),
            cell(Tone::Plain, said),
        ]);
    }
    output::print(&table.render(None));
    Ok(ExitCode::from(u8::from(!all_sent)))
}
