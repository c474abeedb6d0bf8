//! The state of a page by its events: where it is, how far it is loaded, what it printed and asked for.
//!
//! Events are read leniently: a field that is missing or new changes nothing else.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    gate::REFUSED_HEADER,
    hosts::{AllowedHosts, HostPort},
    wire::{EventSink, Session},
};
use crate::{
    flow::LoadState,
    page::WORLD,
    result::{ConsoleLevel, ConsoleMessage, NetworkRequest},
};

/// The most that is kept of each; older ones are dropped.
const MOST_MESSAGES: usize = 500;
const MOST_REQUESTS: usize = 2000;
const MOST_NOTES: usize = 20;
const MOST_DOCUMENTS: usize = 50;
/// The most characters of a message or an address.
const LONGEST: usize = 2000;
/// The time without a request after which a page is idle.
pub(super) const IDLE: Duration = Duration::from_millis(500);

/// The record of one page.
#[derive(Debug)]
pub(super) struct PageRecord {
    known: RefCell<Known>,
    changed: Notify,
}

#[derive(Debug)]
struct Known {
    /// The main frame.
    frame: String,
    url: String,
    /// The document of the main frame, and how far it is.
    document: String,
    /// The last documents that there were, with this one.
    documents: VecDeque<String>,
    has_dom: bool,
    has_loaded: bool,
    leaving: Leaving,
    /// The world of the page library in the current document.
    world: Option<String>,
    has_crashed: bool,
    is_gone: bool,
    /// Tabs that it has opened and whose address is not known yet.
    opening_tabs: usize,
    console: VecDeque<ConsoleMessage>,
    requests: Requests,
    notes: Vec<String>,
}

/// A navigation of the main frame to another document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    No,
    /// The page wants it, and it may be taken back.
    Wanted,
    /// It is asked of the network.
    Begun,
}

#[derive(Debug)]
struct Requests {
    hosts: AllowedHosts,
    all: VecDeque<Request>,
    /// The number that were dropped from the front.
    dropped: usize,
    by_id: HashMap<String, usize>,
    open: HashSet<String>,
    last_change: Instant,
}

#[derive(Debug)]
struct Request {
    shown: NetworkRequest,
    id: String,
    /// The document that it is for.
    document: String,
    started: f64,
    is_aborted: bool,
    is_refused: bool,
}

/// A request as it is now.
#[derive(Debug, Clone)]
pub(super) struct RecordedRequest {
    pub(super) request: NetworkRequest,
    /// True if its host is not one that may be reached.
    pub(super) is_refused: bool,
}

impl RecordedRequest {
    /// Tells whether it has an outcome.
    pub(super) fn is_over(&self) -> bool {
        self.request.status.is_some() || self.request.error.is_some()
    }
}

impl PageRecord {
    pub(super) fn new(frame: &str, hosts: AllowedHosts) -> Self {
        Self {
            known: RefCell::new(Known {
                frame: frame.to_owned(),
                url: "about:blank".to_owned(),
                document: String::new(),
                documents: VecDeque::new(),
                has_dom: true,
                has_loaded: true,
                leaving: Leaving::No,
                world: None,
                has_crashed: false,
                is_gone: false,
                opening_tabs: 0,
                console: VecDeque::new(),
                requests: Requests {
                    hosts,
                    all: VecDeque::new(),
                    dropped: 0,
                    by_id: HashMap::new(),
                    open: HashSet::new(),
                    last_change: Instant::now(),
                },
                notes: Vec::new(),
            }),
            changed: Notify::new(),
        }
    }

    pub(super) fn url(&self) -> String {
        self.known.borrow().url.clone()
    }

    pub(super) fn has_crashed(&self) -> bool {
        self.known.borrow().has_crashed
    }

    /// Tells whether nothing more can come of it: its process or the browser is gone.
    pub(super) fn is_over(&self) -> bool {
        let known = self.known.borrow();
        known.has_crashed || known.is_gone
    }

    pub(super) fn world(&self) -> Option<String> {
        self.known.borrow().world.clone()
    }

    pub(super) fn frame(&self) -> String {
        self.known.borrow().frame.clone()
    }

    /// Tells whether a document is there, or was.
    pub(super) fn has_seen(&self, document: &str) -> bool {
        self.known
            .borrow()
            .documents
            .iter()
            .any(|seen| seen == document)
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.known.borrow().leaving != Leaving::No
    }

    pub(super) fn has_reached(&self, state: LoadState) -> bool {
        let known = self.known.borrow();
        match state {
            LoadState::Dom => known.has_dom,
            LoadState::Load => known.has_loaded,
            LoadState::Idle => known.has_loaded && known.requests.open.is_empty(),
        }
    }

    pub(super) fn console(&self) -> Vec<ConsoleMessage> {
        self.known.borrow().console.iter().cloned().collect()
    }

    pub(super) fn network(&self) -> Vec<NetworkRequest> {
        let known = self.known.borrow();
        let requests = known.requests.all.iter();
        requests.map(|request| request.shown.clone()).collect()
    }

    /// Requests without an answer, or with one from 400 on. Those that the page itself gave up are none.
    pub(super) fn failed_requests(&self) -> Vec<RecordedRequest> {
        let known = self.known.borrow();
        let failed = known.requests.all.iter().filter(|request| {
            let has_failed = request.shown.error.is_some()
                || request.shown.status.is_some_and(|status| status >= 400);
            has_failed && !request.is_aborted
        });
        failed
            .map(|request| RecordedRequest {
                request: request.shown.clone(),
                is_refused: request.is_refused,
            })
            .collect()
    }

    /// The status of the current document, where it came from a server.
    pub(super) fn document_request(&self) -> Option<RecordedRequest> {
        let known = self.known.borrow();
        let request = known.requests.find(&known.document)?;
        Some(RecordedRequest {
            request: request.shown.clone(),
            is_refused: request.is_refused,
        })
    }

    pub(super) fn note(&self, text: impl Into<String>) {
        let mut known = self.known.borrow_mut();
        let text = text.into();
        if known.notes.len() < MOST_NOTES && !known.notes.contains(&text) {
            known.notes.push(text);
        }
    }

    pub(super) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.known.borrow_mut().notes)
    }

    pub(super) fn begin_tab(&self) {
        self.known.borrow_mut().opening_tabs += 1;
        self.changed.notify_waiters();
    }

    pub(super) fn end_tab(&self, url: &str) {
        let mut known = self.known.borrow_mut();
        known.opening_tabs = known.opening_tabs.saturating_sub(1);
        drop(known);
        self.note(match url {
            "" | "about:blank" => "a new tab was opened".to_owned(),
            url => format!("a new tab was opened: {}", shortened(url)),
        });
        self.changed.notify_waiters();
    }

    /// Tells whether an act leads elsewhere, and has not arrived.
    pub(super) fn is_on_its_way(&self) -> bool {
        let known = self.known.borrow();
        known.leaving != Leaving::No || known.opening_tabs > 0
    }

    /// Marks a navigation that ralph itself begins.
    pub(super) fn begin_leaving(&self) {
        self.known.borrow_mut().leaving = Leaving::Begun;
    }

    pub(super) fn end_leaving(&self) {
        self.known.borrow_mut().leaving = Leaving::No;
        self.changed.notify_waiters();
    }

    /// Waits until something holds; false when the time is up, or the page's process has died.
    pub(super) async fn until(&self, deadline: Instant, holds: impl Fn(&Self) -> bool) -> bool {
        loop {
            let changed = self.changed.notified();
            if holds(self) {
                return true;
            }
            if self.is_over() || timeout_at(deadline, changed).await.is_err() {
                return holds(self);
            }
        }
    }

    /// Waits until there was no request for half a second.
    pub(super) async fn until_idle(&self, deadline: Instant) -> bool {
        loop {
            let changed = self.changed.notified();
            let idle_at = {
                let known = self.known.borrow();
                let is_still = known.requests.open.is_empty() && known.has_loaded;
                is_still.then(|| known.requests.last_change + IDLE)
            };
            let now = Instant::now();
            match idle_at {
                Some(at) if at <= now => return true,
                _ if now >= deadline || self.is_over() => return false,
                Some(at) => {
                    tokio::select! {
                        () = changed => {}
                        () = sleep_until(at.min(deadline)) => {}
                    }
                }
                None => {
                    tokio::select! {
                        () = changed => {}
                        () = sleep_until(deadline) => {}
                    }
                }
            }
        }
    }

    /// Describes requests that are still open.
    pub(super) fn open_requests(&self) -> Vec<String> {
        let known = self.known.borrow();
        let open = known.requests.open.iter();
        let open = open.filter_map(|id| known.requests.find(id));
        open.map(|request| format!("{} {}", request.shown.method, request.shown.url))
            .collect()
    }
}

impl EventSink for PageRecord {
    fn take(&self, session: &Session, event: &str, params: &Value) {
        let mut known = self.known.borrow_mut();
        match event {
            "Page.frameNavigated" => known.navigated(&params["frame"]),
            "Page.navigatedWithinDocument" if params["frameId"] == known.frame.as_str() => {
                known.url = text(&params["url"]);
            }
            "Page.lifecycleEvent" => known.lifecycle(params),
            "Page.frameScheduledNavigation"
                if params["frameId"] == known.frame.as_str()
                    && known.leaving == Leaving::No
                    && leaves_document(&known.url, params) =>
            {
                known.leaving = Leaving::Wanted;
            }
            "Page.frameRequestedNavigation"
                if params["frameId"] == known.frame.as_str()
                    && leaves_document(&known.url, params) =>
            {
                known.leaving = Leaving::Begun;
            }
            "Page.frameStartedNavigating"
                if params["frameId"] == known.frame.as_str()
                    && !is_within_document(&params["navigationType"]) =>
            {
                known.leaving = Leaving::Begun;
            }
            "Page.frameClearedScheduledNavigation"
                if params["frameId"] == known.frame.as_str()
                    && known.leaving == Leaving::Wanted =>
            {
                known.leaving = Leaving::No;
            }
            "Page.frameStoppedLoading" if params["frameId"] == known.frame.as_str() => {
                known.leaving = Leaving::No;
            }
            "Page.javascriptDialogOpening" => {
                let kind = text(&params["type"]);
                let shown = match kind.as_str() {
                    "beforeunload" => "accepted leaving the page, which asked for it".to_owned(),
                    _ => format!("accepted the {kind} {:?}", text(&params["message"])),
                };
                let answer = json!({"accept": true, "promptText": params["defaultPrompt"]});
                session.send("Page.handleJavaScriptDialog", answer);
                drop(known);
                self.note(shown);
            }
            "Page.downloadWillBegin" | "Browser.downloadWillBegin" => {
                let shown = format!("refused the download of {}", text(&params["url"]));
                drop(known);
                self.note(shown);
            }
            "Runtime.executionContextCreated" => {
                let context = &params["context"];
                let frame = &context["auxData"]["frameId"];
                if context["name"] == WORLD && *frame == known.frame.as_str() {
                    known.world = context["uniqueId"].as_str().map(str::to_owned);
                }
            }
            "Runtime.executionContextDestroyed"
                if params["executionContextUniqueId"].as_str() == known.world.as_deref() =>
            {
                known.world = None;
            }
            "Runtime.executionContextsCleared" => known.world = None,
            "Runtime.consoleAPICalled" => known.said(params),
            "Runtime.exceptionThrown" => known.threw(&params["exceptionDetails"]),
            "Log.entryAdded" => known.logged(&params["entry"]),
            "Network.requestWillBeSent" => known.requests.begin(params),
            "Network.responseReceived" => known.requests.answer(params),
            "Network.loadingFinished" => known.requests.finish(params),
            "Network.loadingFailed" => known.requests.fail(params),
            "Inspector.targetCrashed" => {
                known.has_crashed = true;
                known.world = None;
            }
            _ => return,
        }
        self.changed.notify_waiters();
    }

    fn end(&self) {
        self.known.borrow_mut().is_gone = true;
        self.changed.notify_waiters();
    }
}

/// Tells whether an address is that of the icon which a browser asks each server for, whatever its pages say. That there
/// is none is no fault of a page.
fn is_own_icon(url: &str) -> bool {
    let path = url
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('/'));
    path.is_some_and(|(_, path)| path == "favicon.ico")
}

/// Tells whether a navigation that a page asks for leads to another document, and not to a place in this one.
fn leaves_document(current: &str, params: &Value) -> bool {
    let url = text(&params["url"]);
    let place = |url: &str| url.split('#').next().unwrap_or_default().to_owned();
    let is_here = url.contains('#') && place(&url) == place(current);
    let is_elsewhere = params["disposition"]
        .as_str()
        .is_some_and(|to| to != "currentTab");
    !is_here && !is_elsewhere && !url.starts_with("javascript:") && !url.starts_with("mailto:")
}

fn is_within_document(kind: &Value) -> bool {
    let kind = kind.as_str().unwrap_or_default();
    kind == "sameDocument" || kind == "historySameDocument"
}

impl Known {
    /// Begins with another document. Requests of the one before are of no interest any more.
    fn begin_document(&mut self, document: String) {
        self.has_dom = false;
        self.has_loaded = false;
        self.requests.forget_others(&document);
        if self.documents.len() == MOST_DOCUMENTS {
            self.documents.pop_front();
        }
        self.documents.push_back(document.clone());
        self.document = document;
    }

    fn navigated(&mut self, frame: &Value) {
        if frame["parentId"].is_string() {
            return;
        }
        self.frame = text(&frame["id"]);
        self.url = text(&frame["url"]) + &text(&frame["urlFragment"]);
        let document = text(&frame["loaderId"]);
        if document != self.document {
            self.begin_document(document);
        }
        self.leaving = Leaving::No;
    }

    fn lifecycle(&mut self, params: &Value) {
        if params["frameId"] != self.frame.as_str() {
            return;
        }
        let document = text(&params["loaderId"]);
        match params["name"].as_str().unwrap_or_default() {
            // A document begins; it may be told of before the frame's navigation.
            "init" | "commit" if document != self.document => self.begin_document(document),
            "DOMContentLoaded" if document == self.document => self.has_dom = true,
            "load" if document == self.document => {
                self.has_dom = true;
                self.has_loaded = true;
            }
            _ => {}
        }
    }

    fn print(&mut self, level: ConsoleLevel, message: &str, from: Option<String>) {
        if self.console.len() == MOST_MESSAGES {
            self.console.pop_front();
        }
        self.console.push_back(ConsoleMessage {
            level,
            text: shortened(message),
            from,
        });
    }

    fn said(&mut self, params: &Value) {
        let level = match params["type"].as_str().unwrap_or_default() {
            "error" | "assert" => ConsoleLevel::Error,
            "warning" => ConsoleLevel::Warning,
            "debug" | "trace" => ConsoleLevel::Debug,
            "clear" | "startGroup" | "startGroupCollapsed" | "endGroup" => return,
            _ => ConsoleLevel::Info,
        };
        let values = params["args"].as_array().map_or(&[][..], Vec::as_slice);
        let frame = &params["stackTrace"]["callFrames"][0];
        self.print(level, &printed(values), place_of(frame));
    }

    fn threw(&mut self, details: &Value) {
        let exception = &details["exception"];
        let described = exception["description"].as_str();
        let value = match &exception["value"] {
            Value::Null => None,
            Value::String(value) => Some(value.clone()),
            other => Some(other.to_string()),
        };
        let told = text(&details["text"]);
        let message = match (described, value) {
            // Without the stack: its first line says what happened.
            (Some(described), _) => described.lines().next().unwrap_or_default().to_owned(),
            (None, Some(value)) => format!("{told}: {value}"),
            (None, None) => told,
        };
        self.print(ConsoleLevel::Uncaught, &message, place_of(details));
    }

    fn logged(&mut self, entry: &Value) {
        if entry["source"] == "network" && entry["url"].as_str().is_some_and(is_own_icon) {
            return;
        }
        let level = match entry["level"].as_str().unwrap_or_default() {
            "error" => ConsoleLevel::Error,
            "warning" => ConsoleLevel::Warning,
            "verbose" => ConsoleLevel::Debug,
            _ => ConsoleLevel::Info,
        };
        let from = entry["url"]
            .as_str()
            .map(|url| match entry["lineNumber"].as_u64() {
                Some(line) => format!("{}:{}", shortened(url), line + 1),
                None => shortened(url),
            });
        self.print(level, &text(&entry["text"]), from);
    }
}

impl Requests {
    fn find(&self, id: &str) -> Option<&Request> {
        let index = self.by_id.get(id)?.checked_sub(self.dropped)?;
        self.all.get(index)
    }

    fn find_mut(&mut self, id: &str) -> Option<&mut Request> {
        let index = self.by_id.get(id)?.checked_sub(self.dropped)?;
        self.all.get_mut(index)
    }

    /// Gives up requests of other documents that are still open.
    fn forget_others(&mut self, document: &str) {
        for id in std::mem::take(&mut self.open) {
            match self.find_mut(&id) {
                Some(request) if request.document == document => {
                    self.open.insert(id);
                }
                Some(request) => request.is_aborted = true,
                None => {}
            }
        }
    }

    fn begin(&mut self, params: &Value) {
        let id = text(&params["requestId"]);
        let request = &params["request"];
        let url = text(&request["url"]);
        if url.starts_with("data:") || url.starts_with("blob:") || is_own_icon(&url) {
            return;
        }
        self.last_change = Instant::now();
        let time = params["timestamp"].as_f64().unwrap_or_default();
        if let Some(response) = params.get("redirectResponse") {
            self.receive(&id, response);
            self.end(&id, time);
        }
        if self.all.len() == MOST_REQUESTS
            && let Some(oldest) = self.all.pop_front()
        {
            // A redirected one has given its id on.
            if self.by_id.get(&oldest.id) == Some(&self.dropped) {
                self.by_id.remove(&oldest.id);
                self.open.remove(&oldest.id);
            }
            self.dropped += 1;
        }
        let kind = text(&params["type"]).to_lowercase();
        // These stay open for as long as the page does.
        if kind != "eventsource" && kind != "websocket" {
            self.open.insert(id.clone());
        }
        self.by_id.insert(id.clone(), self.dropped + self.all.len());
        self.all.push_back(Request {
            shown: NetworkRequest {
                method: text(&request["method"]),
                url: shortened(&url),
                kind,
                status: None,
                error: None,
                milliseconds: None,
            },
            id,
            document: text(&params["loaderId"]),
            started: time,
            is_aborted: false,
            is_refused: false,
        });
    }

    fn receive(&mut self, id: &str, response: &Value) {
        let status = response["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok());
        let refused = response["headers"].as_object().is_some_and(|headers| {
            headers
                .keys()
                .any(|name| name.eq_ignore_ascii_case(REFUSED_HEADER))
        });
        let Some(request) = self.find_mut(id) else {
            return;
        };
        if refused {
            request.refuse();
        } else {
            request.shown.status = status;
        }
    }

    fn answer(&mut self, params: &Value) {
        let id = text(&params["requestId"]);
        self.receive(&id, &params["response"]);
        // A stream of events has begun and does not end.
        let kind = params["type"].as_str().unwrap_or_default();
        if kind == "EventSource" {
            self.open.remove(&id);
        }
    }

    fn end(&mut self, id: &str, time: f64) {
        self.last_change = Instant::now();
        self.open.remove(id);
        if let Some(request) = self.find_mut(id) {
            let milliseconds = ((time - request.started) * 1000.0).round();
            if (0.0..1e9).contains(&milliseconds) {
                request.shown.milliseconds = Some(milliseconds as u64);
            }
        }
    }

    fn finish(&mut self, params: &Value) {
        let time = params["timestamp"].as_f64().unwrap_or_default();
        self.end(&text(&params["requestId"]), time);
    }

    fn fail(&mut self, params: &Value) {
        let id = text(&params["requestId"]);
        let time = params["timestamp"].as_f64().unwrap_or_default();
        self.end(&id, time);
        let hosts = self.hosts.clone();
        let Some(request) = self.find_mut(&id) else {
            return;
        };
        let error = text(&params["errorText"]);
        // The gate refuses a tunnel with a status, of which the browser tells no more than this.
        let at = HostPort::of_url(&request.shown.url);
        if error == "net::ERR_TUNNEL_CONNECTION_FAILED" && at.is_some_and(|at| !hosts.allow(&at)) {
            request.refuse();
            return;
        }
        request.is_aborted = params["canceled"] == true || error == "net::ERR_ABORTED";
        let reason = params["blockedReason"].as_str();
        let reason = reason.map_or(String::new(), |reason| format!(" (blocked: {reason})"));
        if !request.is_refused {
            request.shown.error = Some(error + &reason);
        }
    }
}

impl Request {
    fn refuse(&mut self) {
        self.is_refused = true;
        self.shown.status = None;
        let host = HostPort::of_url(&self.shown.url);
        let host = host.map_or_else(|| self.shown.url.clone(), |at| at.to_string());
        self.shown.error = Some(format!("{host} is not among the flow's hosts"));
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

fn place_of(frame: &Value) -> Option<String> {
    let url = frame["url"].as_str().filter(|url| !url.is_empty())?;
    let line = frame["lineNumber"].as_u64().unwrap_or_default() + 1;
    Some(format!("{}:{line}", shortened(url)))
}

/// The text of what a page prints, with its placeholders filled in.
fn printed(values: &[Value]) -> String {
    let mut shown = values.iter().map(shown_value);
    let is_format = values
        .first()
        .is_some_and(|value| value["type"] == "string");
    let Some(first) = shown.next() else {
        return String::new();
    };
    let mut text = String::new();
    if is_format && first.contains('%') {
        let mut characters = first.chars().peekable();
        while let Some(character) = characters.next() {
            if character != '%' {
                text.push(character);
                continue;
            }
            match characters.peek() {
                Some('s' | 'd' | 'i' | 'f' | 'o' | 'O') => {
                    characters.next();
                    text.push_str(&shown.next().unwrap_or_default());
                }
                // Only colours the rest.
                Some('c') => {
                    characters.next();
                    shown.next();
                }
                Some('%') => {
                    characters.next();
                    text.push('%');
                }
                _ => text.push('%'),
            }
        }
    } else {
        text = first;
    }
    for value in shown {
        text.push(' ');
        text.push_str(&value);
    }
    text
}

fn shown_value(value: &Value) -> String {
    if let Some(text) = value["value"].as_str() {
        return text.to_owned();
    }
    if !value["value"].is_null() {
        return value["value"].to_string();
    }
    let described = value["description"]
        .as_str()
        .or(value["unserializableValue"].as_str());
    match described {
        Some(text) => text.to_owned(),
        None => value["subtype"]
            .as_str()
            .or(value["type"].as_str())
            .unwrap_or_default()
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(id: &str, url: &str) -> Value {
        json!({"requestId": id, "request": {"method": "GET", "url": url}, "type": "Fetch", "timestamp": 1.0})
    }

    fn known() -> Known {
        PageRecord::new("F", AllowedHosts::default())
            .known
            .into_inner()
    }

    #[test]
    fn the_icon_that_a_browser_asks_for_by_itself_is_no_fault_of_a_page() {
        let mut known = known();
        for (url, count) in [
            ("http://localhost:3000/favicon.ico", 0),
            ("http://localhost:3000/images/favicon.ico", 1),
        ] {
            known.requests.begin(&begun(url, url));
            known
                .logged(&json!({"source": "network", "level": "error", "url": url, "text": "404"}));
            assert_eq!(
                (known.requests.all.len(), known.console.len()),
                (count, count),
                "{url}"
            );
        }
    }

    #[test]
    fn what_a_page_prints_is_put_together() {
        let string = |text: &str| json!({"type": "string", "value": text});
        let number = json!({"type": "number", "value": 3, "description": "3"});
        assert_eq!(
            printed(&[
                string("%s has %d of 100%% %cred"),
                string("Ada"),
                number.clone(),
                string("color: red"),
                string("x")
            ]),
            "Ada has 3 of 100% red x"
        );
        assert_eq!(
            printed(&[
                number,
                json!({"type": "object", "subtype": "null", "value": null})
            ]),
            "3 null"
        );
        assert_eq!(printed(&[json!({"type": "undefined"})]), "undefined");
    }

    #[test]
    fn a_request_is_followed_to_its_end() {
        let mut known = known();
        known.requests.begin(&begun("1", "http://h/a"));
        assert_eq!(known.requests.open.len(), 1);
        known
            .requests
            .answer(&json!({"requestId": "1", "type": "Fetch", "response": {"status": 404}}));
        known
            .requests
            .finish(&json!({"requestId": "1", "timestamp": 1.25}));
        let shown = &known.requests.all[0].shown;
        assert_eq!((shown.status, shown.milliseconds), (Some(404), Some(250)));
        assert!(known.requests.open.is_empty());
    }

    #[test]
    fn a_redirected_request_is_two() {
        let mut known = known();
        known.requests.begin(&begun("1", "http://h/a"));
        let mut again = begun("1", "http://h/b");
        again["redirectResponse"] = json!({"status": 302});
        known.requests.begin(&again);
        known
            .requests
            .answer(&json!({"requestId": "1", "type": "Fetch", "response": {"status": 200}}));
        let statuses: Vec<_> = known
            .requests
            .all
            .iter()
            .map(|request| request.shown.status)
            .collect();
        assert_eq!(statuses, [Some(302), Some(200)]);
    }

    #[test]
    fn a_refused_host_is_named() {
        let mut known = known();
        known.requests.begin(&begun("1", "https://cdn.test:444/a"));
        known.requests.fail(&json!({"requestId": "1", "errorText": "net::ERR_TUNNEL_CONNECTION_FAILED", "timestamp": 1}));
        let request = &known.requests.all[0];
        assert!(request.is_refused);
        assert_eq!(
            request.shown.error.as_deref(),
            Some("cdn.test:444 is not among the flow's hosts")
        );
    }

    #[test]
    fn requests_beyond_the_cap_push_out_the_oldest() {
        let mut known = known();
        for number in 0..=MOST_REQUESTS {
            known
                .requests
                .begin(&begun(&number.to_string(), "http://h/"));
        }
        assert_eq!(known.requests.all.len(), MOST_REQUESTS);
        assert!(known.requests.find("0").is_none());
        let last = MOST_REQUESTS.to_string();
        known
            .requests
            .answer(&json!({"requestId": last, "response": {"status": 204}}));
        assert_eq!(known.requests.find(&last).unwrap().shown.status, Some(204));
    }

    #[test]
    fn a_place_in_the_same_document_is_no_navigation() {
        let leaves = |url: &str| leaves_document("http://h/a#x", &json!({"url": url}));
        assert!(!leaves("http://h/a#y"));
        assert!(leaves("http://h/b#y"));
        assert!(leaves("http://h/a"));
        assert!(!leaves("mailto:a@b"));
    }
}
