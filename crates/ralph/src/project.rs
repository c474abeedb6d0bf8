//! Opens the project that a command was started in: its configuration, its tasks, its journal.

use std::path::{Path, PathBuf};

use ralph_core::{
    config::{Config, FlagValue},
    task::graph::{Graph, Problem},
};
use ralph_engine::{
    clock::{Clock as _, SystemClock},
    settings::{self, Request, Settings, Surroundings},
    source::{self, Source},
    store::{Journal, RepositoryId},
};

use crate::{cli::Global, error::CommandError};

pub(crate) struct Project {
    pub(crate) settings: Settings,
    pub(crate) surroundings: Surroundings,
}

impl Project {
    pub(crate) fn open(global: &Global, flags: Vec<FlagValue>) -> Result<Self, CommandError> {
        let mut surroundings = Surroundings::of_process().map_err(CommandError::internal)?;
        if let Some(folder) = &global.directory {
            surroundings.start.push(folder);
        }
        let request = Request {
            config_file: global.config.clone(),
            flags,
        };
        let settings = settings::load(&surroundings, request).map_err(CommandError::user)?;
        Ok(Self {
            settings,
            surroundings,
        })
    }

    pub(crate) fn config(&self) -> &Config {
        &self.settings.resolved.config
    }

    pub(crate) fn root(&self) -> &Path {
        &self.settings.root
    }

    /// The folder of the journal: `$RALPH_DATA_DIR`, else the user's data folder.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, CommandError> {
        data_dir(&self.surroundings).ok_or_else(|| {
            CommandError::user("there is no folder for the journal: HOME is not set")
                .hint("set RALPH_DATA_DIR")
        })
    }

    /// Finds and reads the task source that was named, or the only one there is.
    pub(crate) fn source(
        &self,
        named: Option<&Path>,
    ) -> Result<(Source, Graph, Vec<Problem>), CommandError> {
        let path = source::find_source(
            named,
            &self.config().tasks,
            self.root(),
            &self.surroundings.start,
        )
        .map_err(|e| {
            let hint = e.hint();
            CommandError::user(e).hint(hint)
        })?;
        let (source, tasks) = Source::read(&path, self.root()).map_err(CommandError::user)?;
        let (graph, problems) = Graph::build(tasks);
        Ok((source, graph, problems))
    }

    /// The journal, and this repository's id in it. `None`: ralph never ran here.
    pub(crate) async fn journal(&self) -> Result<Option<(Journal, RepositoryId)>, CommandError> {
        let data_dir = self.data_dir()?;
        if !data_dir.join("ralph.db").exists() {
            return Ok(None);
        }
        let Some(id) = ralph_engine::identity::known_id(self.root()) else {
            return Ok(None);
        };
        let mut journal = Journal::open(&data_dir)
            .await
            .map_err(CommandError::internal)?;
        let known = journal.known(&id).await.map_err(CommandError::internal)?;
        Ok(known.then_some((journal, RepositoryId(id))))
    }

    pub(crate) fn now() -> jiff::Timestamp {
        SystemClock.now()
    }
}

fn data_dir(surroundings: &Surroundings) -> Option<PathBuf> {
    let var = |name: &str| {
        let found = surroundings.env.iter().find(|(n, _)| n == name);
        found
            .map(|(_, v)| PathBuf::from(v))
            .filter(|p| !p.as_os_str().is_empty())
    };
    if let Some(own) = var("RALPH_DATA_DIR") {
        return Some(surroundings.start.join(own));
    }
    let base = var("XDG_DATA_HOME").filter(|p| p.is_absolute());
    let base = base.or_else(|| Some(var("HOME")?.join(".local/share")));
    base.map(|b| b.join("ralph"))
}
