//! A browser: started as a program of ralph's, spoken to over its own protocol, gone with its profile afterwards.
//!
//! Each page is in a context of its own, and reaches its server and the hosts that are listed for it, nothing else.
//! Must not know of reports, baselines or files of flows.

mod actions;
mod checks;
mod failure;
mod fixture;
mod gate;
mod hosts;
mod keys;
mod navigate;
mod page;
mod pictures;
mod profile;
mod record;
mod script;
mod tabs;
mod targets;
mod wire;

use std::{cell::RefCell, ffi::OsString, pin::pin, rc::Rc, time::Duration};

use chromiumoxide::Connection;
use jiff::Timestamp;
use ralph_engine::process::{CommandSpec, Ended, Output, Running, SpawnError, Tail, spawn};
use serde_json::json;
use tokio::{sync::Notify, time::timeout};

pub use self::{
    actions::StepDone,
    page::{FlowPage, OutlineLine},
    pictures::TakenPicture,
};
use self::{
    failure::browser_failure,
    gate::upstream_of,
    hosts::HostPort,
    profile::Profile,
    tabs::TabWatch,
    wire::{Wire, WireError, WireEvent},
};
pub(crate) use self::{failure::failure, navigate::is_relative, profile::sweep_profiles};
pub use crate::program::{BrowserError, BrowserProgram, TESTED_VERSIONS, find_browser};
use crate::{
    flow::{Emulation, Viewport},
    result::StepFailure,
    server::{ProgramPlace, Walls},
};

/// The longest that a browser may take until it can be talked to.
const START: Duration = Duration::from_secs(60);
/// The end of its output that is kept, and the lines of it that are shown.
const PRINTED_BYTES: usize = 16 * 1024;
const PRINTED_LINES: usize = 12;
/// The words before the address that it listens on.
const LISTENING: &str = "DevTools listening on ";

/// The arguments that a browser is started with, besides its profile. Nothing of it may ask for something of the network
/// by itself, slow down pages that no one looks at, or make pictures depend on the machine.
const FLAGS: [&str; 39] = [
    "--headless=new",
    "--remote-debugging-port=0",
    "--remote-debugging-address=127.0.0.1",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--no-startup-window",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-lcd-text",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-quic",
    "--disable-search-engine-choice-screen",
    "--disable-site-isolation-trials",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--font-render-hinting=none",
    "--hide-scrollbars",
    "--lang=en-US",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    // The name that the flag above has today.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
];
/// Parts of the browser that are turned off: those that ask the network, and those that wait for a person.
const FEATURES_OFF: &str = "--disable-features=IsolateOrigins,site-per-process,Translate,MediaRouter,\
    OptimizationHints,AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,\
    InterestFeedContentSuggestions,HttpsUpgrades,PaintHolding,LensOverlay,GlobalMediaControls,\
    PrivacySandboxSettings4,OverscrollHistoryNavigation,BackForwardCache";
/// Whatever goes around a context's own proxy leads nowhere.
const NOWHERE: [&str; 3] = [
    "--proxy-server=http://127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE *.localhost , EXCLUDE 127.0.0.1 , EXCLUDE [::1]",
];

/// All that a page is opened with.
#[derive(Debug, Clone)]
pub struct PageSettings {
    /// The base of relative addresses; its host is the one that may be reached.
    pub base: Option<String>,
    /// Further hosts: `cdn.example.com`, `*.example.com`, `localhost:8080`.
    pub hosts: Vec<String>,
    pub viewport: Viewport,
    pub emulate: Emulation,
    /// The time at which the page's clock starts.
    pub time: Option<Timestamp>,
    /// The seed of its random numbers.
    pub random: Option<u64>,
    /// Values of the variables that steps name as secrets.
    pub secrets: Vec<(String, String)>,
}

impl Default for PageSettings {
    /// A desktop page that reaches nothing.
    fn default() -> Self {
        Self {
            base: None,
            hosts: Vec::new(),
            viewport: Viewport::DESKTOP,
            emulate: Emulation::default(),
            time: None,
            random: None,
            secrets: Vec::new(),
        }
    }
}

/// A browser that runs.
#[derive(Debug)]
pub struct QaBrowser {
    wire: Wire,
    place: ProgramPlace,
    /// The proxy of the machine.
    upstream: Option<String>,
    /// As it calls itself to servers, without the word that tells that no one looks at it.
    user_agent: String,
    log: Rc<BrowserOutput>,
    tabs: Rc<TabWatch>,
}

/// The output of a browser.
#[derive(Debug)]
struct BrowserOutput {
    tail: RefCell<Tail>,
    unread: RefCell<String>,
    address: RefCell<Option<String>>,
    printed: Notify,
}

impl BrowserOutput {
    fn new() -> Self {
        Self {
            tail: RefCell::new(Tail::new(PRINTED_BYTES)),
            unread: RefCell::default(),
            address: RefCell::default(),
            printed: Notify::new(),
        }
    }

    fn push(&self, bytes: &[u8]) {
        self.tail.borrow_mut().push(bytes);
        if self.address.borrow().is_some() {
            return;
        }
        let mut unread = self.unread.borrow_mut();
        unread.push_str(&String::from_utf8_lossy(bytes));
        while let Some(end) = unread.find('\n') {
            let line: String = unread.drain(..=end).collect();
            if let Some((_, address)) = line.split_once(LISTENING) {
                *self.address.borrow_mut() = Some(address.trim().to_owned());
                self.printed.notify_one();
            }
        }
    }

    async fn address(&self) -> String {
        loop {
            if let Some(address) = self.address.borrow().clone() {
                return address;
            }
            self.printed.notified().await;
        }
    }

    /// The last lines, without those about buses of desktops, which no browser finds here.
    fn lines(&self) -> Vec<String> {
        let text = self.tail.borrow().text();
        let lines = text.lines().filter(|line| !line.contains("dbus/"));
        let lines: Vec<&str> = lines.collect();
        let last = &lines[lines.len().saturating_sub(PRINTED_LINES)..];
        last.iter().map(|line| (*line).to_owned()).collect()
    }
}

impl QaBrowser {
    /// Opens a page in a context of its own.
    pub async fn open(&self, settings: &PageSettings) -> Result<FlowPage, StepFailure> {
        FlowPage::open(self, settings).await
    }

    /// Tells whether the browser has died.
    pub fn is_gone(&self) -> bool {
        self.wire.is_gone()
    }

    /// The last lines that it printed.
    pub fn log(&self) -> Vec<String> {
        self.log.lines()
    }
}

/// Starts a browser and does `work` with it. Afterwards, when this future is dropped and when ralph is killed, browser
/// and profile are gone. If it dies meanwhile, what is asked of it fails, and the work goes on to its end.
pub async fn with_browser<T>(
    program: &BrowserProgram,
    place: &ProgramPlace,
    work: impl AsyncFnOnce(&QaBrowser) -> T,
) -> Result<T, BrowserError> {
    let profile = Profile::make(place)?;
    let log = Rc::new(BrowserOutput::new());
    let mut running = start(program, place, &profile)?;
    let over = Notify::new();
    let mut take = |bytes: &[u8]| log.push(bytes);
    let mut process = pin!(running.finish_unless(over.notified(), &mut take));
    let connecting = async {
        let address = log.address().await;
        Connection::<WireEvent>::connect(&address).await
    };
    let connection = tokio::select! {
        biased;
        ended = &mut process => return Err(BrowserError::Ended {
            program: program.to_string(),
            ended: how_it_ended(&ended),
            printed: log.lines(),
        }),
        connection = timeout(START, connecting) => connection,
    };
    let Ok(connection) = connection else {
        return Err(BrowserError::NotReady {
            program: program.to_string(),
            limit: START,
            printed: log.lines(),
        });
    };
    let connection = connection.map_err(|error| BrowserError::Connect {
        reason: error.to_string(),
    })?;
    let (wire, pump) = Wire::over(connection);
    let mut work = pin!(async {
        let browser = greet(&wire, place, &log).await?;
        Ok(work(&browser).await)
    });
    let mut pump = pin!(pump);
    let (mut is_connected, mut is_running) = (true, true);
    let done = loop {
        tokio::select! {
            biased;
            done = &mut work => break done,
            () = &mut pump, if is_connected => is_connected = false,
            _ = &mut process, if is_running => is_running = false,
        }
    };
    if is_running {
        over.notify_one();
        // Its tree is killed and awaited; only then is its profile removed.
        let _ = process.await;
    }
    drop(profile);
    done
}

/// Starts the program, with its profile in memory if that can be.
fn start(
    program: &BrowserProgram,
    place: &ProgramPlace,
    profile: &Profile,
) -> Result<Running, BrowserError> {
    let spec = spec(program, place, profile);
    // A sandbox of the browser's own needs rights that a program with mounts does not have.
    let has_mounts = place.containment.has_mount_namespace() && !has_own_sandbox(place);
    let in_memory = has_mounts.then(|| {
        let spec = spec.clone().mounts(profile.mounts());
        spawn(&spec, place.containment)
    });
    let running = match in_memory {
        Some(Ok(running)) => Ok(running),
        // Within a sandbox, and inside a run, there may be no further mounts.
        None
        | Some(Err(
            SpawnError::Mount { .. }
            | SpawnError::Plan { .. }
            | SpawnError::Contain { .. }
            | SpawnError::NoMountNamespace { .. },
        )) => spawn(&spec, place.containment),
        Some(Err(error)) => Err(error),
    };
    running.map_err(|source| BrowserError::NotRunnable {
        path: program.path.clone(),
        source,
    })
}

/// Tells whether a browser makes a sandbox of its own: it can't as root, and need not within one of ralph's.
fn has_own_sandbox(place: &ProgramPlace) -> bool {
    place.walls == Walls::None && !rustix::process::geteuid().is_root()
}

/// Learns the browser's name, and has it tell of pages that pages open.
async fn greet(
    wire: &Wire,
    place: &ProgramPlace,
    log: &Rc<BrowserOutput>,
) -> Result<QaBrowser, BrowserError> {
    let failed = |error: WireError| BrowserError::Connect {
        reason: error.to_string(),
    };
    let version = wire.browser().begin("Browser.getVersion", json!({}));
    let version = version.await.map_err(failed)?;
    let user_agent = version["userAgent"].as_str().unwrap_or_default();
    Ok(QaBrowser {
        wire: wire.clone(),
        place: place.clone(),
        upstream: upstream_of(&place.env),
        user_agent: user_agent.replace("HeadlessChrome", "Chrome"),
        log: Rc::clone(log),
        tabs: TabWatch::begin(wire),
    })
}

fn spec(program: &BrowserProgram, place: &ProgramPlace, profile: &Profile) -> CommandSpec {
    let mut user_data = OsString::from("--user-data-dir=");
    user_data.push(profile.user_data());
    let mut spec = CommandSpec::new(&program.path, profile.folder())
        .args(FLAGS)
        .args([FEATURES_OFF])
        .args(NOWHERE)
        .args([user_data])
        .output(Output::Merged);
    if !has_own_sandbox(place) {
        spec = spec.args(["--no-sandbox"]);
    }
    let kept = [
        "PATH",
        "LD_LIBRARY_PATH",
        "FONTCONFIG_FILE",
        "FONTCONFIG_PATH",
    ];
    let kept = place
        .env
        .iter()
        .filter(|(name, _)| kept.iter().any(|kept| name == kept));
    spec.env = kept.cloned().collect();
    spec.env.extend(profile.env());
    for (name, value) in [
        ("TZ", "UTC"),
        ("LANG", "en_US.UTF-8"),
        ("LANGUAGE", "en_US"),
        // It would look for a desktop's.
        ("DBUS_SESSION_BUS_ADDRESS", "disabled:"),
        ("DBUS_SYSTEM_BUS_ADDRESS", "disabled:"),
    ] {
        spec.env.push((name.into(), value.into()));
    }
    spec.args(["about:blank"])
}

fn how_it_ended(ended: &Result<std::io::Result<Ended>, ()>) -> String {
    match ended {
        Ok(Ok(Ended::Code(code))) => format!("with exit code {code}"),
        Ok(Ok(Ended::Signal(signal))) => format!("by signal {signal}"),
        Ok(Err(error)) => format!("and its end could not be awaited ({error})"),
        Err(()) => "as it was told".to_owned(),
    }
}

/// The `host:port` of an address that can be connected to from here; None where a proxy stands between, or for what is
/// no address of a server.
pub(crate) fn base_place(url: &str, env: &[(OsString, OsString)]) -> Option<String> {
    let at = HostPort::of_url(url)?;
    let is_direct = at.is_loopback() || upstream_of(env).is_none();
    is_direct.then(|| {
        let host = at.host.trim_start_matches('[').trim_end_matches(']');
        // All names of this machine are one, also where its resolver does not know them.
        match host {
            _ if host.ends_with(".localhost") => format!("localhost:{}", at.port),
            _ if host.contains(':') => format!("[{host}]:{}", at.port),
            _ => format!("{host}:{}", at.port),
        }
    })
}

/// The failure of a step for which there is no browser any more.
fn gone() -> StepFailure {
    browser_failure("the browser answers", "it has died")
}
