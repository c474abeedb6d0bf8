//! ralph's configuration: its keys, the layers that set them, and where each value came from.
//!
//! [`Config`] is what the rest of ralph reads. [`resolve`] makes it from the layers, lowest first:
//! built-in defaults, the user's file, the project's `ralph.yaml`, the environment, flags.
//!
//! Reads no file and no environment: the engine hands in their text. A key is declared once, as a
//! field of a section with its default; the schema, the known keys, the names of environment
//! variables and the checks all follow from it.

mod agent;
mod check;
mod claude;
mod guess;
mod layer;
mod node;
mod notify;
mod pi;
mod qa;
mod resolve;
mod sandbox;
mod schema;
mod sections;
mod show;
mod store;
mod value;

#[cfg(test)]
mod tests;

pub use agent::{AgentChoice, CommandConfig, CustomAgent, EnvVars};
pub use claude::{ClaudeConfig, PermissionMode, SettingSource};
pub use guess::{Guess, GuessKind, ProjectFiles, guess_prepare, guess_verify, needs_prepare};
pub use layer::{
    ConfigError, ConfigErrors, ConfigFile, ConfigProblem, FlagValue, Layers, NotInForce, Origin,
    Position, Source,
};
pub use notify::{Desktop, NotifyCommand, NotifyConfig, VariableName, WebhookUrl};
pub use pi::{PiConfig, PiMode};
pub use qa::{
    BROWSER_PROGRAMS, HostName, PageSize, PageUrl, PixelShare, QaConfig, QaServer, ServerPort,
    ServerReady, TimeText,
};
pub use resolve::{Note, Resolved, may_set_key, resolve};
pub use sandbox::{AgentNetwork, SandboxMode, VerifyNetwork};
pub use schema::{KeyPath, did_you_mean, schema};
pub use sections::{
    Backend, BreakerConfig, CleanCheck, CommitType, EconomicsConfig, GitConfig, Grep, GutterConfig,
    HandoffConfig, HealthConfig, KnownFailures, LogsConfig, LoopConfig, MemoryConfig,
    MonitorConfig, OnGutter, OnMaxAttempts, OnOpen, OnUsageLimit, PromptConfig, ProtectTests,
    RepoConfig, SafetyConfig, TasksConfig, UsageLimitsConfig, VerificationConfig, WorkspaceConfig,
    WorkspaceMode,
};
pub use show::{InitPlan, Row, effective, render_effective_yaml, render_ralph_yaml};
pub use store::{ServerUrl, StoreConfig, StoreMode, SyncPart, split_password};
pub use value::{Argv, BranchPrefix, Gigabytes, GlobPattern, Minutes};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::economics::Budget;

/// How ralph works in a repository. Every key has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "ralph.yaml")]
pub struct Config {
    /// Which agent does the work: a name such as `claude` or `pi`, `script:FILE` (a scripted agent,
    /// for trying ralph without a key), `command:PROGRAM` (any program that reads a prompt on its
    /// standard input), or a map with the `name`, `command` and `dialect` of a program that speaks
    /// like one of those.
    pub agent: AgentChoice,
    /// The repository and the branch that ralph works on.
    pub repo: RepoConfig,
    /// Where the tasks come from.
    pub tasks: TasksConfig,
    /// What is kept from one iteration to the next, in files.
    pub memory: MemoryConfig,
    /// How Claude Code is started.
    pub claude: ClaudeConfig,
    /// How Pi is started.
    pub pi: PiConfig,
    /// How the program of `agent: command:PROGRAM` is started.
    pub command: CommandConfig,
    /// How ralph finds out for itself whether work is done.
    pub verification: VerificationConfig,
    /// Where agents and verify commands work.
    pub workspace: WorkspaceConfig,
    /// When ralph stops: limits of a run, an iteration and a task.
    #[serde(rename = "loop")]
    pub loop_: LoopConfig,
    /// What happens when an agent's usage limit is reached, or its API is overloaded.
    pub limits: UsageLimitsConfig,
    /// When an agent makes no progress, and what is done about it.
    pub health: HealthConfig,
    /// When agents fail so often that none is started for a while.
    pub breaker: BreakerConfig,
    /// What may be spent: by day, month or in total, by all projects, this one, a task or a loop.
    pub budgets: Vec<Budget>,
    /// What models cost, and how spending is judged.
    pub economics: EconomicsConfig,
    /// When an agent is asked to wrap up, so that a fresh one goes on.
    pub handoff: HandoffConfig,
    /// Who is told of a question, the end, a halt, a limit, the budget, and how.
    pub notify: NotifyConfig,
    /// When `ralph monitor` takes a loop for hanging, and how long it waits before it goes further.
    pub monitor: MonitorConfig,
    /// How much of each thing goes into a prompt.
    pub prompt: PromptConfig,
    /// What ralph's commits look like.
    pub git: GitConfig,
    /// What an agent's change may not contain, and what an agent may not do.
    pub safety: SafetyConfig,
    /// What is kept of an agent's output.
    pub logs: LogsConfig,
    /// Where the journal is kept, and what a team sees of it.
    pub store: StoreConfig,
    /// The way flows run in a browser: `ralph qa`.
    pub qa: QaConfig,
}

impl Config {
    /// The same, with another model for the agent that `choice` names; nothing where it takes none.
    pub fn with_model(&self, choice: &AgentChoice, model: &str) -> Option<Self> {
        let (name, agent) = match choice {
            AgentChoice::Named(name) => (name, choice.clone()),
            AgentChoice::Custom(custom) => {
                let mut other = custom.clone();
                other.model = Some(model.to_owned());
                (&custom.dialect, AgentChoice::Custom(other))
            }
            AgentChoice::Script(_) | AgentChoice::Command(_) => return None,
        };
        let mut values = serde_json::to_value(self).ok()?;
        let mut section = values.get_mut(name).and_then(|s| s.as_object_mut());
        // A model for a label would go before it.
        if let Some(models) = section.as_mut().and_then(|s| s.get_mut("models")) {
            *models = serde_json::json!({});
        }
        if let AgentChoice::Named(_) = choice {
            *section?.get_mut("model")? = model.into();
        }
        let other: Self = serde_json::from_value(values).ok()?;
        Some(Self { agent, ..other })
    }
}
