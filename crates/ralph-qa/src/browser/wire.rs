//! The connection to a browser: commands go out, answers and events come in.
//!
//! Messages are plain JSON here, and what is not understood is passed over: a browser that is newer than ralph sends
//! events and values that no list of ours has. Must not know what a command means.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    future::Future,
    pin::Pin,
    rc::{Rc, Weak},
    task::{Context, Poll},
};

use chromiumoxide::{
    Connection,
    error::CdpError,
    types::{CallId, EventMessage, Message, Method, MethodId},
};
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

/// An event as it comes: its name, the session it is of, and whatever it brings.
#[derive(Debug, Deserialize)]
pub(super) struct WireEvent {
    method: String,
    #[serde(rename = "sessionId", default)]
    session: Option<String>,
    #[serde(default)]
    params: Value,
}

impl Method for WireEvent {
    fn identifier(&self) -> MethodId {
        self.method.clone().into()
    }
}

impl EventMessage for WireEvent {
    fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

/// Why a command has no result.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub(super) enum WireError {
    #[error("the browser is gone")]
    Gone,
    #[error("{message} ({method})")]
    Refused {
        method: &'static str,
        message: String,
    },
}

/// Takes the events of a session.
pub(super) trait EventSink {
    fn take(&self, session: &Session, event: &str, params: &Value);
    /// The connection is gone.
    fn end(&self);
}

type AnswerSender = oneshot::Sender<Result<Value, WireError>>;

struct Outgoing {
    method: &'static str,
    session: Option<String>,
    params: Value,
    /// None where no one waits for the answer.
    answer: Option<AnswerSender>,
}

/// The end of a connection that commands are given to.
#[derive(Clone)]
pub(super) struct Wire(Rc<WireState>);

struct WireState {
    outgoing: mpsc::UnboundedSender<Outgoing>,
    is_gone: Cell<bool>,
    /// By session; the browser itself has the empty name.
    sinks: RefCell<HashMap<String, Weak<dyn EventSink>>>,
}

/// Commands and events of one page, or of the browser itself.
#[derive(Clone)]
pub(super) struct Session {
    wire: Wire,
    id: Option<String>,
}

/// The answer to a command that was sent already.
pub(super) struct Answer {
    method: &'static str,
    receiver: oneshot::Receiver<Result<Value, WireError>>,
}

impl Future for Answer {
    type Output = Result<Value, WireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = Pin::new(&mut self.receiver).poll(context);
        answer.map(|answer| answer.unwrap_or(Err(WireError::Gone)))
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Answer").field(&self.method).finish()
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire")
            .field("is_gone", &self.0.is_gone)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Session").field(&self.id).finish()
    }
}

impl Wire {
    /// Makes a wire over a connection, and the work that moves its messages: it ends when the connection does.
    pub(super) fn over(connection: Connection<WireEvent>) -> (Self, impl Future<Output = ()>) {
        let (outgoing, queue) = mpsc::unbounded_channel();
        let wire = Self(Rc::new(WireState {
            outgoing,
            is_gone: Cell::new(false),
            sinks: RefCell::default(),
        }));
        let pump = pump(wire.clone(), connection, queue);
        (wire, pump)
    }

    pub(super) fn is_gone(&self) -> bool {
        self.0.is_gone.get()
    }

    /// The browser itself.
    pub(super) fn browser(&self) -> Session {
        Session {
            wire: self.clone(),
            id: None,
        }
    }

    pub(super) fn session(&self, id: &str) -> Session {
        Session {
            wire: self.clone(),
            id: Some(id.to_owned()),
        }
    }

    fn take(&self, event: &WireEvent) {
        let name = event.session.as_deref().unwrap_or_default();
        let sink = self.0.sinks.borrow().get(name).and_then(Weak::upgrade);
        if let Some(sink) = sink {
            let session = Session {
                wire: self.clone(),
                id: event.session.clone(),
            };
            sink.take(&session, &event.method, &event.params);
        }
    }
}

impl Session {
    /// Sends a command at once; its answer may be awaited later, so that several can be under way.
    pub(super) fn begin(&self, method: &'static str, params: Value) -> Answer {
        let (sender, receiver) = oneshot::channel();
        self.push(method, params, Some(sender));
        Answer { method, receiver }
    }

    /// Sends a command whose answer is of no interest.
    pub(super) fn send(&self, method: &'static str, params: Value) {
        self.push(method, params, None);
    }

    fn push(&self, method: &'static str, params: Value, answer: Option<AnswerSender>) {
        let session = self.id.clone();
        // Where the connection is gone the answer's sender is dropped with it, which tells.
        let _ = self.wire.0.outgoing.send(Outgoing {
            method,
            session,
            params,
            answer,
        });
    }

    /// Tells a sink of all events of this session, as long as it lives.
    pub(super) fn listen(&self, sink: Weak<dyn EventSink>) {
        let name = self.id.clone().unwrap_or_default();
        self.wire.0.sinks.borrow_mut().insert(name, sink);
    }

    pub(super) fn stop_listening(&self) {
        let name = self.id.as_deref().unwrap_or_default();
        self.wire.0.sinks.borrow_mut().remove(name);
    }
}

async fn pump(
    wire: Wire,
    mut connection: Connection<WireEvent>,
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
) {
    let mut waiting: HashMap<CallId, (&'static str, AnswerSender)> = HashMap::new();
    loop {
        tokio::select! {
            biased;
            message = connection.next() => match message {
                Some(Ok(Message::Response(response))) => {
                    let Some((method, sender)) = waiting.remove(&response.id) else {
                        continue;
                    };
                    let answer = match response.error {
                        Some(error) => Err(WireError::Refused {
                            method,
                            message: error.message,
                        }),
                        None => Ok(response.result.unwrap_or_default()),
                    };
                    // Its caller may have stopped waiting.
                    let _ = sender.send(answer);
                }
                Some(Ok(Message::Event(event))) => wire.take(&event),
                // A message that is neither, or not text: a newer browser's.
                Some(Err(CdpError::InvalidMessage(..) | CdpError::UnexpectedWsMessage(_))) => {}
                Some(Err(_)) | None => break,
            },
            Some(outgoing) = queue.recv() => {
                let Outgoing { method, session, params, answer } = outgoing;
                let session = session.map(Into::into);
                let Ok(id) = connection.submit_command(method.into(), session, params) else {
                    continue;
                };
                if let Some(answer) = answer {
                    waiting.insert(id, (method, answer));
                }
            }
        }
    }
    wire.0.is_gone.set(true);
    let sinks: Vec<_> = wire
        .0
        .sinks
        .borrow()
        .values()
        .filter_map(Weak::upgrade)
        .collect();
    sinks.iter().for_each(|sink| sink.end());
}
