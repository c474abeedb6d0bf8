//! Secrets: finds them in text by rules and by the values of variables, and takes them out of what leaves ralph.
//!
//! One scanner for all. A finding names its rule and its place; no type here shows a value, and nothing of it is
//! serialized.

mod hide;
mod rules;
mod sample;
mod scan;
mod stream;
#[cfg(test)]
mod tests;
mod values;
mod words;

pub use hide::{REDACTED, hidden_flag};
pub use scan::{Certainty, Redaction, SecretFinding};
pub use stream::RedactedStream;
pub use values::{NamedValue, WeakValue};

/// A line that holds this is passed, as a person has looked at it.
pub const ALLOW_MARK: &str = "ralph:allow-secret";
