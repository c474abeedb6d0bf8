//! Rounds as conversations: the agent has the terminal, and the person in front of it says what
//! counts.

use ralph_core::artefacts::template::{InterviewMode, Params, RepairParams, Round};
use ralph_engine::agent::InteractiveEnd;

use super::{
    lead::{Conductor, End, Over, RoundEnd},
    scene::{Scene, ask},
};
use crate::{
    artefacts::prompt,
    ask::Input,
    error::CommandError,
    output,
    view::{Tone, paint, screen::Ends},
};

pub(super) struct Talks {
    /// Since the last conversation: before that, what is typed was the agent's.
    signals: Ends,
}

impl Talks {
    pub(super) fn new() -> Result<Self, CommandError> {
        let signals = Ends::listen()?;
        Ok(Self { signals })
    }

    async fn talk(
        &mut self,
        scene: &Scene<'_>,
        text: String,
    ) -> Result<InteractiveEnd, CommandError> {
        let end = scene.talk(text).await?;
        *self = Self::new()?;
        Ok(end)
    }

    async fn ask(&mut self, question: &str) -> Result<Input, CommandError> {
        ask(question, self.signals.come()).await
    }

    /// A round that the agent did not end itself counts if the person says so.
    async fn did_it_count(&mut self) -> Result<RoundEnd, Over> {
        loop {
            let question = "Did this round count? [y]es, [a]gain, [s]top: ";
            match self.ask(question).await? {
                Input::Line(line) => match line.to_lowercase().as_str() {
                    "y" | "yes" => return Ok(RoundEnd::Counts),
                    "a" | "again" => return Ok(RoundEnd::Again),
                    "s" | "stop" | "q" => return Err(Over::Ended(End::Stopped)),
                    _ => {}
                },
                Input::NoMore => return Err(Over::Ended(End::Stopped)),
                Input::Signal(signal) => return Err(Over::Ended(End::Interrupted(signal))),
            }
        }
    }
}

impl Conductor for Talks {
    async fn round(
        &mut self,
        scene: &Scene<'_>,
        round: Round,
        before: &str,
    ) -> Result<RoundEnd, Over> {
        let params = Params::Interview {
            project: &scene.named.name,
            round,
        };
        let text = prompt(scene.project, &params)?;
        announce(scene, &round.to_string());
        let end = self.talk(scene, text).await?;
        scene.show_change(before)?;
        match end {
            InteractiveEnd::Done => Ok(RoundEnd::Counts),
            InteractiveEnd::Stopped(signal) => Err(Over::Ended(End::Interrupted(signal))),
            InteractiveEnd::Exited(_) | InteractiveEnd::Killed(_) => {
                output::print(&format!("{}\n", how_it_left(scene, end)));
                self.did_it_count().await
            }
        }
    }

    async fn repair(&mut self, scene: &Scene<'_>, problems: &[String]) -> Result<(), Over> {
        let params = RepairParams {
            project: &scene.named.name,
            problems,
            setting: InterviewMode::Conversation,
        };
        let text = params.render().map_err(CommandError::internal)?;
        announce(scene, "the tasks are corrected");
        match self.talk(scene, text).await? {
            // Whether it is done is seen in the tasks.
            InteractiveEnd::Done | InteractiveEnd::Exited(_) | InteractiveEnd::Killed(_) => Ok(()),
            InteractiveEnd::Stopped(signal) => Err(Over::Ended(End::Interrupted(signal))),
        }
    }

    async fn pause(&mut self, next: &str) -> Result<(), Over> {
        let question = format!("\nEnter continues with {next}, [s]top: ");
        loop {
            match self.ask(&question).await? {
                Input::Line(line) if line.is_empty() => return Ok(()),
                Input::Line(line) => match line.to_lowercase().as_str() {
                    "y" | "yes" => return Ok(()),
                    "s" | "stop" | "n" | "no" | "q" => return Err(Over::Ended(End::Stopped)),
                    _ => {}
                },
                Input::NoMore => return Err(Over::Ended(End::Stopped)),
                Input::Signal(signal) => return Err(Over::Ended(End::Interrupted(signal))),
            }
        }
    }
}

fn announce(scene: &Scene<'_>, what: &str) {
    let heading = format!("{}, {what}", scene.named.name);
    output::print(&format!(
        "{}: talk with {}; exit it when you are done\n",
        paint(Tone::Heading, &heading),
        scene.agent_name()
    ));
}

fn how_it_left(scene: &Scene<'_>, end: InteractiveEnd) -> String {
    let name = scene.agent_name();
    match end {
        InteractiveEnd::Exited(0) => format!("{name} exited without marking the round as done"),
        InteractiveEnd::Exited(code) => format!("{name} exited with code {code}"),
        InteractiveEnd::Killed(signal) => format!("{name} was killed by signal {signal}"),
        InteractiveEnd::Done | InteractiveEnd::Stopped(_) => name,
    }
}
