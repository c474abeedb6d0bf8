//! `ralph qa`: flows of a user in a real browser against the application under test, and the pictures of its pages.
//!
//! `run` is a verify command like any other: what it finds is its exit code, its output, and the files in `.ralph/qa`.

mod act;
mod approve;
mod close;
mod draft;
mod inside;
mod lint;
mod look;
mod open;
mod results;
mod run;
mod schema;
pub(crate) mod session;
mod settings;
mod shot;
mod text;
mod verify;
mod walls;

use session::{browser as session_browser, host as session_host};

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
        /// Have an agent write a flow for a page or a task, and keep it if it passes three times
        Draft(draft::Args => run; writes),
        /// Open a page in a browser that stays, and look at it
        Open(open::Args => run; reads),
        /// Click something on the page that is open
        Click(act::ClickArgs => click; reads),
        /// Type a text into a field
        Type(act::TypeArgs => type_text; reads),
        /// Press a key
        Press(act::PressArgs => press; reads),
        /// Choose an option of a field
        Select(act::SelectArgs => select; reads),
        /// Point at something
        Hover(act::HoverArgs => hover; reads),
        /// Perform any step of a flow
        Step(act::StepArgs => step; reads),
        /// Print the page as text, with new errors
        Look(look::Args => run; reads),
        /// Take a picture of the page
        Shot(shot::Args => run; reads),
        /// Check what is on the page
        Verify(verify::Args => run; reads),
        /// Wait for something on the page
        Wait(verify::WaitArgs => wait; reads),
        /// Close the browser, and end the application
        Close(close::Args => run; reads),
        #[command(name = "__session", hide = true)]
        Session(session_host::Args => run; reads),
        #[command(name = "__session-browser", hide = true)]
        SessionBrowser(session_browser::Args => run; reads),
    }
}
