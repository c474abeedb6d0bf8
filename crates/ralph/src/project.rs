//! Opens the project that a command was started in: its configuration, its tasks, its journal.

use std::{
    cell::RefCell,
    ffi::OsString,
    path::{Path, PathBuf},
};

use ralph_core::{
    config::{Config, FlagValue, StoreConfig, StoreMode},
    sanitize::terminal_safe,
    secret::{NamedValue, Redaction},
    task::{
        TaskId,
        graph::{Graph, Problem},
    },
};
use ralph_engine::{
    clock::{Clock as _, SystemClock},
    environment::{Environment, RUN_DATA, is_credential},
    git::GitEnvironment,
    loop_runner::{UntidyWorktree, tidy_programs},
    plain_file,
    settings::{self, ProjectKind, Request, Settings, Surroundings},
    source::{
        self, FindError, FoundBy, FoundSource, KnownSources, OfferedList, Source, SourceError,
        SourceSearch,
    },
    store::{DataDir, Journal, RepositoryId},
    team::{
        StoreAddress, SyncPlan, TeamBudgets, journal_on_server, machine_name, open_budgets,
        store_passwords,
    },
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{cli::Global, error::CommandError, output};

/// Hides the credentials of the environment, for a command that opens no project.
pub(crate) fn redaction_of_environment(root: &Path) -> Redaction {
    let environment = Environment::scrub(std::env::vars_os(), &[], root);
    environment.redaction().clone()
}

pub(crate) struct Project {
    pub(crate) settings: Settings,
    pub(crate) surroundings: Surroundings,
    /// Remarks on the task source that were made: each is made once.
    remarks: RefCell<Vec<String>>,
}

/// The purpose of a task source, with the command that takes the name of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceUse {
    /// It is only read: a list that is not chosen yet will do, if there is only one.
    Look(&'static str),
    /// Tasks are worked on or changed.
    Work(&'static str),
}

impl SourceUse {
    /// The command of those that take no name.
    pub(crate) const CHOOSE: &'static str = "ralph tasks source";

    fn command(self) -> &'static str {
        match self {
            Self::Look(command) | Self::Work(command) => command,
        }
    }
}

/// Which tasks a loop would work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    Below(TaskId),
    /// The file of the parent names a task that is not there.
    Lost {
        message: String,
    },
}

impl Scope {
    pub(crate) fn parent(&self) -> Option<&TaskId> {
        match self {
            Self::Below(id) => Some(id),
            Self::All | Self::Lost { .. } => None,
        }
    }
}

impl Project {
    pub(crate) fn new(settings: Settings, surroundings: Surroundings) -> Self {
        Self {
            settings,
            surroundings,
            remarks: RefCell::default(),
        }
    }

    pub(crate) fn open(global: &Global, flags: Vec<FlagValue>) -> Result<Self, CommandError> {
        let project = Self::look(global, flags)?;
        if let Some(untidy) = project.untidy() {
            let environment = project.git_environment();
            let tidied = async { untidy.tidy(&environment).await.map_err(CommandError::user) };
            let _ = block_on(tidied);
        }
        Ok(project)
    }

    /// The same, from within a runtime.
    pub(crate) async fn open_again(global: &Global) -> Result<Self, CommandError> {
        let project = Self::look(global, Vec::new())?;
        if let Some(untidy) = project.untidy() {
            let _ = untidy.tidy(&project.git_environment()).await;
        }
        Ok(project)
    }

    /// Opens it, and changes nothing.
    pub(crate) fn look(global: &Global, flags: Vec<FlagValue>) -> Result<Self, CommandError> {
        let surroundings = global.surroundings()?;
        let request = Request {
            config_file: global.config.clone(),
            flags,
        };
        let settings = settings::load(&surroundings, request).map_err(CommandError::user)?;
        let project = Self::new(settings, surroundings);
        output::hide_values(project.environment(project.root()).redaction());
        Ok(project)
    }

    /// Finds what a killed ralph left here, to be finished. What can't be finished now is no reason not to do what
    /// was asked: the next command tries again.
    fn untidy(&self) -> Option<UntidyWorktree> {
        let data_dir = self.data_dir().ok()?;
        tidy_programs(&data_dir);
        UntidyWorktree::find(self.root(), &data_dir)
    }

    pub(crate) fn config(&self) -> &Config {
        &self.settings.resolved.config
    }

    pub(crate) fn root(&self) -> &Path {
        &self.settings.root
    }

    /// The folder of the journal: `$RALPH_DATA_DIR`, else the user's data folder.
    pub(crate) fn data_dir(&self) -> Result<DataDir, CommandError> {
        let folder = data_dir_of(&self.surroundings).ok_or_else(|| {
            CommandError::user("can't find a folder for the journal: HOME is not set")
                .hint("set RALPH_DATA_DIR")
        })?;
        let data_dir = DataDir::from(folder);
        match (self.config().store.mode(), self.tenant()) {
            (StoreMode::Direct, Some(tenant)) => {
                let waits = |text: &str| output::print_warning(text);
                let address = self.store_address()?;
                Ok(journal_on_server(data_dir, &address, tenant, waits)?)
            }
            // Without a tenant the settings are refused.
            (StoreMode::Direct | StoreMode::Sync | StoreMode::Local, _) => Ok(data_dir),
        }
    }

    /// The top of the repository that ralph works in.
    pub(crate) fn git_root(&self) -> Result<PathBuf, CommandError> {
        let root = self.root();
        let found = settings::find_project(root).map_err(CommandError::user)?;
        match found.kind {
            ProjectKind::Repository if found.root == root => Ok(found.root),
            ProjectKind::Repository => Err(CommandError::user(format!(
                "`repo.root` must be the top of a repository: {} is within {}",
                root.display(),
                found.root.display()
            ))),
            ProjectKind::Folder => Err(CommandError::user(format!(
                "{} is not in a git repository",
                root.display()
            ))
            .hint("create one with `git init` and make a first commit")),
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let found = self.surroundings.env.iter().find(|(n, _)| n == name);
        found
            .map(|(_, v)| v.to_string_lossy().into_owned())
            .filter(|v| !v.is_empty())
    }

    /// The environment for programs that are started here. The token of a webhook stays with ralph.
    pub(crate) fn environment(&self, root: &Path) -> Environment {
        let config = self.config();
        let token = config.notify.webhook_token_env.as_ref();
        let is_token = |name: &OsString| token.is_some_and(|token| name == token.as_str());
        let vars = self.surroundings.env.iter().cloned();
        let vars = vars.filter(|(name, _)| !is_token(name));
        Environment::scrub(vars, &config.safety.pass_env, root).hiding(self.configured_secrets())
    }

    /// The environment for git calls of ralph's own.
    pub(crate) fn git_environment(&self) -> GitEnvironment {
        let environment = GitEnvironment::from_vars(self.surroundings.env.iter().cloned());
        environment.hiding(self.environment(self.root()).redaction())
    }

    /// Secrets besides those of the environment: of the webhook, of the store of a team, and what the configuration
    /// gives to agents by a name that says so.
    fn configured_secrets(&self) -> Vec<NamedValue> {
        let mut config = self.config().clone();
        let named = config.notify.webhook_token_env.clone();
        let token = named.and_then(|name| {
            let value = self.variable(name.as_str())?;
            Some(NamedValue::new(name.as_str(), value))
        });
        let url = config.notify.webhook.clone();
        let url = url.into_iter().flat_map(|url| url.secrets());
        let url = url.map(|value| NamedValue::new("notify.webhook", value));
        let given = config.agent_envs().flat_map(|env| env.0.iter());
        let given = given
            .filter(|(name, _)| is_credential(name))
            .map(|(name, value)| NamedValue::new(name, value));
        let store = store_passwords(&self.surroundings.env);
        let store = store
            .into_iter()
            .map(|password| NamedValue::new("store", password));
        token
            .into_iter()
            .chain(url)
            .chain(given)
            .chain(store)
            .collect()
    }

    /// The project's `ralph.yaml` as it is on disk.
    pub(crate) fn config_bytes(&self) -> Result<Option<(PathBuf, Vec<u8>)>, CommandError> {
        let Some(path) = &self.settings.config_file else {
            return Ok(None);
        };
        let bytes = std::fs::read(path).map_err(CommandError::user)?;
        Ok(Some((path.clone(), bytes)))
    }

    /// The task whose descendants are the feature: the content of `.ralph/parent-task-id`.
    pub(crate) fn parent_task(&self) -> Result<Option<TaskId>, CommandError> {
        let path = self.root().join(&self.config().tasks.parent_id_file);
        let Ok(text) = std::fs::read_to_string(&path) else {
            return Ok(None);
        };
        if text.trim().is_empty() {
            return Ok(None);
        }
        TaskId::parse(text.trim())
            .map(Some)
            .map_err(|e| CommandError::user(format!("{}: {e}", path.display())))
    }

    /// Warnings about the configuration, to print before it is used.
    pub(crate) fn notices(&self) -> Vec<String> {
        let resolved = &self.settings.resolved;
        let notes = resolved.notes.iter().map(ToString::to_string);
        notes
            .chain(resolved.not_in_force.iter().map(ToString::to_string))
            .collect()
    }

    /// Tells a git repository from a plain folder.
    pub(crate) fn kind(&self) -> ProjectKind {
        self.settings.project.kind
    }

    /// The name of the working tree in the journal and the lock.
    pub(crate) fn worktree(&self) -> String {
        self.root().to_string_lossy().into_owned()
    }

    /// A path as a person would write it here.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.root())
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// Finds the task source. A choice that is gone is remarked.
    pub(crate) fn find_source(&self, named: Option<&Path>) -> Result<FoundSource, FindError> {
        let search = SourceSearch {
            tasks: &self.config().tasks,
            root: self.root(),
            start: &self.surroundings.start,
        };
        source::find_source(named, search, |names| {
            let known = self.known_sources(names);
            let chosen = known.chosen.as_ref();
            if let Some(gone) = chosen.filter(|name| !self.root().join(name).exists()) {
                self.remark(&format!(
                    "{gone}, whose tasks were chosen before, does not exist: looking for others"
                ));
            }
            known
        })
    }

    /// The choice of a person, and of these files those that agents made and that no loop worked on. Without a
    /// journal there is neither.
    fn known_sources(&self, names: &[String]) -> KnownSources {
        let look_up = |root: &Path, data_dir: Option<DataDir>| {
            block_on(async {
                Ok(match open_journal(root, data_dir).await? {
                    Some((mut journal, id)) => KnownSources {
                        chosen: journal.chosen_source(&id).await?,
                        made_by_agents: journal.made_by_agents(&id, names).await?,
                    },
                    None => KnownSources::default(),
                })
            })
        };
        let (root, data_dir) = (self.root(), self.used_data_dir().ok().flatten());
        // Commands ask for the source from within a runtime too, in which another can't be waited for.
        let found = std::thread::scope(|scope| scope.spawn(|| look_up(root, data_dir)).join());
        found.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Says something about the task source, once.
    fn remark(&self, text: &str) {
        let mut remarks = self.remarks.borrow_mut();
        if remarks.iter().all(|said| said != text) {
            output::print_to_stderr(&format!("{}\n", terminal_safe(text)));
            remarks.push(text.to_owned());
        }
    }

    /// The same, where there may be none; `choose` says how to name one of several.
    pub(crate) fn find_source_or_none(
        &self,
        named: Option<&Path>,
        choose: &'static str,
    ) -> Result<Option<PathBuf>, CommandError> {
        match self.find_source(named) {
            Ok(found) => Ok(Some(found.path)),
            Err(
                FindError::Nothing { .. }
                | FindError::MadeByAgents { .. }
                | FindError::Offered { .. }
                | FindError::Prose { .. }
                | FindError::Unreadable(_),
            ) => Ok(None),
            Err(error @ (FindError::Several { .. } | FindError::NotThere { .. })) => {
                Err(not_found(error, SourceUse::Work(choose)))
            }
        }
    }

    /// The path of the task source that was named, or that is found.
    pub(crate) fn source_path(
        &self,
        named: Option<&Path>,
        usage: SourceUse,
    ) -> Result<PathBuf, CommandError> {
        let found = self.find_source(named);
        self.look_at_offered(found, usage).map(|found| found.path)
    }

    /// Takes a list that is not chosen yet, if it is the only one and is only read.
    pub(crate) fn look_at_offered(
        &self,
        found: Result<FoundSource, FindError>,
        usage: SourceUse,
    ) -> Result<FoundSource, CommandError> {
        match (found, usage) {
            (Ok(found), _) => Ok(found),
            (Err(FindError::Offered { lists }), SourceUse::Look(_)) if lists.len() == 1 => {
                let OfferedList { name, path, .. } = &lists[0];
                self.remark(&format!(
                    "reading {}, which is not chosen yet: `ralph run {}` works on it",
                    lists[0],
                    source::in_shell(name)
                ));
                Ok(FoundSource {
                    path: path.clone(),
                    by: FoundBy::Alone,
                })
            }
            (Err(error), _) => Err(not_found(error, usage)),
        }
    }

    /// Finds and reads the task source that was named, or the only one there is, to show it.
    pub(crate) fn source(
        &self,
        named: Option<&Path>,
        command: &'static str,
    ) -> Result<(Source, Graph, Vec<Problem>), CommandError> {
        self.read_source(&self.source_path(named, SourceUse::Look(command))?)
    }

    pub(crate) fn read_source(
        &self,
        path: &Path,
    ) -> Result<(Source, Graph, Vec<Problem>), CommandError> {
        let (source, tasks) = Source::read(path, self.root()).map_err(unreadable)?;
        let (graph, problems) = Graph::build(tasks);
        Ok((source, graph, problems))
    }

    /// The file that names the parent task.
    pub(crate) fn parent_file(&self) -> PathBuf {
        self.root().join(&self.config().tasks.parent_id_file)
    }

    /// Which tasks a loop would work on, by the file of the parent.
    pub(crate) fn scope(&self, graph: &Graph) -> Result<Scope, CommandError> {
        let file = self.parent_file();
        let unreadable = |error: &dyn std::fmt::Display| {
            CommandError::user(format!("can't read {}: {error}", self.shown(&file)))
        };
        let text = match plain_file::read_if_there(&file) {
            Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|e| unreadable(&e))?,
            Ok(None) => return Ok(Scope::All),
            Err(error) => return Err(unreadable(&error)),
        };
        let text = text.trim();
        if text.is_empty() {
            return Ok(Scope::All);
        }
        match TaskId::parse(text)
            .ok()
            .filter(|id| graph.get(id).is_some())
        {
            Some(id) => Ok(Scope::Below(id)),
            None => {
                let near = graph.did_you_mean(text);
                let near = near.map_or_else(String::new, |id| format!("; did you mean {id}?"));
                let name = self.shown(&file);
                let message = format!("{name} names task {text:?}, which does not exist{near}");
                Ok(Scope::Lost { message })
            }
        }
    }

    /// The journal, and this repository's id in it. `None`: ralph never ran here.
    pub(crate) async fn journal(
        &self,
    ) -> Result<Option<(Box<dyn Journal>, RepositoryId)>, CommandError> {
        open_journal(self.root(), self.used_data_dir()?).await
    }

    /// The journal of all repositories. `None`: ralph never ran on this machine.
    pub(crate) async fn journal_of_all(&self) -> Result<Option<Box<dyn Journal>>, CommandError> {
        Ok(match self.used_data_dir()? {
            Some(data_dir) => Some(data_dir.open_journal().await?),
            None => None,
        })
    }

    fn used_data_dir(&self) -> Result<Option<DataDir>, CommandError> {
        let data_dir = self.data_dir()?;
        Ok(Some(data_dir).filter(DataDir::has_journal))
    }

    /// The user who gives commands, as named in the journal and the task file.
    pub(crate) fn who(&self) -> String {
        let named = ["USER", "LOGNAME"]
            .into_iter()
            .find_map(|name| self.variable(name).filter(|v| !v.trim().is_empty()));
        let uid = || format!("user {}", rustix::process::getuid().as_raw());
        named.map_or_else(uid, |name| ralph_core::sanitize::one_line(name.trim(), 40))
    }

    /// The budgets of the team that the journal belongs to.
    pub(crate) fn team_budgets(&self) -> Result<Option<TeamBudgets>, CommandError> {
        match (self.config().store.mode(), self.tenant()) {
            (StoreMode::Direct | StoreMode::Sync, Some(tenant)) => {
                Ok(Some(open_budgets(&self.store_address()?, tenant)?))
            }
            (StoreMode::Direct | StoreMode::Sync | StoreMode::Local, _) => Ok(None),
        }
    }

    fn tenant(&self) -> Option<&str> {
        self.config().store.tenant.as_deref()
    }

    /// Has the journal of this machine used, wherever that of loops is: loops in sessions of agents are kept there,
    /// since their hooks read no configuration.
    pub(crate) fn with_local_journal(mut self) -> Self {
        self.settings.resolved.config.store = StoreConfig::default();
        self
    }

    /// The address of the store of a team.
    pub(crate) fn store_address(&self) -> Result<StoreAddress, CommandError> {
        let variables = &self.surroundings.env;
        Ok(StoreAddress::configured(
            &self.settings.resolved,
            variables,
        )?)
    }

    /// The plan of sync with the store of a team; `None` where there is none.
    pub(crate) fn sync_plan(&self) -> Result<Option<SyncPlan>, CommandError> {
        let store = &self.config().store;
        let tenant = match (store.mode(), &store.tenant) {
            (StoreMode::Sync, Some(tenant)) => tenant.clone(),
            // Without a tenant the settings are refused.
            (StoreMode::Local | StoreMode::Direct | StoreMode::Sync, _) => return Ok(None),
        };
        Ok(Some(SyncPlan {
            data_dir: self.data_dir()?.to_path_buf(),
            address: self.store_address()?,
            tenant,
            machine: machine_name(),
            include: store.include.clone(),
            redaction: self.environment(self.root()).redaction().clone(),
        }))
    }

    pub(crate) fn now() -> jiff::Timestamp {
        SystemClock.now()
    }
}

/// The folder of the journal; `None` where nothing says where the user's data are.
pub(crate) fn data_dir_of(surroundings: &Surroundings) -> Option<PathBuf> {
    let var = |name: &str| {
        let found = surroundings.env.iter().find(|(n, _)| n == name);
        let path = found.map(|(_, value)| PathBuf::from(value));
        path.filter(|path| !path.as_os_str().is_empty())
    };
    if let Some(own) = var("RALPH_DATA_DIR").or_else(|| var(RUN_DATA)) {
        return Some(surroundings.start.join(own));
    }
    let base = var("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(var("HOME")?.join(".local/share")));
    Some(base?.join("ralph"))
}

fn not_found(error: FindError, usage: SourceUse) -> CommandError {
    let hint = error.hint(usage.command());
    CommandError::user(error).hint(hint)
}

/// The error of a task file that can't be read: prose is named as such, with the way to tasks.
fn unreadable(error: SourceError) -> CommandError {
    match error {
        SourceError::Format(error) if source::is_prose(&error) => {
            let file = &error.file;
            CommandError::user(format!("{file} has no list of tasks: it is prose"))
                .hint(source::plan_hint(file))
        }
        error => CommandError::user(error),
    }
}

/// The journal, and the id that the repository around `root` has in it.
async fn open_journal(
    root: &Path,
    data_dir: Option<DataDir>,
) -> Result<Option<(Box<dyn Journal>, RepositoryId)>, CommandError> {
    let id = ralph_engine::identity::known_id(root);
    let (Some(data_dir), Some(id)) = (data_dir, id) else {
        return Ok(None);
    };
    let mut journal = data_dir.open_journal().await?;
    let known = journal.has_repository(&id).await?;
    Ok(known.then_some((journal, RepositoryId(id))))
}

/// Runs what has to wait for the journal.
pub(crate) fn block_on<T>(
    future: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // The process that holds the worktree's lock is poked by other commands, and must not die of it.
        let _poked = signal(SignalKind::user_defined1())?;
        future.await
    })
}
