//! Checks of the agent that is configured, and of the one that goes on at its usage limit.
//!
//! Of an agent that ralph knows, its version is asked; a program that it does not know is not started.

use std::{collections::BTreeSet, io::Read as _, path::Path, process::Stdio, time::Duration};

use ralph_core::{
    config::{AgentChoice, Config, CustomAgent, OnUsageLimit, SandboxMode},
    dollars::Dollars,
    economics::PriceGap,
    sanitize::one_line,
};
use ralph_engine::{
    agent::{
        Agent, AgentKind, Costs, Fitness, Runtime, find_kind, kind_of, parse_version,
        script::Script,
    },
    prices::read_prices,
};

use super::{Check, programs};
use crate::{
    commands::run::agent_setup,
    project::{self, Project},
};

/// The time that a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(15);

/// Which agent is looked at.
#[derive(Clone, Copy)]
struct Role {
    /// What its check is called.
    check: &'static str,
    /// The key that names it.
    key: &'static str,
}

const MAIN: Role = Role {
    check: "agent",
    key: "agent",
};
const FALLBACK: Role = Role {
    check: "fallback",
    key: "limits.fallback_agent",
};

pub(super) fn checks(project: &Project) -> Vec<Check> {
    let choice = &project.config().agent;
    let mut checks = of_choice(project, choice, MAIN);
    checks.extend(permissions(project, choice));
    checks.extend(fallback(project));
    checks.extend(prices(project));
    checks.push(user(project.config()));
    checks
}

/// The prices of the models that are named, or that agents chose before.
fn prices(project: &Project) -> Vec<Check> {
    const CHECK: &str = "prices";
    let config = project.config();
    let Ok(prices) = read_prices(&config.economics, project.root()) else {
        // The configuration's own check names it.
        return Vec::new();
    };
    let fallback = config.limits.fallback_agent.as_ref();
    let agents: Vec<Box<dyn Agent>> = [&config.agent]
        .into_iter()
        .chain(fallback)
        .filter_map(|choice| kind_of(choice).ok()?.map(|kind| (kind, choice)))
        .map(|(kind, choice)| (kind.make)(&agent_setup(config, choice)))
        .filter(|agent| agent.facts().costs != Costs::Untold)
        .collect();
    if agents.is_empty() {
        return Vec::new();
    }
    let mut models: BTreeSet<String> = agents.iter().flat_map(|agent| agent.models()).collect();
    models.extend(config.limits.fallback_model.clone());
    models.extend(used_models(project).unwrap_or_default());
    let gaps = prices.gaps(models.iter().map(String::as_str));
    if gaps.is_empty() {
        let named: Vec<&str> = models.iter().map(String::as_str).collect();
        let said = match named.as_slice() {
            [] => "the agent chooses its model".to_owned(),
            named => format!("{} known", named.join(", ")),
        };
        let said = format!(
            "{said}; {} prices as of {}",
            prices.rows().len(),
            prices.as_of()
        );
        return vec![Check::ok(CHECK, said)];
    }
    let check = |gap: &PriceGap| match gap {
        PriceGap::Unpriced(_) => Check::warning(CHECK, gap.sentence()),
        PriceGap::Estimated(_) => Check::note(CHECK, gap.sentence()),
    };
    gaps.iter().map(check).collect()
}

/// The models that the last loop of this worktree used without saying what they cost.
fn used_models(project: &Project) -> Option<Vec<String>> {
    let used = project::block_on(async {
        let Some((mut journal, repository)) = project.journal().await? else {
            return Ok(Vec::new());
        };
        let worktree = project.worktree();
        let Some(last) = journal.last_loop(&repository, &worktree).await? else {
            return Ok(Vec::new());
        };
        let costs = journal.model_costs(&repository, &last.id).await?;
        let untold = costs
            .into_iter()
            .filter(|cost| cost.totals.told == Dollars::NOTHING);
        Ok(untold.filter_map(|cost| cost.model).collect())
    });
    used.ok()
}

/// Who goes on at a usage limit: found missing now, not in the night in which it is needed.
fn fallback(project: &Project) -> Vec<Check> {
    let config = project.config();
    let limits = &config.limits;
    match limits.on_usage_limit {
        OnUsageLimit::Fallback => {}
        OnUsageLimit::Wait | OnUsageLimit::Stop => {
            let unused = limits.fallback_agent.as_ref().map(|choice| {
                let said =
                    format!("{choice} is never asked: `limits.on_usage_limit` is not `fallback`");
                Check::note(FALLBACK.check, said)
            });
            return unused.into_iter().collect();
        }
    }
    let choice = limits.fallback_agent.as_ref().unwrap_or(&config.agent);
    let mut checks = Vec::new();
    if *choice != config.agent {
        checks.extend(of_choice(project, choice, FALLBACK));
        checks.extend(permissions(project, choice));
    }
    if let Some(model) = &limits.fallback_model
        && config.with_model(choice, model).is_none()
    {
        let said = format!("`limits.fallback_model`: {choice} takes no model");
        checks.push(
            Check::problem(FALLBACK.check, said)
                .hint("name another agent with `limits.fallback_agent`"),
        );
    }
    checks
}

/// The checks of one agent.
fn of_choice(project: &Project, choice: &AgentChoice, role: Role) -> Vec<Check> {
    let root = project.root();
    let image = project.config().safety.container.as_ref();
    match choice {
        AgentChoice::Named(name) => match find_kind(name) {
            Ok(kind) => {
                let agent = (kind.make)(&agent_setup(project.config(), choice));
                if let (Some(image), [program, ..]) = (image, agent.own_command()) {
                    let said = format!("{program} runs in {image}: `ralph run` looks for it there");
                    return vec![Check::note(role.check, said)];
                }
                named(kind, &*agent, root, role)
            }
            Err(error) => vec![unknown(&error.to_string(), role)],
        },
        AgentChoice::Custom(agent) => vec![custom(agent, root, role)],
        AgentChoice::Script(file) => vec![script(&root.join(file), role)],
        AgentChoice::Command(program) => vec![command(program, root, role)],
    }
}

fn unknown(message: &str, role: Role) -> Check {
    let hint = format!("`ralph agent list` shows them; correct `{}`", role.key);
    Check::problem(role.check, message).hint(hint)
}

fn permissions(project: &Project, choice: &AgentChoice) -> Option<Check> {
    let kind = kind_of(choice).ok()??;
    let agent = (kind.make)(&agent_setup(project.config(), choice));
    agent.skips_permission_checks().then(|| {
        let name = agent.name();
        let said = format!("{name} runs without permission checks: it can do what you can");
        Check::note("permissions", said)
    })
}

/// Looks for the program of an agent that ralph knows, and asks for its version and that of what it runs
/// on.
fn named(kind: &AgentKind, agent: &dyn Agent, root: &Path, role: Role) -> Vec<Check> {
    let Role { check, key } = role;
    let AgentKind { name, title, .. } = kind;
    let [program, args @ ..] = agent.own_command() else {
        return vec![
            Check::problem(check, format!("`{name}` has no program of its own"))
                .hint(format!("set `{key}` to `command:PROGRAM`")),
        ];
    };
    let Some(path) = programs::find(program, root) else {
        let hint = format!("install {title}, or set `{name}.command` or `{key}` in ralph.yaml");
        return vec![Check::problem(check, format!("{program} is not on the PATH")).hint(hint)];
    };
    let hint = format!("start it by hand once; `{name}.command` in ralph.yaml says how");
    let version = match ask_version(&path, args, root) {
        Ok(said) => judged(check, name, &said, kind.judge_version),
        Err(why) => {
            let line = agent.own_command().join(" ");
            Check::problem(check, format!("`{line} --version` fails: {why}")).hint(hint)
        }
    };
    let runtime = kind.runtime.as_ref();
    let runtime = runtime.and_then(|runtime| check_runtime(runtime, kind, &path, root));
    [version].into_iter().chain(runtime).collect()
}

/// The check of a version that a program says of itself.
fn judged(
    check: &'static str,
    name: &str,
    said: &str,
    judge: impl Fn(ralph_engine::agent::Version) -> Fitness,
) -> Check {
    match parse_version(said).map(judge) {
        None | Some(Fitness::Good) => Check::ok(check, format!("{name}: {said}")),
        Some(Fitness::Doubtful(problem)) => {
            Check::warning(check, format!("{name}: {said} is {}", problem.why)).hint(problem.hint)
        }
        Some(Fitness::Unfit(problem)) => {
            Check::problem(check, format!("{name}: {said} is {}", problem.why)).hint(problem.hint)
        }
    }
}

/// Looks at the runtime that an agent gets: a script is run by the first one on the PATH. A program of
/// another kind may bring its own.
fn check_runtime(runtime: &Runtime, kind: &AgentKind, agent: &Path, root: &Path) -> Option<Check> {
    let program = runtime.program;
    if !is_script_of(program, agent) {
        return None;
    }
    let Some(path) = programs::find(program, root) else {
        let message = format!("{program} is not on the PATH, and {} runs on it", kind.name);
        let hint = format!("install {} {} or later", runtime.title, runtime.minimum);
        return Some(Check::problem(program, message).hint(hint));
    };
    Some(match ask_version(&path, &[], root) {
        Ok(said) => judged(program, program, &said, |version| {
            runtime.judge(kind.title, version)
        }),
        Err(why) => {
            let message = format!("`{program} --version` fails: {why}");
            Check::problem(program, message).hint("start it by hand once")
        }
    })
}

fn is_script_of(runtime: &str, path: &Path) -> bool {
    let mut first = Vec::new();
    let read = std::fs::File::open(path).and_then(|f| f.take(200).read_to_end(&mut first));
    let text = String::from_utf8_lossy(&first);
    let line = text.lines().next().unwrap_or_default();
    let by_env = line.strip_prefix("#!").is_some_and(|words| {
        let mut words = words.split_whitespace();
        words
            .next()
            .is_some_and(|program| program.ends_with("/env"))
            && words.any(|word| word == runtime)
    });
    read.is_ok() && by_env
}

/// The first line that a program prints for `--version`, or why it prints none.
fn ask_version(program: &Path, args: &[String], root: &Path) -> Result<String, String> {
    match project::block_on(async { Ok(version(program, args, root).await) }) {
        Ok(answer) => answer,
        Err(error) => Err(error.sentences().join(": ")),
    }
}

async fn version(program: &Path, args: &[String], root: &Path) -> Result<String, String> {
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
        // Some programs say it on stderr.
        let said = Some(first(&output.stdout)).filter(|said| !said.is_empty());
        Ok(said.unwrap_or_else(|| first(&output.stderr)))
    } else {
        Err(format!("{} {}", output.status, first(&output.stderr))
            .trim()
            .to_owned())
    }
}

fn script(file: &Path, role: Role) -> Check {
    match Script::read(file) {
        Ok(script) => {
            let tasks = script.tasks.len();
            let rest = match script.default {
                Some(_) => " and all others",
                None => "",
            };
            let said = format!("script {}: {tasks} tasks by name{rest}", file.display());
            Check::ok(role.check, said)
        }
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
            Check::problem(role.check, format!("{error}{cause}"))
                .hint(format!("correct the file, or `{}` in ralph.yaml", role.key))
        }
    }
}

/// A program of the user's: whether it knows `--version` is not known, so it is only looked for.
fn custom(agent: &CustomAgent, root: &Path, role: Role) -> Check {
    if let Err(error) = find_kind(&agent.dialect) {
        let name = &agent.name;
        return unknown(&format!("{name}: its dialect is no agent's: {error}"), role);
    }
    let program = agent.command.program();
    match programs::find(program, root) {
        Some(path) => {
            let said = format!(
                "{} reads as {}: {}",
                agent.name,
                agent.dialect,
                path.display()
            );
            Check::ok(role.check, said)
        }
        None => Check::problem(role.check, format!("{program} is not on the PATH")).hint(format!(
            "install it, or correct `{}.command` in ralph.yaml",
            role.key
        )),
    }
}

fn command(program: &str, root: &Path, role: Role) -> Check {
    match programs::find(program, root) {
        Some(path) => Check::ok(role.check, format!("command {}", path.display())),
        None => Check::problem(role.check, format!("{program} is not on the PATH")).hint(format!(
            "install it, or correct `{}` in ralph.yaml",
            role.key
        )),
    }
}

fn user(config: &Config) -> Check {
    if !rustix::process::geteuid().is_root() {
        return Check::ok("user", "not root");
    }
    if config.safety.sandbox == SandboxMode::Off {
        return Check::warning("user", "ralph runs as root, and so does the agent")
            .hint("use an account that may do less, or a container");
    }
    Check::note(
        "user",
        "ralph runs as root, and agents as another user if the sandbox allows it: see there",
    )
}
