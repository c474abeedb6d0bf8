//! Tells people who are away what the monitor saw, by the settings of each loop's own project.
//!
//! The configuration that a loop began with is in the journal and counts; the file in its working tree may
//! have been
//! written by its agent since. Only the address of a webhook is not in the journal, and is taken from
//! the file where its host is still the same. The monitor never waits for a message.

use std::path::{Path, PathBuf};

use ralph_core::{
    config::NotifyConfig,
    notification::{Notification, Occasion},
};
use ralph_engine::{
    monitor::{Change, ChangeKind},
    notify::{self, Trace},
    process::Containment,
    settings::{self, Request, Surroundings},
    store::Journal,
};
use tokio::task::JoinSet;

use crate::{
    commands::{
        notify::{means, project_name, redaction},
        run::detection,
    },
    error::CommandError,
    project::Project,
};

pub(super) struct Messages {
    surroundings: Surroundings,
    data_dir: PathBuf,
    containment: Containment,
    under_way: JoinSet<Vec<String>>,
}

impl Messages {
    pub(super) fn new(project: &Project) -> Result<Self, CommandError> {
        Ok(Self {
            surroundings: project.surroundings.clone(),
            data_dir: project.data_dir()?.to_path_buf(),
            containment: detection(project)?.containment,
            under_way: JoinSet::new(),
        })
    }

    /// Sends a message in the background, where there is something to tell.
    pub(super) async fn tell(&mut self, change: &Change, journal: &mut dyn Journal) {
        let Some(occasion) = change.tell else {
            return;
        };
        let row = journal.any_loop(&change.loop_id).await.ok().flatten();
        let config = row.as_ref().map(|row| row.config.as_str());
        let Some(project) = self.project_of(Path::new(&change.worktree), config) else {
            return;
        };
        if !project.config().notify.on.contains(&occasion) {
            return;
        }
        let place = row.map_or_else(Default::default, |row| (row.source, row.branch));
        let root = PathBuf::from(&change.worktree);
        let environment = project.environment(&root);
        let means = means(&project, &environment, self.containment);
        let ways = notify::ways(&means);
        let redaction = redaction(project.config(), &means);
        let message = message(change, occasion, place);
        let trace = Trace::in_folder(&self.data_dir);
        self.under_way
            .spawn(notify::dispatch(ways, message, redaction, trace));
    }

    /// The project of a loop with the settings that it began with; where its file can't be read, or
    /// its folder is gone, the user's own.
    fn project_of(&self, worktree: &Path, config: Option<&str>) -> Option<Project> {
        let load = |start: &Path| {
            let surroundings = Surroundings {
                start: start.to_owned(),
                env: self.surroundings.env.clone(),
            };
            let settings = settings::load(&surroundings, Request::default()).ok()?;
            Some(Project::new(settings, surroundings))
        };
        let mut project = load(worktree).or_else(|| load(&self.data_dir))?;
        match config.and_then(began_with) {
            Some(began_with) => {
                let notify = &mut project.settings.resolved.config.notify;
                *notify = trusted(began_with, notify);
                Some(project)
            }
            None => load(&self.data_dir),
        }
    }

    /// Comes when a message is sent, with what went wrong.
    pub(super) async fn next(&mut self) -> Vec<String> {
        match self.under_way.join_next().await {
            Some(done) => done.unwrap_or_default(),
            None => std::future::pending().await,
        }
    }

    /// Waits for what is under way; each message has its own time.
    pub(super) async fn finish(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        while let Some(done) = self.under_way.join_next().await {
            said.extend(done.unwrap_or_default());
        }
        said
    }
}

/// The notification settings of a loop, from the journal.
fn began_with(config: &str) -> Option<NotifyConfig> {
    let mut config: serde_json::Value = serde_json::from_str(config).ok()?;
    serde_json::from_value(config["effective"]["notify"].take()).ok()
}

/// The settings of the journal, whose webhook is without its path, with that of the file.
fn trusted(journal: NotifyConfig, file: &NotifyConfig) -> NotifyConfig {
    let hidden = journal.webhook.as_ref().map(|url| url.reveal().to_owned());
    let own = file.webhook.clone();
    NotifyConfig {
        webhook: own.filter(|url| Some(url.shown()) == hidden),
        ..journal
    }
}

fn message(
    change: &Change,
    occasion: Occasion,
    (source, branch): (String, String),
) -> Notification {
    let project = project_name(Path::new(&change.worktree));
    let what = match change.event {
        ChangeKind::NeedsPerson => "an agent needs you",
        ChangeKind::Hangs | ChangeKind::Escalated => "the loop hangs",
        ChangeKind::Terminating | ChangeKind::Killed | ChangeKind::Terminated => {
            "the loop hung and was terminated"
        }
        ChangeKind::Gone => "the loop's process is gone",
        ChangeKind::Watching
        | ChangeKind::Restarted
        | ChangeKind::Recovered
        | ChangeKind::Ended => "the loop",
    };
    Notification {
        event: occasion,
        title: format!("ralph in {project}: {what}"),
        text: change.sentence.clone(),
        hint: change.hint.clone(),
        task: None,
        loop_id: change.loop_id.clone(),
        source,
        branch,
        exit_code: None,
        at: change.at,
    }
}
