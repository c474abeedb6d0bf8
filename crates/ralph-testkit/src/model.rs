//! A model on loopback that plays a script, so that a real agent does what a test needs, offline and
//! the same each time.
//!
//! The test says what the model answers ([`Scenario`]), starts an agent that is told to use
//! [`ScriptedModel::url`], and looks at what the agent asked ([`Request`]). The format is described in
//! `docs/scripted-model.md`. It never starts an agent itself and never leaves the machine.

mod anthropic;
mod fault;
mod gate;
mod gemini;
mod http;
mod openai;
mod player;
mod request;
mod scenario;
mod serve;
mod state;
mod tools;
mod wire;

pub use fault::{Fault, FaultKind, LimitKind, Place, Repeat, UsageLimit};
pub use request::{Answered, AnsweredWith, Request};
pub use scenario::{
    Bash, Conversation, Hold, Scenario, ScenarioError, Stop, ToolUse, Turn, Usage, Warning,
};
pub use wire::{Message, Role, Tool};

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use state::ServerState;

/// A model that serves until it is dropped.
pub struct ScriptedModel {
    address: SocketAddr,
    state: Arc<ServerState>,
    /// Dropped or used to end the thread.
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Where to listen and what to write down beside the state in memory.
#[derive(Debug, Default)]
pub struct ServeOptions {
    /// 0 takes a free one.
    pub port: u16,
    /// Gets one JSON line a request.
    pub log: Option<File>,
}

impl ScriptedModel {
    /// Starts on a free port of 127.0.0.1, in a thread of its own.
    ///
    /// # Panics
    ///
    /// If it can't listen there.
    #[must_use]
    pub fn start(scenario: Scenario) -> Self {
        Self::start_with(scenario, ServeOptions::default()).expect("a free port of 127.0.0.1")
    }

    /// As [`Self::start`], with a port and a log.
    ///
    /// # Errors
    ///
    /// If it can't listen on that port.
    pub fn start_with(scenario: Scenario, options: ServeOptions) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let state = Arc::new(ServerState::new(scenario, options.log));
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let served = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("scripted-model".to_owned())
            .spawn(move || {
                // Dropping the runtime ends every connection, also those that wait for ever.
                runtime.block_on(async {
                    tokio::select! {
                        () = serve::serve(listener, served) => {}
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Self {
            address,
            state,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns what was asked of the model so far, in the order of arrival. Calls that ask it nothing
    /// (`HEAD /`, token counts, unknown paths) are in [`Self::other_calls`].
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.state.requests()
    }

    /// Method and path of each call that asked the model nothing.
    #[must_use]
    pub fn other_calls(&self) -> Vec<String> {
        self.state.other_calls()
    }

    /// The requests that no turn of the scenario was for. A test of a whole run wants none.
    #[must_use]
    pub fn unscripted(&self) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.answered.with == AnsweredWith::Unscripted);
        requests
    }

    /// Waits until there were at least so many requests.
    ///
    /// # Panics
    ///
    /// If there are fewer when the limit has passed.
    #[must_use]
    pub fn wait_for_requests(&self, count: usize, limit: Duration) -> Vec<Request> {
        let there = self.state.wait(limit, |seen| seen.requests.len() >= count);
        let requests = self.requests();
        assert!(
            there,
            "{} of {count} requests after {limit:?}",
            requests.len()
        );
        requests
    }

    /// Waits until a request stands at `hold: name`. It stays there until [`Self::release`].
    ///
    /// # Panics
    ///
    /// If none does when the limit has passed.
    pub fn wait_until_held(&self, name: &str, limit: Duration) {
        let there = self
            .state
            .wait(limit, |seen| seen.held.iter().any(|held| held == name));
        assert!(there, "nothing is held at {name} after {limit:?}");
    }

    /// Lets go on what is or will be held at `hold: name`.
    pub fn release(&self, name: &str) {
        self.state.gate.open(name);
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server was shown when it happened.
            let _ = thread.join();
        }
    }
}
