//! Makes a line of output plain: without what drives a terminal, and without who printed it.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

use super::compiled;

static TERMINAL: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()*+][A-Za-z0-9]|[=>78cDEHMNOZ])|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f]",
    )
});

/// Returns what a terminal would show of a line, without colours.
pub fn strip_terminal(line: &str) -> Cow<'_, str> {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or(line);
    TERMINAL.replace_all(line, "")
}

/// The name of a package or a container that tools put before each line of output.
static PREFIX: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^(?:[\w@/.-]+(?:[:# ][\w:.-]+)?: |\[[\w@/:. -]+\]:? |[\w.-]+ *\| )")
});

pub(super) fn strip_prefix(line: &str) -> Option<&str> {
    PREFIX.find(line).map(|found| &line[found.end()..])
}
