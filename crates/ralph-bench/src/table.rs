//! The table of what was measured. The one place here that prints; rows appear as they are found.

use std::io::{self, Write as _};

pub(crate) struct Table {
    over: usize,
}

/// What a figure should be.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// Something to compare with.
    None,
}

pub(crate) struct Row<'a> {
    pub(crate) what: &'a str,
    pub(crate) value: f64,
    pub(crate) unit: &'a str,
    pub(crate) target: Target,
}

impl Table {
    pub(crate) fn new() -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or("?").to_owned();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        print(&format!("{cores} cores, load {load} at the start\n\n"));
        print(&line(&["what", "measured", "target", "ratio", ""]));
        Self { over: 0 }
    }

    pub(crate) fn add(&mut self, row: &Row<'_>) {
        let measured = format!("{} {}", figure(row.value), row.unit);
        let (target, ratio, word) = match row.target {
            Target::AtMost(most) => (
                format!("<= {} {}", figure(most), row.unit),
                format!("{:.2}", row.value / most),
                self.judge(row.value <= most),
            ),
            Target::AtLeast(least) => (
                format!(">= {} {}", figure(least), row.unit),
                format!("{:.2}", row.value / least),
                self.judge(row.value >= least),
            ),
            Target::None => (String::new(), String::new(), ""),
        };
        print(&line(&[row.what, &measured, &target, &ratio, word]));
    }

    pub(crate) fn finish(self) {
        let text = match self.over {
            0 => "\neverything is within its target\n".to_owned(),
            n => format!("\n{n} of these are not within their target\n"),
        };
        print(&text);
    }

    fn judge(&mut self, within: bool) -> &'static str {
        if within {
            "ok"
        } else {
            self.over += 1;
            "OVER"
        }
    }
}

fn line(cells: &[&str; 5]) -> String {
    let [what, measured, target, ratio, word] = cells;
    format!("{what:<66} {measured:>14} {target:>14} {ratio:>6} {word}\n")
}

fn figure(value: f64) -> String {
    if value >= 100.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

fn print(text: &str) {
    let mut out = io::stdout().lock();
    // A reader that went away is no reason to fail.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

pub(crate) fn print_error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
