//! Speaks the protocol, in both of its eras: with a session that `initialize` begins, in which the server asks a person
//! by a request of its own; and without (2026-07-28), where a form is the answer and its reply comes with the call again.

use std::{borrow::Cow, rc::Rc, sync::Arc, time::Duration};

use ralph_core::sanitize::one_line;
use rmcp::{
    ErrorData, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientResult,
        ContentBlock, DiscoverResult, ElicitRequest, ElicitRequestParams, Implementation,
        InitializeRequestParams, InitializeResult, InputRequest, InputRequests,
        InputRequiredResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
        ServerConfig, ServerRequest, Tool, ToolAnnotations,
    },
    service::{RequestContext, RoleServer, ServerInitializeError},
};
use tokio::{
    sync::{Mutex, watch},
    task::{LocalSet, spawn_local},
    time::timeout,
};

use super::{
    CheckedArguments, FormReply, MOST_RESULT_BYTES, McpError, PersonForm, PersonReach, ServerEnd,
    ServerIdentity, ToolBox, ToolCall, ToolDefinition, ToolEffect, ToolReply, argument,
    client_pipe::{ClientPipe, SessionStart},
    size,
};

/// The name of the form in an answer that asks for input.
const FORM: &str = "person";

/// The time that a call under way has to end once the server is told to.
const GRACE: Duration = Duration::from_secs(2);

/// Columns of a name from a client that an error shows.
const MOST_NAME: usize = 60;

pub(super) async fn serve<T>(
    tools: Rc<dyn ToolBox>,
    identity: ServerIdentity,
    stop: impl Future<Output = T>,
) -> Result<ServerEnd<T>, McpError> {
    let start = SessionStart::default();
    let (pipe, gone) = ClientPipe::open(start.clone());
    let turn = Rc::new(Mutex::new(()));
    let server = ToolServer {
        tools,
        identity,
        start,
        gone,
        turn: Rc::clone(&turn),
    };
    let served = LocalSet::new();
    let session = served.run_until(async {
        let running = server.serve(pipe).await;
        match running {
            Ok(running) => running
                .waiting()
                .await
                .map(|_| ())
                .map_err(|error| McpError::Client(Box::new(error))),
            Err(error) => end_before_start(error),
        }
    });
    tokio::select! {
        ended = session => ended.map(|()| ServerEnd::Closed),
        why = stop => {
            let under_way = served.run_until(timeout(GRACE, turn.lock()));
            let _ = under_way.await;
            Ok(ServerEnd::Stopped(why))
        }
    }
}

/// A client that goes before it has said anything is none that failed.
fn end_before_start(error: ServerInitializeError) -> Result<(), McpError> {
    match error {
        ServerInitializeError::ConnectionClosed(_)
        | ServerInitializeError::TransportError { .. }
        | ServerInitializeError::Cancelled => Ok(()),
        other => Err(McpError::Client(Box::new(other))),
    }
}

struct ToolServer {
    tools: Rc<dyn ToolBox>,
    identity: ServerIdentity,
    start: SessionStart,
    gone: watch::Receiver<bool>,
    /// Held by the call under way.
    turn: Rc<Mutex<()>>,
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let ServerIdentity {
            name,
            version,
            instructions,
        } = &self.identity;
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(*name, *version))
            .with_instructions(instructions.clone())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.start.note();
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.start.note();
        let tools = self.tools.listed().iter().map(shown).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.start.note();
        let Some(tool) = self.tools.find(&request.name) else {
            let name = one_line(&request.name, MOST_NAME);
            return Err(bad_arguments(format!("there is no tool `{name}`")));
        };
        let arguments =
            CheckedArguments::check(tool.arguments, request.arguments).map_err(bad_arguments)?;
        let reach = Reach::of(&context);
        let person = match request.input_responses {
            Some(mut replies) => {
                let sent = replies.remove(FORM).ok_or_else(|| {
                    bad_arguments(format!("`inputResponses` has nothing for `{FORM}`"))
                })?;
                PersonReach::Replied {
                    about: request.request_state.unwrap_or_default(),
                    reply: FormReply::read(sent).map_err(bad_arguments)?,
                }
            }
            None => reach.person(),
        };
        let call = ToolCall {
            name: tool.name.to_owned(),
            arguments,
            person,
        };
        match self.call(call.clone(), &context).await? {
            ToolReply::Ask(form) => match reach {
                Reach::ByAnswer => ask_by_answer(form),
                Reach::ByRequest => {
                    let person = self.ask_by_request(form, &context).await?;
                    let reply = self.call(ToolCall { person, ..call }, &context).await?;
                    answer(reply)
                }
                Reach::No => answer(ToolReply::Ask(form)),
            },
            reply => answer(reply),
        }
    }
}

/// The way to the person at the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    No,
    /// By a request of the server's, within the session.
    ByRequest,
    /// By an answer that asks for the call to be made again, with the reply.
    ByAnswer,
}

impl Reach {
    fn of(context: &RequestContext<RoleServer>) -> Self {
        if !context
            .client_capabilities()
            .as_ref()
            .is_some_and(has_forms)
        {
            return Self::No;
        }
        match context.protocol_version() {
            Some(version) if !version.has_initialize() => Self::ByAnswer,
            Some(_) | None => Self::ByRequest,
        }
    }

    fn person(self) -> PersonReach {
        match self {
            Self::No => PersonReach::No,
            Self::ByRequest | Self::ByAnswer => PersonReach::Yes,
        }
    }
}

/// A client that names no kind of question has forms: there was nothing else at first.
fn has_forms(client: &ClientCapabilities) -> bool {
    client
        .elicitation
        .as_ref()
        .is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

impl ToolServer {
    /// Calls a tool once no other call is under way. One that panics has failed.
    async fn call(
        &self,
        call: ToolCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<ToolReply, ErrorData> {
        let turn = tokio::select! {
            turn = self.turn.lock() => turn,
            () = context.ct.cancelled() => return Err(cancelled()),
        };
        let tools = Rc::clone(&self.tools);
        let reply = spawn_local(async move { tools.call(call).await }).await;
        drop(turn);
        Ok(reply.unwrap_or_else(|error| ToolReply::Failed {
            message: format!("ralph failed: {error}"),
            hint: Some("this is a bug; what it printed is on the standard error".to_owned()),
        }))
    }

    /// Asks by a request to the client. No other call waits for the person.
    async fn ask_by_request(
        &self,
        form: PersonForm,
        context: &RequestContext<RoleServer>,
    ) -> Result<PersonReach, ErrorData> {
        let about = form.about.clone();
        let request = ServerRequest::ElicitRequest(elicitation(form)?);
        let mut gone = self.gone.clone();
        let replied = tokio::select! {
            replied = context.peer.send_request(request) => replied,
            () = context.ct.cancelled() => return Err(cancelled()),
            _ = gone.wait_for(|gone| *gone) => return Err(cancelled()),
        };
        Ok(match replied {
            Ok(ClientResult::ElicitResult(result)) => {
                let sent = serde_json::to_value(result).unwrap_or_default();
                let reply = FormReply::read(sent).map_err(bad_arguments)?;
                PersonReach::Replied { about, reply }
            }
            // It says that it can ask, and it can't.
            Ok(_) | Err(_) => PersonReach::No,
        })
    }
}

fn elicitation(form: PersonForm) -> Result<ElicitRequest, ErrorData> {
    let schema = serde_json::from_value(form.schema());
    Ok(ElicitRequest::new(
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: form.message,
            requested_schema: schema
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
        },
    ))
}

fn ask_by_answer(form: PersonForm) -> Result<CallToolResponse, ErrorData> {
    let about = form.about.clone();
    let request = InputRequest::Elicitation(elicitation(form)?);
    let requests = InputRequests::from([(FORM.to_owned(), request)]);
    Ok(InputRequiredResult::new(Some(requests), Some(about)).into())
}

fn answer(reply: ToolReply) -> Result<CallToolResponse, ErrorData> {
    let result = match reply {
        ToolReply::Done(value) => match size::within(value, MOST_RESULT_BYTES) {
            Some(value) => CallToolResult::structured(value),
            None => failed(
                "the result is too large",
                Some("ask for less: name one task or iteration, or lower the limit"),
            ),
        },
        ToolReply::Picture(picture) => {
            let mut result = CallToolResult::structured(picture.about);
            let image = ContentBlock::image(picture.base64, picture.mime_type);
            result.content.push(image);
            result
        }
        ToolReply::Failed { message, hint } => failed(&message, hint.as_deref()),
        ToolReply::BadArguments(message) => return Err(bad_arguments(message)),
        ToolReply::Ask(_) => failed("the client has no way to ask a person", None),
    };
    Ok(result.into())
}

fn failed(message: &str, hint: Option<&str>) -> CallToolResult {
    let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    let text: String = format!("{message}{hint}");
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn bad_arguments(message: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

fn cancelled() -> ErrorData {
    ErrorData::invalid_request("the request was cancelled", None)
}

fn shown(tool: &ToolDefinition) -> Tool {
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(tool.effect == ToolEffect::Reads)
        .destructive(tool.effect == ToolEffect::Changes)
        .open_world(false);
    let schema = Arc::new(argument::schema(tool.arguments));
    Tool::new(tool.name, tool.description, schema)
        .with_title(tool.title)
        .with_annotations(annotations)
}
