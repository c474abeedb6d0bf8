//! A scratch home and repository, a scripted model, and an agent that runs against it while the test
//! nudges and stops it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::mpsc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use ralph_core::{
    agent::{AgentEvent, AgentReport},
    config::{Config, ConfigFile, Layers, resolve},
};
use ralph_engine::{
    agent::{Agent, AgentSetup, RunContext, find_kind},
    process::{CappedLog, Containment, LogCaps},
    supervisor::{
        AgentControl, AgentRunSpec, AgentTap, ControlRequest, RunLimits, RunPorts, run_agent,
    },
};
use ralph_testkit::model::{Scenario, ScriptedModel};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// Longer than anything takes, for what must happen at all.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Scene {
    folder: tempfile::TempDir,
    pub(crate) model: ScriptedModel,
}

impl Scene {
    pub(crate) fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "repo"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let scenario = Scenario::parse(scenario).unwrap();
        Self {
            folder,
            model: ScriptedModel::start(scenario),
        }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A word that no other scene has.
    pub(crate) fn unique(&self) -> String {
        let name = self.folder.path().file_name().unwrap();
        name.to_string_lossy().into_owned()
    }

    /// Bytes of the log of the last run.
    pub(crate) fn logged(&self) -> u64 {
        std::fs::metadata(self.folder.path().join("stream.log"))
            .unwrap()
            .len()
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// Runs an agent to its end.
    pub(crate) fn run(&self, agent: Box<dyn Agent>, env: Env, prompt: &str) -> Ran {
        self.start(agent, env, prompt, limits()).join()
    }

    /// Starts an agent on a thread of its own.
    pub(crate) fn start(
        &self,
        agent: Box<dyn Agent>,
        env: Env,
        prompt: &str,
        limits: RunLimits,
    ) -> Live {
        let context = RunContext {
            cwd: self.repo(),
            env: env
                .into_iter()
                .map(|(k, v)| (OsString::from(k), OsString::from(v)))
                .collect(),
            prompt: prompt.to_owned(),
            labels: Vec::new(),
            budget: None,
        };
        let log = self.folder.path().join("stream.log");
        let (ask, requests) = tokio::sync::mpsc::unbounded_channel();
        let (tell, events) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let file = std::fs::File::create(log).unwrap();
                let caps = LogCaps {
                    total: 8 * 1024 * 1024,
                    tail: 1024 * 1024,
                };
                let mut log = CappedLog::new(file, caps);
                let spec = AgentRunSpec {
                    agent: &*agent,
                    context: &context,
                    containment: Containment::detect(None).containment,
                    keeper: Default::default(),
                    mounts: None,
                    sandbox: None,
                    limits: &limits,
                    redaction: &Default::default(),
                    done_file: None,
                };
                let ports = RunPorts {
                    watchers: Vec::new(),
                    control: &mut Remote {
                        requests,
                        waiting: Vec::new(),
                    },
                    tap: &mut Teller(tell),
                    tree: None,
                    log: &mut log,
                };
                let ran = run_agent(spec, ports).await;
                let _ = log.finish();
                ran.unwrap().report
            })
        });
        Live {
            thread,
            events,
            seen: Vec::new(),
            ask,
        }
    }
}

pub(crate) type Env = Vec<(String, String)>;

/// Time enough for everything; a test that wants less says so.
pub(crate) fn limits() -> RunLimits {
    RunLimits {
        deadline: None,
        idle: LIMIT,
        idle_with_tool: LIMIT,
        grace: Duration::from_secs(5),
    }
}

/// An agent as `ralph.yaml` makes it.
pub(crate) fn agent(name: &str, yaml: &str) -> Box<dyn Agent> {
    let config: Config = resolve(&Layers {
        project: Some(ConfigFile {
            path: "ralph.yaml".into(),
            text: yaml.to_owned(),
        }),
        ..Layers::default()
    })
    .unwrap_or_else(|errors| panic!("{errors}"))
    .config;
    let setup = AgentSetup {
        config: &config,
        custom: None,
        is_root: rustix::process::geteuid().is_root(),
        guard: None,
    };
    (find_kind(name).unwrap().make)(&setup)
}

struct Teller(mpsc::Sender<AgentEvent>);

impl AgentTap for Teller {
    fn agent_event(&mut self, event: AgentEvent) {
        let _ = self.0.send(event);
    }
}

/// Requests of the test.
struct Remote {
    requests: UnboundedReceiver<ControlRequest>,
    waiting: Vec<ControlRequest>,
}

#[async_trait(?Send)]
impl AgentControl for Remote {
    async fn ready(&mut self) {
        match self.requests.recv().await {
            Some(request) => self.waiting.push(request),
            None => std::future::pending().await,
        }
    }

    async fn read(&mut self, _: &mut dyn AgentTap) -> Vec<ControlRequest> {
        std::mem::take(&mut self.waiting)
    }
}

/// An agent that runs.
pub(crate) struct Live {
    thread: JoinHandle<AgentReport>,
    events: mpsc::Receiver<AgentEvent>,
    seen: Vec<AgentEvent>,
    ask: UnboundedSender<ControlRequest>,
}

impl Live {
    pub(crate) fn nudge(&self, text: &str) {
        let text = text.to_owned();
        self.ask.send(ControlRequest::Say { id: 0, text }).unwrap();
    }

    pub(crate) fn stop(&self) {
        self.ask.send(ControlRequest::Stop).unwrap();
    }

    /// Waits for an event, within the limit.
    pub(crate) fn wait_for(&mut self, what: &str, fits: impl Fn(&AgentEvent) -> bool) {
        let until = Instant::now() + LIMIT;
        if self.seen.iter().any(&fits) {
            return;
        }
        while let Ok(event) = self
            .events
            .recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            let found = fits(&event);
            self.seen.push(event);
            if found {
                return;
            }
        }
        panic!("no {what} among {:#?}", self.seen);
    }

    pub(crate) fn join(mut self) -> Ran {
        let report = self.thread.join().unwrap();
        self.seen.extend(self.events.try_iter());
        Ran {
            report,
            events: self.seen,
        }
    }
}

/// How it went.
pub(crate) struct Ran {
    pub(crate) report: AgentReport,
    pub(crate) events: Vec<AgentEvent>,
}

/// Processes in whose environment a marker stands: what a run left alive.
pub(crate) fn marked(marker: &str) -> Vec<String> {
    let describe = |pid: i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        format!(
            "{pid} {}",
            String::from_utf8_lossy(&line).replace('\0', " ")
        )
    };
    marked_pids(marker).into_iter().map(describe).collect()
}

fn marked_pids(marker: &str) -> Vec<i32> {
    let is_marked = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|b| *b == 0)
            .any(|variable| variable == marker.as_bytes())
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(is_marked)
        .collect()
}

/// Kills the agent itself: of the marked processes the one whose parent is not.
pub(crate) fn kill_root(marker: &str) {
    let pids = marked_pids(marker);
    let parent = |pid: i32| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name, which can hold anything: the state, then the parent.
        let rest = stat.rsplit_once(')')?.1;
        rest.split_whitespace().nth(1)?.parse().ok()
    };
    let roots: Vec<i32> = pids
        .iter()
        .copied()
        .filter(|pid| parent(*pid).is_some_and(|p| !pids.contains(&p)))
        .collect();
    assert!(!roots.is_empty(), "no process of the run: {pids:?}");
    for pid in roots {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

/// Waits for what another process does, within the limit.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < until, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
