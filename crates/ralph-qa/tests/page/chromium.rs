//! A browser for the tests of the library: started as a program, with a profile of its own, and ended by its id.

use std::{process::Stdio, time::Duration};

use chromiumoxide::{
    Browser, Page,
    cdp::{
        browser_protocol::{
            emulation::{
                SetDeviceMetricsOverrideParams, SetEmulatedMediaParams,
                SetFocusEmulationEnabledParams,
            },
            input::{
                DispatchMouseEventParams, DispatchMouseEventType, InsertTextParams, MouseButton,
            },
            page::{CreateIsolatedWorldParams, NavigateParams},
        },
        js_protocol::runtime::{EvaluateParams, ExecutionContextId},
    },
};
use futures_util::StreamExt;
use ralph_qa::page::{LIBRARY, WORLD};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    task::JoinHandle,
    time::timeout,
};

const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct Chromium {
    child: Child,
    browser: Browser,
    events: JoinHandle<()>,
    _profile: TempDir,
}

impl Chromium {
    pub(crate) async fn start() -> Self {
        let profile = TempDir::new().unwrap();
        let mut child = Command::new("/usr/bin/chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--font-render-hinting=none",
                "--remote-debugging-port=0",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("Chromium is installed at /usr/bin/chromium");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = timeout(LIMIT, async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some((_, address)) = line.split_once("DevTools listening on ") {
                    return address.trim().to_owned();
                }
            }
            panic!("Chromium ended before it listened");
        })
        .await
        .expect("Chromium listens in time");
        let (browser, mut handler) = Browser::connect(address).await.unwrap();
        let events = tokio::spawn(async move {
            // What it says on its error output is read, so that it never waits for a reader.
            let drained =
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            while handler.next().await.is_some() {}
            drained.abort();
        });
        Self {
            child,
            browser,
            events,
            _profile: profile,
        }
    }

    pub(crate) async fn page(&self) -> TestPage {
        let page = self.browser.new_page("about:blank").await.unwrap();
        page.execute(SetFocusEmulationEnabledParams::new(true))
            .await
            .unwrap();
        TestPage { page }
    }

    pub(crate) async fn stop(mut self) {
        let _closed = timeout(Duration::from_secs(10), self.browser.close()).await;
        let _killed = self.child.start_kill();
        let _ended = timeout(LIMIT, self.child.wait()).await;
        self.events.abort();
    }
}

pub(crate) struct TestPage {
    page: Page,
}

impl TestPage {
    /// Loads an address, and waits until it is loaded.
    pub(crate) async fn load(&self, url: &str) {
        self.page
            .execute(NavigateParams::new(url))
            .await
            .unwrap_or_else(|error| panic!("{url} loads: {error}"));
        self.here(
            "new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))",
        )
        .await;
    }

    /// Runs a script as the page does.
    pub(crate) async fn here(&self, script: &str) -> Value {
        self.evaluate(script, None).await
    }

    /// Runs a script in the isolated world of the library.
    pub(crate) async fn apart(&self, script: &str) -> Value {
        let frame = self.page.mainframe().await.unwrap().expect("a main frame");
        let world = self
            .page
            .execute(
                CreateIsolatedWorldParams::builder()
                    .frame_id(frame)
                    .world_name(WORLD)
                    .build()
                    .unwrap(),
            )
            .await
            .unwrap()
            .result
            .execution_context_id;
        self.evaluate(LIBRARY, Some(world)).await;
        self.evaluate(script, Some(world)).await
    }

    async fn evaluate(&self, script: &str, world: Option<ExecutionContextId>) -> Value {
        let mut params = EvaluateParams::builder()
            .expression(script)
            .await_promise(true)
            .return_by_value(true);
        if let Some(world) = world {
            params = params.context_id(world);
        }
        let answer = timeout(LIMIT, self.page.execute(params.build().unwrap()))
            .await
            .expect("an answer in time")
            .unwrap()
            .result;
        if let Some(thrown) = answer.exception_details {
            panic!("{script}\nfailed: {thrown:?}");
        }
        answer.result.value.unwrap_or(Value::Null)
    }

    pub(crate) async fn resize(&self, width: i64, height: i64, mobile: bool) {
        self.page
            .execute(SetDeviceMetricsOverrideParams::new(
                width, height, 1.0, mobile,
            ))
            .await
            .unwrap();
    }

    pub(crate) async fn prefer(&self, scheme: &str) {
        let feature = chromiumoxide::cdp::browser_protocol::emulation::MediaFeature::new(
            "prefers-color-scheme",
            scheme,
        );
        self.page
            .execute(SetEmulatedMediaParams::builder().feature(feature).build())
            .await
            .unwrap();
    }

    pub(crate) async fn point(&self, x: f64, y: f64) {
        let moved = DispatchMouseEventParams::new(DispatchMouseEventType::MouseMoved, x, y);
        self.page.execute(moved).await.unwrap();
    }

    pub(crate) async fn click(&self, x: f64, y: f64) {
        self.point(x, y).await;
        for kind in [
            DispatchMouseEventType::MousePressed,
            DispatchMouseEventType::MouseReleased,
        ] {
            let event = DispatchMouseEventParams::builder()
                .r#type(kind)
                .x(x)
                .y(y)
                .button(MouseButton::Left)
                .click_count(1)
                .build()
                .unwrap();
            self.page.execute(event).await.unwrap();
        }
    }

    pub(crate) async fn insert(&self, text: &str) {
        self.page
            .execute(InsertTextParams::new(text))
            .await
            .unwrap();
    }
}
