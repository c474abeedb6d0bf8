//! The rounds in their order, whatever conducts them: each is kept, the last one's tasks are checked, and
//! an interview that is stopped goes on later where it was.

use ralph_core::artefacts::{DEFAULT_ROUNDS, template::Round};
use ralph_engine::interview::{FoundTasks, Progress, keep_spec, tasks_before};

use super::scene::Scene;
use crate::{
    commands::status::fresh_tree,
    error::CommandError,
    output,
    view::{Tone, paint},
};

/// Rounds that correct the tasks, at most.
const MOST_REPAIRS: u32 = 2;
/// Problems and warnings that are shown.
const MOST_SHOWN: usize = 20;

/// The end of an interview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    /// The person stopped it, with rounds left.
    Stopped,
    Interrupted(i32),
    /// Questions wait for answers, in a file.
    Unanswered,
    /// The tasks can't be worked from, also after repairs.
    WrongTasks,
    /// The budget is used up.
    OutOfMoney,
    /// The agent can't be used now.
    Unavailable,
    /// The agent failed, or did not do what it was told to.
    Useless,
}

impl End {
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Self::Complete => 0,
            Self::WrongTasks => 2,
            Self::Stopped => 3,
            Self::Unanswered => 4,
            Self::OutOfMoney => 5,
            Self::Unavailable => 6,
            Self::Useless => 7,
            Self::Interrupted(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }
}

/// Why an interview goes no further: it has come to an end, or ralph failed.
pub(super) enum Over {
    Ended(End),
    Failed(CommandError),
}

impl<E> From<E> for Over
where
    CommandError: From<E>,
{
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The result of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundEnd {
    Counts,
    Again,
}

/// Conducts the rounds.
pub(super) trait Conductor {
    /// Holds a round, and shows what it changed.
    async fn round(
        &mut self,
        scene: &Scene<'_>,
        round: Round,
        before: &str,
    ) -> Result<RoundEnd, Over>;

    /// Has the tasks corrected.
    async fn repair(&mut self, scene: &Scene<'_>, problems: &[String]) -> Result<(), Over>;

    /// Asks whether to go on with what comes next, if a person can be asked.
    async fn pause(&mut self, next: &str) -> Result<(), Over>;
}

/// Leads an interview from where it is to its end.
pub(super) async fn lead<C: Conductor>(
    scene: &Scene<'_>,
    conductor: &mut C,
    rounds: Option<u32>,
) -> Result<End, CommandError> {
    match rounds_to_the_end(scene, conductor, rounds).await {
        Ok(()) => Ok(End::Complete),
        Err(Over::Failed(error)) => Err(error),
        Err(Over::Ended(end)) => {
            if matches!(end, End::Stopped | End::Interrupted(_)) {
                output::print(&format!("stopped; `{}` continues\n", scene.command()));
            }
            Ok(end)
        }
    }
}

async fn rounds_to_the_end<C: Conductor>(
    scene: &Scene<'_>,
    conductor: &mut C,
    rounds: Option<u32>,
) -> Result<(), Over> {
    let folder = &scene.named.folder;
    let mut progress = Progress::begin(folder, rounds, DEFAULT_ROUNDS)?;
    if progress.is_under_way() {
        output::print(&format!("continuing with {}\n", progress.round()));
    }
    progress.keep(folder)?;
    if !folder.spec_of_round(0).exists() {
        keep_spec(folder, &scene.spec()?)?;
    }
    loop {
        let round = progress.round();
        let (before, tasks) = (scene.spec()?, tasks_before(folder));
        if conductor.round(scene, round, &before).await? == RoundEnd::Again {
            continue;
        }
        let kept = keep_spec(folder, &scene.spec()?)?;
        let kept = scene.shown(&folder.spec_of_round(kept));
        output::print(&paint(Tone::Faint, &format!("kept as {kept}\n")));
        if round.is_last() {
            if tasks.is_some() && tasks == tasks_before(folder) {
                let name = scene.shown(&folder.tasks());
                output::print_warning(&format!("{name} is the one from before this round"));
            }
            settle(scene, conductor, tasks.as_deref()).await?;
            progress.finished(folder)?;
            return Ok(());
        }
        progress.counted(folder)?;
        conductor.pause(&progress.round().to_string()).await?;
    }
}

/// Checks the tasks, and has them corrected as long as there is hope.
async fn settle<C: Conductor>(
    scene: &Scene<'_>,
    conductor: &mut C,
    before: Option<&[u8]>,
) -> Result<(), Over> {
    let mut repairs = 0;
    loop {
        let problems = match scene.tasks(before)? {
            FoundTasks::Good { warnings } => return Ok(show_tasks(scene, &warnings)?),
            FoundTasks::Wrong { problems } => problems,
        };
        let name = scene.shown(&scene.named.folder.tasks());
        let heading = paint(Tone::Bad, &format!("{name} can't be used yet:"));
        output::print(&format!("\n{heading}\n{}", listed(&problems)));
        if repairs == MOST_REPAIRS {
            scene.say_failed(&format!(
                "{name} can't be used, also after {MOST_REPAIRS} repairs"
            ));
            return Err(Over::Ended(End::WrongTasks));
        }
        repairs += 1;
        let next = format!("repair {repairs} of at most {MOST_REPAIRS}");
        conductor.pause(&next).await?;
        conductor.repair(scene, &problems).await?;
    }
}

fn show_tasks(scene: &Scene<'_>, warnings: &[String]) -> Result<(), CommandError> {
    let path = scene.named.folder.tasks();
    output::print(&fresh_tree(scene.project, &path)?);
    if !warnings.is_empty() {
        let heading = paint(Tone::Careful, "check these before you run it:");
        output::print(&format!("\n{heading}\n{}", listed(warnings)));
    }
    let name = scene.shown(&path);
    output::print(&format!(
        "\nthe interview is complete; `ralph run {name}` works through the tasks\n"
    ));
    Ok(())
}

fn listed(sentences: &[String]) -> String {
    let shown = sentences.iter().take(MOST_SHOWN);
    let mut text: String = shown
        .map(|s| format!("- {}\n", ralph_core::sanitize::one_line(s, usize::MAX)))
        .collect();
    if sentences.len() > MOST_SHOWN {
        text.push_str(&format!("… and {} more\n", sentences.len() - MOST_SHOWN));
    }
    text
}
