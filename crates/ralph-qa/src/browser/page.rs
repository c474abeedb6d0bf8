//! A page in a context of its own: opening it, asking its library, closing it.

use std::{cell::Cell, rc::Rc, time::Duration};

use base64::Engine as _;
use futures_util::future::join_all;
use ralph_engine::clock::{Clock as _, SystemClock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    PageSettings, QaBrowser,
    failure::{browser_failure, failure, text_of, texts},
    gate::Gate,
    gone,
    hosts::AllowedHosts,
    record::PageRecord,
    script::fixed_world,
    wire::{Answer, Session, WireError},
};
use crate::{
    flow::{ColorScheme, Emulation, Viewport},
    page::{LIBRARY, WORLD},
    result::{ConsoleMessage, FailureKind, NetworkRequest, StepFailure},
    server::ProgramPlace,
};

/// The longest that opening may take.
const OPEN: Duration = Duration::from_secs(30);
/// The longest that closing may take; then the page's process is ended.
const CLOSE: Duration = Duration::from_millis(1500);
/// The time that a page has to answer beyond the limit that it was told.
const GRACE: Duration = Duration::from_secs(3);
/// The most lines of an outline.
const MOST_LINES: usize = 400;

/// A page that flows and agents act on.
#[derive(Debug)]
pub struct FlowPage {
    pub(super) session: Session,
    browser: Session,
    context: String,
    target: String,
    pub(super) record: Rc<PageRecord>,
    pub(super) gate: Gate,
    pub(super) settings: PageSettings,
    pub(super) place: ProgramPlace,
    pub(super) viewport: Cell<Viewport>,
    pub(super) emulation: Cell<Emulation>,
    is_closed: Cell<bool>,
}

/// One line of a page's accessibility tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineLine {
    pub depth: usize,
    pub role: String,
    pub name: String,
    pub value: Option<String>,
    /// Such as `focused`, `checked`, `level 2`.
    pub states: Vec<String>,
}

impl OutlineLine {
    fn of_json(line: &Value) -> Self {
        Self {
            depth: line["depth"]
                .as_u64()
                .and_then(|depth| usize::try_from(depth).ok())
                .unwrap_or_default(),
            role: text_of(&line["role"]),
            name: text_of(&line["name"]),
            value: line["value"].as_str().map(str::to_owned),
            states: texts(&line["state"]),
        }
    }
}

impl FlowPage {
    pub(super) async fn open(
        browser: &QaBrowser,
        settings: &PageSettings,
    ) -> Result<Self, StepFailure> {
        let opened = timeout(OPEN, Self::open_now(browser, settings)).await;
        opened.unwrap_or_else(|_| {
            let actual = format!("it did not within {} s", OPEN.as_secs());
            Err(browser_failure("the browser opens a page", actual))
        })
    }

    async fn open_now(browser: &QaBrowser, settings: &PageSettings) -> Result<Self, StepFailure> {
        let hosts = AllowedHosts::new(settings.base.as_deref(), &settings.hosts);
        let bypass = hosts.bypass_list();
        let gate = Gate::open(hosts, browser.upstream.clone()).await;
        let gate = gate.map_err(|error| {
            browser_failure(
                "ralph opens a gate for the page's requests",
                error.to_string(),
            )
        })?;
        let root = browser.wire.browser();
        let context = root.begin(
            "Target.createBrowserContext",
            json!({"disposeOnDetach": true, "proxyServer": gate.proxy(), "proxyBypassList": bypass}),
        );
        let context = text_of(&context.await?["browserContextId"]);
        let downloads = json!({"behavior": "deny", "browserContextId": context});
        root.send("Browser.setDownloadBehavior", downloads);
        let target = root.begin(
            "Target.createTarget",
            json!({"url": "about:blank", "browserContextId": context}),
        );
        let target = text_of(&target.await?["targetId"]);
        let attached = json!({"targetId": target, "flatten": true});
        let attached = root.begin("Target.attachToTarget", attached).await?;
        let session = browser
            .wire
            .session(attached["sessionId"].as_str().unwrap_or_default());
        let record = Rc::new(PageRecord::new(&target, gate.hosts().clone()));
        let sink: Rc<dyn super::wire::EventSink> = record.clone();
        session.listen(Rc::downgrade(&sink));
        browser.tabs.add(&target, &record);
        let page = Self {
            session,
            browser: root,
            context,
            target,
            record,
            gate,
            settings: settings.clone(),
            place: browser.place.clone(),
            viewport: Cell::new(settings.viewport),
            emulation: Cell::new(settings.emulate),
            is_closed: Cell::new(false),
        };
        page.prepare(&browser.user_agent).await?;
        Ok(page)
    }

    /// Sends all that a page is prepared with at once.
    async fn prepare(&self, user_agent: &str) -> Result<(), StepFailure> {
        let mut answers: Vec<Answer> = Vec::new();
        let mut begin = |method, params| answers.push(self.session.begin(method, params));
        for method in [
            "Page.enable",
            "Runtime.enable",
            "Network.enable",
            "Log.enable",
            "Inspector.enable",
        ] {
            begin(method, json!({}));
        }
        begin("Page.setLifecycleEventsEnabled", json!({"enabled": true}));
        begin(
            "Emulation.setFocusEmulationEnabled",
            json!({"enabled": true}),
        );
        let agent = json!({"userAgent": user_agent, "acceptLanguage": "en-US"});
        begin("Emulation.setUserAgentOverride", agent);
        let fixed = fixed_world(self.settings.time, self.settings.random, SystemClock.now());
        if let Some(source) = fixed {
            let script = json!({"source": source, "runImmediately": true});
            begin("Page.addScriptToEvaluateOnNewDocument", script);
        }
        begin(
            "Page.addScriptToEvaluateOnNewDocument",
            json!({"source": LIBRARY, "worldName": WORLD, "runImmediately": true}),
        );
        answers.extend(self.begin_viewport(self.settings.viewport));
        answers.extend(self.begin_emulation(self.settings.emulate));
        all(answers).await?;
        if let Some(device) = self.settings.emulate.device {
            self.viewport.set(device);
        }
        Ok(())
    }

    /// Gives the page another size.
    pub(super) async fn resize(&self, viewport: Viewport) -> Result<(), StepFailure> {
        all(self.begin_viewport(viewport)).await?;
        self.viewport.set(viewport);
        Ok(())
    }

    fn begin_viewport(&self, viewport: Viewport) -> Vec<Answer> {
        let Viewport {
            width,
            height,
            mobile,
        } = viewport;
        vec![
            self.session.begin(
                "Emulation.setDeviceMetricsOverride",
                json!({
                    "width": width,
                    "height": height,
                    "deviceScaleFactor": 1,
                    "mobile": mobile,
                    "screenWidth": width,
                    "screenHeight": height,
                }),
            ),
            self.session.begin(
                "Emulation.setTouchEmulationEnabled",
                json!({"enabled": mobile, "maxTouchPoints": if mobile { 5 } else { 1 }}),
            ),
        ]
    }

    /// Emulates what is named, beside what was before.
    pub(super) async fn emulate(&self, change: Emulation) -> Result<(), StepFailure> {
        let before = self.emulation.get();
        let now = Emulation {
            scheme: change.scheme.or(before.scheme),
            reduced_motion: change.reduced_motion.or(before.reduced_motion),
            device: change.device.or(before.device),
            offline: change.offline.or(before.offline),
        };
        // A device is a size: one that was set before may have been resized since.
        let asked = Emulation {
            device: change.device,
            offline: change.offline,
            ..now
        };
        all(self.begin_emulation(asked)).await?;
        self.emulation.set(now);
        if let Some(device) = change.device {
            self.viewport.set(device);
        }
        Ok(())
    }

    fn begin_emulation(&self, emulation: Emulation) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut features = Vec::new();
        if let Some(scheme) = emulation.scheme {
            let value = match scheme {
                ColorScheme::Light => "light",
                ColorScheme::Dark => "dark",
            };
            features.push(json!({"name": "prefers-color-scheme", "value": value}));
        }
        if let Some(reduced) = emulation.reduced_motion {
            let value = if reduced { "reduce" } else { "no-preference" };
            features.push(json!({"name": "prefers-reduced-motion", "value": value}));
        }
        if !features.is_empty() {
            let media = json!({"features": features});
            answers.push(self.session.begin("Emulation.setEmulatedMedia", media));
        }
        if let Some(offline) = emulation.offline {
            let conditions = json!({
                "offline": offline,
                "latency": 0,
                "downloadThroughput": -1,
                "uploadThroughput": -1,
            });
            answers.push(
                self.session
                    .begin("Network.emulateNetworkConditions", conditions),
            );
        }
        if let Some(device) = emulation.device {
            answers.extend(self.begin_viewport(device));
        }
        answers
    }

    /// Calls a function of the page library with what is left of the time. A document that goes away meanwhile is
    /// followed by its successor, which is asked again.
    pub(super) async fn ask(
        &self,
        function: &str,
        argument: &Value,
        deadline: Instant,
    ) -> Result<Value, StepFailure> {
        let declaration =
            format!("function(argument) {{ return ralphPage.{function}(argument); }}");
        loop {
            let has_world = self
                .record
                .until(deadline + GRACE, |record| record.world().is_some());
            if !has_world.await {
                return Err(self.no_answer());
            }
            let Some(world) = self.record.world() else {
                continue;
            };
            let mut argument = argument.clone();
            if argument.get("limit").is_none() {
                argument["limit"] = json!(left(deadline));
            }
            let answer = self.session.begin(
                "Runtime.callFunctionOn",
                json!({
                    "functionDeclaration": declaration,
                    "uniqueContextId": world,
                    "arguments": [{"value": argument}],
                    "awaitPromise": true,
                    "returnByValue": true,
                }),
            );
            let is_elsewhere = self.record.until(deadline + GRACE, |record| {
                record.is_over() || record.world().is_none_or(|now| now != world)
            });
            let answer = tokio::select! {
                biased;
                answer = answer => answer,
                is_elsewhere = is_elsewhere => {
                    if is_elsewhere && !self.record.is_over() && Instant::now() < deadline + GRACE {
                        continue;
                    }
                    return Err(self.no_answer());
                }
            };
            match answer {
                Ok(answer) => match answer.get("exceptionDetails") {
                    None => return Ok(answer["result"]["value"].clone()),
                    Some(details) => {
                        let said = details["exception"]["description"].as_str();
                        let said = said.or(details["text"].as_str()).unwrap_or_default();
                        return Err(browser_failure("the page library answers", said));
                    }
                },
                Err(WireError::Gone) => return Err(gone()),
                // The document went away: events tell which one is there now.
                Err(WireError::Refused { .. }) if Instant::now() < deadline + GRACE => {
                    let moved = |record: &PageRecord| record.world().is_none_or(|now| now != world);
                    let soon = (Instant::now() + GRACE).min(deadline + GRACE);
                    self.record.until(soon, moved).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Awaits a command of the page's, which can crash or hang meanwhile.
    pub(super) async fn within(
        &self,
        deadline: Instant,
        answer: impl Future<Output = Result<Value, WireError>>,
    ) -> Result<Value, StepFailure> {
        let over = self.record.until(deadline + GRACE, PageRecord::is_over);
        tokio::select! {
            biased;
            answer = answer => answer.map_err(StepFailure::from),
            _ = over => Err(self.no_answer()),
        }
    }

    /// Sends commands at once, and awaits all.
    pub(super) async fn all_within(
        &self,
        deadline: Instant,
        answers: Vec<Answer>,
    ) -> Result<(), StepFailure> {
        let all = async {
            for answer in join_all(answers).await {
                answer?;
            }
            Ok(Value::Null)
        };
        self.within(deadline, all).await.map(|_| ())
    }

    /// The failure of a page that gives no answer.
    pub(super) fn no_answer(&self) -> StepFailure {
        if self.record.has_crashed() {
            return failure(
                FailureKind::Crashed,
                "the page's process lives",
                format!("it crashed, at {}", self.url()),
            );
        }
        if self.record.is_over() {
            return gone();
        }
        let actual = if self.record.is_leaving() {
            format!("it is being loaded still: {}", self.url())
        } else {
            "it does not: a script of the page seems to run without an end".to_owned()
        };
        failure(FailureKind::NotActionable, "the page answers", actual)
    }

    /// The accessibility tree.
    pub async fn outline(&self, limit: Duration) -> Result<Vec<OutlineLine>, StepFailure> {
        let lines = json!({"limit": MOST_LINES});
        let outline = self.ask("outline", &lines, Instant::now() + limit).await?;
        let lines = outline["lines"].as_array().into_iter().flatten();
        Ok(lines.map(OutlineLine::of_json).collect())
    }

    /// The viewport as it is at this moment, as PNG.
    pub async fn picture(&self, limit: Duration) -> Result<Vec<u8>, StepFailure> {
        self.capture(
            &json!({"format": "png", "optimizeForSpeed": true}),
            Instant::now() + limit,
        )
        .await
    }

    pub(super) async fn capture(
        &self,
        how: &Value,
        deadline: Instant,
    ) -> Result<Vec<u8>, StepFailure> {
        let answer = self.session.begin("Page.captureScreenshot", how.clone());
        let answer = self.within(deadline, answer).await?;
        let data = answer["data"].as_str().unwrap_or_default();
        let decoded = base64::engine::general_purpose::STANDARD.decode(data);
        decoded.map_err(|error| browser_failure("the browser sends a picture", error.to_string()))
    }

    pub fn url(&self) -> String {
        self.record.url()
    }

    /// The title of the document; empty where it can't be asked.
    pub async fn title(&self) -> String {
        let asked = self
            .browser
            .begin("Target.getTargetInfo", json!({"targetId": self.target}));
        match timeout_at(Instant::now() + GRACE, asked).await {
            Ok(Ok(info)) => text_of(&info["targetInfo"]["title"]),
            _ => String::new(),
        }
    }

    pub fn viewport(&self) -> Viewport {
        self.viewport.get()
    }

    /// The scheme that is emulated.
    pub fn scheme(&self) -> Option<ColorScheme> {
        self.emulation.get().scheme
    }

    /// The last messages of its console.
    pub fn console(&self) -> Vec<ConsoleMessage> {
        self.record.console()
    }

    /// The last requests that it made.
    pub fn network(&self) -> Vec<NetworkRequest> {
        self.record.network()
    }

    /// The things to tell that happened since they were taken last.
    pub fn take_notes(&self) -> Vec<String> {
        self.record.take_notes()
    }

    pub fn has_crashed(&self) -> bool {
        self.record.has_crashed()
    }

    /// Closes the page and its context.
    pub async fn close(self) {
        self.is_closed.set(true);
        let dispose = || {
            let context = json!({"browserContextId": self.context});
            self.browser.begin("Target.disposeBrowserContext", context)
        };
        if timeout(CLOSE, dispose()).await.is_err() {
            // A page whose script runs without an end does not close by itself.
            self.session.send("Page.crash", json!({}));
            let _ = timeout(CLOSE, dispose()).await;
        }
    }
}

impl Drop for FlowPage {
    fn drop(&mut self) {
        self.session.stop_listening();
        if !self.is_closed.get() {
            let context = json!({"browserContextId": self.context});
            self.browser.send("Target.disposeBrowserContext", context);
        }
    }
}

async fn all(answers: Vec<Answer>) -> Result<(), StepFailure> {
    for answer in join_all(answers).await {
        answer?;
    }
    Ok(())
}

/// The milliseconds until a deadline.
pub(super) fn left(deadline: Instant) -> u64 {
    let left = deadline.saturating_duration_since(Instant::now());
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
}
