//! Sends one message by all ways, for who has no loop to listen to.

use std::sync::Arc;

use ralph_core::notification::{Notification, Redaction};
use tokio::task::JoinSet;

use super::{Trace, Way};

/// Sends a message by all ways at once, and says which did not work. Each has its own time.
pub async fn dispatch(
    ways: Vec<Way>,
    message: Notification,
    redaction: Redaction,
    trace: Trace,
) -> Vec<String> {
    let message = Arc::new(message.fit_to_send(&redaction));
    let mut sending = JoinSet::new();
    for way in ways {
        let message = Arc::clone(&message);
        sending.spawn(async move {
            let answer = way.send(&message).await;
            (way.name(), answer)
        });
    }
    let mut trouble = Vec::new();
    while let Some(sent) = sending.join_next().await {
        let Ok((way, answer)) = sent else {
            continue;
        };
        match answer {
            Ok(answer) => trace.note(&message, way, &answer),
            Err(error) => {
                let error = redaction.hide(&error.to_string());
                trace.note(&message, way, &format!("failed: {error}"));
                trouble.push(format!("a message by {way} was not sent: {error}"));
            }
        }
    }
    trouble
}
