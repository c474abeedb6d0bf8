//! Rounds without a conversation: an agent gives its questions as JSON, ralph finds the answers in a
//! file or asks for them, and another run of the agent writes them down.
//!
//! Questions and answers are kept until they are in the brief: a run that fails costs no
//! answer.

use ralph_core::{
    artefacts::{
        Answers, InterviewQuestion, Waiting, parse_questions,
        template::{AmendParams, InterviewMode, QuestionsParams, RepairParams, Round},
    },
    sanitize::terminal_safe,
};
use ralph_engine::{
    agent::StopRequest,
    interview::{read_spec, read_waiting, write_spec, write_waiting},
};

use super::{
    lead::{Conductor, End, Over, RoundEnd},
    scene::{Scene, ask},
};
use crate::{
    ask::{Input, has_terminal, stopped},
    error::CommandError,
    output,
    view::{Tone, figures::count, paint},
};

/// Runs that may be wasted on an answer that can't be used.
const TRIES: u32 = 2;
/// The answer to the agent if the person leaves the decision to it.
const LEFT_TO_YOU: &str = "(no answer: decide yourself, and write it down as an assumption)";

pub(super) struct Asks {
    answers: Answers,
    stop: StopRequest,
}

impl Asks {
    pub(super) fn new(answers: Answers, stop: StopRequest) -> Self {
        Self { answers, stop }
    }

    /// The questions of a round: those that wait already, or an agent's.
    async fn questions(
        &mut self,
        scene: &Scene<'_>,
        round: Round,
        before: &str,
    ) -> Result<Vec<InterviewQuestion>, Over> {
        let folder = &scene.named.folder;
        let waiting = read_waiting(folder)?;
        if let Some(waiting) = waiting.filter(|waiting| waiting.round == round.number) {
            return Ok(waiting.questions);
        }
        let mut problem: Option<String> = None;
        for _ in 0..TRIES {
            output::print(&format!(
                "{round}: {} reads the brief\n",
                scene.agent_name()
            ));
            let params = QuestionsParams {
                project: &scene.named.name,
                round,
                problem: problem.as_deref(),
            };
            let text = params.render().map_err(CommandError::internal)?;
            let report = scene.run(text, &mut self.stop).await?;
            // It was to ask, not to write.
            if read_spec(folder)?.as_deref() != Some(before) {
                write_spec(folder, before)?;
            }
            match parse_questions(&report.final_message) {
                Ok(questions) => return Ok(questions),
                Err(error) => problem = Some(error.to_string()),
            }
        }
        let why = problem.unwrap_or_default();
        scene.say_failed(&format!(
            "{} returned no valid questions: {why}",
            scene.agent_name()
        ));
        Err(Over::Ended(End::Useless))
    }

    /// Gives each question its answer. An end, where some have none and no person can be asked.
    async fn answer(&mut self, scene: &Scene<'_>, waiting: &mut Waiting) -> Result<(), Over> {
        let folder = &scene.named.folder;
        for question in &mut waiting.questions {
            let given = question.answer.take();
            question.answer = self.answers.take(question).or(given);
        }
        // Durable before a person types anything: an answer is not to be given twice.
        write_waiting(folder, Some(waiting))?;
        let open = |waiting: &Waiting| -> Vec<usize> {
            let all = waiting.questions.iter().enumerate();
            all.filter(|(_, q)| q.answer.is_none())
                .map(|(at, _)| at)
                .collect()
        };
        let unanswered = open(waiting);
        if unanswered.is_empty() {
            return Ok(());
        }
        if !has_terminal() {
            self.list_unanswered(scene, waiting);
            return Err(Over::Ended(End::Unanswered));
        }
        for at in unanswered {
            let question = &mut waiting.questions[at];
            match ask(&asked(question), stopped(self.stop.clone())).await? {
                Input::Line(line) => question.answer = Some(chosen(question, line)),
                Input::NoMore => return Err(Over::Ended(End::Stopped)),
                Input::Signal(signal) => return Err(Over::Ended(End::Interrupted(signal))),
            }
            write_waiting(folder, Some(waiting))?;
        }
        Ok(())
    }

    fn list_unanswered(&self, scene: &Scene<'_>, waiting: &Waiting) {
        let open: Vec<&InterviewQuestion> = waiting
            .questions
            .iter()
            .filter(|question| question.answer.is_none())
            .collect();
        let many = count(open.len(), "question is waiting", "questions are waiting");
        let heading = paint(Tone::Careful, &format!("{many} for an answer:"));
        let mut text = format!("{heading}\n");
        for question in open {
            text.push_str(&shown(question));
        }
        let file = scene.shown(&scene.named.folder.questions());
        let command = scene.command();
        text.push_str(&format!(
            "\nfill in `answer` in {file} and run `{command}` again, \
             or write them to a file and add `--answers FILE`\n"
        ));
        output::print(&text);
    }

    /// Has the answers written down, and sees that they were.
    async fn amend(
        &mut self,
        scene: &Scene<'_>,
        round: Round,
        before: &str,
        answers: &[(String, String)],
    ) -> Result<(), Over> {
        let folder = &scene.named.folder;
        let spec = scene.shown(&folder.spec());
        let mut problem: Option<String> = None;
        for _ in 0..TRIES {
            output::print(&format!(
                "{round}: {} writes the answers into the brief\n",
                scene.agent_name()
            ));
            let params = AmendParams {
                project: &scene.named.name,
                round,
                answers,
                problem: problem.as_deref(),
            };
            let text = params.render().map_err(CommandError::internal)?;
            scene.run(text, &mut self.stop).await?;
            let after = read_spec(folder)?;
            if answers.is_empty() || after.is_some_and(|after| after != before) {
                return Ok(());
            }
            problem = Some(format!(
                "{spec} was not changed: the answers are not in it."
            ));
        }
        scene.say_failed(&format!(
            "{} did not write the answers into {spec}",
            scene.agent_name()
        ));
        Err(Over::Ended(End::Useless))
    }
}

impl Conductor for Asks {
    async fn round(
        &mut self,
        scene: &Scene<'_>,
        round: Round,
        before: &str,
    ) -> Result<RoundEnd, Over> {
        let questions = self.questions(scene, round, before).await?;
        let mut waiting = Waiting {
            project_name: scene.named.name.to_string(),
            round: round.number,
            rounds: round.of,
            questions,
        };
        if waiting.questions.is_empty() {
            output::print(&format!("{round}: no questions\n"));
        } else {
            self.answer(scene, &mut waiting).await?;
        }
        let answers: Vec<(String, String)> = waiting
            .questions
            .into_iter()
            .map(|question| {
                let answer = question.answer.filter(|answer| !answer.trim().is_empty());
                let answer = answer.unwrap_or_else(|| LEFT_TO_YOU.to_owned());
                (question.question, answer)
            })
            .collect();
        if !answers.is_empty() || round.is_last() {
            let amended = self.amend(scene, round, before, &answers).await;
            if let Err(Over::Ended(_)) = amended {
                // The answers are kept, and are written down from the start when it goes on.
                write_spec(&scene.named.folder, before)?;
            }
            amended?;
        }
        scene.show_change(before)?;
        write_waiting(&scene.named.folder, None)?;
        Ok(RoundEnd::Counts)
    }

    async fn repair(&mut self, scene: &Scene<'_>, problems: &[String]) -> Result<(), Over> {
        let params = RepairParams {
            project: &scene.named.name,
            problems,
            setting: InterviewMode::Headless,
        };
        output::print(&format!("{} corrects the tasks\n", scene.agent_name()));
        let text = params.render().map_err(CommandError::internal)?;
        scene.run(text, &mut self.stop).await?;
        Ok(())
    }

    async fn pause(&mut self, _next: &str) -> Result<(), Over> {
        let asked = self.stop.asked();
        asked.map_or(Ok(()), |signal| Err(Over::Ended(End::Interrupted(signal))))
    }
}

/// A question with its id, its reason and its options, as lines.
fn shown(question: &InterviewQuestion) -> String {
    let safe = |text: &str| terminal_safe(text.trim()).into_owned();
    let id = paint(Tone::Name, &question.id);
    let mut text = format!("\n{id}: {}\n", safe(&question.question));
    if !question.why.trim().is_empty() {
        text.push_str(&paint(Tone::Faint, &format!("  {}", safe(&question.why))));
        text.push('\n');
    }
    for (at, option) in question.options.iter().enumerate() {
        text.push_str(&format!("  {}. {}\n", at + 1, safe(option)));
    }
    text
}

fn asked(question: &InterviewQuestion) -> String {
    let how = if question.options.is_empty() {
        "your answer, or Enter to leave it to the agent: "
    } else {
        "a number, an answer of your own, or Enter to leave it to the agent: "
    };
    format!("{}{how}", shown(question))
}

/// The option with that number, or the line as it was typed.
fn chosen(question: &InterviewQuestion, line: String) -> String {
    let number = line.parse::<usize>().ok().filter(|number| *number > 0);
    let option = number.and_then(|number| question.options.get(number - 1));
    option.cloned().unwrap_or(line)
}
