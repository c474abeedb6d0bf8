//! Reads a flow file, with all its mistakes at once.
//!
//! Every step and every mistake knows its line. What is not understood is a mistake, and never a default.

mod check;
mod fields;
mod keys;
mod mistakes;
mod step;
mod target;
mod values;
mod yaml;

use std::path::Path;

use jiff::Timestamp;
use ralph_core::config::{HostName, PageUrl};

use self::{
    fields::MapFields,
    mistakes::MistakeList,
    step::step,
    values::{
        emulation, file_name, name_problem, one_or_more, text, time, transposed, truth, viewport,
        whole, wrong,
    },
    yaml::{YamlKind, YamlNode, read_yaml},
};
use super::{Flow, FlowSettings, FlowStep, FlowStepAction, Target};

pub(in crate::flow) use check::METHODS;
pub(in crate::flow) use keys::NAMED_KEYS;
pub use mistakes::{FlowMistake, FlowMistakes};
pub(in crate::flow) use target::ROLES;

/// The largest flow file.
pub const MAX_FLOW_BYTES: usize = 256 * 1024;
/// The most steps of a flow.
const MAX_STEPS: usize = 500;

/// Reads the text of a flow file. `file`: its path, whose stem is the flow's name where the text says none.
pub fn read_flow(text: &str, file: &Path) -> Result<Flow, FlowMistakes> {
    let mut mistakes = MistakeList::default();
    let flow = document(text, &mut mistakes).and_then(|node| flow(&node, file, &mut mistakes));
    match flow {
        Some(flow) if mistakes.is_empty() => Ok(flow),
        _ => Err(mistakes.of(file)),
    }
}

/// Reads one step by itself, as it stands in a flow: `click: Sign in`.
pub fn read_step(text: &str) -> Result<FlowStep, Vec<FlowMistake>> {
    let mut mistakes = MistakeList::default();
    let read = document(text, &mut mistakes).and_then(|node| step(&node, &mut mistakes));
    match read {
        Some(step) if mistakes.is_empty() => Ok(step),
        _ => Err(mistakes.sorted()),
    }
}

/// Reads one target by itself: `Sign in`, or `{role: button, name: Sign in}`.
pub fn read_target(text: &str) -> Result<Target, Vec<FlowMistake>> {
    let mut mistakes = MistakeList::default();
    let read = document(text, &mut mistakes)
        .and_then(|node| target::target(&node, "target", &mut mistakes));
    match read {
        Some(target) if mistakes.is_empty() => Ok(target),
        _ => Err(mistakes.sorted()),
    }
}

fn document(text: &str, mistakes: &mut MistakeList) -> Option<YamlNode> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MAX_FLOW_BYTES {
        let message = format!(
            "expected a flow of at most {} KiB, found {}",
            MAX_FLOW_BYTES / 1024,
            text.len().div_ceil(1024)
        );
        mistakes.hinted(1, message, "make several flows of it");
        return None;
    }
    if let Some(at) = text.find('\0') {
        let line = text[..at].matches('\n').count() + 1;
        mistakes.add(line, "expected text, found a NUL byte");
        return None;
    }
    let node = read_yaml(text, mistakes);
    if node.is_none() && mistakes.is_empty() {
        mistakes.hinted(
            1,
            "expected a flow, found an empty file",
            "it begins with `steps:`",
        );
    }
    node
}

/// The keys of a flow file.
const FLOW_KEYS: [&str; 11] = [
    "name",
    "description",
    "url",
    "hosts",
    "viewport",
    "emulate",
    "time",
    "random",
    "timeout",
    "alone",
    "steps",
];

fn flow(node: &YamlNode, file: &Path, mistakes: &mut MistakeList) -> Option<Flow> {
    let Some(fields) = MapFields::of(node, "", &[&FLOW_KEYS], mistakes) else {
        let message = format!("expected a flow with `steps`, found {}", node.describe());
        match node.kind {
            YamlKind::List(_) => {
                mistakes.hinted(node.line, message, "write `steps:` above the list");
            }
            YamlKind::Null | YamlKind::Scalar { .. } | YamlKind::Map(_) => {
                mistakes.add(node.line, message);
            }
        }
        return None;
    };
    let name = name(&fields, file, mistakes);
    let description = fields
        .get("description")
        .map(|node| text(node, "description", "a text", mistakes));
    let settings = settings(&fields, mistakes);
    let steps = steps(&fields, mistakes);
    Some(Flow {
        name: name?,
        description: transposed(description)?,
        file: file.to_owned(),
        settings: settings?,
        steps: steps?,
    })
}

fn name(fields: &MapFields<'_>, file: &Path, mistakes: &mut MistakeList) -> Option<String> {
    if let Some(node) = fields.get("name") {
        return file_name(node, "name", mistakes);
    }
    let stem = file
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_default();
    let Some(problem) = name_problem(&stem) else {
        return Some(stem);
    };
    let message = format!(
        "expected a flow with a name; that of its file, `{}`, {problem}",
        target::shortened(&stem)
    );
    mistakes.hinted(1, message, "add `name:` with letters, digits, `-` and `_`");
    None
}

fn settings(fields: &MapFields<'_>, mistakes: &mut MistakeList) -> Option<FlowSettings> {
    let url = fields.get("url").map(|node| {
        checked(
            node,
            "url",
            "an address such as `http://localhost:3000`",
            mistakes,
            |url| PageUrl::try_from(url).map(String::from),
        )
    });
    let hosts = fields.get("hosts").map(|node| {
        one_or_more(node, "hosts", mistakes, |node, mistakes| {
            checked(node, "hosts", "the name of a host", mistakes, |host| {
                HostName::try_from(host).map(String::from)
            })
        })
    });
    let viewport = fields
        .get("viewport")
        .map(|node| viewport(node, "viewport", mistakes));
    let emulate = fields
        .get("emulate")
        .map(|node| emulation(node, "emulate", mistakes));
    let start = fields.get("time").map(|node| moment(node, mistakes));
    let random = fields
        .get("random")
        .map(|node| whole(node, "random", 0..=u64::MAX, mistakes));
    let timeout = fields
        .get("timeout")
        .map(|node| time(node, "timeout", mistakes));
    let alone = fields
        .get("alone")
        .map(|node| truth(node, "alone", mistakes));
    Some(FlowSettings {
        url: transposed(url)?,
        hosts: transposed(hosts)?.unwrap_or_default(),
        viewport: transposed(viewport)?,
        emulate: transposed(emulate)?.unwrap_or_default(),
        time: transposed(start)?,
        random: transposed(random)?,
        timeout: transposed(timeout)?,
        alone: transposed(alone)?.unwrap_or_default(),
    })
}

/// Reads a text that a type of the configuration checks, in its words.
fn checked(
    node: &YamlNode,
    owner: &str,
    expected: &str,
    mistakes: &mut MistakeList,
    check: impl FnOnce(String) -> Result<String, String>,
) -> Option<String> {
    match check(text(node, owner, expected, mistakes)?) {
        Ok(text) => Some(text),
        Err(message) => {
            mistakes.add(node.line, format!("`{owner}`: {message}"));
            None
        }
    }
}

fn moment(node: &YamlNode, mistakes: &mut MistakeList) -> Option<Timestamp> {
    let expected = "a time with its zone, such as `2026-01-01T12:00:00Z`";
    let written = text(node, "time", expected, mistakes)?;
    if let Ok(moment) = written.parse() {
        return Some(moment);
    }
    wrong(node, "time", expected, mistakes);
    None
}

fn steps(fields: &MapFields<'_>, mistakes: &mut MistakeList) -> Option<Vec<FlowStep>> {
    let Some(node) = fields.get("steps") else {
        if !fields.has_unknown {
            mistakes.add(fields.line, "expected a flow with `steps`, found none");
        }
        return None;
    };
    let YamlKind::List(items) = &node.kind else {
        let expected = "a list of steps, each behind `- `";
        wrong(node, "steps", expected, mistakes);
        return None;
    };
    if items.is_empty() {
        wrong(node, "steps", "at least one step", mistakes);
        return None;
    }
    if items.len() > MAX_STEPS {
        let message = format!(
            "`steps`: expected at most {MAX_STEPS} steps, found {}",
            items.len()
        );
        mistakes.hinted(node.line, message, "make several flows of it");
        return None;
    }
    let steps: Vec<Option<FlowStep>> = items.iter().map(|item| step(item, mistakes)).collect();
    let steps: Vec<FlowStep> = steps.into_iter().collect::<Option<_>>()?;
    unique_pictures(&steps, mistakes).then_some(steps)
}

/// True if no two pictures have the same name. On some systems `Home` and `home` are one file.
fn unique_pictures(steps: &[FlowStep], mistakes: &mut MistakeList) -> bool {
    let mut seen: Vec<(String, usize)> = Vec::new();
    let mut is_unique = true;
    for step in steps {
        let FlowStepAction::Screenshot(picture) = &step.action else {
            continue;
        };
        let name = picture.name.to_lowercase();
        match seen.iter().find(|(other, _)| *other == name) {
            Some((_, line)) => {
                is_unique = false;
                let message = format!(
                    "`screenshot`: expected a name of its own, found `{}`, as on line {line}",
                    picture.name
                );
                mistakes.hinted(
                    step.line,
                    message,
                    "a baseline is found by the name of its picture",
                );
            }
            None => seen.push((name, step.line)),
        }
    }
    is_unique
}
