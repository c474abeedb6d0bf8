//! Hears that the server has a command, where its connection can: one of its own, to the server itself.
//!
//! Only shortens a wait. What was not heard is found by the next round.

use std::time::Duration;

use sqlx::{
    Row as _,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::time::Instant;

use crate::postgres::StoreUrl;

/// The channel on which ids of tenants and journals are told, and nothing else.
const CHANNEL: &str = "ralph_command";
/// A setting that only a server itself takes over from a connection: a pooler refuses it, or drops it.
const MARK: (&str, &str) = ("ralph.direct", "1");
/// The longest time that a connection may take.
const CONNECTING: Duration = Duration::from_secs(10);
/// The wait after one that failed, which doubles up to the longest.
const BACKOFF: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_secs(300);

#[derive(Default)]
pub(super) struct Listener {
    connected: Option<PgListener>,
    failures: u32,
    /// No connection is tried before.
    not_before: Option<Instant>,
}

impl Listener {
    /// Returns once the server has told of a command for this journal; never, where nothing can be heard. It can be
    /// dropped at any time and called again.
    pub(super) async fn heard(&mut self, url: &StoreUrl, origin: &str) {
        loop {
            let Some(listener) = &mut self.connected else {
                if let Some(until) = self.not_before {
                    tokio::time::sleep_until(until).await;
                }
                self.connect(url).await;
                continue;
            };
            match listener.try_recv().await {
                Ok(Some(told)) if told.payload().ends_with(origin) => return,
                Ok(Some(_)) => {}
                // What was told meanwhile is lost: it is looked for.
                Ok(None) | Err(_) => {
                    self.connected = None;
                    return;
                }
            }
        }
    }

    async fn connect(&mut self, url: &StoreUrl) {
        // Written down first: a wait that is given up counts as one that failed.
        self.failures += 1;
        let wait = BACKOFF.saturating_mul(1 << self.failures.min(10));
        self.not_before = Some(Instant::now() + wait.min(LONGEST_BACKOFF));
        let connected = tokio::time::timeout(CONNECTING, connect(url)).await;
        self.connected = connected.ok().and_then(Result::ok).flatten();
        if self.connected.is_some() {
            self.failures = 0;
            self.not_before = None;
        }
    }
}

/// Listens; `None` where a pooler is in between.
async fn connect(url: &StoreUrl) -> Result<Option<PgListener>, sqlx::Error> {
    let options = url.options().options([MARK]);
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    let asked = sqlx::query("SELECT current_setting($1, true)").persistent(false);
    let row = asked.bind(MARK.0).fetch_one(&mut listener).await?;
    let mark: Option<String> = row.try_get(0)?;
    if mark.as_deref() != Some(MARK.1) {
        return Ok(None);
    }
    listener.listen(CHANNEL).await?;
    Ok(Some(listener))
}
