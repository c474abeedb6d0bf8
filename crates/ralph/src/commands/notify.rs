//! `ralph notify`: whether the people who are away would hear of a loop.

mod post;
mod test;

pub(crate) use post::{WEBHOOK_HINT, attach, close, means, project_name, redaction};

subcommands! {
    NotifyCommand {
        /// Send a sample notification to every configured target and print the results
        Test(test::Args => run in project; writes),
    }
}
