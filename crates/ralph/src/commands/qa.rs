//! `ralph qa`: flows of a user in a real browser against the application under test, and the pictures of its pages.
//!
//! `run` is a verify command like any other: what it finds is its exit code, its output, and the files in `.ralph/qa`.

mod approve;
mod inside;
mod lint;
mod results;
mod run;
mod schema;
mod settings;
mod text;
mod walls;

subcommands! {
    QaCommand {
        /// Run flows in a browser against the application under test
        Run(run::Args => run; reads),
        /// Check flows for mistakes, without a browser
        Lint(lint::Args => run; reads),
        /// Show new and changed pictures before and after, and approve them as baselines
        Approve(approve::Args => run; asks),
        /// Print the JSON schema of flows, for editors
        Schema(schema::Args => run; reads),
    }
}
