//! Accepts connections and plays what was decided for each call. Decides nothing itself.

use std::sync::Arc;

use serde_json::Value;
use tokio::net::TcpListener;

use super::fault::{FaultKind, Place};
use super::http::{Connection, Io};
use super::player::Reply;
use super::scenario::Hold;
use super::state::ServerState;
use super::wire::{ALL, Answer, ApiError, CallKind, Headers, HttpCall, Wire};

/// Tells whether a connection is good for another call.
enum AfterCall {
    Keep,
    Close,
}

/// An answer on its way: how it is spoken, to whom, and what waits or goes wrong.
struct AnswerSender<'a> {
    wire: &'static dyn Wire,
    state: &'a ServerState,
    answer: &'a Answer,
    is_streaming: bool,
    headers: Headers,
}

/// Serves until it is dropped, with the runtime.
pub(super) async fn serve(listener: std::net::TcpListener, state: Arc<ServerState>) {
    let listener = TcpListener::from_std(listener).expect("a listener that does not block");
    loop {
        // An accept fails for the client's reasons; the next one is another client.
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let mut connection = Connection::new(stream);
            while let Ok(Some(call)) = connection.read().await {
                match play(&mut connection, call, &state).await {
                    Ok(AfterCall::Keep) => {}
                    // A client that is gone has nothing more to ask.
                    Ok(AfterCall::Close) | Err(_) => break,
                }
            }
        });
    }
}

async fn play(connection: &mut Connection, call: HttpCall, state: &ServerState) -> Io<AfterCall> {
    let path = call.path.split('?').next().unwrap_or_default();
    let taken = ALL.iter().find_map(|wire| {
        let kind = wire.kind_of(&call.method, path)?;
        Some((*wire, kind))
    });
    let none = Headers::new();
    match taken {
        Some((wire, CallKind::Ask)) => return answer(connection, wire, call, state).await,
        Some((wire, CallKind::CountTokens)) => {
            let count = wire.token_count(&call.body);
            state.note_other(format!("{} {}", call.method, call.path));
            connection.answer(200, &none, &count).await?;
        }
        None => {
            let status = if path == "/" { 200 } else { 404 };
            state.note_other(format!("{} {}", call.method, call.path));
            connection.answer(status, &none, &Value::Null).await?;
        }
    }
    Ok(AfterCall::Keep)
}

async fn answer(
    connection: &mut Connection,
    wire: &'static dyn Wire,
    call: HttpCall,
    state: &ServerState,
) -> Io<AfterCall> {
    let asked = match wire.read(&call) {
        Ok(asked) => asked,
        Err(mistake) => {
            state.note_other(format!("{} {}: {mistake}", call.method, call.path));
            return refuse(connection, wire, &mistaken(mistake)).await;
        }
    };
    let decision = state.decide(wire.name(), call, &asked);
    let sending = |answer| AnswerSender {
        wire,
        state,
        answer,
        is_streaming: asked.streaming,
        headers: Headers::new(),
    };
    match decision.reply {
        Reply::Answer {
            answer,
            hold,
            warning,
        } => {
            let mut sending = sending(&answer);
            sending.headers = warning.map_or_else(Headers::new, |w| wire.warning_headers(&w));
            sending.send(connection, hold.as_ref()).await
        }
        Reply::Fault { kind, answer } => sending(&answer).fail(connection, kind).await,
        Reply::Mistake(mistake) => refuse(connection, wire, &mistaken(mistake)).await,
    }
}

fn mistaken(mistake: String) -> ApiError {
    ApiError::Status {
        status: 400,
        retry_after: None,
        message: Some(mistake),
    }
}

async fn refuse(connection: &mut Connection, wire: &dyn Wire, error: &ApiError) -> Io<AfterCall> {
    let reply = wire.error(error);
    connection
        .answer(reply.status, &reply.headers, &reply.body)
        .await?;
    Ok(AfterCall::Keep)
}

impl AnswerSender<'_> {
    /// The answer, held where the turn says.
    async fn send(&self, connection: &mut Connection, hold: Option<&Hold>) -> Io<AfterCall> {
        let hold = hold.map(Hold::parts);
        if let Some((name, Place::BeforeHeaders)) = hold {
            self.state.hold(name).await;
        }
        if !self.is_streaming {
            // An answer in one piece has no place within it.
            if let Some((name, Place::MidStream | Place::AfterBlock)) = hold {
                self.state.hold(name).await;
            }
            let body = self.wire.whole(self.answer);
            connection.answer(200, &self.headers, &body).await?;
            return Ok(AfterCall::Keep);
        }
        let frames = self.wire.stream(self.answer).frames;
        let sent = match hold {
            None | Some((_, Place::BeforeHeaders)) => {
                connection.begin_events(&self.headers).await?;
                0
            }
            Some((name, place)) => {
                let sent = self.send_until(connection, place).await?;
                self.state.hold(name).await;
                sent
            }
        };
        connection.events(&frames[sent..]).await?;
        connection.end_events().await?;
        Ok(AfterCall::Keep)
    }

    async fn fail(&self, connection: &mut Connection, kind: FaultKind) -> Io<AfterCall> {
        match kind {
            FaultKind::Status {
                status,
                retry_after,
                message,
            } => {
                let error = ApiError::Status {
                    status,
                    retry_after,
                    message,
                };
                refuse(connection, self.wire, &error).await
            }
            FaultKind::UsageLimit(limit) => {
                refuse(connection, self.wire, &ApiError::UsageLimit(limit)).await
            }
            FaultKind::Overflow => refuse(connection, self.wire, &ApiError::Overflow).await,
            FaultKind::RefuseConnection => Ok(AfterCall::Close),
            FaultKind::Cut(place) => {
                self.send_until(connection, place).await?;
                Ok(AfterCall::Close)
            }
            FaultKind::Stall(place) => {
                self.send_until(connection, place).await?;
                std::future::pending().await
            }
            // Without a stream there are no events.
            FaultKind::SseError(_) if !self.is_streaming => Ok(AfterCall::Close),
            FaultKind::SseError(kind) => {
                self.send_until(connection, Place::MidStream).await?;
                connection.events(&[self.wire.error_event(&kind)]).await?;
                connection.end_events().await?;
                Ok(AfterCall::Keep)
            }
        }
    }

    /// Returns what comes before a place, and how many events these were. To a client that wants the answer
    /// in one piece nothing is sent: there is no place within it.
    async fn send_until(&self, connection: &mut Connection, place: Place) -> Io<usize> {
        if !self.is_streaming {
            return Ok(0);
        }
        let stream = self.wire.stream(self.answer);
        let until = match place {
            Place::BeforeHeaders => return Ok(0),
            Place::MidStream => stream.mid_stream,
            Place::AfterBlock => stream.after_block,
        };
        connection.begin_events(&self.headers).await?;
        connection.events(&stream.frames[..until]).await?;
        Ok(until)
    }
}
