//! `ralph tasks`: the tasks of any format, in the one model that ralph has of them.

pub(crate) mod add;
mod done;
pub(crate) mod list;
mod new_id;
pub(crate) mod show;
mod source;
pub(crate) mod suggested;
mod view;

subcommands! {
    TasksCommand {
        /// List the tasks: where each stands, and what it waits for
        List(list::Args => run in project; reads),
        /// Show all that is known of one task
        Show(show::Args => run in project; reads),
        /// Add a task, or take over what agents suggested
        Add(add::Args => run in project; asks),
        /// Mark a task as done by a person, such as one with an id `HUMAN-…`
        Done(done::Args => run; writes),
        /// Show the task file or folder that `ralph run` works on, or choose another one
        Source(source::Args => run in project; asks),
    }
}
