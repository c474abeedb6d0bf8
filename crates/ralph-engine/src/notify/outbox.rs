//! The messages under way: a queue and a task in the background for each way, so that one that hangs
//! holds up neither the loop nor the others.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use ralph_core::{
    event::Event,
    notification::{Notification, NotificationWatch, Occasion, Redaction},
};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::JoinHandle;

use super::{Listener, Trace, Way};
use crate::report::Reporter;

/// Messages that wait for a way that is slow; those beyond are dropped, and it is said.
const QUEUE: usize = 32;

/// What a way is given beyond its own time-out, so that it is the one to say so.
const GRACE: Duration = Duration::from_millis(500);

/// What is told, and to whom; shared by the listener and whoever ends the run.
pub(super) struct Desk {
    watch: NotificationWatch,
    on: Vec<Occasion>,
    redaction: Redaction,
    queues: Vec<Queue>,
    trouble: mpsc::UnboundedSender<String>,
}

struct Queue {
    way: &'static str,
    sender: mpsc::Sender<Arc<Notification>>,
    is_full: Told,
}

/// Whether a person has heard of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Yes,
    NotYet,
}

impl Desk {
    pub(super) fn observe(&mut self, event: &Event, at: Timestamp) {
        if let Some(message) = self.watch.observe(event, at) {
            self.post(message);
        }
    }

    fn post(&mut self, message: Notification) {
        if !self.on.contains(&message.event) {
            return;
        }
        let message = Arc::new(message.fit_to_send(&self.redaction));
        for queue in &mut self.queues {
            match queue.sender.try_send(Arc::clone(&message)) {
                Err(TrySendError::Full(_)) if queue.is_full == Told::NotYet => {
                    queue.is_full = Told::Yes;
                    let text = format!("messages by {} are dropped: it is too slow", queue.way);
                    let _ = self.trouble.send(text);
                }
                Ok(()) | Err(TrySendError::Full(_) | TrySendError::Closed(_)) => {}
            }
        }
    }
}

/// What is left to do for messages when a loop is over.
pub struct Outbox {
    desk: Arc<Mutex<Desk>>,
    carriers: Vec<(&'static str, JoinHandle<()>)>,
    trouble: Arc<Mutex<mpsc::UnboundedReceiver<String>>>,
    timeout: Duration,
}

/// What messages are made of and how they are sent.
pub struct Post {
    pub watch: NotificationWatch,
    pub on: Vec<Occasion>,
    pub redaction: Redaction,
    pub ways: Vec<Way>,
    pub trace: Trace,
    /// How long the end of a loop waits for what is under way.
    pub timeout: Duration,
}

/// Puts a listener before a reporter. Must be called within the runtime that the loop runs in.
pub fn attach(reporter: Box<dyn Reporter>, post: Post) -> (Box<dyn Reporter>, Outbox) {
    let (trouble, heard) = mpsc::unbounded_channel();
    let heard = Arc::new(Mutex::new(heard));
    let mut queues = Vec::new();
    let mut carriers = Vec::new();
    for way in post.ways {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let name = way.name();
        queues.push(Queue {
            way: name,
            sender,
            is_full: Told::NotYet,
        });
        let carrier = Carrier {
            way,
            redaction: post.redaction.clone(),
            trouble: trouble.clone(),
            trace: post.trace.clone(),
        };
        carriers.push((name, tokio::spawn(carrier.carry(receiver))));
    }
    let desk = Arc::new(Mutex::new(Desk {
        watch: post.watch,
        on: post.on,
        redaction: post.redaction,
        queues,
        trouble,
    }));
    let outbox = Outbox {
        desk: Arc::clone(&desk),
        carriers,
        trouble: Arc::clone(&heard),
        timeout: post.timeout,
    };
    (Box::new(Listener::new(reporter, desk, heard)), outbox)
}

/// Carries the messages of one way, in their order.
struct Carrier {
    way: Way,
    redaction: Redaction,
    trouble: mpsc::UnboundedSender<String>,
    trace: Trace,
}

impl Carrier {
    async fn carry(self, mut queue: mpsc::Receiver<Arc<Notification>>) {
        let mut told = Told::NotYet;
        while let Some(message) = queue.recv().await {
            let answer = match self.way.send(&message).await {
                Ok(answer) => answer,
                Err(error) => {
                    let error = self.redaction.hide(&error.to_string());
                    if told == Told::NotYet {
                        told = Told::Yes;
                        let text =
                            format!("a message by {} was not sent: {error}", self.way.name());
                        let _ = self.trouble.send(text);
                    }
                    format!("failed: {error}")
                }
            };
            self.trace.note(&message, self.way.name(), &answer);
        }
    }
}

impl Outbox {
    /// Tells of an error of ralph's own that ended a loop.
    pub fn failed(&self, message: &str, at: Timestamp) {
        let mut desk = lock(&self.desk);
        if let Some(message) = desk.watch.failed(message, at) {
            desk.post(message);
        }
    }

    /// Waits for what is under way, not longer than a message may take nor than somebody wants to
    /// wait; what is left then is killed. Answers with what went wrong and nobody was told yet.
    pub async fn finish(self, give_up: impl Future<Output = ()>) -> Vec<String> {
        // Without a sender a carrier ends when its queue is empty.
        lock(&self.desk).queues.clear();
        let time_is_up = tokio::time::sleep(self.timeout + GRACE);
        let mut enough = pin!(async {
            tokio::select! {
                () = time_is_up => {}
                () = give_up => {}
            }
        });
        let mut waiting = self.carriers.into_iter();
        let mut late = Vec::new();
        for (way, mut carrier) in waiting.by_ref() {
            tokio::select! {
                biased;
                _ = &mut carrier => {}
                () = &mut enough => {
                    late.push((way, carrier));
                    break;
                }
            }
        }
        late.extend(waiting.filter(|(_, carrier)| !carrier.is_finished()));
        let mut trouble = drain(&self.trouble);
        for (way, carrier) in late {
            carrier.abort();
            // Dropped, and told to kill all it had started, before this goes on.
            let _ = carrier.await;
            trouble.push(format!(
                "messages by {way} that were under way are given up"
            ));
        }
        trouble
    }
}

/// What has been said since the last time.
pub(super) fn drain(trouble: &Mutex<mpsc::UnboundedReceiver<String>>) -> Vec<String> {
    let mut trouble = lock(trouble);
    std::iter::from_fn(|| trouble.try_recv().ok()).collect()
}

/// A panic elsewhere must not become one here: what is held stays whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
