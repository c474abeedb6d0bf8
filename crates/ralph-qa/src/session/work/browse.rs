//! Requests performed in a browser: one page, opened again where another application is asked for.

use std::time::Duration;

use ralph_core::{
    sanitize::one_line,
    secret::{NamedValue, Redaction},
};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{SessionWork, Talk, WorkEnd};
use crate::{
    browser::{
        BrowserError, BrowserProgram, FlowPage, OutlineLine, PageSettings, QaBrowser, StepDone,
        find_browser, with_browser,
    },
    flow::{
        ColorScheme, Emulation, FlowStepAction, LoadState, Screenshot, TypedText, Viewport,
        read_step, read_target,
    },
    result::{FailureKind, StepFailure},
    server::{Server, ServerError, with_server},
    session::{
        ActFailure, ActReport, MOST_PICTURE_BYTES, OpenRequest, PageLook, PageShot, PngText,
        SessionReply, SessionRequest, ShotRequest,
        look::{MOST_LINE_CHARS, MOST_LINES, SeenErrors},
        words::WordsMistake,
    },
};

/// Lines of the application's output that are shown.
const MOST_SERVER_LINES: usize = 15;
/// The longest that a picture of a failure may take.
const FAILURE_PICTURE: Duration = Duration::from_secs(10);

/// Starts what is needed, and answers the first request and all that follow.
pub(super) async fn begin<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    work: &SessionWork<'_>,
    talk: &mut Talk<R, W>,
    first: SessionRequest,
) -> WorkEnd {
    match start(work, talk, first).await {
        Ok(end) => end,
        // It is found before anything is answered.
        Err(error) => {
            talk.answer(&SessionReply::refused(error.to_string(), None))
                .await;
            WorkEnd::NoBrowser
        }
    }
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
enum NotBegun {
    #[error(transparent)]
    Browser(#[from] BrowserError),
    #[error(transparent)]
    Server(ServerError),
}

async fn start<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    work: &SessionWork<'_>,
    talk: &mut Talk<R, W>,
    first: SessionRequest,
) -> Result<WorkEnd, NotBegun> {
    // Nothing is started for a browser that is not there.
    let program = find_browser(work.config.browser.as_deref(), work.place).await?;
    let Some(settings) = &work.config.server else {
        return browse(
            work,
            talk,
            first,
            &Beside {
                program,
                server: None,
            },
        )
        .await;
    };
    let beside = with_server(settings, work.place, async |server| {
        let server = Some(server);
        browse(work, talk, first, &Beside { program, server }).await
    });
    beside.await.map_err(NotBegun::Server)?
}

/// The browser's program, and the application that runs beside it.
struct Beside<'a> {
    program: BrowserProgram,
    server: Option<&'a Server>,
}

async fn browse<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    work: &SessionWork<'_>,
    talk: &mut Talk<R, W>,
    first: SessionRequest,
    beside: &Beside<'_>,
) -> Result<WorkEnd, NotBegun> {
    let server = beside.server;
    let ended = with_browser(&beside.program, work.place, async |browser| {
        let mut session = PageSession {
            work,
            browser,
            server,
            open: None,
            used_secrets: Redaction::default(),
        };
        let end = session.serve(talk, first).await;
        if let Some(open) = session.open.take() {
            open.page.close().await;
        }
        end
    });
    Ok(ended.await?)
}

struct PageSession<'a> {
    work: &'a SessionWork<'a>,
    browser: &'a QaBrowser,
    server: Option<&'a Server>,
    open: Option<OpenPage>,
    /// Hides the values that were typed as secrets.
    used_secrets: Redaction,
}

struct OpenPage {
    page: FlowPage,
    seen: SeenErrors,
}

impl PageSession<'_> {
    async fn serve<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
        &mut self,
        talk: &mut Talk<R, W>,
        first: SessionRequest,
    ) -> WorkEnd {
        let mut request = first;
        loop {
            let reply = self.answer(request).await;
            if !talk.answer(&reply).await || reply == SessionReply::Closed {
                return WorkEnd::Closed;
            }
            if self.browser.is_gone() {
                return WorkEnd::NoBrowser;
            }
            request = match talk.next().await {
                Ok(request) => request,
                Err(end) => return end,
            };
        }
    }

    async fn answer(&mut self, request: SessionRequest) -> SessionReply {
        let answered = match request {
            SessionRequest::Close => return SessionReply::Closed,
            SessionRequest::Open(wanted) => self.open(&wanted).await,
            SessionRequest::Step { step } => self.step(&step).await,
            SessionRequest::Look => self.look(Vec::new()).await,
            SessionRequest::Shot(wanted) => self.shot(&wanted).await,
        };
        answered.unwrap_or_else(|reply| reply)
    }

    async fn open(&mut self, wanted: &OpenRequest) -> Result<SessionReply, SessionReply> {
        let viewport = wanted.viewport.as_deref().map(viewport_of).transpose()?;
        let has_crashed = |open: &OpenPage| open.page.has_crashed();
        if self.open.as_ref().is_some_and(has_crashed)
            && let Some(open) = self.open.take()
        {
            open.page.close().await;
        }
        if self.open.is_none() {
            let settings = self.settings(viewport, wanted.scheme);
            let page = self.browser.open(&settings).await;
            let page = page.map_err(|failure| without_page("open a page", failure))?;
            let seen = SeenErrors::default();
            self.open = Some(OpenPage { page, seen });
        } else {
            self.change(viewport, wanted.scheme).await?;
        }
        let action = FlowStepAction::Navigate {
            url: wanted.address.clone().unwrap_or_else(|| "/".to_owned()),
            until: LoadState::Load,
        };
        let done = self.perform(&action, None).await?;
        self.look(done.notes).await
    }

    fn settings(&self, viewport: Option<Viewport>, scheme: Option<ColorScheme>) -> PageSettings {
        let config = self.work.config;
        PageSettings {
            base: self.server.map(Server::url).or_else(|| config.url.clone()),
            hosts: config.hosts.clone(),
            viewport: viewport.unwrap_or(config.viewport),
            emulate: emulation(scheme),
            time: None,
            random: None,
            secrets: self.work.secrets.to_vec(),
        }
    }

    /// Makes the page that is open another device.
    async fn change(
        &mut self,
        viewport: Option<Viewport>,
        scheme: Option<ColorScheme>,
    ) -> Result<(), SessionReply> {
        let resize = viewport.map(FlowStepAction::Resize);
        let emulate = scheme.map(|scheme| FlowStepAction::Emulate(emulation(Some(scheme))));
        for action in [resize, emulate].into_iter().flatten() {
            self.perform(&action, None).await?;
        }
        Ok(())
    }

    async fn step(&mut self, text: &str) -> Result<SessionReply, SessionReply> {
        let step = read_step(text).map_err(|mistakes| refused(&mistakes.into()))?;
        match &step.action {
            FlowStepAction::Fixture(_) => {
                return Err(SessionReply::refused(
                    "a fixture is a command: run it by itself",
                    None,
                ));
            }
            FlowStepAction::Screenshot(_) => {
                return Err(SessionReply::refused(
                    "a session compares no pictures",
                    Some("`ralph qa shot` takes one; `screenshot` compares in `ralph qa run`"),
                ));
            }
            FlowStepAction::Type {
                text: TypedText::SecretVariable(name),
                ..
            } => self.hide(name)?,
            FlowStepAction::Type { .. }
            | FlowStepAction::Navigate { .. }
            | FlowStepAction::Click { .. }
            | FlowStepAction::Press { .. }
            | FlowStepAction::Select { .. }
            | FlowStepAction::Hover { .. }
            | FlowStepAction::Upload { .. }
            | FlowStepAction::Wait(_)
            | FlowStepAction::Verify(_)
            | FlowStepAction::Resize(_)
            | FlowStepAction::Emulate(_) => {}
        }
        let done = self.perform(&step.action, step.timeout).await?;
        let open = self.page()?;
        let errors = open.seen.new_in(&open.page.console(), &open.page.network());
        let report = ActReport {
            step: step.shown.clone(),
            url: open.page.url(),
            title: open.page.title().await,
            notes: done.notes,
            errors: errors.count(),
        };
        Ok(SessionReply::Done(self.used_secrets.hide_in(report)))
    }

    /// Has the value of a variable hidden from now on.
    fn hide(&mut self, name: &str) -> Result<(), SessionReply> {
        let known = self.work.secrets.iter().find(|(known, _)| known == name);
        let Some((name, value)) = known else {
            return Err(SessionReply::refused(
                format!("the variable {name} is not set in the browser session"),
                Some("set it before `ralph qa open`, and list it in `safety.pass_env`"),
            ));
        };
        let value = NamedValue::new(name, value);
        self.used_secrets = self.used_secrets.with([value]);
        Ok(())
    }

    async fn look(&mut self, notes: Vec<String>) -> Result<SessionReply, SessionReply> {
        let limit = self.work.config.timeout;
        let outline = self.page()?.page.outline(limit).await;
        let lines = match outline {
            Ok(lines) => lines,
            Err(failure) => return Err(self.failed("look at the page", failure).await),
        };
        let open = self.page()?;
        let errors = open
            .seen
            .take_new(&open.page.console(), &open.page.network());
        let look = PageLook {
            url: open.page.url(),
            title: open.page.title().await,
            viewport: open.page.viewport(),
            lines: lines.iter().take(MOST_LINES).map(shown).collect(),
            left_out: lines.len().saturating_sub(MOST_LINES),
            console: errors.console,
            failed_requests: errors.requests,
            notes,
        };
        Ok(SessionReply::Looked(Box::new(
            self.used_secrets.hide_in(look),
        )))
    }

    async fn shot(&mut self, wanted: &ShotRequest) -> Result<SessionReply, SessionReply> {
        let of = wanted.of.as_deref().map(read_target).transpose();
        let of = of.map_err(|mistakes| refused(&mistakes.into()))?;
        let action = FlowStepAction::Screenshot(Screenshot {
            name: "shot".to_owned(),
            of,
            full: wanted.full,
            mask: Vec::new(),
            threshold: None,
        });
        let done = self.perform(&action, None).await?;
        let Some(picture) = done.picture else {
            return Err(SessionReply::refused("the browser gave no picture", None));
        };
        if picture.png.len() > MOST_PICTURE_BYTES {
            return Err(SessionReply::refused(
                format!("the picture has more than {MOST_PICTURE_BYTES} bytes"),
                Some("take one without `--full`, or of one element"),
            ));
        }
        let (url, title) = self.used_secrets.hide_in((picture.url, picture.title));
        Ok(SessionReply::Shot(PageShot {
            url,
            title,
            png: PngText::of(&picture.png),
        }))
    }

    async fn perform(
        &mut self,
        action: &FlowStepAction,
        limit: Option<Duration>,
    ) -> Result<StepDone, SessionReply> {
        let limit = limit.unwrap_or(self.work.config.timeout);
        match self.page()?.page.perform(action, limit).await {
            Ok(done) => Ok(done),
            Err(failure) => Err(self.failed(&action.to_string(), failure).await),
        }
    }

    /// Says what did not work, with the page at this moment.
    async fn failed(&mut self, step: &str, failure: StepFailure) -> SessionReply {
        let is_loading = failure.kind == FailureKind::Navigation;
        let log = self.server.filter(|_| is_loading).map(Server::log);
        let log = log.unwrap_or_default();
        let open = match self.page() {
            Ok(open) => open,
            Err(reply) => return reply,
        };
        let png = match failure.kind {
            FailureKind::Crashed | FailureKind::Browser => None,
            _ => open.page.picture(FAILURE_PICTURE).await.ok(),
        };
        let errors = open.seen.new_in(&open.page.console(), &open.page.network());
        let failed = ActFailure {
            step: one_line(step, MOST_LINE_CHARS),
            url: open.page.url(),
            title: open.page.title().await,
            failure,
            console: errors.console,
            failed_requests: errors.requests,
            server_log: log[log.len().saturating_sub(MOST_SERVER_LINES)..].to_vec(),
            png: None,
        };
        let png = png.filter(|png| png.len() <= MOST_PICTURE_BYTES);
        // A picture is no text that a secret could stand in.
        SessionReply::Failed(Box::new(ActFailure {
            png: png.map(|png| PngText::of(&png)),
            ..self.used_secrets.hide_in(failed)
        }))
    }

    fn page(&mut self) -> Result<&mut OpenPage, SessionReply> {
        self.open
            .as_mut()
            .ok_or_else(|| SessionReply::refused("no page is open", None))
    }
}

fn refused(mistake: &WordsMistake) -> SessionReply {
    SessionReply::refused(mistake.to_string(), None)
}

fn without_page(step: &str, failure: StepFailure) -> SessionReply {
    SessionReply::Failed(Box::new(ActFailure {
        step: step.to_owned(),
        url: String::new(),
        title: String::new(),
        failure,
        console: Vec::new(),
        failed_requests: Vec::new(),
        server_log: Vec::new(),
        png: None,
    }))
}

fn emulation(scheme: Option<ColorScheme>) -> Emulation {
    Emulation {
        scheme,
        ..Emulation::default()
    }
}

fn viewport_of(text: &str) -> Result<Viewport, SessionReply> {
    let step =
        read_step(&format!("resize: {text}")).map_err(|mistakes| refused(&mistakes.into()))?;
    match step.action {
        FlowStepAction::Resize(viewport) => Ok(viewport),
        _ => Err(SessionReply::refused(
            format!("expected a viewport such as `mobile` or `1280x720`, found `{text}`"),
            None,
        )),
    }
}

/// A line of the page: `textbox "Name" = "Ada" [focused]`.
fn shown(line: &OutlineLine) -> String {
    let mut text = line.role.clone();
    if !line.name.is_empty() {
        text.push_str(&format!(" {:?}", line.name));
    }
    if let Some(value) = &line.value {
        text.push_str(&format!(" = {value:?}"));
    }
    if !line.states.is_empty() {
        text.push_str(&format!(" [{}]", line.states.join(", ")));
    }
    format!(
        "{}{}",
        "  ".repeat(line.depth.min(MOST_DEPTH)),
        one_line(&text, MOST_LINE_CHARS)
    )
}

/// Lines are not indented further.
const MOST_DEPTH: usize = 20;
