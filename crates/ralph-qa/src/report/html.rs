//! The report as one page of HTML that needs nothing else: no script, no network, pictures within it.
//!
//! The view of two pictures is chosen by radio buttons, and the line between them is moved by the grip that browsers
//! give to an element that can be resized; both are style alone.

use std::{
    collections::BTreeMap,
    io::{self, Read as _},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use minijinja::{
    AutoEscape, Environment, Error, Output, State, UndefinedBehavior, Value, context,
    value::{Serde, ValueKind},
};
use ralph_core::{figures, sanitize::terminal_safe};
use ralph_engine::plain_file;

use super::{ReportCounts, is_failed, text::text};
use crate::{
    baseline::parts_below,
    result::{FlowVerificationResult, PageVerificationResult, QaReport, StepResult},
};

/// The pictures in the page, as files, all together and each. Others are linked.
const MOST_BYTES: usize = 24 * 1024 * 1024;
const MOST_PICTURE_BYTES: u64 = 6 * 1024 * 1024;
/// Messages and requests of a flow; `report.json` has all.
const MOST_MESSAGES: usize = 200;
const MOST_REQUESTS: usize = 200;
const MOST_SERVER_LINES: usize = 400;
/// Characters of one text of others.
const MOST_CHARS: usize = 2_000;

/// Makes the page. Pictures are read from the folder of the results.
pub fn html(report: &QaReport, folder: &Path) -> String {
    let page = render(report, folder);
    // The template is a part of the program and is rendered in tests; a person gets the text where it fails anyway.
    page.unwrap_or_else(|error| {
        format!(
            "<!doctype html><meta charset=\"utf-8\"><title>ralph qa</title><pre>{}\n{}</pre>",
            escaped(&text(report)),
            escaped(&error.to_string())
        )
    })
}

fn render(report: &QaReport, folder: &Path) -> Result<String, Error> {
    let pictures = ReportPictures::of(report, folder);
    let counts = ReportCounts::of(report);
    let flows: Vec<Value> = report
        .flows
        .iter()
        .enumerate()
        .map(|(index, flow)| flow_value(index, flow, &pictures))
        .collect();
    let first_line = report.server_log.len().saturating_sub(MOST_SERVER_LINES);
    let page = context! {
        report => Value::from(Serde(report)),
        flows => flows,
        counts => context! {
            flows => counts.flows,
            failed_flows => counts.failed_flows,
            steps => counts.steps,
            failed_steps => counts.failed_steps,
            skipped_steps => counts.skipped_steps,
        },
        are_linked => pictures.are_linked,
        server_log => report.server_log[first_line..].join("\n"),
        most_messages => MOST_MESSAGES,
        most_requests => MOST_REQUESTS,
        style => Value::from_safe_string(include_str!("style.css").to_owned()),
        version => env!("CARGO_PKG_VERSION"),
    };
    environment()?.render_str(include_str!("page.html"), page)
}

fn flow_value(index: usize, flow: &FlowVerificationResult, pictures: &ReportPictures) -> Value {
    let step_value = |step: &StepResult| {
        // A picture that was compared is shown with its baseline, below.
        let picture = step
            .picture
            .as_ref()
            .filter(|picture| flow.pages.iter().all(|page| page.screenshot != **picture));
        context! {
            step => Value::from(Serde(step)),
            picture => picture.map(|path| pictures.shown(path)),
        }
    };
    let pages: Vec<Value> = flow
        .pages
        .iter()
        .map(|page| page_value(page, pictures))
        .collect();
    let requests = flow.network.iter();
    // Those that failed first, in their order.
    let (failed, others): (Vec<_>, Vec<_>) = requests.partition(|request| is_failed(request));
    let requests: Vec<Value> = failed
        .iter()
        .map(|request| (*request, true))
        .chain(others.iter().map(|request| (*request, false)))
        .take(MOST_REQUESTS)
        .map(|(request, is_failed)| {
            context! { request => Value::from(Serde(request)), is_failed }
        })
        .collect();
    context! {
        index,
        flow => Value::from(Serde(flow)),
        viewport => flow.viewport.to_string(),
        steps => flow.steps.iter().map(step_value).collect::<Vec<_>>(),
        pages,
        requests,
        failed_requests => failed.len(),
    }
}

fn page_value(page: &PageVerificationResult, pictures: &ReportPictures) -> Value {
    let compared = page.compared.as_ref();
    let shown = |path: Option<&String>| path.map(|path| pictures.shown(path));
    let (before, after) = (
        compared.and_then(|compared| compared.baseline.as_ref()),
        &page.screenshot,
    );
    let can_slide = before.is_some_and(|before| pictures.have_one_size(before, after));
    context! {
        page => Value::from(Serde(page)),
        viewport => page.viewport.to_string(),
        after => pictures.shown(after),
        before => shown(before),
        difference => shown(compared.and_then(|compared| compared.picture.as_ref())),
        can_slide,
    }
}

/// The pictures of a report, as they stand in the page.
struct ReportPictures {
    shown: BTreeMap<String, ShownPicture>,
    are_linked: bool,
}

struct ShownPicture {
    source: String,
    size: (u32, u32),
}

impl ReportPictures {
    /// Reads the pictures, those of flows that failed first, until there are enough of them.
    fn of(report: &QaReport, folder: &Path) -> Self {
        let mut pictures = Self {
            shown: BTreeMap::new(),
            are_linked: false,
        };
        let mut left = MOST_BYTES;
        let failed = report.flows.iter().filter(|flow| !flow.passed);
        let passed = report.flows.iter().filter(|flow| flow.passed);
        for path in failed.chain(passed).flat_map(paths) {
            if !pictures.shown.contains_key(path) {
                pictures.add(path, folder, &mut left);
            }
        }
        pictures
    }

    fn add(&mut self, path: &str, folder: &Path, left: &mut usize) {
        let Some(parts) = parts_below(path) else {
            return;
        };
        let Ok(bytes) = read(&folder.join(path)) else {
            return;
        };
        let Some(size) = size(&bytes) else {
            return;
        };
        let source = if bytes.len() as u64 <= MOST_PICTURE_BYTES && bytes.len() <= *left {
            *left -= bytes.len();
            format!("data:image/png;base64,{}", STANDARD.encode(bytes))
        } else {
            self.are_linked = true;
            parts
                .iter()
                .map(|part| in_address(part))
                .collect::<Vec<_>>()
                .join("/")
        };
        self.shown
            .insert(path.to_owned(), ShownPicture { source, size });
    }

    /// The picture for the template; one that is not there has no source.
    fn shown(&self, path: &str) -> Value {
        let picture = self.shown.get(path);
        context! {
            path,
            source => picture.map(|picture| picture.source.as_str()),
            width => picture.map(|picture| picture.size.0),
            height => picture.map(|picture| picture.size.1),
        }
    }

    fn have_one_size(&self, one: &str, other: &str) -> bool {
        let size = |path: &str| self.shown.get(path).map(|picture| picture.size);
        size(one).is_some() && size(one) == size(other)
    }
}

/// The pictures of a flow, the most telling first.
fn paths(flow: &FlowVerificationResult) -> impl Iterator<Item = &str> {
    let compared = flow.pages.iter().filter_map(|page| page.compared.as_ref());
    let of_compared =
        compared.flat_map(|compared| compared.picture.iter().chain(compared.baseline.iter()));
    let of_steps = flow.steps.iter().filter_map(|step| step.picture.as_ref());
    let of_pages = flow.pages.iter().map(|page| &page.screenshot);
    of_compared
        .chain(of_steps)
        .chain(of_pages)
        .map(String::as_str)
}

/// Reads at most a little more than is shown within the page.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    plain_file::open(path)?
        .take(MOST_PICTURE_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The size that the header of a PNG says.
fn size(png: &[u8]) -> Option<(u32, u32)> {
    let rest = png.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let number = |at: usize| {
        let bytes = rest.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(bytes))
    };
    Some((number(8)?, number(12)?))
}

/// A part of a path in an address.
fn in_address(part: &str) -> String {
    let mut address = String::with_capacity(part.len());
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address
}

fn environment() -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = minijinja::syntax::SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build();
    env.set_syntax(syntax?);
    env.set_auto_escape_callback(|_| AutoEscape::Html);
    env.set_formatter(|out, _: &mut State, value| write_escaped(out, value));
    // Only what the template itself says is markup.
    env.remove_filter("safe");
    env.add_filter("duration", figures::duration);
    env.add_filter("counted", |n: usize, one: String, many: String| {
        figures::count(n, &one, &many)
    });
    env.add_filter("share", |share: f64| format!("{:.2} %", share * 100.0));
    env.add_filter("short", short);
    env.add_filter("kind", |kind: String| kind.replace('_', " "));
    Ok(env)
}

/// A text of others, as far as a page has room for it.
fn short(text: String) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn write_escaped(out: &mut Output, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => {}
        ValueKind::Number if !value.is_integer() => {
            write!(out, "{:.1}", f64::try_from(value.clone())?)?;
        }
        // The result of a macro: its own values were escaped when it was made.
        _ if value.is_safe() => out.write_str(&value.to_string())?,
        _ => out.write_str(&escaped(&value.to_string()))?,
    }
    Ok(())
}

/// Text that is only text, in an element and in an attribute. What a reader would not see, or what turns letters
/// around, is written out.
fn escaped(text: &str) -> String {
    let text = terminal_safe(text);
    // Above all a picture, which is megabytes long.
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
