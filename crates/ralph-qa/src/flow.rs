//! Flow files: a user's way through an application, step by step, and what must be seen on it.
//!
//! Never opens a page or a browser. Only `files` opens files; everything else reads text that it is handed.

mod files;
mod lint;
mod model;
mod read;
mod schema;
mod shown;

pub use files::{FlowFileError, find_flows};
pub use lint::{FindingCode, FlowFinding, lint_flow};
pub use model::*;
pub use read::{FlowMistake, FlowMistakes, MAX_FLOW_BYTES, read_flow, read_step, read_target};
pub use schema::flow_schema;
