//! Iterations with a real repository and a real process, and nothing of a loop: no journal, no board, no
//! queue of commands. What an iteration asks of its loop is only data here.

use std::{collections::HashSet, path::Path};

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    config::Config,
    economics::Prices,
    event::Event,
    id::{IterationId, LoopId},
    iteration::{Handoffs, IterationPolicy, Lands, Purpose},
    job::{
        AttemptHistory, JOB_VERSION, JobCost, JobLimits, PromptParts, StartPoint, parse_versioned,
    },
    memory::ProgressFeature,
    task::{Task, VerifyCommand},
};
use ralph_testkit::TestRepo;
use serde_json::json;

use super::*;
use crate::{
    agent::CommandAgent,
    clock::SystemClock,
    config_files::ConfigFiles,
    git::{self, Repo},
    loop_runner::change_policy,
    progress_file::ProgressFile,
    report::Reporter,
    source::{Snapshots, Source},
    supervisor::{AgentTap, ControlReply, ControlRequest},
    workspace::InPlace,
};

/// A loop that only remembers what it was told.
#[derive(Default)]
struct RecordingLink {
    /// Steps by name; `|` marks where they were made durable.
    steps: Vec<String>,
    guidance: Vec<Guidance>,
}

#[async_trait(?Send)]
impl LoopLink for RecordingLink {
    fn add_step(&mut self, step: Step) {
        let name = match step {
            Step::Intent(what) => format!("intent {what}"),
            Step::Done(done) => format!("{done:?}")
                .split([' ', '(', '{'])
                .next()
                .unwrap_or_default()
                .to_owned(),
        };
        self.steps.push(name);
    }

    async fn flush(&mut self) -> Result<(), LoopError> {
        self.steps.push("|".into());
        Ok(())
    }

    async fn flush_phase(&mut self, _log: &IterationLog) -> Result<(), LoopError> {
        self.flush().await
    }

    async fn guidance(&mut self) -> Result<Vec<Guidance>, LoopError> {
        Ok(self.guidance.clone())
    }

    fn take_told(&mut self) -> Vec<Guidance> {
        Vec::new()
    }

    fn control(&mut self) -> &mut dyn AgentControl {
        self
    }
}

#[async_trait(?Send)]
impl AgentControl for RecordingLink {
    async fn ready(&mut self) {
        std::future::pending().await
    }

    async fn read(&mut self, _tap: &mut dyn AgentTap) -> Vec<ControlRequest> {
        Vec::new()
    }

    async fn answer(&mut self, _id: u64, _reply: ControlReply, _tap: &mut dyn AgentTap) {}
}

#[derive(Default)]
struct Events(Vec<String>);

impl Reporter for Events {
    fn report(&mut self, event: &Event, _at: Timestamp) {
        let event = serde_json::to_value(event).unwrap();
        self.0.push(event["event"].as_str().unwrap().to_owned());
    }

    fn finish(&mut self) {}
}

struct Scene {
    test: TestRepo,
    link: RecordingLink,
    events: Events,
}

impl Scene {
    fn new() -> Self {
        let test = TestRepo::new();
        let story = json!({"id": "A", "title": "Write A", "passes": false,
            "acceptanceCriteria": ["A.txt is there"]});
        test.prd(&json!({"project": "Sample", "userStories": [story]}))
            .commit("tasks");
        Self {
            test,
            link: RecordingLink::default(),
            events: Events::default(),
        }
    }

    fn task(&self) -> Task {
        let (_, tasks) = Source::read(&self.test.path("prd.json"), self.test.root()).unwrap();
        tasks.into_iter().next().unwrap()
    }

    /// A job for task A that is verified by these commands.
    fn job(&self, verify: &[&str]) -> Job {
        let mut config = Config::default();
        let commands = verify.iter().map(|c| VerifyCommand::Shell((*c).to_owned()));
        config.verification.commands = commands.collect();
        Job {
            version: JOB_VERSION,
            iteration: IterationId::new("0190a"),
            number: 1,
            loop_id: LoopId::new("0180"),
            task: self.task(),
            attempt: 1,
            max_attempts: 3,
            started_at: Timestamp::from_second(1_700_000_000).unwrap(),
            start: StartPoint {
                branch: "main".into(),
                base_commit: self.test.head(),
                untracked: Vec::new(),
                attempt_ref: None,
            },
            policy: IterationPolicy {
                max_verify_retries: 0,
                max_overload_retries: 0,
                expects_change: true,
                purpose: Purpose::Attempt,
                lands: Lands::Claimed,
                handoffs: Handoffs::Allowed,
            },
            diagnose: None,
            history: AttemptHistory::default(),
            prompt: PromptParts::default(),
            limits: JobLimits {
                own_ms: 60_000,
                run_left_ms: None,
                run_minutes: 0,
                cost: None,
            },
            goal: None,
            config,
            prices: Prices::with(&std::collections::BTreeMap::new()),
            baseline: None,
        }
    }

    /// Runs a job with a shell script as the agent.
    async fn run(&mut self, job: &mut Job, shell: &str) -> Outcome {
        let agent = self.test.outside().join("agent.sh");
        write_program(&agent, shell);
        let agent = CommandAgent {
            name: "test".into(),
            command: vec![agent.to_string_lossy().into_owned()],
            env: Vec::new(),
        };
        let git_environment = git::GitEnvironment::from_vars(self.test.environment());
        let root = self.test.root().to_owned();
        let state_dir = self.test.data_dir().join("state");
        std::fs::create_dir_all(&state_dir).unwrap();
        let repo = Repo::open(&root, &state_dir, &git_environment)
            .await
            .unwrap();
        let (mut source, _) = Source::read(&root.join("prd.json"), &root).unwrap();
        let feature = ProgressFeature {
            name: "Sample".into(),
            parent: None,
        };
        let now = job.started_at;
        let progress = ProgressFile::new(&root, &job.config, feature, now);
        let policy = change_policy(&job.config).compile().unwrap();
        let config_files = ConfigFiles::default();
        let mut snapshots = Snapshots::default();
        let mut workspace = InPlace {
            root: &root,
            state_dir: &state_dir,
            repo: &repo,
            guard: None,
            before: None,
            policy: &policy,
            deciding: &ralph_core::change::DecidingFiles::by_name(),
            source: &mut source,
            snapshots: &mut snapshots,
            artefacts: None,
            config_files: &config_files,
            progress: &progress,
            own_paths: vec!["prd.json".into(), ".ralph".into()],
            read_only: Vec::new(),
            trusted: Vec::new(),
            has_mounts: false,
        };
        let vars = self.test.environment();
        let environment = Environment::scrub(vars, &[], &root);
        let (_sender, stop) = crate::stop_request::stop_request();
        let mut unpriced = HashSet::new();
        let mut services = Services {
            agent: &agent,
            agent_name: "test".into(),
            containment: Containment::Subreaper,
            environment: &environment,
            clock: &SystemClock,
            reporter: &mut self.events,
            stop,
            heartbeat: None,
            link: &mut self.link,
            unpriced: &mut unpriced,
        };
        run(job, &mut workspace, &mut services).await.unwrap()
    }
}

fn write_program(path: &Path, shell: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, format!("#!/bin/sh\ncat > /dev/null\n{shell}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

const GOOD: &str = "echo A > A.txt; echo Task A complete";

#[tokio::test]
async fn verified_work_comes_back_as_a_tree_that_is_still_to_land() {
    let mut scene = Scene::new();
    let before = scene.test.head();
    let mut job = scene.job(&["test -f A.txt"]);
    let outcome = scene.run(&mut job, GOOD).await;
    assert_eq!(outcome.verdict, Verdict::Verified);
    assert_eq!(outcome.landing, LandingState::Due);
    let change = outcome.log.change.as_ref().unwrap();
    assert_eq!(change.files.len(), 1);
    assert_eq!(change.files[0].path, "A.txt");
    let tree = scene.test.git(["ls-tree", "--name-only", &change.tree]);
    assert!(tree.lines().any(|name| name == "A.txt"), "{tree}");
    // Landing is the loop's: the branch has not moved, and the task is as it was.
    assert_eq!(scene.test.head(), before);
    assert!(!scene.test.read("prd.json").contains("true"));
}

#[tokio::test]
async fn steps_are_durable_after_the_agent_and_before_landing() {
    let mut scene = Scene::new();
    let mut job = scene.job(&["test -f A.txt"]);
    scene.run(&mut job, GOOD).await;
    assert_eq!(
        scene.link.steps,
        [
            "Bundled",
            "AgentEnded",
            "|",
            "Inspected",
            "Verified",
            "intent land",
            "|"
        ]
    );
}

#[tokio::test]
async fn work_that_fails_verification_is_kept_under_a_ref_and_the_base_is_back() {
    let mut scene = Scene::new();
    let mut job = scene.job(&["test -f B.txt"]);
    let outcome = scene.run(&mut job, GOOD).await;
    let Verdict::Failed { command, .. } = &outcome.verdict else {
        panic!("{:?}", outcome.verdict);
    };
    assert_eq!(command, "test -f B.txt");
    assert_eq!(outcome.landing, LandingState::Settled);
    let kept = outcome.tree_ref.as_deref().unwrap();
    assert_eq!(kept, "refs/ralph/attempts/0190a");
    assert_eq!(
        scene.test.git(["show", &format!("{kept}:A.txt")]).trim(),
        "A"
    );
    assert!(!scene.test.exists("A.txt"));
    assert_eq!(outcome.trace.unwrap().files, ["A.txt"]);
}

#[tokio::test]
async fn a_failed_verification_is_repaired_in_a_second_run_that_is_told_of_it() {
    let mut scene = Scene::new();
    let mut job = scene.job(&["grep -q two A.txt"]);
    job.policy.max_verify_retries = 1;
    let shell = r#"case $RALPH_RUN in 1) echo one > A.txt ;; *) echo two > A.txt ;; esac
        echo Task A complete"#;
    let outcome = scene.run(&mut job, shell).await;
    assert_eq!(outcome.verdict, Verdict::Verified);
    assert_eq!((outcome.last_run, outcome.log.runs.len()), (2, 2));
    let intents = scene.link.steps.iter().filter(|s| s.starts_with("intent"));
    assert_eq!(intents.collect::<Vec<_>>(), ["intent agent", "intent land"]);
}

#[tokio::test]
async fn a_claim_without_a_change_is_worth_nothing() {
    let mut scene = Scene::new();
    let mut job = scene.job(&["true"]);
    let outcome = scene.run(&mut job, "echo Task A complete").await;
    assert_eq!(outcome.verdict, Verdict::NoChange { claimed: true });
    assert_eq!(outcome.tree_ref, None);
}

#[tokio::test]
async fn a_change_without_a_claim_is_verified_and_kept() {
    let mut scene = Scene::new();
    let mut job = scene.job(&["test -f A.txt"]);
    let outcome = scene.run(&mut job, "echo A > A.txt; echo done").await;
    assert_eq!(outcome.verdict, Verdict::Unclaimed);
    assert!(outcome.tree_ref.is_some());
}

#[tokio::test]
async fn an_attempt_is_continued_from_its_ref() {
    let mut scene = Scene::new();
    let mut first = scene.job(&["test -f B.txt"]);
    let outcome = scene.run(&mut first, GOOD).await;
    let mut second = scene.job(&["test -f A.txt && test -f B.txt"]);
    second.iteration = IterationId::new("0190b");
    second.start.attempt_ref = outcome.tree_ref;
    let outcome = scene
        .run(&mut second, "echo B > B.txt; echo Task A complete")
        .await;
    assert_eq!(outcome.verdict, Verdict::Verified);
}

#[tokio::test]
async fn an_attempt_that_is_gone_is_said_and_the_base_is_the_start() {
    let mut scene = Scene::new();
    let mut job = scene.job(&["test -f A.txt"]);
    job.start.attempt_ref = Some("refs/ralph/attempts/0000".into());
    let outcome = scene.run(&mut job, GOOD).await;
    assert_eq!(outcome.verdict, Verdict::Verified);
    assert_eq!(job.start.attempt_ref, None);
    assert_eq!(scene.events.0[0], "notice");
}

#[tokio::test]
async fn a_status_that_the_agent_wrote_is_put_back_and_flagged() {
    let mut scene = Scene::new();
    let mut job = scene.job(&["test -f A.txt"]);
    let cheat = r#"sed -i 's/"passes": *false/"passes":true/' prd.json; echo A > A.txt; echo Task A complete"#;
    let outcome = scene.run(&mut job, cheat).await;
    assert_eq!(outcome.verdict, Verdict::Verified);
    let flags = &outcome.log.flags;
    assert!(
        flags.iter().any(|f| f.starts_with("task file: ")),
        "{flags:?}"
    );
    assert!(!scene.test.read("prd.json").contains("true"));
}

#[tokio::test]
async fn no_agent_is_started_without_money() {
    let mut scene = Scene::new();
    let mut job = scene.job(&["test -f A.txt"]);
    let max = ralph_core::dollars::Dollars::told(1.0);
    job.limits.cost = Some(JobCost {
        spent: max,
        max,
        budget: None,
    });
    let outcome = scene.run(&mut job, GOOD).await;
    assert!(
        matches!(outcome.verdict, Verdict::Budget { .. }),
        "{:?}",
        outcome.verdict
    );
    assert!(!outcome.agent_started);
    assert!(!scene.test.exists("A.txt"));
}

#[tokio::test]
async fn job_and_outcome_travel_as_json() {
    let mut scene = Scene::new();
    let job = scene.job(&["test -f A.txt"]);
    let json = serde_json::to_string(&job).unwrap();
    let mut job: Job = parse_versioned(&json).unwrap();
    let outcome = scene.run(&mut job, GOOD).await;
    let json = serde_json::to_string(&outcome).unwrap();
    assert_eq!(parse_versioned::<Outcome>(&json).unwrap(), outcome);
}
