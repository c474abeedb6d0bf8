//! Whole flows: server, browser, steps, results.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may")]

#[path = "runner/bench.rs"]
mod bench;
#[path = "runner/ends.rs"]
mod ends;
#[path = "runner/flows.rs"]
mod flows;
#[path = "browser/site.rs"]
#[allow(dead_code, reason = "shared with the tests of the browser")]
mod site;
#[path = "runner/speed.rs"]
mod speed;
