//! A webhook: the message as JSON, by HTTP POST, tried twice.
//!
//! Encrypted, or on this machine. Follows no redirect: a token and a message go to the host that was
//! named, and nowhere else. Of the address no error shows more than the host.

use std::time::Duration;

use ralph_core::{
    config::WebhookUrl,
    notification::Notification,
    secret::{NamedValue, Redaction},
};
use reqwest::{Client, StatusCode, header, redirect};

use super::{Means, SendError, way};

/// The number of tries of a message.
const TRIES: u32 = 2;

/// Before the second try, so that a server which restarts is there again.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Webhook {
    url: WebhookUrl,
    token: Token,
    timeout: Duration,
}

enum Token {
    NotWanted,
    Missing { name: String },
    Known(String),
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotWanted => "NotWanted",
            Self::Missing { .. } => "Missing",
            Self::Known(_) => "Known",
        })
    }
}

/// A failure of a try: another one may help, or not.
enum Failure {
    Passing(SendError),
    Lasting(SendError),
}

impl Webhook {
    pub(super) fn choose(means: &Means<'_>) -> Option<Self> {
        let token = match (&means.config.webhook_token_env, &means.token) {
            (None, _) => Token::NotWanted,
            (Some(name), None) => Token::Missing {
                name: name.as_str().to_owned(),
            },
            (Some(_), Some(token)) => Token::Known(token.clone()),
        };
        Some(Self {
            url: means.config.webhook.clone()?,
            token,
            timeout: way::timeout(means.config),
        })
    }

    pub(super) async fn send(&self, message: &Notification) -> Result<String, SendError> {
        let tries = tokio::time::timeout(self.timeout, self.try_twice(message));
        tries.await.unwrap_or_else(|_| {
            Err(SendError::TimedOut {
                what: format!("an answer of {}", self.url.host()),
                after: self.timeout,
            })
        })
    }

    async fn try_twice(&self, message: &Notification) -> Result<String, SendError> {
        let client = self.client()?;
        let mut nth = 1;
        loop {
            match self.try_once(&client, message).await {
                Ok(answer) => return Ok(answer),
                Err(Failure::Passing(_)) if nth < TRIES => {
                    nth += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(Failure::Passing(error) | Failure::Lasting(error)) => return Err(error),
            }
        }
    }

    async fn try_once(&self, client: &Client, message: &Notification) -> Result<String, Failure> {
        // All keys are texts and nothing is read on the way: this can't fail.
        let body = serde_json::to_vec(message).unwrap_or_default();
        let mut request = client
            .post(self.url.reveal())
            .header(header::CONTENT_TYPE, "application/json")
            .body(body);
        match &self.token {
            Token::NotWanted => {}
            Token::Missing { name } => {
                let name = name.clone();
                return Err(Failure::Lasting(SendError::NoToken { name }));
            }
            Token::Known(token) => request = request.bearer_auth(token),
        }
        let host = self.url.host().to_owned();
        // Only the status counts: the rest of the response is not read, and may be endless.
        let status = match request.send().await {
            Ok(response) => response.status(),
            Err(error) => {
                let why = self.causes(error);
                return Err(Failure::Passing(SendError::Unreachable { host, why }));
            }
        };
        if status.is_success() {
            return Ok(format!("{host} answered {status}"));
        }
        let error = SendError::Refused {
            host,
            status: status.to_string(),
        };
        Err(
            if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                Failure::Passing(error)
            } else {
                Failure::Lasting(error)
            },
        )
    }

    fn client(&self) -> Result<Client, SendError> {
        // One for the process; it is no error if it is there already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .redirect(redirect::Policy::none())
            .user_agent(concat!("ralph/", env!("CARGO_PKG_VERSION")));
        if !self.url.is_encrypted() {
            // A proxy is not this machine; and certificates, which a small container may have none
            // of, are not needed.
            builder = builder.no_proxy().tls_certs_only([]);
        }
        builder
            .build()
            .map_err(|error| SendError::NoClient(self.causes(error)))
    }

    /// An error in one sentence. Libraries put the address into theirs: it is taken out.
    fn causes(&self, error: reqwest::Error) -> String {
        let error = error.without_url();
        let mut causes = Vec::new();
        let mut next: Option<&dyn std::error::Error> = Some(&error);
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        let last = causes.pop().unwrap_or_default();
        let values = self.url.secrets().into_iter();
        let values = values.map(|value| NamedValue::new("notify.webhook", value));
        Redaction::new(values).hide(&last).into_owned()
    }
}
