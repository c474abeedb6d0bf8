//! Checks of the agent that is configured.

use std::{path::Path, process::Stdio, time::Duration};

use ralph_core::{
    config::{AgentChoice, PermissionMode},
    sanitize::one_line,
};
use ralph_engine::agent::script::Script;

use super::{Check, programs};
use crate::project::{self, Project};

/// How long an agent may take to say its version.
const PATIENCE: Duration = Duration::from_secs(15);

pub(super) fn checks(project: &Project) -> Vec<Check> {
    let mut checks = vec![match &project.config().agent {
        AgentChoice::Named(_) | AgentChoice::Custom(_) => claude(project),
        AgentChoice::Script(file) => script(&project.root().join(file)),
        AgentChoice::Command(program) => command(program, project.root()),
    }];
    let bypass = project.config().claude.permission_mode == PermissionMode::Bypass;
    if project.config().agent == AgentChoice::default() && bypass {
        checks.push(Check::note(
            "permissions",
            "claude runs without permission checks: it can do what you can",
        ));
    }
    checks.push(root());
    checks
}

fn claude(project: &Project) -> Check {
    let command = project.config().claude.command.as_slice();
    let program = project.config().claude.command.program();
    if programs::find(program, project.root()).is_none() {
        return Check::problem("agent", format!("{program} is not on the PATH"))
            .hint("install Claude Code, or set `claude.command` or `agent` in ralph.yaml");
    }
    match project::block_on(async { Ok(version(command, project.root()).await) }) {
        Ok(Ok(version)) => Check::ok("agent", format!("claude: {version}")),
        Ok(Err(why)) => {
            let line = command.join(" ");
            Check::problem("agent", format!("`{line} --version` fails: {why}"))
                .hint("start it by hand once; `claude.command` in ralph.yaml says how")
        }
        Err(error) => Check::problem("agent", error.sentences().join(": ")),
    }
}

async fn version(command: &[String], root: &Path) -> Result<String, String> {
    let (program, args) = command.split_first().ok_or("it is empty")?;
    let child = tokio::process::Command::new(program)
        .args(args)
        .arg("--version")
        .current_dir(root)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(PATIENCE, child).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err(format!("no answer within {} s", PATIENCE.as_secs())),
    };
    let first = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        one_line(text.lines().next().unwrap_or_default(), 200)
    };
    if output.status.success() {
        Ok(first(&output.stdout))
    } else {
        Err(format!("{} {}", output.status, first(&output.stderr))
            .trim()
            .to_owned())
    }
}

fn script(file: &Path) -> Check {
    match Script::read(file) {
        Ok(script) => {
            let tasks = script.tasks.len();
            let rest = match script.default {
                Some(_) => " and all others",
                None => "",
            };
            let said = format!("script {}: {tasks} tasks by name{rest}", file.display());
            Check::ok("agent", said)
        }
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
            Check::problem("agent", format!("{error}{cause}"))
                .hint("correct the file, or `agent` in ralph.yaml")
        }
    }
}

fn command(program: &str, root: &Path) -> Check {
    match programs::find(program, root) {
        Some(path) => Check::ok("agent", format!("command {}", path.display())),
        None => Check::problem("agent", format!("{program} is not on the PATH"))
            .hint("install it, or correct `agent` in ralph.yaml"),
    }
}

fn root() -> Check {
    if rustix::process::geteuid().is_root() {
        return Check::warning("user", "ralph runs as root, and so does the agent")
            .hint("use an account that may do less, or a container");
    }
    Check::ok("user", "not root")
}
