//! Begins a loop, or goes on with one that was interrupted: lock, journal, repository, branch.
//!
//! Refuses by name whatever must not be touched, before anything is changed.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use ralph_core::{
    breaker::Breaker,
    change::DecidingFiles,
    config::{Config, Gigabytes, WorkspaceMode},
    event::Event,
    id::LoopId,
    loop_machine::{Loop, PauseState},
    task::VerifyCommand,
    termination::{Limits, Span},
    time::later,
    verify::{required_programs, starts_one_of},
};

use super::{
    AgentRuntime, AllowanceStart, Board, BranchRequest, Changed, CostWatch, Fallback, LoopError,
    LoopFailure, LoopOutput, LoopPlace, LoopRunner, LoopSettings, ProjectFiles, StartPoint,
    TaskScope,
    agent_pool::AgentPool,
    allowance::counts_tasks,
    branch_choice::{self, BranchPlan, start_of},
    clean_check::CleanWatch,
    control::{ControlChannel, TerminalQuestions},
    files::{check_configured_paths, feature},
    mode::{Mode, artefacts_of_mode},
    place::{OpenedRepository, register, state_dir},
    policies,
    restore::{self, BranchNow},
    start_options::LoopBounds,
    workspace_found::WorkspaceFound,
};
use crate::{
    agent::{Agent, StopRequest},
    clock::Clock,
    config_files::ConfigFiles,
    environment::Environment,
    git::{self, Guard, HeadNow, Repo, Status},
    human::Human,
    inbox::Inbox,
    lock::{Lock, LockUse},
    plain_file,
    prices::{prices_path, read_prices},
    process::Detection,
    progress_file::ProgressFile,
    report::Reporter,
    sandbox::{SandboxFound, SandboxPlace},
    source::{FoundBy, FoundSource, Snapshots, Source},
    store::{DataDir, Journal, LoopRow, NewLoop, RepositoryId, RepositoryMove},
    team::TeamBudgets,
    workspace::{BeforeRun, CacheAccess, LayerRequest, Layers, read_only_data},
};

/// The commands of tasks that are followed to the files that decide what they do.
const MOST_COMMANDS: usize = 500;

/// The parts that a loop is made of. The seams are chosen once, by the command.
pub struct Setup {
    pub root: PathBuf,
    pub data_dir: DataDir,
    pub config: Config,
    /// The project's `ralph.yaml`, as it was read.
    pub config_file: Option<(PathBuf, Vec<u8>)>,
    pub request: LoopRequest,
    pub agent: Box<dyn Agent>,
    /// The agent that goes on at a usage limit, where there is one.
    pub fallback: Option<Fallback>,
    pub detection: Detection,
    pub environment: Environment,
    pub git_environment: git::GitEnvironment,
    pub stop: StopRequest,
    /// Where a poke from another terminal arrives.
    pub inbox: Inbox,
    /// The person at the terminal, if one is there to be asked.
    pub human: Option<Box<dyn Human>>,
    /// The name of that person.
    pub who: String,
    /// The budgets of a team, where there is one.
    pub team: Option<TeamBudgets>,
    pub clock: Box<dyn Clock>,
    pub reporter: Box<dyn Reporter>,
    /// When the command was started.
    pub began: std::time::Instant,
    /// Said once the loop has begun: keys not in force, and the like.
    pub notices: Vec<String>,
}

/// The loop that the user asked for.
#[derive(Debug, Clone)]
pub struct LoopRequest {
    pub source: FoundSource,
    pub scope: TaskScope,
    pub span: Span,
    pub stash: bool,
    pub mode: Mode,
    /// The branch of a new loop.
    pub branch: BranchRequest,
    /// The bounds that flags set.
    pub bounds: LoopBounds,
    /// Since when the limits count.
    pub allowance: AllowanceStart,
}

/// Remarks on task files that are shown when a loop starts.
const MOST_ODD: usize = 3;

impl LoopRunner {
    /// Opens everything that a loop needs, and writes its row. An error until then leaves no loop behind.
    pub(super) async fn begin(setup: Setup) -> Result<(Self, Start), LoopFailure> {
        let (mut runner, found) = Self::open(setup).await?;
        match runner.prepare(found).await {
            Ok(start) => Ok((runner, start)),
            Err(error) => Err(LoopFailure {
                error,
                changed: runner.changed,
                told: None,
                hint: None,
            }),
        }
    }

    /// Opens the repository and the journal, and puts back what a killed run left.
    async fn open(setup: Setup) -> Result<(Self, FoundAtStart), LoopError> {
        check_configured_paths(&setup.config, &setup.root)?;
        let state_dir = state_dir(&setup.root, &setup.data_dir)?;
        let lock = Lock::acquire(&setup.data_dir, &setup.root, LockUse::Loop)?;
        // What a killed run left is put back before git is asked anything.
        let found = restore::restore_git(&state_dir)?;
        let repo = Repo::open(&setup.root, &state_dir, &setup.git_environment).await?;
        let mut journal = setup.data_dir.open_journal().await?;
        let now = setup.clock.now();
        let (repository, moved) = register(&repo, &mut *journal, now).await?;
        let mut interrupted = journal
            .interrupted_loop(&repository, &setup.root.to_string_lossy())
            .await?;
        let mut notices = setup.notices.clone();
        notices.extend(found.notices);
        let mut abandoned = None;
        let mut unreadable = Vec::new();
        let wanted = &setup.request.branch;
        let branch = match (&interrupted, found.guarded) {
            (Some(row), false) => {
                let head = repo.head_against(&row.branch)?;
                // Who names another branch or start wants no part of the loop that HEAD has left.
                if wanted.excludes(&row.branch) && matches!(head, HeadNow::Elsewhere { .. }) {
                    BranchNow::Gone
                } else {
                    restore::branch_now(head)?
                }
            }
            (_, _) => found.branch,
        };
        if let (Some(row), BranchNow::Gone) = (&interrupted, branch) {
            restore::record_abandoned(row, &mut *journal, now).await?;
            abandoned = interrupted.take();
        }
        if let Some(row) = &interrupted {
            if found.guarded {
                restore::restore_config(&state_dir, row, &mut *journal).await?;
            }
            let redaction = setup.environment.redaction();
            let restored =
                restore::restore_tasks(&state_dir, row, &mut *journal, redaction).await?;
            notices.extend(restored.notices);
            unreadable = restored.unreadable;
        }
        restore::hide_in_taken_away(&state_dir, setup.environment.redaction())?;
        notices.extend(restore::finish_rewrite(&setup, &repo, &mut *journal, &repository).await?);
        let head = repo.preflight().await?;
        let weaknesses = setup.detection.warnings();
        let stash = setup.request.stash;
        let branch = setup.request.branch.clone();
        let source = setup.request.source.by;
        let place = OpenedRepository {
            state_dir,
            repo,
            journal,
            repository,
            base: head.oid,
            lock: Some(lock),
        };
        let mut runner = Self::assemble(setup, place).await?;
        if let Some(artefacts) = &mut runner.files.artefacts {
            artefacts.tell_next(unreadable)?;
        }
        let found = FoundAtStart {
            interrupted,
            abandoned,
            moved,
            notices,
            weaknesses,
            stash,
            branch,
            source,
        };
        Ok((runner, found))
    }

    /// Goes on with the loop that was interrupted, or begins a new one.
    async fn prepare(&mut self, found: FoundAtStart) -> Result<Start, LoopError> {
        let FoundAtStart {
            interrupted,
            abandoned,
            moved,
            mut notices,
            weaknesses,
            stash,
            branch,
            source,
        } = found;
        let workspace = self.find_layers(interrupted.as_ref()).await?;
        notices.extend(workspace.notes());
        let mut sandbox = self.find_sandbox().await?;
        notices.append(&mut sandbox.notices);
        self.sweep()?;
        self.ensure_dot_ralph()?;
        notices.extend(self.keep_unknown_logs().await?);
        self.rebuild_files().await?;
        self.files.progress.archive(self.output.clock.now())?;
        self.recall_area().await?;
        notices.extend(self.refuse_unlisted_commands()?);
        self.refuse_missing_programs()?;
        if let Some(row) = &abandoned {
            self.close_abandoned_loop(row).await?;
        }
        let resumed = self.take_over(interrupted, &branch).await?;
        let told = match resumed {
            Resumed::No => self.open_new_loop(stash, &branch, source).await?,
            Resumed::Yes => Told {
                notices: self.remember_source(source).await?.into_iter().collect(),
                ..Told::default()
            },
        };
        self.derive_deciding().await?;
        notices.extend(told.warnings);
        Ok(Start {
            resumed,
            moved,
            workspace,
            sandbox,
            notices: told.notices,
            warnings: notices.into_iter().chain(weaknesses).collect(),
        })
    }

    /// Guards the git folder and tells of the start: the first that a loop does once its row is written.
    pub(super) async fn set_up(&mut self, start: Start) -> Result<(), LoopError> {
        if self.place.layers.is_none() {
            self.place.guard = Some(Guard::take(&self.place.repo)?);
        }
        self.announce(start);
        self.open_loop_files().await?;
        crate::failpoint::failpoint("loop-begun");
        Ok(())
    }

    /// Puts a runner together; nothing is begun yet.
    pub(super) async fn assemble(setup: Setup, place: OpenedRepository) -> Result<Self, LoopError> {
        let OpenedRepository {
            state_dir,
            repo,
            mut journal,
            repository,
            base,
            lock,
        } = place;
        let board = open_board(&setup, &mut *journal, &repository).await?;
        let mut config = setup.config;
        let mode = &setup.request.mode;
        let opened = artefacts_of_mode(mode, &setup.root, &state_dir, &mut *journal, &repository);
        let artefacts = opened.await?;
        let artefacts = artefacts.map(|opened| opened.adding_commands_to(&mut config));
        let redaction = setup.environment.redaction().clone();
        Ok(Self {
            loop_id: LoopId::default(),
            machine: Loop::new(
                Limits {
                    max_iterations: mode.max_iterations(&config, &board),
                    ..policies::limits(&config, setup.request.span)
                },
                Breaker::new(policies::breaker(&config)),
                config.breaker.on_open,
            ),
            files: ProjectFiles {
                config_files: ConfigFiles::of(
                    &setup.root,
                    setup.config_file.as_ref(),
                    mode.prompt_path(&setup.root, &board.source)
                        .into_iter()
                        .chain(prices_path(&config.economics, &setup.root))
                        .chain([setup.root.join(&config.tasks.parent_id_file)]),
                ),
                progress: ProgressFile::new(
                    &setup.root,
                    &config,
                    feature(&board, &setup.root),
                    setup.clock.now(),
                ),
                snapshots: Snapshots::default(),
                other_sources: Vec::new(),
                artefacts,
            },
            settings: LoopSettings {
                prices: read_prices(&config.economics, &setup.root)?,
                policy: policies::change(&config)
                    .compile()?
                    .finding(redaction.clone()),
                deciding: DecidingFiles::by_name(),
                goal: mode.goal().cloned(),
                bounds: setup.request.bounds,
                allowance: setup.request.allowance.or_now(setup.clock.now()),
                counts_tasks: counts_tasks(mode),
                config,
            },
            runtime: AgentRuntime {
                pool: AgentPool::new(setup.agent, setup.fallback),
                containment: setup.detection.containment,
                environment: setup.environment.of_run(&setup.data_dir, &setup.root),
            },
            place: LoopPlace {
                root: setup.root,
                data_dir: setup.data_dir.to_path_buf(),
                state_dir,
                repo,
                guard: None,
                before_run: BeforeRun::default(),
                repository,
                branch: String::new(),
                start: StartPoint::default(),
                base,
                tree: None,
                layers: None,
                _lock: lock,
            },
            control: ControlChannel {
                inbox: setup.inbox,
                human: setup.human,
                asking: TerminalQuestions::default(),
                who: setup.who,
                pause: PauseState::Running,
                resumed_by: None,
                since: setup.clock.now(),
                stop: setup.stop,
            },
            output: LoopOutput::new(setup.reporter, setup.clock, redaction),
            costs: CostWatch::of(setup.team),
            began: setup.began,
            earlier_time: Duration::ZERO,
            marked: None,
            changed: Changed::Nothing,
            baseline: None,
            landed_tests: Vec::new(),
            clean: CleanWatch::default(),
            board,
            journal,
        })
    }

    /// Works out which files decide what the verify commands do, before an agent can change any.
    async fn derive_deciding(&mut self) -> Result<(), LoopError> {
        let mut commands = self.settings.config.verification.commands.clone();
        // Tasks often share their commands, and there may be many of them.
        let mut seen: HashSet<String> = HashSet::new();
        let of_tasks = self
            .board
            .graph()
            .tasks()
            .iter()
            .flat_map(|task| &task.verify);
        let of_tasks = of_tasks.filter(|command| seen.insert(command.to_string()));
        commands.extend(of_tasks.take(MOST_COMMANDS).cloned());
        let tracked = self.place.repo.tracked_paths().await?;
        let root = &self.place.root;
        let read = |path: &Path| plain_file::read(&root.join(path)).ok();
        self.settings.deciding = DecidingFiles::derive(&commands, &tracked.files, &read);
        Ok(())
    }

    /// Opens the layers that agents work in, where there can be some.
    async fn find_layers(
        &mut self,
        interrupted: Option<&LoopRow>,
    ) -> Result<WorkspaceFound, LoopError> {
        let workspace = &self.settings.config.workspace;
        let mode = workspace.mode;
        if mode == WorkspaceMode::InPlace {
            return Ok(WorkspaceFound::Asked);
        }
        let unfinished = match interrupted {
            Some(row) => self.journal.unfinished_iteration(&row.id).await?,
            None => None,
        };
        let temp_dir = self.runtime.environment.temp_dir();
        let found = Layers::open(LayerRequest {
            repo: &self.place.repo,
            data_dir: &self.place.data_dir,
            temp_dir: &temp_dir,
            read_only: read_only_data(
                &self.place.data_dir,
                &self.place.root,
                &self.runtime.environment,
            ),
            containment: self.runtime.containment,
            max_bytes: workspace.max_gb.map(Gigabytes::bytes),
            unfinished: unfinished.as_ref().map(|iteration| &iteration.start.id),
            caches: CacheAccess::Write,
        });
        match found.await? {
            Ok(layers) => {
                let found = WorkspaceFound::of(&layers);
                self.place.layers = Some(layers);
                Ok(found)
            }
            Err(reason) if mode == WorkspaceMode::Overlay => Err(LoopError::NoLayer { reason }),
            Err(reason) => Ok(WorkspaceFound::InPlace { reason }),
        }
    }

    /// Finds the walls that programs of this loop get; returns what there is, in words.
    async fn find_sandbox(&mut self) -> Result<SandboxStart, LoopError> {
        let place = SandboxPlace {
            config: &self.settings.config,
            environment: &self.runtime.environment,
            root: &self.place.root,
            repo: Some(&self.place.repo),
            data_dir: &self.place.data_dir,
            containment: self.runtime.containment,
        };
        let (found, missing) = place.find().await?;
        let mut start = SandboxStart {
            sentence: found.sentence(),
            absence: None,
            notices: Vec::new(),
        };
        match found {
            SandboxFound::Walls(sandbox) => {
                self.runtime.environment.sandbox = Some((*sandbox).into());
                self.refuse_what_the_image_lacks().await?;
                start.notices.extend(missing);
                start.notices.extend(self.needs_docker());
            }
            SandboxFound::Absent { reason } => start.absence = Some(reason),
            SandboxFound::Off => {}
        }
        Ok(start)
    }

    /// Refuses an image without the program of an agent or of a verify command.
    async fn refuse_what_the_image_lacks(&self) -> Result<(), LoopError> {
        let Some(sandbox) = self.runtime.environment.sandbox.as_deref() else {
            return Ok(());
        };
        let Some(image) = sandbox.image() else {
            return Ok(());
        };
        let agents = self.runtime.pool.programs();
        let verification = &self.settings.config.verification;
        // Commands that make a checkout ready may install the others.
        let commands = if verification.prepare.is_empty() {
            &verification.commands
        } else {
            &verification.prepare
        };
        let root = &self.place.root;
        let is_asked = |program: &&str| {
            let path = Path::new(program);
            path.components().count() == 1 || path.is_absolute() && !path.starts_with(root)
        };
        let needed = commands.iter().flat_map(required_programs);
        let all: Vec<&str> = agents
            .iter()
            .map(String::as_str)
            .chain(needed)
            .filter(is_asked)
            .collect();
        let (vars, containment) = (&self.runtime.environment.vars, self.runtime.containment);
        let missing = sandbox.missing_in_image(&all, vars, containment).await;
        let missing = missing.map_err(|reason| LoopError::NoSandbox { reason })?;
        let Some(program) = missing.first() else {
            return Ok(());
        };
        let lacks = |command: &&VerifyCommand| required_programs(command).contains(&&**program);
        Err(LoopError::NotInImage {
            image: image.to_owned(),
            program: program.clone(),
            user: match commands.iter().find(lacks) {
                Some(command) if !agents.contains(program) => format!("`{command}`"),
                Some(_) | None => "the agent".to_owned(),
            },
        })
    }

    /// Names the verify commands that need a service that is out of sight, and the ways out.
    fn needs_docker(&self) -> Option<String> {
        const PROGRAMS: [&str; 5] = ["docker", "docker-compose", "podman", "nerdctl", "buildah"];
        let verification = &self.settings.config.verification;
        let own = self.board.open_tasks().flat_map(|task| &task.verify);
        let mut all = verification
            .prepare
            .iter()
            .chain(&verification.commands)
            .chain(own);
        let found = all.find(|command| starts_one_of(command, &PROGRAMS))?;
        let shown = &self.settings.config.safety.allow_write;
        if shown
            .iter()
            .any(|path| path.extension().is_some_and(|end| end == "sock"))
        {
            return None;
        }
        Some(format!(
            "`{found}` needs a service that is out of sight in the sandbox: `safety.allow_write` with its socket \
             (`/var/run/docker.sock`) shows it, which lets agents do anything on this machine; else \
             `safety.sandbox: off`, or verify without it"
        ))
    }

    /// Says what an agent can reach that it should not, where nothing keeps it from that.
    fn sandbox_warning(&self, start: &SandboxStart) -> Option<String> {
        if let Some(reason) = &start.absence {
            return Some(format!(
                "there is no sandbox on this machine: {} and verify commands can do what you can ({reason})",
                self.runtime.pool.main_name()
            ));
        }
        let has_walls = self.runtime.environment.sandbox.is_some();
        self.runtime.pool.agent().warning().filter(|_| !has_walls)
    }

    /// Goes on with an interrupted loop of the same source and branch. Another one is brought to an
    /// end first: its work must not be taken for ours.
    async fn take_over(
        &mut self,
        interrupted: Option<LoopRow>,
        wanted: &BranchRequest,
    ) -> Result<Resumed, LoopError> {
        let Some(row) = interrupted else {
            return Ok(Resumed::No);
        };
        self.loop_id.clone_from(&row.id);
        self.place.branch.clone_from(&row.branch);
        self.place.start = start_of(&row.config);
        if row.source == self.board.source.name() && !wanted.excludes(&row.branch) {
            self.baseline = row
                .baseline
                .as_deref()
                .and_then(|b| serde_json::from_str(b).ok());
            self.recall_landed(&row.id).await?;
            // Who starts it again wants it to go on, as far as is said now.
            self.journal.set_paused(&row.id, None).await?;
            let config = self.with_bounds(&row.config);
            self.journal.set_config(&row.id, &config).await?;
            return Ok(Resumed::Yes);
        }
        self.abandon(&row).await?;
        Ok(Resumed::No)
    }

    /// The area of the task that this source's last loop completed last: the next one is looked for
    /// there first.
    async fn recall_area(&mut self) -> Result<(), LoopError> {
        let worktree = self.place.root.to_string_lossy().into_owned();
        let last = self
            .journal
            .last_loop(&self.place.repository, &worktree)
            .await?;
        if let Some(row) = last.filter(|row| row.source == self.board.source.name())
            && let Some(id) = self.journal.last_completed(&row.id).await?
        {
            self.board.set_last_area(&id);
        }
        Ok(())
    }

    /// Plans the branch, takes it where there is something to do, and writes the loop down. Gives what a
    /// person should hear of it.
    async fn open_new_loop(
        &mut self,
        stash: bool,
        wanted: &BranchRequest,
        source: FoundBy,
    ) -> Result<Told, LoopError> {
        let mut plan = self.plan_branch(wanted).await?;
        self.loop_id = LoopId::new(uuid::Uuid::now_v7());
        self.place.branch.clone_from(&plan.branch);
        self.place.start.clone_from(&plan.start);
        let has_work = self.has_work().await?;
        if has_work {
            plan.notices
                .extend(self.refuse_foreign_changes(stash).await?);
            if let Err(error) = self.take_branch(&plan).await {
                self.bring_back().await;
                return Err(error);
            }
        } else {
            self.place.base.clone_from(&plan.tip);
        }
        // Before the loop: one that is killed as it begins is found again by the choice.
        let remembered = self.remember_source(source).await?;
        let config = self.persisted_config();
        let worktree = self.place.root.to_string_lossy().into_owned();
        let at = self.after_last_loop().await?;
        let new = NewLoop {
            id: &self.loop_id,
            repository: &self.place.repository,
            worktree: &worktree,
            source: self.board.source.name(),
            goal: &self.what_it_is_about(),
            branch: &self.place.branch,
            base_commit: self.place.base.as_str(),
            agent: &self.runtime.pool.main_name(),
            config: &config,
            at,
        };
        self.journal.begin_loop(&new).await?;
        let mut told = Told::default();
        if has_work {
            told.notices = plan.notices;
            told.warnings = plan.warnings;
        }
        told.notices.extend(remembered);
        Ok(told)
    }

    /// The time at which a new loop begins: now, but never before the last one. With a clock that went back,
    /// the last loop would not be the last.
    async fn after_last_loop(&mut self) -> Result<Timestamp, LoopError> {
        let now = self.output.clock.now();
        let loops = self.journal.loops(&self.place.repository, 1).await?;
        let last: Option<Timestamp> = loops.first().and_then(|row| row.started_at.parse().ok());
        Ok(match last {
            // A whole second, so that the texts of the two are in order too.
            Some(last) if last >= now => later(last, Duration::from_secs(1)),
            Some(_) | None => now,
        })
    }

    /// Plans the branch of a new loop, and puts the tasks on the board as they are there. Changes nothing.
    pub(super) async fn plan_branch(
        &mut self,
        wanted: &BranchRequest,
    ) -> Result<BranchPlan, LoopError> {
        let branch = wanted.name.clone().unwrap_or_else(|| self.branch_name());
        let files = self.source_files();
        let (repo, journal) = (&self.place.repo, &mut *self.journal);
        let chosen = (branch.as_str(), &wanted.start);
        let repository = &self.place.repository;
        let plan = branch_choice::plan_branch(repo, journal, repository, chosen, &files).await?;
        let (head, _) = repo.head_and_branch()?;
        let there = branch_choice::tasks_at(repo, &self.board.source, (&head, &plan.tip)).await?;
        if let Some((source, tasks)) = there {
            self.board.replace_tasks(source, tasks)?;
        }
        Ok(plan)
    }

    /// Remembers the source that a person named for runs without a name. Gives what they should hear of it.
    async fn remember_source(&mut self, by: FoundBy) -> Result<Option<String>, LoopError> {
        let name = self.board.source.name();
        match by {
            FoundBy::Named => {
                let repository = &self.place.repository;
                let before = self.journal.chosen_source(repository).await?;
                if before.as_deref() == Some(name) {
                    return Ok(None);
                }
                self.journal.choose_source(repository, Some(name)).await?;
                Ok(Some(format!(
                    "`ralph run` works on {name} from now on; `ralph tasks source` shows and changes that"
                )))
            }
            FoundBy::Chosen => Ok(Some(format!(
                "tasks of {name}, as chosen before; `ralph run FILE` chooses others"
            ))),
            FoundBy::Configured | FoundBy::Alone | FoundBy::Given => Ok(None),
        }
    }

    /// Tells whether there is anything to do on the branch: a task, a person's command, or a question that
    /// can be asked now.
    async fn has_work(&mut self) -> Result<bool, LoopError> {
        let can_ask = self.control.human.is_some() && self.board.open_questions() > 0;
        if can_ask || self.board.next().is_some() {
            return Ok(true);
        }
        let worktree = self.place.root.to_string_lossy().into_owned();
        let waiting = self
            .journal
            .waiting_commands(&self.place.repository, &worktree);
        Ok(!waiting.await?.is_empty())
    }

    /// Tracked files with changes that are not ralph's.
    pub(super) fn foreign_changes(&self, status: &Status) -> Vec<String> {
        let own = self.own_paths();
        let foreign = status
            .changed
            .iter()
            .filter(|e| !own.iter().any(|o| e.path.starts_with(o)));
        foreign
            .map(|e| ralph_core::change::shown(&e.path))
            .collect()
    }

    /// The user's uncommitted work is theirs: refused by name, or put aside if they said so.
    async fn refuse_foreign_changes(&mut self, stash: bool) -> Result<Option<String>, LoopError> {
        let foreign = self.foreign_changes(&self.place.repo.status().await?);
        if foreign.is_empty() {
            Ok(None)
        } else if stash {
            self.put_aside().await
        } else {
            Err(LoopError::Dirty { paths: foreign })
        }
    }

    /// The PRD's own name, else the parent task's title, else the project's, behind the prefix.
    pub(super) fn branch_name(&self) -> String {
        let meta = self.board.source.meta();
        if let Some(name) = meta.branch_name {
            return name;
        }
        let title = self.feature().name;
        format!(
            "{}{}",
            self.settings.config.repo.branch_prefix.as_str(),
            git::slug(&title)
        )
    }

    /// Things in the task files that were read by their nearest meaning, the first of them in full.
    fn odd_in_tasks(&self) -> Vec<String> {
        let source = &self.board.source;
        let all = source.warnings().count();
        let mut said: Vec<String> = source.warning_sentences().take(MOST_ODD).collect();
        if all > said.len() {
            said.push(format!(
                "{} more in the task files; `ralph lint` lists them",
                all - said.len()
            ));
        }
        said
    }

    fn announce(&mut self, start: Start) {
        let Start {
            resumed,
            moved,
            workspace,
            sandbox,
            notices,
            warnings,
        } = start;
        self.tell(&Event::LoopStarted {
            loop_id: self.loop_id.clone(),
            command: self.command(),
            source: self.board.source.name().to_owned(),
            branch: self.place.branch.clone(),
            from: self.place.start.shown(),
            agent: self.runtime.pool.main_name(),
            workspace: workspace.sentence(),
            sandbox: sandbox.sentence.clone(),
            tasks: self.board.tally(),
            max_iterations: self.machine.limits().max_iterations,
            resumed: resumed == Resumed::Yes,
        });
        match moved {
            RepositoryMove::Stayed => {}
            RepositoryMove::From(place) => {
                self.notice(format!("this repository was at {place} before"))
            }
            RepositoryMove::CopyOf(place) => self.notice(format!(
                "this repository is a copy of {place}; it has its own history now"
            )),
        }
        for message in self.board.source.readings().into_iter().chain(notices) {
            self.notice(message);
        }
        for message in self.odd_in_tasks().into_iter().chain(warnings) {
            self.warn(message);
        }
        let warnings = [
            self.sandbox_warning(&sandbox),
            self.untold_cost(),
            self.unused_instructions(),
            self.unused_continuation(),
        ];
        let unclear = self.files.artefacts.iter().flat_map(|a| a.unclear.clone());
        let warnings: Vec<String> = warnings.into_iter().flatten().chain(unclear).collect();
        for message in warnings {
            self.warn(message);
        }
        for event in self.models_without_price() {
            self.tell(&event);
        }
    }
}

/// The state in which a worktree was found.
struct FoundAtStart {
    interrupted: Option<LoopRow>,
    /// An interrupted loop whose branch is gone.
    abandoned: Option<LoopRow>,
    moved: RepositoryMove,
    notices: Vec<String>,
    weaknesses: Vec<String>,
    stash: bool,
    branch: BranchRequest,
    source: FoundBy,
}

/// The walls that a loop starts with, for people.
struct SandboxStart {
    sentence: String,
    /// The reason why there are none, though they were not turned off.
    absence: Option<String>,
    notices: Vec<String>,
}

/// The facts of a start that people are told.
pub(super) struct Start {
    resumed: Resumed,
    moved: RepositoryMove,
    workspace: WorkspaceFound,
    sandbox: SandboxStart,
    notices: Vec<String>,
    warnings: Vec<String>,
}

/// The messages about the branch of a new loop.
#[derive(Debug, Default)]
struct Told {
    notices: Vec<String>,
    warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resumed {
    Yes,
    No,
}

async fn open_board(
    setup: &Setup,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
) -> Result<Board, LoopError> {
    let (source, tasks) = Source::read(&setup.request.source.path, &setup.root)?;
    let states = journal.task_states(repository, source.name()).await?;
    let known = journal.task_list(repository, source.name()).await?;
    let mut board = Board::new(source, tasks, setup.request.scope.clone(), states)?;
    board.recall_list(known);
    Ok(board)
}
