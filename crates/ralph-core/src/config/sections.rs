//! The sections of `ralph.yaml`, but for those of single agents and of messages: each key with its type
//! and its default.
//!
//! Only what is wanted. Paths are kept as written; the engine makes them absolute.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::sandbox::{AgentNetwork, SandboxMode, VerifyNetwork};
use super::value::{BranchPrefix, Gigabytes, GlobPattern, Minutes};
use super::{AgentChoice, CustomAgent};
use crate::dollars::Dollars;
use crate::economics::PriceTable;
use crate::handoff::Share;
use crate::task::VerifyCommand;

/// Declares a section: each key with its default.
macro_rules! section {
    (
        $(#[$attr:meta])*
        pub struct $name:ident {
            $($(#[$of_key:meta])* pub $key:ident: $type:ty = $default:expr,)+
        }
    ) => {
        $(#[$attr])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$of_key])* pub $key: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }
    };
}
pub(super) use section;

/// A default that is not zero.
pub(super) const fn count(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("not zero")
}

const fn bytes(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).expect("not zero")
}

section! {
    /// The repository and the branch that ralph works on.
    pub struct RepoConfig {
        /// The repository's folder, relative to the folder of the file that says so.
        #[schemars(length(min = 1))]
        pub root: PathBuf = ".".into(),
        /// What the name of ralph's branch begins with.
        pub branch_prefix: BranchPrefix = BranchPrefix::default(),
    }
}

section! {
    /// Where the tasks come from.
    pub struct TasksConfig {
        /// The kind of task store.
        pub backend: Backend = Backend::Local,
        /// A task file or folder to use instead of looking for one.
        #[schemars(length(min = 1))]
        pub source: Option<PathBuf> = None,
        /// The folder of the local task store.
        #[schemars(length(min = 1))]
        pub path: PathBuf = ".ralph/tasks".into(),
        /// The file that holds the id of the parent task.
        #[schemars(length(min = 1))]
        pub parent_id_file: PathBuf = ".ralph/parent-task-id".into(),
        /// Makes tasks of what agents add to task files, where the task graph stays right; else they are suggestions.
        pub accept_new: bool = false,
    }
}

/// Kinds of task store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    Local,
}

section! {
    /// What is kept from one iteration to the next, in files.
    pub struct MemoryConfig {
        /// The progress file: codebase patterns, then an entry for each iteration.
        #[schemars(length(min = 1))]
        pub progress_file: PathBuf = ".ralph/progress.md".into(),
        /// Where the progress of earlier features goes.
        #[schemars(length(min = 1))]
        pub archive_dir: PathBuf = ".ralph/archive".into(),
        /// The size at which the oldest entries of the progress file are dropped.
        pub max_bytes: NonZeroU64 = bytes(32_768),
    }
}

section! {
    /// What ralph's commits look like.
    pub struct GitConfig {
        /// Which label of a task gives its commit which type; without a match it is `feat`.
        pub commit_types: BTreeMap<String, CommitType> = usual_commit_types(),
        /// True if commits get a `Signed-off-by` line.
        pub sign_off: bool = false,
    }
}

fn usual_commit_types() -> BTreeMap<String, CommitType> {
    let types = [
        ("bug", CommitType::Fix),
        ("fix", CommitType::Fix),
        ("chore", CommitType::Chore),
        ("docs", CommitType::Chore),
        ("deps", CommitType::Chore),
    ];
    types.map(|(label, kind)| (label.to_owned(), kind)).into()
}

named! {
    /// The type that a commit's subject begins with.
    #[derive(JsonSchema)]
    pub enum CommitType {
        Feat = "feat",
        Fix = "fix",
        Chore = "chore",
    }
}

section! {
    /// How ralph finds out for itself whether work is done.
    pub struct VerificationConfig {
        /// Commands that must all pass before anything is committed: each a list of words, or a line
        /// for the shell.
        pub commands: Vec<VerifyCommand> = Vec::new(),
        /// Commands that make the checkout ready, such as `npm ci`: they run before the others, each time.
        pub prepare: Vec<VerifyCommand> = Vec::new(),
        /// Files that land although a verify command wrote them. A lock file does by itself where the change
        /// has it, or what it is made from.
        pub lands: Vec<GlobPattern> = Vec::new(),
        /// Commands that format the code; they run before the tree to be verified is written.
        pub format: Vec<VerifyCommand> = Vec::new(),
        /// The hosts that the commands reach in a sandbox: every one (`open`), none (`off`), or none unless the
        /// baseline fails without and passes with them (`auto`).
        pub network: VerifyNetwork = VerifyNetwork::Auto,
        /// Minutes after which a single command counts as failed.
        pub timeout_minutes: Minutes = Minutes::whole(15),
        /// What happens when a command was already failing before the loop changed anything.
        pub known_failures: KnownFailures = KnownFailures::Refuse,
        /// True if the commands run once before the first iteration, so that a failure that was there
        /// already can be told from a new one.
        pub baseline: bool = true,
        /// When the last commit is verified in a fresh clone, after `prepare`: at the `end` of a loop that landed
        /// something, `always` after a landing, or not at all (`off`).
        pub clean_check: CleanCheck = CleanCheck::End,
        /// Minutes that such a check may take in all.
        pub clean_timeout_minutes: Minutes = Minutes::whole(30),
        /// The number of lines of a failing command's output the next prompt gets.
        pub tail_lines: NonZeroU32 = count(200),
        /// The number of bytes of a failing command's output the next prompt gets.
        pub tail_bytes: NonZeroU64 = bytes(16_384),
    }
}

/// What happens when a command was already failing before the loop changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownFailures {
    /// Nothing lands while a command fails, no matter who broke it.
    Refuse,
    /// A command that fails as it did at the start does not block.
    Allow,
}

/// When the last commit is verified in a fresh clone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CleanCheck {
    End,
    Always,
    Off,
}

section! {
    /// When ralph stops: limits of a run, an iteration and a task.
    pub struct LoopConfig {
        /// Iterations of a loop, counted from `ralph run` on; 0 for no limit.
        pub max_iterations: u32 = 50,
        /// Minutes of a loop, counted from `ralph run` on; none for no limit.
        pub max_minutes: Option<Minutes> = None,
        /// Dollars that a loop may cost, as far as the agent tells, counted from `ralph run` on; none for no limit.
        pub max_cost_usd: Option<Dollars> = None,
        /// Minutes after the start of an iteration at which its agent is stopped; verify commands have
        /// their own limit.
        pub max_minutes_per_iteration: Minutes = Minutes::whole(90),
        /// Attempts at a task before it is set aside as blocked.
        pub max_attempts: NonZeroU32 = count(3),
        /// What to do when a task is out of attempts: `block` it and go on with others, or `halt` the loop.
        pub on_max_attempts: OnMaxAttempts = OnMaxAttempts::Block,
        /// The number of times within an iteration an agent is started again to repair a failed verification;
        /// 0 for never.
        pub max_verify_retries: u32 = 1,
        /// Errors of the agent or its API in a row before the loop stops.
        pub max_errors: NonZeroU32 = count(3),
        /// Iterations in a row without a verified commit before the loop stops.
        pub max_no_progress: NonZeroU32 = count(3),
        /// Minutes an agent may be silent while none of its tools runs.
        pub idle_minutes: Minutes = Minutes::whole(15),
        /// Minutes an agent may be silent while one of its tools runs.
        pub idle_minutes_tool: Minutes = Minutes::whole(60),
        /// Seconds a process is given to end by itself before it is killed.
        pub stop_grace_seconds: NonZeroU32 = count(10),
        /// Minutes that a question waits at the terminal for an answer; then it is put off, and the loop goes on
        /// without it, or ends.
        pub ask_minutes: Minutes = Minutes::whole(30),
        /// When ralph finds that work goes round in circles.
        pub gutter: GutterConfig = GutterConfig::default(),
    }
}

/// What to do when a task is out of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnMaxAttempts {
    Block,
    Halt,
}

section! {
    /// When ralph finds that work goes round in circles.
    pub struct GutterConfig {
        /// Attempts in a row whose verification fails in the same way before a person is asked.
        pub max_same_failure: NonZeroU32 = count(3),
        /// Attempts in a row that change the same files again, and make nothing better, before a person is
        /// asked.
        pub max_churn_commits: NonZeroU32 = count(2),
        /// Attempts in a row that undo what the one before did before a person is asked.
        pub max_oscillations: NonZeroU32 = count(2),
        /// True if an agent is to find out why, one step before one of these limits is reached.
        pub diagnose: bool = true,
        /// What to do when a limit is reached: `ask` a person, ask and `pause` the loop, or `block` the task.
        pub then: OnGutter = OnGutter::Ask,
    }
}

/// What to do with a task that goes round in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnGutter {
    Ask,
    Pause,
    Block,
}

section! {
    /// Where agents and verify commands work.
    pub struct WorkspaceConfig {
        /// The folder that agents work in: a layer over the repository that is thrown away (`overlay`), the
        /// user's own folder (`in_place`), or a layer wherever the machine allows it (`auto`).
        pub mode: WorkspaceMode = WorkspaceMode::Auto,
        /// Folders that hold what is installed or built, by name. In a layer, verification gets an agent's own
        /// only where its change touches a manifest or a lock file and `verification.prepare` is empty.
        pub caches: Vec<String> = ["node_modules", "target", ".venv", "venv", "vendor", ".gradle", ".tox"]
            .map(String::from)
            .to_vec(),
        /// Gigabytes that an agent, a formatter or a verify command may write into its layer: one that writes more
        /// is stopped. None for half of what is free on the disk when the loop begins.
        pub max_gb: Option<Gigabytes> = None,
    }
}

/// The folder that agents work in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceMode {
    /// A layer where the machine allows it, else the user's own folder.
    Auto,
    /// A layer; ralph does not start where the machine does not allow it.
    Overlay,
    /// The user's own folder.
    InPlace,
}

section! {
    /// What is kept of an agent's output.
    pub struct LogsConfig {
        /// Megabytes of one iteration's log; beyond that its middle is dropped.
        pub max_mb: NonZeroU32 = count(50),
    }
}

section! {
    /// What happens when an agent's usage limit is reached, or its API is overloaded.
    pub struct UsageLimitsConfig {
        /// What to do at a usage limit: `wait` until it resets, `stop`, or go on with a `fallback` until
        /// it resets.
        pub on_usage_limit: OnUsageLimit = OnUsageLimit::Wait,
        /// Minutes to wait for a reset at most. One that is further away stops the loop.
        pub max_wait_minutes: Minutes = Minutes::whole(360),
        /// Minutes to wait before the agent is tried again where it does not say when its limit resets.
        pub unknown_wait_minutes: Minutes = Minutes::whole(30),
        /// The agent that goes on at a usage limit, written like `agent`.
        #[schemars(schema_with = "agent_or_null")]
        pub fallback_agent: Option<AgentChoice> = None,
        /// The model that goes on at a usage limit: of `limits.fallback_agent`, or of the same agent.
        #[schemars(length(min = 1))]
        pub fallback_model: Option<String> = None,
        /// The number of times a run is tried again within an iteration when the API is overloaded, failing or out
        /// of reach; 0 for never.
        pub overload_retries: u32 = 6,
        /// Seconds before the first of these; each wait is twice the last one and a random part more, at
        /// most 5 minutes.
        pub overload_wait_seconds: u32 = 10,
    }
}

impl UsageLimitsConfig {
    /// Why these settings can't be followed, if they can't.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        let no_fallback = self.fallback_agent.is_none() && self.fallback_model.is_none();
        (self.on_usage_limit == OnUsageLimit::Fallback && no_fallback).then_some(
            "there is no agent to go on with: set `limits.fallback_agent` or `limits.fallback_model`",
        )
    }
}

/// What to do at a usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnUsageLimit {
    Wait,
    Stop,
    Fallback,
}

/// One list of branches, as the checks of the configuration read it.
fn agent_or_null(generator: &mut SchemaGenerator) -> Schema {
    let custom = CustomAgent::json_schema(generator);
    json_schema!({ "anyOf": [{ "type": "string", "minLength": 1 }, custom, { "type": "null" }] })
}

section! {
    /// When an agent makes no progress, and what is done about it.
    pub struct HealthConfig {
        /// True if ralph watches how an agent does, and acts on it.
        pub enabled: bool = true,
        /// Minutes without progress (a changed tree, a passing command) after which an agent is stuck.
        pub stuck_minutes: Minutes = Minutes::whole(30),
        /// Minutes after a reminder before the next one, and after the last one before a person is asked.
        pub nudge_wait_minutes: Minutes = Minutes::whole(10),
        /// Reminders before a person is asked; 0 for none.
        pub max_nudges: u32 = 3,
        /// Minutes that a person has to answer before the agent is ended.
        pub escalation_wait_minutes: Minutes = Minutes::whole(15),
        /// Percent of the last steps that failed from which an agent is degraded.
        #[schemars(range(min = 1, max = 100))]
        pub degraded_error_percent: u8 = 50,
        /// Steps that this needs at least.
        pub degraded_steps: NonZeroU32 = count(10),
        /// Steps with nothing but errors after which an agent is failing.
        pub failing_steps: NonZeroU32 = count(20),
        /// The number of times the same tool call with the same result comes, without progress, before an agent is
        /// degraded.
        pub degraded_repeats: NonZeroU32 = count(5),
        /// The number of times before it is stuck.
        pub stuck_repeats: NonZeroU32 = count(10),
        /// The number of times in a row a fresh agent goes on after one that was failing or had to be ended; 0 for
        /// never.
        pub max_recoveries: u32 = 1,
    }
}

impl HealthConfig {
    /// Returns what a limit of an iteration's time cuts off, if it does: what would come, and when at the
    /// earliest.
    pub(super) fn cut_by(&self, limit: Minutes) -> Option<(&'static str, Minutes)> {
        if !self.enabled {
            return None;
        }
        let stuck = self.stuck_minutes.duration();
        let asked = stuck + self.nudge_wait_minutes.duration() * self.max_nudges;
        let ended = asked + self.escalation_wait_minutes.duration();
        [
            ("reminded", stuck),
            ("asked about", asked),
            ("ended", ended),
        ]
        .into_iter()
        .find(|(_, at)| limit.duration() < *at)
        .map(|(what, at)| (what, Minutes::of(at)))
    }
}

section! {
    /// When agents fail so often that none is started for a while.
    pub struct BreakerConfig {
        /// Failures of the agent or its API that open the circuit breaker.
        pub failures: NonZeroU32 = count(5),
        /// Among so many of the last iterations.
        pub window: NonZeroU32 = count(10),
        /// Minutes until it lets one iteration through.
        pub cooldown_minutes: Minutes = Minutes::whole(10),
        /// What to do when it opens: `stop` the loop, or `wait` and try one iteration.
        pub on_open: OnOpen = OnOpen::Stop,
    }
}

/// What to do when the circuit breaker opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnOpen {
    Stop,
    Wait,
}

section! {
    /// What models cost, and how spending is judged.
    pub struct EconomicsConfig {
        /// Prices that go before the shipped ones: a model's name, which may hold `*`, with the dollars
        /// for a million tokens by kind.
        pub prices: PriceTable = PriceTable::new(),
        /// A file with prices that go before the shipped ones: YAML with `as_of`, a date, and `models`, which
        /// is as `prices`. A relative path is that of the repository.
        pub prices_file: Option<PathBuf> = None,
        /// True if agents are to start subagents from now on that the history knows nothing of: a
        /// forecast is then 15 times as high.
        pub multi_agent: bool = false,
        /// Seconds that a budget with `action: throttle` waits at 80 %; the wait doubles with each 4 %
        /// beyond, up to 15 minutes.
        pub throttle_seconds: u32 = 30,
    }
}

section! {
    /// When an agent is asked to wrap up, so that a fresh one goes on.
    pub struct HandoffConfig {
        /// True if agents are asked to wrap up at all; a person can ask for it either way.
        pub enabled: bool = true,
        /// The share of its context beyond which an agent hands over.
        pub context_threshold: Share = Share::percent(70),
        /// Failed steps in a row at which it does.
        pub max_errors: NonZeroU32 = count(3),
        /// The share of the nearest limit of cost beyond which it does.
        pub budget_threshold: Share = Share::percent(80),
        /// Minutes before the end of its iteration's time at which it does; of a short time, half of it is
        /// left.
        pub wrap_up_minutes: Minutes = Minutes::whole(5),
        /// Handoffs in a row of one task; one more is a failed attempt.
        pub max_in_a_row: NonZeroU32 = count(10),
    }
}

section! {
    /// When `ralph monitor` takes a loop for hanging, and how long it waits before it goes further.
    pub struct MonitorConfig {
        /// Seconds from one look at all loops to the next.
        pub interval_seconds: NonZeroU32 = count(10),
        /// Seconds without a sign of life from which a loop whose process lives is taken for hanging.
        pub hang_seconds: NonZeroU32 = count(60),
        /// Seconds that a hanging loop has to answer before a person is told.
        pub ask_wait_seconds: NonZeroU32 = count(30),
        /// Minutes that a person has before a hanging loop is terminated.
        pub escalate_wait_minutes: Minutes = Minutes::whole(15),
        /// Seconds that a hanging loop has to end by itself before it is killed.
        pub grace_seconds: NonZeroU32 = count(30),
        /// Restarts an hour in one working tree at most, with `--restart`; 0 for none.
        pub max_restarts: u32 = 3,
    }
}

section! {
    /// How much of each thing goes into a prompt.
    pub struct PromptConfig {
        /// Entries of a list of files.
        pub file_list: NonZeroU32 = count(100),
        /// Bytes of the Codebase Patterns of the progress file.
        pub patterns_bytes: NonZeroU64 = bytes(8_192),
        /// Bytes of `AGENTS.md`.
        pub agents_md_bytes: NonZeroU64 = bytes(8_192),
        /// Bytes of a task's description.
        pub description_bytes: NonZeroU64 = bytes(65_536),
        /// Searches whose matches are put into every prompt.
        pub greps: Vec<Grep> = Vec::new(),
    }
}

/// A search whose matches are put into every prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grep {
    /// The regular expression to look for.
    #[schemars(length(min = 1))]
    pub pattern: String,
    /// Where to look; empty for all files that git knows.
    #[serde(default)]
    pub paths: Vec<GlobPattern>,
    /// The number of matching lines are kept.
    #[serde(default = "Grep::default_max_lines")]
    pub max_lines: NonZeroU32,
}

impl Grep {
    fn default_max_lines() -> NonZeroU32 {
        const { NonZeroU32::new(20).expect("not zero") }
    }
}

section! {
    /// What an agent's change may not contain, and what an agent may not do.
    pub struct SafetyConfig {
        /// The sandbox around agents and verify commands: wherever the machine allows one (`auto`), always, so
        /// that ralph does not start without (`required` or `true`), or none (`off` or `false`).
        pub sandbox: SandboxMode = SandboxMode::Auto,
        /// The image of a container that agents and verify commands run in, by podman, instead of the sandbox
        /// that ralph makes itself. Their programs must be in it. None for no container.
        pub container: Option<String> = None,
        /// Files and folders outside of the repository that programs in the sandbox may read too; `~/` is the home.
        pub allow_read: Vec<PathBuf> = Vec::new(),
        /// Files and folders outside of the repository that programs in the sandbox may write too.
        pub allow_write: Vec<PathBuf> = Vec::new(),
        /// The hosts that the agent reaches: every one (`open`), those of its model and `allow_hosts`
        /// (`model-only`), or none (`off`). Needs a sandbox of namespaces.
        pub network: AgentNetwork = AgentNetwork::Open,
        /// Hosts besides those of its model that the agent reaches with `model-only`: `example.com`,
        /// `*.example.com`, `127.0.0.1:8080`.
        pub allow_hosts: Vec<String> = Vec::new(),
        /// Gigabytes of memory that the programs in the sandbox may use together: a run that uses more is stopped.
        /// None for nine tenths of the machine's.
        pub max_memory_gb: Option<Gigabytes> = None,
        /// Processes that may be in the sandbox at once.
        pub max_processes: NonZeroU32 = count(4_096),
        /// Processors that the programs in the sandbox may use together. None for all.
        pub max_cpus: Option<NonZeroU32> = None,
        /// Programs that verify commands and the agent's shell may start: a name, a path, or a name with the first
        /// words behind it (`git status`); empty for any.
        pub allowed_commands: Vec<String> = Vec::new(),
        /// Paths that an agent's change may not touch.
        pub protected_paths: Vec<GlobPattern> = Vec::new(),
        /// The treatment of a change that takes tests away or touches files that decide what verification does:
        /// nothing, a flag, or a refusal.
        pub protect_tests: ProtectTests = ProtectTests::Flag,
        /// Megabytes of the largest file that a change may add.
        pub max_file_mb: NonZeroU32 = count(50),
        /// Paths in which things that look like secrets are accepted (test fixtures, say).
        pub secret_allow: Vec<GlobPattern> = Vec::new(),
        /// Environment variables that agents and verify commands get although their names look like
        /// credentials. Those of the agent's own model are always passed.
        pub pass_env: Vec<String> = Vec::new(),
    }
}

/// The treatment of a change that touches what verification stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProtectTests {
    /// Nothing: it is not even flagged.
    Off,
    /// It is flagged in the record, the report and the commit; one that leaves no test to run fails.
    Flag,
    /// It is refused.
    Block,
}
