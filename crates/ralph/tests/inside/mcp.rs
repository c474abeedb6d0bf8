//! `ralph mcp`, asked by clients of both eras of the protocol.

mod asking;
mod browser;
mod claude;
mod client;
mod ending;
mod eras;
mod inside_run;
mod noise;
#[path = "../loop"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the tests of the loop use what is not used here"
)]
mod of_the_loop {
    pub(crate) mod support;
}
mod steering;
mod tools;

use of_the_loop::support;
