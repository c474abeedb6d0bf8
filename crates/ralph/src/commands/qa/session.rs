//! A browser session: the browser that `ralph qa open` and the calls after it share.
//!
//! `open` starts a process of its own (`host`) that listens for calls and ends by itself after a while. It starts this
//! program again where the browser is to be (`browser`): inside of the sandbox, or inside of the run that an agent is
//! in. `owner` has that process, for the host and for `ralph mcp --qa`.

pub(super) mod browser;
mod caller;
pub(super) mod host;
mod owner;
mod shown;

pub(super) use self::{
    caller::SessionCaller,
    shown::{checked_name, print_reply},
};
pub(crate) use self::{
    owner::{SessionOwner, origin_of},
    shown::{ShownReply, shown_reply},
};

/// A step failed, or a check did not hold.
const ACT_FAILED: u8 = 4;

/// The way out where no page is open.
const OPEN_FIRST: &str = "open a page first: `ralph qa open URL`";
