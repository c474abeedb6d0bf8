//! The parts of a page that are new since the last look, and how much of a page is shown.

use ralph_core::sanitize::one_line;

use crate::result::{ConsoleLevel, ConsoleMessage, NetworkRequest};

/// Lines of the page, and characters of a line.
pub(super) const MOST_LINES: usize = 300;
pub(super) const MOST_LINE_CHARS: usize = 240;
/// Errors of the console, and failed requests.
const MOST_ERRORS: usize = 20;
/// Characters of one of them.
const MOST_ERROR_CHARS: usize = 600;

/// The last status that is no failure.
const LAST_GOOD_STATUS: u16 = 399;

/// The errors that were seen already.
#[derive(Debug, Default)]
pub(super) struct SeenErrors {
    console: Vec<ConsoleMessage>,
    requests: Vec<NetworkRequest>,
}

/// The errors that were not seen yet.
#[derive(Debug, Default)]
pub(super) struct NewErrors {
    pub(super) console: Vec<ConsoleMessage>,
    pub(super) requests: Vec<NetworkRequest>,
}

impl NewErrors {
    pub(super) fn count(&self) -> usize {
        self.console.len() + self.requests.len()
    }
}

impl SeenErrors {
    /// Returns what is new. `console` and `network` are all that a page has now; it may have forgotten the oldest.
    pub(super) fn new_in(
        &self,
        console: &[ConsoleMessage],
        network: &[NetworkRequest],
    ) -> NewErrors {
        NewErrors {
            console: behind(&self.console, &errors(console))
                .iter()
                .map(shortened)
                .collect(),
            requests: behind(&self.requests, &failures(network))
                .iter()
                .map(shortened_request)
                .collect(),
        }
    }

    /// The same, and remembers it.
    pub(super) fn take_new(
        &mut self,
        console: &[ConsoleMessage],
        network: &[NetworkRequest],
    ) -> NewErrors {
        let new = self.new_in(console, network);
        self.console = errors(console);
        self.requests = failures(network);
        new
    }
}

fn errors(console: &[ConsoleMessage]) -> Vec<ConsoleMessage> {
    let is_error = |message: &&ConsoleMessage| match message.level {
        ConsoleLevel::Error | ConsoleLevel::Uncaught => true,
        ConsoleLevel::Debug | ConsoleLevel::Info | ConsoleLevel::Warning => false,
    };
    console.iter().filter(is_error).cloned().collect()
}

fn failures(network: &[NetworkRequest]) -> Vec<NetworkRequest> {
    let has_failed = |request: &&NetworkRequest| {
        request.error.is_some()
            || request
                .status
                .is_some_and(|status| status > LAST_GOOD_STATUS)
    };
    network.iter().filter(has_failed).cloned().collect()
}

/// The part of `now` behind `before`, of whose start any part may be forgotten; at most the last few.
fn behind<'a, T: PartialEq>(before: &[T], now: &'a [T]) -> &'a [T] {
    let known = (0..=before.len())
        .map(|from| &before[from..])
        .find(|rest| now.starts_with(rest))
        .map_or(0, <[T]>::len);
    let new = &now[known..];
    &new[new.len().saturating_sub(MOST_ERRORS)..]
}

fn shortened(message: &ConsoleMessage) -> ConsoleMessage {
    ConsoleMessage {
        text: one_line(&message.text, MOST_ERROR_CHARS),
        ..message.clone()
    }
}

fn shortened_request(request: &NetworkRequest) -> NetworkRequest {
    NetworkRequest {
        url: one_line(&request.url, MOST_ERROR_CHARS),
        ..request.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: ConsoleLevel, text: &str) -> ConsoleMessage {
        ConsoleMessage {
            level,
            text: text.to_owned(),
            from: None,
        }
    }

    fn error(text: &str) -> ConsoleMessage {
        message(ConsoleLevel::Error, text)
    }

    fn request(url: &str, status: Option<u16>) -> NetworkRequest {
        NetworkRequest {
            method: "GET".to_owned(),
            url: url.to_owned(),
            kind: "fetch".to_owned(),
            status,
            error: None,
            milliseconds: None,
        }
    }

    #[test]
    fn only_errors_are_told_and_each_once() {
        let mut seen = SeenErrors::default();
        let mut console = vec![error("a"), message(ConsoleLevel::Info, "b")];
        let network = [request("/x", Some(200)), request("/y", Some(404))];
        let new = seen.take_new(&console, &network);
        assert_eq!(new.console, [error("a")]);
        assert_eq!(new.requests, [request("/y", Some(404))]);
        console.push(message(ConsoleLevel::Uncaught, "c"));
        let new = seen.take_new(&console, &network);
        assert_eq!(new.console, [message(ConsoleLevel::Uncaught, "c")]);
        assert_eq!(new.count(), 1);
        assert_eq!(seen.take_new(&console, &network).count(), 0);
    }

    #[test]
    fn what_a_page_has_forgotten_is_not_told_again() {
        let mut seen = SeenErrors::default();
        seen.take_new(&[error("1"), error("2"), error("3")], &[]);
        let new = seen.take_new(&[error("3"), error("4")], &[]);
        assert_eq!(new.console, [error("4")]);
        // All of it is new: the page was loaded again.
        let new = seen.take_new(&[error("5")], &[]);
        assert_eq!(new.console, [error("5")]);
    }
}
