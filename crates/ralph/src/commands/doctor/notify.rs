//! Checks of who would be told of a question or the end: what is configured, and whether it could be
//! reached. Sends nothing.

use std::path::Path;

use ralph_core::config::{Desktop, NotifyConfig};
use ralph_engine::notify::{DESKTOP_PROGRAM, HAS_WEBHOOKS, desktop_is_reachable};

use super::{Check, programs};
use crate::{commands::notify::WEBHOOK_HINT, project::Project};

const NAME: &str = "notify";

pub(super) fn checks(project: &Project) -> Vec<Check> {
    let config = &project.config().notify;
    let root = project.root();
    let mut checks: Vec<Check> = [
        command(config, root),
        webhook(config, project),
        desktop(config, project),
    ]
    .into_iter()
    .flatten()
    .collect();
    if checks.is_empty() {
        checks.push(Check::note(
            NAME,
            "nobody is told of a question or the end (`notify.command`, `notify.webhook`)",
        ));
    } else if config.on.is_empty() {
        checks.push(
            Check::warning(NAME, "`notify.on` is empty: nothing is sent")
                .hint("leave it out to be told of everything"),
        );
    }
    checks
}

fn command(config: &NotifyConfig, root: &Path) -> Option<Check> {
    let program = config.command.as_ref()?.argv().program();
    let Some(found) = programs::find(program, root) else {
        let said = format!("command: {program} is not there, or can't be run");
        return Some(Check::problem(NAME, said).hint("install it, or correct `notify.command`"));
    };
    // Through links and `..`: what counts is where the file is.
    let real = found.canonicalize().unwrap_or_else(|_| found.clone());
    Some(if real.starts_with(root) {
        let said = format!("command: {} can be written by an agent", found.display());
        Check::warning(NAME, said).hint("keep it outside of the repository")
    } else {
        Check::ok(NAME, format!("command: {}", found.display()))
    })
}

fn webhook(config: &NotifyConfig, project: &Project) -> Option<Check> {
    let url = config.webhook.as_ref()?;
    if !HAS_WEBHOOKS {
        let said = format!(
            "webhook: {}: this build of ralph has no webhooks",
            url.shown()
        );
        return Some(Check::problem(NAME, said).hint(WEBHOOK_HINT));
    }
    let unset = config
        .webhook_token_env
        .as_ref()
        .filter(|name| project.variable(name.as_str()).is_none());
    Some(match unset {
        None => Check::ok(NAME, format!("webhook: {}", url.shown())),
        Some(name) => {
            let said = format!(
                "webhook: {} needs {}, which is not set",
                url.shown(),
                name.as_str()
            );
            Check::problem(NAME, said)
                .hint("set the variable, or leave `notify.webhook_token_env` out")
        }
    })
}

fn desktop(config: &NotifyConfig, project: &Project) -> Option<Check> {
    let reachable = desktop_is_reachable(&project.environment(project.root()));
    match (config.desktop, reachable) {
        (Desktop::Off, _) | (Desktop::Auto, false) => None,
        (Desktop::Auto | Desktop::On, true) => {
            Some(Check::ok(NAME, format!("desktop: {DESKTOP_PROGRAM}")))
        }
        (Desktop::On, false) => Some(
            Check::warning(NAME, format!("desktop: no {DESKTOP_PROGRAM}, or no session bus"))
                .hint("install libnotify, run ralph in the desktop's session, or set `notify.desktop: auto`"),
        ),
    }
}
