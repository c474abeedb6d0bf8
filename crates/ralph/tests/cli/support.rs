//! Starts the program, and writes a journal for it to read.

use ralph_core::{
    agent::{Ending, Usage},
    id::LoopId,
    iteration::ChangedFile,
    record::{AgentStatements, GitRecord, IterationRecord, RunRecord, VerificationRecord},
    signal::{ClosingBlock, FollowUp},
    task::TaskId,
    termination::Stop,
    verdict::Verdict,
};
use ralph_engine::{
    identity,
    store::{
        IterationEnd, IterationStart, Journal, NewLoop, RepositoryId, TaskHistory, TokenUsage,
    },
};
use ralph_testkit::TestRepo;
use serde_json::{Value, json};

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The one JSON document on standard output, of a run that ended with this code.
    #[track_caller]
    pub(crate) fn json(&self, code: i32) -> Value {
        assert_eq!(self.code, code, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }

    #[track_caller]
    pub(crate) fn text(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        &self.out
    }

    /// What standard error says, of a run that ended with this code and printed nothing else.
    #[track_caller]
    pub(crate) fn error(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        &self.err
    }
}

/// Runs `ralph` at the top of the repository.
pub(crate) fn ralph(repo: &TestRepo, args: &[&str]) -> Ran {
    ralph_with(repo, args, &[])
}

/// The same, with more variables in its environment.
pub(crate) fn ralph_with(repo: &TestRepo, args: &[&str], vars: &[(&str, &str)]) -> Ran {
    let output = repo
        .command(env!("CARGO_BIN_EXE_ralph"))
        .args(args)
        .envs(vars.iter().copied())
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A repository with three stories: one complete, one ready, one that waits for it.
pub(crate) fn shop() -> TestRepo {
    let repo = TestRepo::new();
    repo.prd(&json!({
        "project": "Shop",
        "userStories": [
            {
                "id": "US-001", "title": "Add a cart", "priority": 1, "passes": true,
                "description": "Add src/cart.rs with a Cart that holds items.",
                "acceptanceCriteria": ["`cargo test cart` passes"]
            },
            {
                "id": "US-002", "title": "Show the cart", "priority": 2, "passes": false,
                "description": "Show in src/page.rs what the Cart holds, a line an item.",
                "acceptanceCriteria": ["`cargo test page` passes"],
                "verify": ["cargo test page"],
                "dependsOn": ["US-001"]
            },
            {
                "id": "US-003", "title": "Empty the cart", "priority": 3, "passes": false,
                "description": "Add `Cart::clear` to src/cart.rs and call it after paying.",
                "acceptanceCriteria": ["`cargo test clear` passes"],
                "dependsOn": ["US-002"]
            }
        ]
    }));
    repo.commit("tasks");
    repo
}

pub(crate) fn at(time: &str) -> jiff::Timestamp {
    format!("2026-01-02T{time}Z").parse().unwrap()
}

/// The journal of a repository in which one loop ran.
pub(crate) struct Written {
    runtime: tokio::runtime::Runtime,
    journal: Box<dyn Journal>,
    pub(crate) repository: RepositoryId,
    source: String,
    loop_id: LoopId,
}

impl Written {
    /// Begins a loop at 03:00.
    pub(crate) fn begin(repo: &TestRepo, source: &str, loop_id: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let common = repo.path(".git");
        let minted = identity::read_id(&common);
        let (mut journal, repository) = runtime.block_on(async {
            let mut journal = ralph_engine::store::open(&repo.data_dir()).await.unwrap();
            let found = journal.repository(&common, minted.as_deref(), at("03:00:00"));
            let (repository, _) = found.await.unwrap();
            (journal, repository)
        });
        identity::write_id(&common, &repository.0).unwrap();
        let new = NewLoop {
            id: &loop_id.into(),
            repository: &repository,
            worktree: repo.root().to_str().unwrap(),
            source,
            goal: "Shop",
            branch: "ralph/shop",
            base_commit: "b45e",
            agent: "script:demo.yaml",
            config: "{}",
            at: at("03:00:00"),
        };
        runtime.block_on(journal.begin_loop(&new)).unwrap();
        Self {
            runtime,
            journal,
            repository,
            source: source.to_owned(),
            loop_id: loop_id.into(),
        }
    }

    /// Begins an iteration that has no end yet; gives its number.
    pub(crate) fn start(&mut self, task: &str, attempt: u32) -> u64 {
        let start = IterationStart {
            diagnose: None,
            lands: ralph_core::iteration::Lands::Claimed,
            id: format!("{}-{task}-{attempt}", self.loop_id).into(),
            loop_id: self.loop_id.clone(),
            task: TaskId::parse(task).unwrap(),
            attempt,
            base_commit: "b45e".into(),
            untracked: Vec::new(),
            at: at("03:01:00"),
        };
        let begun = self.journal.begin_iteration(&self.repository, &start);
        self.runtime.block_on(begun).unwrap()
    }

    /// Writes an iteration from its beginning to its end; gives its record.
    pub(crate) fn iteration(
        &mut self,
        (task, title, attempt): (&str, &str, u32),
        verdict: Verdict,
        adapt: impl FnOnce(&mut IterationRecord, &mut TaskHistory),
    ) -> IterationRecord {
        let n = self.start(task, attempt);
        let mut record = record(&self.loop_id, n, (task, title, attempt), verdict);
        let mut state = TaskHistory {
            attempts: u32::from(record.verdict.is_charged()),
            last_verdict: Some(record.verdict.name().into()),
            ..TaskHistory::default()
        };
        adapt(&mut record, &mut state);
        self.end_with(&record, &state, &TokenUsage::default());
        record
    }

    /// Writes a verified iteration with what it used.
    pub(crate) fn accounted(&mut self, task: (&str, &str, u32), accounts: &TokenUsage) {
        let n = self.start(task.0, task.2);
        let record = record(&self.loop_id, n, task, Verdict::Verified);
        self.end_with(&record, &TaskHistory::default(), accounts);
    }

    fn end_with(&mut self, record: &IterationRecord, state: &TaskHistory, accounts: &TokenUsage) {
        let ended = IterationEnd {
            pending: &[],
            record,
            state,
            checkpoint: None,
            accounts,
        };
        let ended = self
            .journal
            .end_iteration(&self.repository, &self.source, ended);
        self.runtime.block_on(ended).unwrap();
    }

    pub(crate) fn state(&mut self, task: &str, state: &TaskHistory) {
        let task = TaskId::parse(task).unwrap();
        let set = self
            .journal
            .set_task_state(&self.repository, &self.source, &task, state);
        self.runtime.block_on(set).unwrap();
    }

    /// Ends the loop at 04:00.
    pub(crate) fn end(&mut self, stop: &Stop) {
        let (repository, id) = (&self.repository, &self.loop_id);
        let end = self
            .journal
            .end_loop(repository, id, stop, at("04:00:00"), None);
        self.runtime.block_on(end).unwrap();
    }
}

/// The history of a task with an open question about it as it is in `prd.json`.
pub(crate) fn asked(repo: &TestRepo, task: &str, question: &str) -> TaskHistory {
    let read = ralph_core::task::format::parse("prd.json", 0, repo.read("prd.json").as_bytes());
    let tasks = read.unwrap().tasks;
    let task = tasks.iter().find(|one| one.id.as_str() == task).unwrap();
    TaskHistory {
        question: Some(question.into()),
        asked_of: Some(ralph_core::board::wording(task)),
        ..TaskHistory::default()
    }
}

fn record(
    loop_id: &LoopId,
    n: u64,
    (task, title, attempt): (&str, &str, u32),
    verdict: Verdict,
) -> IterationRecord {
    let landed = verdict == Verdict::Verified;
    let usage = Usage {
        input_tokens: 1_000,
        output_tokens: 200,
        cost_usd: Some(0.25),
        ..Usage::default()
    };
    IterationRecord {
        health_state: Default::default(),
        events: Vec::new(),
        guidance: Vec::new(),
        trace: None,
        diagnoses: None,
        diagnosis: None,
        iteration_id: format!("{loop_id}-{task}-{attempt}").into(),
        iteration: n,
        loop_id: loop_id.clone(),
        task_id: task.to_owned(),
        title: title.to_owned(),
        attempt,
        started_at: at("03:01:00"),
        ended_at: at("03:03:30"),
        runs: vec![RunRecord {
            connections: Vec::new(),
            run: 1,
            agent: "script:demo.yaml".into(),
            command: vec!["ralph".into(), "__play-script".into()],
            model: Some("script".into()),
            version: None,
            ending: Ending::Finished,
            prompt_bytes: 900,
            turns: Some(3),
            denied: Vec::new(),
            context: ralph_core::agent::ContextUse {
                window: Some(200_000),
                turns: vec![50_000],
            },
            seconds: 120.0,
            usage,
        }],
        git: GitRecord {
            branch: "ralph/shop".into(),
            base_commit: "b45e".into(),
            result_commit: landed.then(|| format!("{n}c0ffee1234567890")),
            kept_ref: None,
            files_changed: vec![ChangedFile {
                path: "src/cart.rs".into(),
                kind: "added".into(),
            }],
        },
        verification: vec![VerificationRecord {
            run: 1,
            command: "cargo test".into(),
            outcome: "exit code 0".into(),
            passed: landed,
            seconds: 4.5,
            against_baseline: "same".into(),
            signature: None,
            tail: String::new(),
            tests: None,
        }],
        unverified: false,
        suggested: Vec::new(),
        outcome: verdict.outcome(),
        verdict,
        feedback: None,
        flags: Vec::new(),
        said: AgentStatements {
            claimed: true,
            final_message: "Task complete".into(),
            ..AgentStatements::default()
        },
        usage,
    }
}

/// A closing block with these follow-ups.
pub(crate) fn suggesting(titles: &[(&str, &str)]) -> ClosingBlock {
    ClosingBlock {
        follow_ups: titles
            .iter()
            .map(|(title, description)| FollowUp {
                title: (*title).to_owned(),
                description: (*description).to_owned(),
            })
            .collect(),
        ..ClosingBlock::default()
    }
}

pub(crate) fn failed() -> Verdict {
    Verdict::Failed {
        command: "cargo test".into(),
        signature: "5168".into(),
    }
}
