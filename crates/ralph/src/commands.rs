//! The commands, most in a file of their own: an `Args` struct and a `run` that stays thin.

/// The effect of a command on the journal, the queue, task files, the configuration and the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandAccess {
    /// Nothing: it works inside a run, too.
    Reads,
    /// It speaks for a person, so that it refuses inside a run.
    Writes,
}

impl CommandAccess {
    pub(crate) fn writes_unless(only_looks: bool) -> Self {
        if only_looks {
            Self::Reads
        } else {
            Self::Writes
        }
    }
}

/// Declares commands: what each does, its arguments, and the function of its module that does it; where it
/// says `in project`, the project is opened for it. Each says whether it `reads` or `writes`, or that its
/// arguments tell: `asks`.
macro_rules! subcommands {
    (@call $run:path, $args:ident, $global:ident) => {
        $run($args, $global)
    };
    (@call $run:path, $args:ident, $global:ident, project) => {
        $run($args, &$crate::project::Project::open($global, Vec::new())?)
    };
    (@access reads, $args:ident) => {{
        let _ = $args;
        $crate::commands::CommandAccess::Reads
    }};
    (@access writes, $args:ident) => {{
        let _ = $args;
        $crate::commands::CommandAccess::Writes
    }};
    (@access asks, $args:ident) => {
        $args.access()
    };
    ($group:ident { $($(#[$about:meta])* $name:ident($module:ident::$args:ident => $run:ident $(in $project:ident)?; $access:ident),)+ }) => {
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $group {
            $($(#[$about])* $name($module::$args),)+
        }

        impl $group {
            pub(crate) fn access(&self) -> $crate::commands::CommandAccess {
                match self {
                    $($group::$name(args) => subcommands!(@access $access, args),)+
                }
            }
        }

        pub(crate) fn dispatch(
            command: &$group,
            global: &$crate::cli::Global,
        ) -> Result<std::process::ExitCode, $crate::error::CommandError> {
            match command {
                $($group::$name(args) => subcommands!(@call $module::$run, args, global $(, $project)?),)+
            }
        }
    };
}

pub(crate) mod agent;
pub(crate) mod allow_command;
pub(crate) mod answer;
pub(crate) mod checkpoint;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod cost;
pub(crate) mod db;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod escalations;
pub(crate) mod execute;
pub(crate) mod goal;
pub(crate) mod health;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod interview;
pub(crate) mod lint;
pub(crate) mod logs;
pub(crate) mod loops;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod monitor;
pub(crate) mod notify;
pub(crate) mod plan;
pub(crate) mod play_script;
pub(crate) mod prompt;
pub(crate) mod qa;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod revert;
pub(crate) mod run;
pub(crate) mod squash;
pub(crate) mod status;
pub(crate) mod steer;
pub(crate) mod stop;
pub(crate) mod sync;
pub(crate) mod tasks;
pub(crate) mod team;
pub(crate) mod tokens;
pub(crate) mod verify;

subcommands! {
    TopCommand {
        /// Run agents on the tasks until all tasks are complete or a limit is reached
        Run(run::Args => run; asks),
        /// Run the tasks of an artefacts project and write a summary of the results
        Execute(execute::Args => run; asks),
        /// Work towards one goal, without a task list, until it is reached
        Loop(goal::Args => run; asks),
        /// Create a small sample repository and run a loop in it
        Demo(demo::Args => run; writes),
        /// Stop the running loop cleanly: the agent is stopped and its work is kept
        Stop(stop::Args => run in project; writes),
        /// Undo an iteration and all later ones: reset the branch and reopen their tasks
        Revert(revert::Args => run in project; writes),
        /// Combine all commits that ralph made on this branch into one
        Squash(squash::Args => run; writes),
        /// Create, list, verify and restore checkpoints of a loop
        #[command(subcommand)]
        Checkpoint(checkpoint::CheckpointCommand => dispatch; asks),
        /// Pause the loop after the current iteration, or immediately with `--now`
        Pause(steer::PauseArgs => pause; writes),
        /// Give the running agent more time, hand its work over to a new agent, or end it
        Intervene(steer::InterveneArgs => intervene; writes),
        /// Resume a paused loop, or restart one whose process is gone
        Resume(resume::Args => run; writes),
        /// Reopen a task with all its attempts, and tell agents what to do differently
        Retry(steer::RetryArgs => retry; writes),
        /// Skip a task, with a reason
        Skip(steer::SkipArgs => skip; writes),
        /// Reopen a task that has no attempts left
        Unblock(steer::UnblockArgs => unblock; writes),
        /// Send a message to the next agent, or to the running one with `--now`
        Say(steer::SayArgs => say; writes),
        /// Answer a question: choose an option, write your own answer, or skip the task
        Answer(answer::Args => run; writes),
        /// List the questions that are waiting for an answer
        Escalations(escalations::Args => run in project; reads),
        /// List the loops of this repository and their results
        Loops(loops::Args => run in project; reads),
        /// Show the health of running loops: their agents and processes
        Health(health::Args => run in project; reads),
        /// Watch all loops on this machine, and act if one hangs or its process is gone
        Monitor(monitor::Args => run in project; writes),
        /// Show the state of the tasks and of the loop
        Status(status::Args => run in project; reads),
        /// Show the log of an iteration
        Logs(logs::Args => run in project; reads),
        /// Summarize the last loop: commits, tasks and the work that is left
        Report(report::Args => run in project; reads),
        /// Show the cost by task, model, day or loop, a forecast, and the prices in use
        Cost(cost::Args => run in project; reads),
        /// Show the tokens that the last loop used, by kind and by model
        Tokens(tokens::Args => run in project; reads),
        /// List, show and add tasks, and mark them as done
        #[command(subcommand)]
        Tasks(tasks::TasksCommand => dispatch; asks),
        /// Use an agent to turn a brief, a PRD or a folder of specifications into tasks
        Plan(plan::Args => run; writes),
        /// Convert a task file to another format, keeping every field
        Import(import::Args => run in project; asks),
        /// Set up a project (ralph.yaml, .ralph/, parent task), or create the brief of a named one
        Init(init::Args => run in project; writes),
        /// Let agents interview you about a project's brief and create its tasks
        Interview(interview::Args => run; writes),
        /// Print the prompts for the agents of an artefacts project
        Prompt(prompt::Args => run in project; reads),
        /// Check the tasks for problems before agents work on them
        Lint(lint::Args => run in project; asks),
        /// Verify a commit with the configured commands, in a fresh layer or a clean clone
        Verify(verify::Args => run; writes),
        /// Run flows of a user in a browser, compare pictures of the pages, and approve them
        #[command(subcommand)]
        Qa(qa::QaCommand => dispatch; asks),
        /// Check the machine, the repository, the journal and the agent
        Doctor(doctor::Args => run; asks),
        /// Show the loops, costs, questions and machines of a team, and steer loops on any of them
        Team(team::Args => run; asks),
        /// Send the journal to the store of a team, and take what came for the loops here
        Sync(sync::Args => run; asks),
        /// Set up and keep the PostgreSQL server of a team
        #[command(subcommand)]
        Db(db::DbCommand => dispatch; asks),
        /// Test the configured notifications
        #[command(subcommand)]
        Notify(notify::NotifyCommand => dispatch; asks),
        /// List agents, explain a recorded stream, or talk to an agent
        #[command(subcommand)]
        Agent(agent::AgentCommand => dispatch; asks),
        /// Install ralph into Claude Code or Pi, as a plugin or package of theirs
        Install(install::Args => install; writes),
        /// Remove what `ralph install` put into Claude Code or Pi
        Uninstall(install::Args => uninstall; writes),
        /// Serve an agent or editor over the Model Context Protocol, on standard input and output
        Mcp(mcp::Args => run; reads),
        /// Print the effective configuration and where each value comes from
        Config(config::Args => run; reads),
        /// Print a completion script for a shell
        Completions(completions::Args => run; reads),
        /// Generate the manual pages
        Man(man::Args => run; reads),
        /// Answer hooks of Claude Code and Pi: their plugin and package call it
        #[command(subcommand)]
        Hook(hook::HookCommand => dispatch; reads),
        #[command(name = "__play-script", hide = true)]
        PlayScript(play_script::Args => run; reads),
        #[command(name = "__allow-command", hide = true)]
        AllowCommand(allow_command::Args => run; reads),
    }
}
