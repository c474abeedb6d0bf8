//! A server of the Model Context Protocol on standard input and output, which offers the tools of a [`ToolBox`].
//!
//! Knows the protocol, and no command of ralph's. Writes nothing to standard output but messages of the protocol. A
//! tool that fails is an answer like any other: the server ends only where its client is gone or it is told to.

#![cfg_attr(
    not(feature = "mcp"),
    allow(dead_code, reason = "only the server checks, shows and cuts")
)]

mod argument;
mod form;
mod size;

#[cfg(feature = "mcp")]
mod client_pipe;
#[cfg(feature = "mcp")]
mod noted_lines;
#[cfg(feature = "mcp")]
mod server;

use std::rc::Rc;

use async_trait::async_trait;
use serde_json::Value;

pub use argument::{ArgumentKind, ArgumentNeed, CheckedArguments, ToolArgument};
pub use form::{FormField, FormKind, FormReply, PersonForm};
pub use size::MOST_RESULT_BYTES;

/// A tool as a client sees it.
#[derive(Debug, Clone, Copy)]
pub struct ToolDefinition {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub effect: ToolEffect,
    pub arguments: &'static [ToolArgument],
}

/// The effect of a tool, as a client is told of it. A client may ask a person before it calls one that has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// None.
    Reads,
    /// It adds something, and changes nothing that is there.
    Adds,
    Changes,
}

/// A call whose arguments fit the definition of its tool.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub name: String,
    pub arguments: CheckedArguments,
    pub person: PersonReach,
}

/// The ways to the person at the client.
#[derive(Debug, Clone, PartialEq)]
pub enum PersonReach {
    No,
    /// By [`ToolReply::Ask`], which leads to a second call with the reply.
    Yes,
    /// They were asked in the first call. `about` is what that form was about; it comes back from the client, which may
    /// have changed it.
    Replied {
        about: String,
        reply: FormReply,
    },
}

/// The answer to a call.
#[derive(Debug, Clone)]
pub enum ToolReply {
    Done(Value),
    /// A result that is looked at.
    Picture(ToolPicture),
    /// The tool could not do it. The caller reads this.
    Failed {
        message: String,
        hint: Option<String>,
    },
    /// The arguments contradict each other.
    BadArguments(String),
    /// The person has to be asked first; only where they can be.
    Ask(PersonForm),
}

/// A picture, and what is said about it.
#[derive(Debug, Clone)]
pub struct ToolPicture {
    pub about: Value,
    pub base64: String,
    pub mime_type: &'static str,
}

/// The tools that a server offers.
#[async_trait(?Send)]
pub trait ToolBox {
    /// The tools that are listed.
    fn listed(&self) -> Vec<ToolDefinition>;

    /// Finds a tool by its name, also one that is not listed, so that its call can be refused with the reason.
    fn find(&self, name: &str) -> Option<ToolDefinition>;

    /// Calls a tool. There is one call at a time. Secrets are not in the answer.
    async fn call(&self, call: ToolCall) -> ToolReply;
}

/// The way a server introduces itself.
#[derive(Debug, Clone)]
pub struct ServerIdentity {
    pub name: &'static str,
    pub version: &'static str,
    pub instructions: String,
}

/// The way a server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEnd<T> {
    /// The client closed the input.
    Closed,
    /// It was told to.
    Stopped(T),
}

#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("this build of ralph has no MCP server; one with `--features mcp` has")]
    NotBuilt,
    #[error("can't speak to the MCP client")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Serves the client at standard input and output until it is gone, or `stop` says so. After that a thread may still
/// wait for input: the runtime must not be waited for.
#[cfg(feature = "mcp")]
pub async fn serve<T>(
    tools: Rc<dyn ToolBox>,
    identity: ServerIdentity,
    stop: impl Future<Output = T>,
) -> Result<ServerEnd<T>, McpError> {
    server::serve(tools, identity, stop).await
}

/// Refuses, because the server is not part of this build.
#[cfg(not(feature = "mcp"))]
#[expect(clippy::unused_async, reason = "the same as with the feature")]
pub async fn serve<T>(
    _tools: Rc<dyn ToolBox>,
    _identity: ServerIdentity,
    _stop: impl Future<Output = T>,
) -> Result<ServerEnd<T>, McpError> {
    Err(McpError::NotBuilt)
}

#[cfg(all(test, not(feature = "mcp")))]
mod tests {
    use super::*;

    struct NoTools;

    #[async_trait(?Send)]
    impl ToolBox for NoTools {
        fn listed(&self) -> Vec<ToolDefinition> {
            Vec::new()
        }

        fn find(&self, _name: &str) -> Option<ToolDefinition> {
            None
        }

        async fn call(&self, call: ToolCall) -> ToolReply {
            ToolReply::BadArguments(call.name)
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_build_without_the_server_says_so() {
        let identity = ServerIdentity {
            name: "ralph",
            version: "0",
            instructions: String::new(),
        };
        let ended = serve(Rc::new(NoTools), identity, std::future::pending::<()>()).await;
        assert_eq!(
            ended.unwrap_err().to_string(),
            "this build of ralph has no MCP server; one with `--features mcp` has"
        );
    }
}
