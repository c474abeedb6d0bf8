//! Going to an address, and knowing when it is there.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::{failure::failure, hosts::HostPort, page::FlowPage, record::PageRecord};
use crate::{
    flow::LoadState,
    result::{FailureKind, StepFailure},
};

/// The longest that the status of a document is waited for that is there already.
const STATUS: Duration = Duration::from_millis(300);
/// The longest that a crash is waited for where one is likely.
const CRASH: Duration = Duration::from_secs(3);

impl FlowPage {
    pub(super) async fn navigate(
        &self,
        url: &str,
        until: LoadState,
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        let Some(address) = joined(self.settings.base.as_deref(), url) else {
            return Err(failure(
                FailureKind::Navigation,
                format!("{url} is an address"),
                "it is relative, and the flow has no `url` that it could be relative to",
            ));
        };
        if let Some(at) = HostPort::of_url(&address)
            && !self.gate.hosts().allow(&at)
        {
            return Err(unlisted(&address, &at));
        }
        let loads = || format!("{address} loads");
        self.record.begin_leaving();
        let navigated = self.session.begin("Page.navigate", json!({"url": address}));
        let navigated = self.within(deadline, navigated).await;
        let navigated = navigated.map_err(|error| match error.kind {
            FailureKind::NotActionable => {
                self.session.send("Page.stopLoading", json!({}));
                self.record.end_leaving();
                let actual = "no answer came in time".to_owned();
                failure(FailureKind::Navigation, loads(), actual)
            }
            _ => error,
        })?;
        if let Some(error) = navigated["errorText"].as_str() {
            self.record.end_leaving();
            if address.starts_with("chrome:") {
                // Some of these addresses end the page's process, which is told only then.
                let soon = deadline.min(Instant::now() + CRASH);
                self.record.until(soon, PageRecord::is_over).await;
            }
            // A page that crashes over it is told of only now.
            self.ask("boxes", &json!({"targets": []}), deadline).await?;
            return Err(self.unreached(&address, error));
        }
        match navigated["loaderId"].as_str() {
            // Within the same document there is nothing to load.
            None => self.record.end_leaving(),
            Some(document) => {
                self.until_loaded(&address, document, until, deadline)
                    .await?
            }
        }
        if until == LoadState::Idle {
            self.until_idle(deadline).await?;
        }
        let refused = self
            .record
            .document_request()
            .filter(|document| document.is_refused);
        match refused.and_then(|document| HostPort::of_url(&document.request.url)) {
            Some(at) => Err(unlisted(&self.url(), &at)),
            None => Ok(()),
        }
    }

    /// Waits for a document, or for the one that it has been replaced by meanwhile.
    async fn until_loaded(
        &self,
        address: &str,
        document: &str,
        until: LoadState,
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        let wanted = match until {
            LoadState::Dom => LoadState::Dom,
            LoadState::Load | LoadState::Idle => LoadState::Load,
        };
        // The browser tells that it has gone there before the page tells that it begins.
        let has_arrived = self.record.until(deadline, |record| {
            record.has_seen(document) && !record.is_leaving() && record.has_reached(wanted)
        });
        let has_arrived = has_arrived.await;
        if self.record.is_over() {
            return Err(self.no_answer());
        }
        self.note_status(deadline).await;
        if has_arrived {
            return Ok(());
        }
        let open = self.record.open_requests();
        let actual = match open.as_slice() {
            [] => "it did not in time".to_owned(),
            open => format!("it did not in time; not answered yet: {}", open.join(", ")),
        };
        Err(failure(
            FailureKind::Navigation,
            format!("{address} loads"),
            actual,
        ))
    }

    /// The failure of a page that an act has led to and that could not be loaded: the browser shows one of its own.
    pub(super) fn lost_page(&self) -> Option<StepFailure> {
        if !self.url().starts_with("chrome-error:") {
            return None;
        }
        let failed = self.record.failed_requests().into_iter().rev();
        let failed = failed.map(|failed| failed.request);
        let document = failed
            .into_iter()
            .find(|request| request.kind == "document")?;
        let error = document.error.as_deref().unwrap_or_default();
        Some(self.unreached(&document.url, error))
    }

    /// Tells of an answer that is an error: the page may be meant to be one.
    async fn note_status(&self, deadline: Instant) {
        // Events of the network and of the page come each in their own order.
        let soon = deadline.min(Instant::now() + STATUS);
        let is_known = |record: &PageRecord| {
            let is_of_server = HostPort::of_url(&record.url()).is_some();
            !is_of_server
                || record
                    .document_request()
                    .is_some_and(|document| document.is_over())
        };
        self.record.until(soon, is_known).await;
        let Some(document) = self.record.document_request() else {
            return;
        };
        if let Some(status) = document.request.status.filter(|status| *status >= 400) {
            self.record
                .note(format!("{} answered {status}", document.request.url));
        }
    }

    fn unreached(&self, address: &str, error: &str) -> StepFailure {
        let requests = self.record.failed_requests();
        let document = requests
            .iter()
            .rev()
            .find(|failed| failed.request.kind == "document");
        if let Some(document) = document
            && document.is_refused
            && let Some(at) = HostPort::of_url(&document.request.url)
        {
            return unlisted(address, &at);
        }
        let status = document.and_then(|document| document.request.status);
        if let (Some(status), "net::ERR_HTTP_RESPONSE_CODE_FAILURE") = (status, error) {
            let actual = format!("it answers {status}, with an empty page");
            return failure(FailureKind::Navigation, format!("{address} loads"), actual);
        }
        let said = match error {
            "net::ERR_CONNECTION_REFUSED" => "nothing listens there",
            "net::ERR_NAME_NOT_RESOLVED" => "there is no such host",
            "net::ERR_EMPTY_RESPONSE" | "net::ERR_CONNECTION_RESET" => {
                "the connection was closed without an answer"
            }
            "net::ERR_INTERNET_DISCONNECTED" => "the page is offline",
            "net::ERR_ABORTED" => {
                "the navigation was given up: it led to a download, or to no content"
            }
            "net::ERR_TOO_MANY_REDIRECTS" => "it redirects without an end",
            "net::ERR_UNSAFE_PORT" => "the browser refuses to go to this port",
            _ => "the browser could not load it",
        };
        failure(
            FailureKind::Navigation,
            format!("{address} loads"),
            format!("{said} ({error})"),
        )
    }
}

fn unlisted(address: &str, at: &HostPort) -> StepFailure {
    failure(
        FailureKind::Host,
        format!("{address} may be reached"),
        format!("{at} is not among the flow's hosts: list it in `hosts`"),
    )
}

/// Tells whether an address needs a base.
pub(crate) fn is_relative(url: &str) -> bool {
    let scheme = url.split([':', '/', '?', '#']).next().unwrap_or_default();
    let has_scheme = url[scheme.len()..].starts_with(':')
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    !has_scheme
}

/// Puts an address together with the base that it may be relative to.
fn joined(base: Option<&str>, url: &str) -> Option<String> {
    if !is_relative(url) {
        return Some(url.to_owned());
    }
    let base = base?;
    let (scheme, rest) = base.split_once("://")?;
    if let Some(authority) = url.strip_prefix("//") {
        return Some(format!("{scheme}://{authority}"));
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = match url.chars().next() {
        Some('/') => url.to_owned(),
        Some('?' | '#') => format!("{}{url}", if path.is_empty() { "/" } else { path }),
        Some(_) => format!("{folder}/{url}"),
        None if path.is_empty() => "/".to_owned(),
        None => path.to_owned(),
    };
    Some(format!("{scheme}://{authority}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_relative_to_the_base() {
        let base = "http://localhost:3000/app/start?x";
        let at = |url: &str| joined(Some(base), url).unwrap();
        assert_eq!(at("/a?b#c"), "http://localhost:3000/a?b#c");
        assert_eq!(at("a"), "http://localhost:3000/app/a");
        assert_eq!(at("#c"), "http://localhost:3000/app/start#c");
        assert_eq!(at(""), "http://localhost:3000/app/start");
        assert_eq!(at("//cdn.test/a"), "http://cdn.test/a");
        assert_eq!(at("https://x.test/"), "https://x.test/");
        assert_eq!(at("about:blank"), "about:blank");
        assert_eq!(at("a:80"), "a:80");
        assert_eq!(joined(Some("http://h:1"), "").unwrap(), "http://h:1/");
        assert_eq!(joined(Some("http://h:1"), "a/b").unwrap(), "http://h:1/a/b");
        assert_eq!(joined(None, "/a"), None);
    }
}
