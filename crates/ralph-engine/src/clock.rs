//! The one place that looks at the clock.

use std::{future::Future, pin::Pin, time::Duration};

use jiff::Timestamp;

/// Tells the time. Tests may hold their own.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Comes when so much time has passed.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(time))
    }
}

pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods)]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
