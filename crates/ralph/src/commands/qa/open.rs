//! `ralph qa open`: opens a page in a browser that later calls share.

use std::process::ExitCode;

use ralph_qa::{flow::ColorScheme, session::OpenRequest};

use super::session::{SessionCaller, print_reply, shown_reply};
use crate::{cli::Global, error::CommandError, project};

/// The application is started for it if `qa.server.command` is set, and is there as long as the browser is. Both end by
/// `ralph qa close`, after 10 minutes without a call, and with the run if an agent in a run opened them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A path of the application, such as /cart, or an address, such as http://localhost:3000 [default: /]
    url: Option<String>,

    /// The size of the page: desktop, tablet, mobile, or such as 1280x720
    #[arg(long, value_name = "SIZE")]
    viewport: Option<String>,

    /// The color scheme that the page is told
    #[arg(long, value_name = "SCHEME", value_parser = scheme)]
    scheme: Option<ColorScheme>,

    /// Print the page as JSON
    #[arg(long)]
    json: bool,
}

/// Reads the word of a color scheme.
pub(crate) fn scheme(word: &str) -> Result<ColorScheme, String> {
    match word {
        "light" => Ok(ColorScheme::Light),
        "dark" => Ok(ColorScheme::Dark),
        _ => Err("expected `light` or `dark`".to_owned()),
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let wanted = OpenRequest {
        address: args.url.clone(),
        viewport: args.viewport.clone(),
        scheme: args.scheme,
    };
    let caller = SessionCaller::find(global)?;
    let reply = project::block_on(caller.open(wanted))?;
    print_reply(&shown_reply(reply, caller.root(), None)?, args.json)
}
