//! Finds what is not wrong in a flow and yet makes it prove less than it seems to.
//!
//! Says only what is nearly always right: a flow without findings is the usual case. Reads a flow, and no page.

use serde::Serialize;

use super::{
    Check, Flow, FlowStep, FlowStepAction, Target, TargetKind, TypedText, Wait,
    shown::is_for_secret,
};
use crate::config::BrowserAutomationConfig;

/// One finding in a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowFinding {
    pub code: FindingCode,
    /// The line of the flow's file, from 1.
    pub line: usize,
    pub message: String,
    /// A way out.
    pub fix: String,
}

impl std::fmt::Display for FlowFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (code, message, fix) = (self.code.word(), &self.message, &self.fix);
        write!(f, "{message} ({code}); {fix}")
    }
}

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingCode {
    /// Nothing is verified and nothing is pictured.
    ProvesNothing,
    /// Only what must not be there is verified: a blank page passes.
    OnlyAbsence,
    /// A step that needs a page comes before the first `navigate`.
    NoPage,
    /// A wait for a fixed time.
    FixedWait,
    /// A selector, where a role or another name of the element would do.
    CssTarget,
    /// A plain text that is a selector by its looks.
    TextLikeCss,
    /// An address of a host that the flow may not reach.
    UnlistedHost,
    /// A password that stands in the flow.
    PlainPassword,
}

impl FindingCode {
    pub const fn word(self) -> &'static str {
        match self {
            Self::ProvesNothing => "proves-nothing",
            Self::OnlyAbsence => "only-absence",
            Self::NoPage => "no-page",
            Self::FixedWait => "fixed-wait",
            Self::CssTarget => "css-target",
            Self::TextLikeCss => "text-like-css",
            Self::UnlistedHost => "unlisted-host",
            Self::PlainPassword => "plain-password",
        }
    }
}

/// Looks at a flow, by line. `config`: the hosts that every flow may reach.
pub fn lint_flow(flow: &Flow, config: &BrowserAutomationConfig) -> Vec<FlowFinding> {
    let mut findings: Vec<FlowFinding> = Vec::new();
    findings.extend(proof(flow));
    findings.extend(first_page(flow));
    let hosts = ListedHosts::of(flow, config);
    for step in &flow.steps {
        findings.extend(fixed_wait(step));
        findings.extend(plain_password(step));
        findings.extend(targets(step));
        findings.extend(unlisted_hosts(step, &hosts));
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

fn finding(
    code: FindingCode,
    line: usize,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> FlowFinding {
    FlowFinding {
        code,
        line,
        message: message.into(),
        fix: fix.into(),
    }
}

/// The checks of a step.
fn checks(step: &FlowStep) -> &[Check] {
    match &step.action {
        FlowStepAction::Verify(checks) | FlowStepAction::Wait(Wait::Until(checks)) => checks,
        FlowStepAction::Navigate { .. }
        | FlowStepAction::Click { .. }
        | FlowStepAction::Type { .. }
        | FlowStepAction::Press { .. }
        | FlowStepAction::Select { .. }
        | FlowStepAction::Hover { .. }
        | FlowStepAction::Upload { .. }
        | FlowStepAction::Wait(Wait::Time(_) | Wait::Idle | Wait::Gone(_))
        | FlowStepAction::Resize(_)
        | FlowStepAction::Emulate(_)
        | FlowStepAction::Screenshot(_)
        | FlowStepAction::Fixture(_) => &[],
    }
}

fn proof(flow: &Flow) -> Option<FlowFinding> {
    let has_picture = flow
        .steps
        .iter()
        .any(|step| matches!(step.action, FlowStepAction::Screenshot(_)));
    let mut all = flow.steps.iter().flat_map(checks).peekable();
    let line = flow.steps.first().map_or(1, |step| step.line);
    if has_picture {
        return None;
    }
    if all.peek().is_none() {
        let message = "nothing is verified and nothing is pictured";
        let fix = "end with `verify:` of what a user must see, or with `screenshot:`";
        return Some(finding(FindingCode::ProvesNothing, line, message, fix));
    }
    // A step that acts on an element fails where the element is not there.
    let acts = flow.steps.iter().any(|step| acts_on(step).is_some());
    if acts || !all.all(is_absence) {
        return None;
    }
    let line = flow
        .steps
        .iter()
        .find(|step| !checks(step).is_empty())
        .map_or(line, |step| step.line);
    let message = "only what must not be there is verified: a blank page passes";
    let fix = "verify a text or an element that must be there too";
    Some(finding(FindingCode::OnlyAbsence, line, message, fix))
}

/// True for a check that a page with nothing on it passes.
fn is_absence(check: &Check) -> bool {
    match check {
        Check::NoText(_)
        | Check::NoElement(_)
        | Check::NoConsoleErrors { .. }
        | Check::NoFailedRequests { .. }
        | Check::NoBrokenLinks
        | Check::NoBrokenImages
        | Check::Accessible(_) => true,
        Check::Count { range, .. } => range.least == 0,
        Check::Text(_)
        | Check::Element(_)
        | Check::Url(_)
        | Check::Title(_)
        | Check::Value { .. }
        | Check::State { .. }
        | Check::Attribute { .. }
        | Check::Style { .. }
        | Check::Tree(_)
        | Check::Network(_)
        | Check::NoOverlap(_) => false,
    }
}

/// The element that a step acts on.
fn acts_on(step: &FlowStep) -> Option<&Target> {
    match &step.action {
        FlowStepAction::Click { target, .. }
        | FlowStepAction::Type { target, .. }
        | FlowStepAction::Select { target, .. }
        | FlowStepAction::Hover { target }
        | FlowStepAction::Upload { target, .. } => Some(target),
        FlowStepAction::Press { target, .. } => target.as_ref(),
        FlowStepAction::Navigate { .. }
        | FlowStepAction::Wait(_)
        | FlowStepAction::Verify(_)
        | FlowStepAction::Resize(_)
        | FlowStepAction::Emulate(_)
        | FlowStepAction::Screenshot(_)
        | FlowStepAction::Fixture(_) => None,
    }
}

/// A step that needs a page, where none is open yet.
fn first_page(flow: &Flow) -> Option<FlowFinding> {
    let before = flow
        .steps
        .iter()
        .take_while(|step| !matches!(step.action, FlowStepAction::Navigate { .. }));
    let needs_page = |step: &&FlowStep| match &step.action {
        FlowStepAction::Click { .. }
        | FlowStepAction::Type { .. }
        | FlowStepAction::Press { .. }
        | FlowStepAction::Select { .. }
        | FlowStepAction::Hover { .. }
        | FlowStepAction::Upload { .. }
        | FlowStepAction::Verify(_)
        | FlowStepAction::Screenshot(_)
        | FlowStepAction::Wait(Wait::Gone(_) | Wait::Until(_) | Wait::Idle) => true,
        FlowStepAction::Navigate { .. }
        | FlowStepAction::Wait(Wait::Time(_))
        | FlowStepAction::Resize(_)
        | FlowStepAction::Emulate(_)
        | FlowStepAction::Fixture(_) => false,
    };
    let step = before.into_iter().find(needs_page)?;
    let message = format!("`{}` comes before any page is open", step.action.word());
    let fix = "begin with `navigate: /`";
    Some(finding(FindingCode::NoPage, step.line, message, fix))
}

fn fixed_wait(step: &FlowStep) -> Option<FlowFinding> {
    let FlowStepAction::Wait(Wait::Time(_)) = &step.action else {
        return None;
    };
    let message = format!(
        "`{}` waits as long on every machine: too short on a slow one",
        step.shown
    );
    let fix = "wait for what must be there: `wait: {text: …}` or `wait: {gone: …}`";
    Some(finding(FindingCode::FixedWait, step.line, message, fix))
}

/// Words of a text that is typed to be refused.
const WRONG_ON_PURPOSE: [&str; 8] = [
    "wrong",
    "invalid",
    "incorrect",
    "bad",
    "short",
    "weak",
    "not ",
    "no-",
];

fn plain_password(step: &FlowStep) -> Option<FlowFinding> {
    let FlowStepAction::Type {
        target,
        text: TypedText::Plain(text),
        ..
    } = &step.action
    else {
        return None;
    };
    let lower = text.to_lowercase();
    let is_meant_wrong = WRONG_ON_PURPOSE.iter().any(|word| lower.contains(word));
    if !is_for_secret(target) || is_meant_wrong || text.chars().count() < 4 {
        return None;
    }
    let message = format!("a text is typed into {target} that everyone who reads the flow can see");
    let fix = "write `secret: VARIABLE` instead of `text:`, and set the variable where flows run";
    Some(finding(FindingCode::PlainPassword, step.line, message, fix))
}

fn targets(step: &FlowStep) -> Option<FlowFinding> {
    // A field for files is often hidden behind a button, and has no other name.
    if matches!(step.action, FlowStepAction::Upload { .. }) {
        return None;
    }
    let acted = acts_on(step);
    if let Some(fix) = acted.and_then(css_fix) {
        let message = format!("`{}` depends on how the page is built", step.shown);
        return Some(finding(FindingCode::CssTarget, step.line, message, fix));
    }
    let mut all: Vec<&Target> = acted.into_iter().collect();
    all.extend(checks(step).iter().filter_map(check_target));
    if let FlowStepAction::Wait(Wait::Gone(target)) = &step.action {
        all.push(target);
    }
    let text = all.into_iter().find_map(|target| match &target.by {
        TargetKind::Any(text) if looks_like_css(text) => Some(text),
        _ => None,
    })?;
    let message = format!("`{text}` is looked for as a text, and is a selector by its looks");
    let fix = format!("write `{{css: \"{text}\"}}`, or `{{text: \"{text}\"}}` if it is a text");
    Some(finding(FindingCode::TextLikeCss, step.line, message, fix))
}

fn check_target(check: &Check) -> Option<&Target> {
    match check {
        Check::Element(target)
        | Check::NoElement(target)
        | Check::Count { target, .. }
        | Check::Value { target, .. }
        | Check::State { target, .. }
        | Check::Attribute { target, .. }
        | Check::Style { target, .. }
        | Check::NoOverlap(target) => Some(target),
        Check::Text(_)
        | Check::NoText(_)
        | Check::Url(_)
        | Check::Title(_)
        | Check::Tree(_)
        | Check::NoConsoleErrors { .. }
        | Check::Network(_)
        | Check::NoFailedRequests { .. }
        | Check::NoBrokenLinks
        | Check::NoBrokenImages
        | Check::Accessible(_) => None,
    }
}

/// Elements that have a role of their own, by which they are found as a user finds them.
const ELEMENTS: [(&str, &str); 11] = [
    ("button", "role: button"),
    ("a", "role: link"),
    ("textarea", "label"),
    ("select", "label"),
    ("input", "label"),
    ("option", "role: option"),
    ("summary", "text"),
    ("h1", "role: heading"),
    ("h2", "role: heading"),
    ("h3", "role: heading"),
    ("img", "role: img"),
];

/// A better way to name an element that is named by a selector.
fn css_fix(target: &Target) -> Option<String> {
    let TargetKind::Css(selector) = &target.by else {
        return None;
    };
    for (attribute, key) in [
        ("[data-testid", "testid"),
        ("[placeholder", "placeholder"),
        ("[aria-label", "role: …, name"),
        ("[role", "role"),
    ] {
        if selector.contains(attribute) {
            return Some(format!("name it by `{{{key}: …}}`"));
        }
    }
    if selector.contains(":nth-") {
        return Some("name it by its role and name, or take one of several by `nth`".to_owned());
    }
    let last = selector
        .rsplit([' ', '>', '+', '~'])
        .next()
        .unwrap_or(selector);
    let end = last.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let element = &last[..end.unwrap_or(last.len())];
    let (_, by) = ELEMENTS
        .iter()
        .find(|(name, _)| element.eq_ignore_ascii_case(name))?;
    let key = match *by {
        "label" => "name it by its label: `{label: …}`".to_owned(),
        "text" => "name it by its text: `{text: …}`".to_owned(),
        role => format!("name it by `{{{role}, name: …}}`"),
    };
    Some(key)
}

/// True for `#save`, `.btn-primary`, `input[name=q]`, `ul > li`.
fn looks_like_css(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '-')
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.#".contains(c))
    };
    if let Some(name) = text.strip_prefix(['#', '.']) {
        return is_word(name) && name.len() > 1;
    }
    let Some((element, rest)) = text.split_once('[') else {
        return false;
    };
    let is_element = element
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.#".contains(c));
    is_element && rest.contains('=') && rest.ends_with(']')
}

/// The hosts that a flow may reach.
struct ListedHosts<'a> {
    listed: Vec<&'a str>,
}

impl<'a> ListedHosts<'a> {
    fn of(flow: &'a Flow, config: &'a BrowserAutomationConfig) -> Self {
        let bases = [&flow.settings.url, &config.url];
        let bases = bases.into_iter().flatten().filter_map(|url| host_of(url));
        let hosts = flow.settings.hosts.iter().chain(&config.hosts);
        Self {
            listed: hosts.map(String::as_str).chain(bases).collect(),
        }
    }

    fn has(&self, host: &str) -> bool {
        is_loopback(name_of(host)) || self.listed.iter().any(|listed| is_listed(host, listed))
    }
}

/// True if a host, maybe with a port, is one that a list names.
fn is_listed(host: &str, listed: &str) -> bool {
    let with_port = |host: &str| name_of(host).len() < host.len();
    let host = if with_port(listed) {
        host
    } else {
        name_of(host)
    };
    match listed.strip_prefix("*.") {
        Some(domain) => {
            let host = host.to_ascii_lowercase();
            host.strip_suffix(&domain.to_ascii_lowercase())
                .is_some_and(|rest| rest.ends_with('.'))
        }
        None => host.eq_ignore_ascii_case(listed),
    }
}

/// The host and the port of an address.
fn host_of(url: &str) -> Option<&str> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = &rest[..end];
    Some(host.rsplit_once('@').map_or(host, |(_, host)| host))
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    if let Some(end) = host.find(']') {
        return &host[..=end];
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

fn is_loopback(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let is_ipv4 = host
        .parse::<std::net::Ipv4Addr>()
        .is_ok_and(|address| address.is_loopback());
    is_ipv4 || host == "localhost" || host.ends_with(".localhost") || host == "[::1]"
}

fn unlisted_hosts(step: &FlowStep, hosts: &ListedHosts<'_>) -> Vec<FlowFinding> {
    let mut urls: Vec<&str> = Vec::new();
    if let FlowStepAction::Navigate { url, .. } = &step.action {
        urls.push(url);
    }
    for check in checks(step) {
        // A request that must not be made needs no right.
        if let Check::Network(request) = check
            && request.count != Some(0)
        {
            urls.push(&request.url);
        }
    }
    let unlisted = urls
        .into_iter()
        .filter_map(host_of)
        .filter(|host| !host.contains('*') && !hosts.has(host));
    unlisted
        .map(|host| {
            let message = format!("`{host}` can't be reached: it is not among the flow's hosts");
            let fix = format!("write `hosts: [{}]` into the flow", name_of(host));
            finding(FindingCode::UnlistedHost, step.line, message, fix)
        })
        .collect()
}
