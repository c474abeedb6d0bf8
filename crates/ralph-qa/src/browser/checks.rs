//! Conditions on a page: those on its document are asked of the page library, those on what happened of the record.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::{
    failure::{failure, text_of, texts},
    hosts::HostPort,
    page::FlowPage,
    record::RecordedRequest,
    targets::check_json,
};
use crate::{
    flow::{Check, RequestPattern},
    result::{ConsoleLevel, FailureKind, NetworkRequest, StepFailure},
};

/// The most links of a page that are asked, and how many at once.
const MOST_LINKS: usize = 100;
const LINKS_AT_ONCE: usize = 4;
/// The longest that one link may take.
const LINK_LIMIT: Duration = Duration::from_secs(10);
/// The most things that a failure lists.
const MOST_LISTED: usize = 20;

impl FlowPage {
    /// Waits until all checks hold, one after the other.
    pub(super) async fn verify(
        &self,
        checks: &[Check],
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        for check in checks {
            self.verify_one(check, deadline).await?;
        }
        Ok(())
    }

    async fn verify_one(&self, check: &Check, deadline: Instant) -> Result<(), StepFailure> {
        if let Some(json) = check_json(check) {
            let found = self.ask("check", &json!({"check": json}), deadline).await?;
            return self.judged(check, &found);
        }
        match check {
            Check::Url(pattern) => self.verify_url(pattern, deadline).await,
            Check::NoConsoleErrors { except } => self.verify_console(except, deadline).await,
            Check::Network(pattern) => self.verify_network(pattern, deadline).await,
            Check::NoFailedRequests { except } => self.verify_requests(except, deadline).await,
            Check::NoBrokenLinks => self.verify_links(deadline).await,
            Check::Text(_)
            | Check::NoText(_)
            | Check::Element(_)
            | Check::NoElement(_)
            | Check::Count { .. }
            | Check::Title(_)
            | Check::Value { .. }
            | Check::State { .. }
            | Check::Attribute { .. }
            | Check::Style { .. }
            | Check::Tree(_)
            | Check::NoBrokenImages
            | Check::NoOverlap(_)
            | Check::Accessible(_) => Ok(()),
        }
    }

    /// Reads the judgement of the page library.
    fn judged(&self, check: &Check, found: &Value) -> Result<(), StepFailure> {
        if found["ok"] == true {
            return Ok(());
        }
        let mut kind = match found["kind"].as_str() {
            Some("not_found") => FailureKind::NotFound,
            Some("ambiguous") => FailureKind::Ambiguous,
            _ => FailureKind::Expectation,
        };
        let mut actual = text_of(&found["actual"]);
        let mut nearest = texts(&found["nearest"]);
        for finding in texts(&found["findings"]) {
            if nearest.len() < MOST_LISTED && !nearest.contains(&finding) {
                nearest.push(finding);
            }
        }
        // An image may be missing because its host was refused.
        if *check == Check::NoBrokenImages
            && let Some(refused) = self.refused_of_kind("image")
        {
            kind = FailureKind::Host;
            actual = format!("{actual}; {}", refused.request.error.unwrap_or_default());
        }
        Err(StepFailure {
            kind,
            expected: text_of(&found["expected"]),
            actual,
            nearest,
        })
    }

    fn refused_of_kind(&self, kind: &str) -> Option<RecordedRequest> {
        let failed = self.record.failed_requests();
        failed
            .into_iter()
            .find(|failed| failed.is_refused && failed.request.kind == kind)
    }

    async fn verify_url(&self, pattern: &str, deadline: Instant) -> Result<(), StepFailure> {
        let holds = self
            .record
            .until(deadline, |record| url_matches(pattern, &record.url()));
        if holds.await {
            return Ok(());
        }
        Err(self.over_or(failure(
            FailureKind::Expectation,
            format!("the address is {pattern}"),
            format!("it is {}", self.url()),
        )))
    }

    fn over_or(&self, failure: StepFailure) -> StepFailure {
        if self.record.is_over() {
            return self.no_answer();
        }
        failure
    }

    async fn verify_console(
        &self,
        except: &[String],
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        // What was printed until now has come when the page has answered.
        self.ask("boxes", &json!({"targets": []}), deadline).await?;
        let errors = self.console().into_iter().filter(|message| {
            matches!(message.level, ConsoleLevel::Error | ConsoleLevel::Uncaught)
                && !except
                    .iter()
                    .any(|text| message.text.contains(text.as_str()))
        });
        let shown = errors.map(|message| {
            let text = match message.level {
                ConsoleLevel::Uncaught => format!("uncaught: {}", message.text),
                _ => message.text,
            };
            match message.from {
                Some(from) => format!("{text} ({from})"),
                None => text,
            }
        });
        let shown: Vec<String> = shown.collect();
        listed("the console has no errors", "error", shown)
    }

    async fn verify_network(
        &self,
        pattern: &RequestPattern,
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        let matching = |requests: &[NetworkRequest]| {
            let matching = requests
                .iter()
                .filter(|request| request_matches(pattern, request));
            matching.count()
        };
        let holds = |count: usize| match pattern.count {
            Some(wanted) => count == wanted,
            None => count > 0,
        };
        let met = self
            .record
            .until(deadline, |record| holds(matching(&record.network())));
        if met.await {
            return Ok(());
        }
        let requests = self.network();
        let count = matching(&requests);
        let same_place = |request: &&NetworkRequest| asked_matches(&pattern.url, &request.url);
        let near: Vec<String> = requests
            .iter()
            .filter(same_place)
            .map(shown_request)
            .collect();
        let mut expected = format!(
            "{} {}",
            pattern.method.as_deref().unwrap_or("a request to"),
            pattern.url
        );
        if let Some(status) = pattern.status {
            expected += &format!(" is answered {status}");
        } else {
            expected += " is made";
        }
        match pattern.count {
            Some(1) => expected += " once",
            Some(count) => expected += &format!(" {count} times"),
            None => {}
        }
        let actual = match (count, near.is_empty()) {
            (0, true) => "no request was made to it".to_owned(),
            (0, false) => "the requests to it were others".to_owned(),
            (1, _) => "it was made once".to_owned(),
            (count, _) => format!("it was made {count} times"),
        };
        let near = if near.is_empty() {
            requests
                .iter()
                .rev()
                .take(MOST_LISTED)
                .map(shown_request)
                .collect()
        } else {
            near.into_iter().take(MOST_LISTED).collect()
        };
        Err(self.over_or(StepFailure {
            nearest: near,
            ..failure(FailureKind::Expectation, expected, actual)
        }))
    }

    async fn verify_requests(
        &self,
        except: &[String],
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        self.ask("boxes", &json!({"targets": []}), deadline).await?;
        let failed = self.record.failed_requests().into_iter().filter(|failed| {
            let url = &failed.request.url;
            !except
                .iter()
                .any(|text| url.contains(text.as_str()) || url_matches(text, url))
        });
        let failed: Vec<RecordedRequest> = failed.collect();
        let is_refused = failed.iter().any(|failed| failed.is_refused);
        let shown = failed
            .iter()
            .map(|failed| shown_request(&failed.request))
            .collect();
        listed("no request failed", "request", shown).map_err(|failure| StepFailure {
            kind: if is_refused {
                FailureKind::Host
            } else {
                failure.kind
            },
            ..failure
        })
    }

    /// Asks for each link of the page that leads to a host that may be reached, without the page's cookies: a link may
    /// be one that logs out.
    async fn verify_links(&self, deadline: Instant) -> Result<(), StepFailure> {
        let check = json!({"check": {"kind": "links"}});
        let found = self.ask("check", &check, deadline).await?;
        let links = found["links"].as_array().into_iter().flatten();
        let links = links.map(|link| (text_of(&link["url"]), text_of(&link["text"])));
        let reached = links.filter(|(url, _)| {
            HostPort::of_url(url).is_some_and(|at| self.gate.hosts().allow(&at))
        });
        let reached: Vec<(String, String)> = reached.take(MOST_LINKS).collect();
        let asked = stream::iter(reached).map(async |(url, text)| {
            let limit = deadline.min(Instant::now() + LINK_LIMIT);
            let fault = self.link_fault(&url, limit).await;
            fault.map(|fault| format!("{text} leads to {url}: {fault}"))
        });
        let mut faults: Vec<String> = asked
            .buffered(LINKS_AT_ONCE)
            .filter_map(async |fault| fault)
            .collect()
            .await;
        let dead = found["dead"].as_array().into_iter().flatten();
        faults.extend(dead.map(|link| {
            let (text, url) = (text_of(&link["text"]), text_of(&link["url"]));
            format!("{text} leads to {url}: the page has no such place")
        }));
        if self.record.is_over() {
            return Err(self.no_answer());
        }
        listed("all links lead somewhere", "link", faults)
    }

    async fn link_fault(&self, url: &str, limit: Instant) -> Option<String> {
        let asked = self.session.begin(
            "Network.loadNetworkResource",
            json!({
                "frameId": self.record.frame(),
                "url": url,
                "options": {"disableCache": false, "includeCredentials": false},
            }),
        );
        let Ok(answer) = timeout_at(limit, asked).await else {
            return Some("no answer came in time".to_owned());
        };
        let answer = answer.ok()?;
        let resource = &answer["resource"];
        if let Some(stream) = resource["stream"].as_str() {
            self.session.send("IO.close", json!({"handle": stream}));
        }
        match resource["httpStatusCode"].as_u64() {
            // What needs a login is there.
            Some(401 | 403 | 405 | 407 | 429) => None,
            Some(status) if status >= 400 => Some(format!("it answers {status}")),
            Some(_) => None,
            None => match resource["netErrorName"].as_str() {
                // A page that may not be read from elsewhere is there too.
                Some("net::ERR_BLOCKED_BY_RESPONSE" | "net::ERR_ABORTED") => None,
                Some(error) => Some(error.to_owned()),
                None => None,
            },
        }
    }
}

/// A failure that lists what should not be there; none for an empty list.
fn listed(expected: &str, noun: &str, mut found: Vec<String>) -> Result<(), StepFailure> {
    let Some(first) = found.first() else {
        return Ok(());
    };
    let actual = match found.len() {
        1 => format!("1 {noun}: {first}"),
        count => format!("{count} {noun}s, the first: {first}"),
    };
    found.truncate(MOST_LISTED);
    Err(StepFailure {
        nearest: found,
        ..failure(FailureKind::Expectation, expected, actual)
    })
}

fn shown_request(request: &NetworkRequest) -> String {
    let outcome = match (request.status, &request.error) {
        (_, Some(error)) => error.clone(),
        (Some(status), None) => status.to_string(),
        (None, None) => "not answered yet".to_owned(),
    };
    format!("{} {} → {outcome}", request.method, request.url)
}

fn request_matches(pattern: &RequestPattern, request: &NetworkRequest) -> bool {
    let is_method = pattern
        .method
        .as_ref()
        .is_none_or(|method| method.eq_ignore_ascii_case(&request.method));
    let is_status = pattern
        .status
        .is_none_or(|status| request.status == Some(status));
    is_method && is_status && asked_matches(&pattern.url, &request.url)
}

/// Compares an address with a pattern: `*` stands for anything. A path is compared with path and query; the part behind
/// a `#` counts where the pattern has one.
pub(super) fn url_matches(pattern: &str, url: &str) -> bool {
    let url = if pattern.contains('#') {
        url
    } else {
        url.split('#').next().unwrap_or_default()
    };
    if pattern.contains("://") {
        return fits(pattern, url) || fits(pattern, url.trim_end_matches('/'));
    }
    let server = url
        .split_once("://")
        .filter(|(scheme, _)| scheme.starts_with("http"));
    let Some((_, after_scheme)) = server else {
        // A page of the browser's own, such as that of an error.
        return fits(pattern, url);
    };
    let path = match after_scheme.find(['/', '?', '#']) {
        None => "/".to_owned(),
        Some(at) if after_scheme[at..].starts_with('/') => after_scheme[at..].to_owned(),
        Some(at) => format!("/{}", &after_scheme[at..]),
    };
    fits(pattern, &path)
}

/// Compares the address of a request, whose query counts only where the pattern has one.
fn asked_matches(pattern: &str, url: &str) -> bool {
    let without_query = url.split(['?', '#']).next().unwrap_or_default();
    url_matches(pattern, url) || (!pattern.contains('?') && url_matches(pattern, without_query))
}

/// Matches a text with `*`s.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_compared_as_a_person_writes_them() {
        let url = "http://localhost:3000/a/b?c=d#e";
        for pattern in [
            "/a/b?c=d",
            "/a/b?c=d#e",
            "/a/*",
            "*/b?*",
            "http://localhost:3000/a/b?c=d",
            "http://*/b?*",
        ] {
            assert!(url_matches(pattern, url), "{pattern}");
        }
        for pattern in [
            "/a",
            "/a/b",
            "/a/b?c",
            "b",
            "/a/b?c=d#f",
            "http://localhost:3000/a/b",
            "/a/*/c",
        ] {
            assert!(!url_matches(pattern, url), "{pattern}");
        }
        assert!(asked_matches("/a/b", url));
        assert!(!asked_matches("/a/b?c=e", url));
        assert!(!url_matches("/", "chrome-error://chromewebdata/"));
        assert!(url_matches("about:blank", "about:blank"));
        assert!(url_matches("/", "http://localhost:3000"));
        assert!(url_matches(
            "http://localhost:3000",
            "http://localhost:3000/"
        ));
    }

    #[test]
    fn a_star_stands_for_anything() {
        assert!(fits("a*b*c", "a1b2c"));
        assert!(fits("*", ""));
        assert!(!fits("a*a", "a"));
        assert!(!fits("a*b*c", "acb"));
    }

    #[test]
    fn a_request_is_matched_by_method_and_status() {
        let request = NetworkRequest {
            method: "POST".into(),
            url: "http://h/api".into(),
            kind: "fetch".into(),
            status: Some(201),
            error: None,
            milliseconds: None,
        };
        let pattern = |method: Option<&str>, status| RequestPattern {
            url: "/api".into(),
            method: method.map(str::to_owned),
            status,
            count: None,
        };
        assert!(request_matches(&pattern(Some("post"), Some(201)), &request));
        assert!(request_matches(&pattern(None, None), &request));
        assert!(!request_matches(&pattern(Some("GET"), None), &request));
        assert!(!request_matches(&pattern(None, Some(200)), &request));
    }
}
