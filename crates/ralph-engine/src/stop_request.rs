//! A request to stop: made once, by a person or a signal, and seen by everything that can be stopped.
//!
//! The request is handed out as a copy, never as a look into the channel: one that is held across a wait keeps
//! the asking side from asking, and both run on one thread.

use tokio::sync::watch;

/// The side that asks.
#[derive(Debug)]
pub struct StopSender(watch::Sender<Option<i32>>);

/// The side that is asked.
#[derive(Debug, Clone)]
pub struct StopRequest(watch::Receiver<Option<i32>>);

/// Both sides of a request that was not made yet.
pub fn stop_request() -> (StopSender, StopRequest) {
    let (sender, receiver) = watch::channel(None);
    (StopSender(sender), StopRequest(receiver))
}

impl StopSender {
    /// Asks for an end, by the number of a signal.
    pub fn ask(&self, signal: i32) {
        self.0.send_replace(Some(signal));
    }
}

impl StopRequest {
    /// The signal that asked for an end, if one did.
    pub fn asked(&self) -> Option<i32> {
        *self.0.borrow()
    }

    /// Comes when an end is asked for that was not waited for before; never if it can't be any more.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Returns the signal that asks for an end, once one does; never if it can't be any more.
    pub async fn until_asked(&mut self) -> i32 {
        loop {
            if let Some(signal) = self.asked() {
                return signal;
            }
            self.changed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_and_who_looks_never_keeps_the_other_side_from_asking() {
        let (sender, mut request) = stop_request();
        assert_eq!(request.asked(), None);
        let mut waiting = request.clone();
        let waiting = tokio::spawn(async move {
            let signal = waiting.until_asked().await;
            // Once more, as after a first stop that takes its time.
            waiting.changed().await;
            (signal, waiting.until_asked().await)
        });
        tokio::task::yield_now().await;
        sender.ask(15);
        tokio::task::yield_now().await;
        assert_eq!(request.until_asked().await, 15);
        sender.ask(2);
        assert_eq!(waiting.await.unwrap(), (15, 2));
    }

    #[tokio::test]
    async fn a_side_that_is_gone_asks_for_nothing() {
        let (sender, mut request) = stop_request();
        drop(sender);
        let limit = std::time::Duration::from_millis(20);
        assert!(
            tokio::time::timeout(limit, request.until_asked())
                .await
                .is_err()
        );
    }
}
