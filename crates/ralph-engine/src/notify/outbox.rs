//! The messages under way: a queue and a task in the background for each way, so that one that hangs
//! holds up neither the loop nor the others.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ralph_core::{
    event::Event,
    notification::{Notification, NotificationWatch, Occasion},
    secret::Redaction,
};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::{JoinHandle, JoinSet};

use super::{Trace, Way};
use crate::named_lock::NamedLock;
use crate::report::{EventObserver, ObservedReporter, Reporter};

/// Messages that wait for a way that is slow; those beyond are dropped, and it is said.
const QUEUE: usize = 32;

/// What a way is given beyond its own time-out, so that it is the one to say so.
const GRACE: Duration = Duration::from_millis(500);

/// Decides which messages are sent, and by which ways; shared by the listener and the end of the run.
struct NotificationRouter {
    watch: NotificationWatch,
    on: Vec<Occasion>,
    redaction: Redaction,
    queues: Vec<Queue>,
    trouble: mpsc::UnboundedSender<String>,
}

struct Queue {
    way: &'static str,
    sender: mpsc::Sender<Arc<Notification>>,
    warned_of_full: bool,
}

impl NotificationRouter {
    fn observe(&mut self, event: &Event, at: Timestamp) {
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
                Err(TrySendError::Full(_)) if !queue.warned_of_full => {
                    queue.warned_of_full = true;
                    let text = format!("messages by {} are dropped: it is too slow", queue.way);
                    let _ = self.trouble.send(text);
                }
                Ok(()) | Err(TrySendError::Full(_) | TrySendError::Closed(_)) => {}
            }
        }
    }
}

/// The messages that are still under way when a loop is over.
pub struct Outbox {
    router: Arc<NamedLock<NotificationRouter>>,
    carriers: Vec<(&'static str, JoinHandle<()>)>,
    trouble: Arc<NamedLock<mpsc::UnboundedReceiver<String>>>,
    timeout: Duration,
}

/// The settings of messages and of their sending.
pub struct Post {
    pub watch: NotificationWatch,
    pub on: Vec<Occasion>,
    pub redaction: Redaction,
    pub ways: Vec<Way>,
    pub trace: Trace,
    /// The time that the end of a loop waits for what is under way.
    pub timeout: Duration,
}

/// Puts a listener before a reporter. Must be called within the runtime that the loop runs in.
pub fn attach(reporter: Box<dyn Reporter>, post: Post) -> (Box<dyn Reporter>, Outbox) {
    let (trouble, heard) = mpsc::unbounded_channel();
    let heard = Arc::new(NamedLock::new("trouble with messages", heard));
    let mut queues = Vec::new();
    let mut carriers = Vec::new();
    for way in post.ways {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let name = way.name();
        queues.push(Queue {
            way: name,
            sender,
            warned_of_full: false,
        });
        let carrier = Carrier {
            way,
            redaction: post.redaction.clone(),
            trouble: trouble.clone(),
            trace: post.trace.clone(),
        };
        carriers.push((name, tokio::spawn(carrier.carry(receiver))));
    }
    let router = NotificationRouter {
        watch: post.watch,
        on: post.on,
        redaction: post.redaction,
        queues,
        trouble,
    };
    let router = Arc::new(NamedLock::new("messages", router));
    let outbox = Outbox {
        router: Arc::clone(&router),
        carriers,
        trouble: Arc::clone(&heard),
        timeout: post.timeout,
    };
    let listener = ObservedReporter {
        observer: Listener {
            router,
            trouble: heard,
        },
        shown: reporter,
    };
    (Box::new(listener), outbox)
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
        let mut told = false;
        while let Some(message) = queue.recv().await {
            let sent = self.way.deliver(&message, &self.redaction, &self.trace);
            if let Err(trouble) = sent.await
                && !std::mem::replace(&mut told, true)
            {
                let _ = self.trouble.send(trouble);
            }
        }
    }
}

/// Hears all that is reported, hands on what is to be told, and lets the real reporter say what could not be
/// sent.
struct Listener {
    router: Arc<NamedLock<NotificationRouter>>,
    trouble: Arc<NamedLock<mpsc::UnboundedReceiver<String>>>,
}

impl EventObserver for Listener {
    fn observe(&mut self, events: &[Event], at: Timestamp, shown: &mut dyn Reporter) {
        for event in events {
            self.router.lock().observe(event, at);
        }
        for message in drain(&self.trouble) {
            shown.report(&Event::Warning { message }, at);
        }
    }
}

impl Outbox {
    /// Tells of an error of ralph's own that ended a loop.
    pub fn failed(&self, message: &str, at: Timestamp) {
        let mut router = self.router.lock();
        if let Some(message) = router.watch.failed(message, at) {
            router.post(message);
        }
    }

    /// Waits for what is under way, not longer than a message may take nor than a person wants to
    /// wait; what is left then is killed. Returns the failures that were not reported yet.
    pub async fn finish(self, give_up: impl Future<Output = ()>) -> Vec<String> {
        // Without a sender a carrier ends when its queue is empty.
        self.router.lock().queues.clear();
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

/// Returns what has been said since the last time.
fn drain(trouble: &NamedLock<mpsc::UnboundedReceiver<String>>) -> Vec<String> {
    let mut trouble = trouble.lock();
    std::iter::from_fn(|| trouble.try_recv().ok()).collect()
}

/// Sends one message by all ways at once, where there is no loop to listen to, and says which did not
/// work. Each has its own time.
pub async fn dispatch(
    ways: Vec<Way>,
    message: Notification,
    redaction: Redaction,
    trace: Trace,
) -> Vec<String> {
    let message = Arc::new(message.fit_to_send(&redaction));
    let mut sending = JoinSet::new();
    for way in ways {
        let (message, redaction, trace) = (Arc::clone(&message), redaction.clone(), trace.clone());
        sending.spawn(async move { way.deliver(&message, &redaction, &trace).await });
    }
    let mut trouble = Vec::new();
    while let Some(sent) = sending.join_next().await {
        trouble.extend(sent.ok().and_then(Result::err));
    }
    trouble
}
