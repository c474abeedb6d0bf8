//! The commands, most in a file of their own: an `Args` struct and a `run` that stays thin.

/// Declares commands: what each does, its arguments, and the function of its module that does it; where it
/// says `in project`, the project is opened for it.
macro_rules! subcommands {
    (@call $run:path, $args:ident, $global:ident) => {
        $run($args, $global)
    };
    (@call $run:path, $args:ident, $global:ident, project) => {
        $run($args, &$crate::project::Project::open($global, Vec::new())?)
    };
    ($group:ident { $($(#[$about:meta])* $name:ident($module:ident::$args:ident => $run:ident $(in $project:ident)?),)+ }) => {
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $group {
            $($(#[$about])* $name($module::$args),)+
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
pub(crate) mod answer;
pub(crate) mod checkpoint;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod cost;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod escalations;
pub(crate) mod execute;
pub(crate) mod goal;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod interview;
pub(crate) mod lint;
pub(crate) mod logs;
pub(crate) mod loops;
pub(crate) mod man;
pub(crate) mod monitor;
pub(crate) mod notify;
pub(crate) mod plan;
pub(crate) mod play_script;
pub(crate) mod prompt;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod revert;
pub(crate) mod run;
pub(crate) mod squash;
pub(crate) mod status;
pub(crate) mod steer;
pub(crate) mod stop;
pub(crate) mod tasks;
pub(crate) mod tokens;
pub(crate) mod verify;

subcommands! {
    TopCommand {
        /// Run agents on the tasks until all tasks are complete or a limit is reached
        Run(run::Args => run),
        /// Run the tasks of an artefacts project and write a summary of the results
        Execute(execute::Args => run),
        /// Work towards one goal, without a task list, until it is reached
        Loop(goal::Args => run),
        /// Create a small sample repository and run a loop in it
        Demo(demo::Args => run),
        /// Stop the running loop cleanly: the agent is stopped and its work is kept
        Stop(stop::Args => run in project),
        /// Undo an iteration and all later ones: reset the branch and reopen their tasks
        Revert(revert::Args => run in project),
        /// Combine all commits that ralph made on this branch into one
        Squash(squash::Args => run),
        /// Create, list, verify and restore checkpoints of a loop
        #[command(subcommand)]
        Checkpoint(checkpoint::CheckpointCommand => dispatch),
        /// Pause the loop after the current iteration, or immediately with `--now`
        Pause(steer::PauseArgs => pause),
        /// Give the running agent more time, hand its work over to a new agent, or end it
        Intervene(steer::InterveneArgs => intervene),
        /// Resume a paused loop, or restart one whose process is gone
        Resume(resume::Args => run),
        /// Reopen a task with all its attempts, and tell agents what to do differently
        Retry(steer::RetryArgs => retry),
        /// Skip a task, with a reason
        Skip(steer::SkipArgs => skip),
        /// Reopen a task that has no attempts left
        Unblock(steer::UnblockArgs => unblock),
        /// Send a message to the next agent, or to the running one with `--now`
        Say(steer::SayArgs => say),
        /// Answer a question: choose an option, write your own answer, or skip the task
        Answer(answer::Args => run),
        /// List the questions that are waiting for an answer
        Escalations(escalations::Args => run in project),
        /// List the loops of this repository and their results
        Loops(loops::Args => run in project),
        /// Show the health of running loops: their agents and processes
        Health(health::Args => run in project),
        /// Watch all loops on this machine, and act if one hangs or its process is gone
        Monitor(monitor::Args => run in project),
        /// Show the state of the tasks and of the loop
        Status(status::Args => run in project),
        /// Show the log of an iteration
        Logs(logs::Args => run in project),
        /// Summarize the last loop: commits, tasks and the work that is left
        Report(report::Args => run in project),
        /// Show the cost by task, model, day or loop, a forecast, and the prices in use
        Cost(cost::Args => run in project),
        /// Show the tokens that the last loop used, by kind and by model
        Tokens(tokens::Args => run in project),
        /// List, show and add tasks
        #[command(subcommand)]
        Tasks(tasks::TasksCommand => dispatch),
        /// Use an agent to turn a brief, a PRD or a folder of specifications into tasks
        Plan(plan::Args => run),
        /// Convert a task file to another format, keeping every field
        Import(import::Args => run in project),
        /// Set up a project (ralph.yaml, .ralph/, parent task), or create the brief of a named one
        Init(init::Args => run in project),
        /// Let agents interview you about a project's brief and create its tasks
        Interview(interview::Args => run),
        /// Print the prompts for the agents of an artefacts project
        Prompt(prompt::Args => run in project),
        /// Check the tasks for problems before agents work on them
        Lint(lint::Args => run in project),
        /// Verify a commit with the configured commands, in a fresh layer or a clean clone
        Verify(verify::Args => run),
        /// Check the machine, the repository and the agent
        Doctor(doctor::Args => run),
        /// Test the configured notifications
        #[command(subcommand)]
        Notify(notify::NotifyCommand => dispatch),
        /// List agents, explain a recorded stream, or talk to an agent
        #[command(subcommand)]
        Agent(agent::AgentCommand => dispatch),
        /// Print the effective configuration and where each value comes from
        Config(config::Args => run),
        /// Print a completion script for a shell
        Completions(completions::Args => run),
        /// Generate the manual pages
        Man(man::Args => run),
        #[command(name = "__play-script", hide = true)]
        PlayScript(play_script::Args => run),
    }
}
