//! `answer`: what a person says to a question, and what that does to its task.

use ralph_core::{
    command::{self, Amendment, Answer},
    escalation::{self, Amended, AnswerKind, Answered, Question},
    id::QuestionId,
    sanitize,
    task::{TaskId, format::Change},
};

use super::{
    CommandExecutor, CommandOutcome, CommandRefusal, LoopEffect, LoopPresence, note_of, with_line,
};
use crate::store::{CommandRow, NewGuidance};

/// Between the mark of an amendment in the notes and what stood there before.
const WAS: &str = ", was: ";

impl CommandExecutor<'_> {
    pub(super) async fn answer(
        &mut self,
        row: &CommandRow,
        of: Option<&str>,
        (answer, amend): (&Answer, Option<&Amendment>),
    ) -> Result<CommandOutcome, CommandRefusal> {
        let all = self.questions().await?;
        let refused = |e: escalation::NoQuestion| {
            CommandRefusal::hinted(e.to_string(), "`ralph escalations` shows the questions")
        };
        let question = escalation::find(&all, of).map_err(refused)?;
        let told = question.told(answer).map_err(refused)?;
        let task = &question.task_id;
        let amended = match amend {
            Some(amendment) => Some(self.amend(row, question, amendment).await?),
            None => None,
        };
        let how = match answer {
            Answer::Abort => return Ok(self.abort(question)),
            Answer::Skip => {
                let reason = format!(
                    "answer to question {}: {}",
                    question.id,
                    question.in_short()
                );
                let mut outcome = self.skip(row, task, &reason).await?;
                outcome.effects.answered = Some((question.id, answered(row, AnswerKind::Skip)));
                return Ok(outcome);
            }
            Answer::Option { number } => AnswerKind::Option { number: *number },
            Answer::Guidance { .. } => AnswerKind::Guidance,
            Answer::Retry => AnswerKind::Retry,
        };
        let mut outcome = self.retry(row, task, None).await?;
        outcome.sentence = format!("question {} about {task} is answered", question.id);
        match (&told, &how) {
            (Some(told), _) => {
                let last = told.lines().last().unwrap_or_default();
                outcome
                    .sentence
                    .push_str(&format!("; the next prompt says: {last}"));
            }
            (None, _) => outcome.sentence.push_str("; it is tried again"),
        }
        if let Some((_, written)) = &amended {
            outcome
                .sentence
                .push_str(&format!("; an acceptance criterion is amended{written}"));
        }
        if self.presence == LoopPresence::NotRunning {
            outcome.hint = Some("`ralph run` goes on".to_owned());
        }
        outcome
            .effects
            .guidance
            .extend(told.clone().map(|text| NewGuidance {
                task: Some(task.clone()),
                text,
                who: row.who.clone(),
                at: row.at,
                iteration: None,
            }));
        let mut record = answered(row, how);
        (record.told, record.amended) = (told, amended.map(|(amended, _)| amended));
        outcome.effects.answered = Some((question.id, record));
        Ok(outcome)
    }

    fn abort(&self, question: &Question) -> CommandOutcome {
        let id = question.id;
        match self.presence {
            LoopPresence::NotRunning => CommandOutcome::saying(format!(
                "no loop is running here that could be ended; question {id} stays open"
            )),
            LoopPresence::Running => CommandOutcome {
                loop_effect: LoopEffect::Abort,
                ..CommandOutcome::saying(format!("the loop ends; question {id} stays open"))
            },
        }
    }

    /// The questions about the tasks of the board. One that is open in the journal, and whose task
    /// does not wait for it any more, was answered by an edit of the task.
    pub(super) async fn questions(&mut self) -> Result<Vec<Question>, CommandRefusal> {
        let source = self.board.source.name().to_owned();
        Ok(self.journal.questions(self.repository, &source).await?)
    }

    /// The open question about a task, as it is to be written when a command settles it.
    pub(super) async fn closed_question(
        &mut self,
        row: &CommandRow,
        task: &TaskId,
        how: fn() -> AnswerKind,
    ) -> Result<Option<(QuestionId, Answered)>, CommandRefusal> {
        let all = self.questions().await?;
        let open = all
            .iter()
            .find(|q| q.task_id == *task && q.answer.is_none());
        Ok(open.map(|q| (q.id, answered(row, how()))))
    }

    /// Puts another criterion in the place of one that was wrong; who and why go into the notes.
    async fn amend(
        &mut self,
        row: &CommandRow,
        question: &Question,
        amendment: &Amendment,
    ) -> Result<(Amended, String), CommandRefusal> {
        let task = self.task(&question.task_id)?;
        let notes = task.text.notes.as_deref();
        let mark = note_of(row, "Acceptance criterion amended");
        // Done before a crash: what stood there is in the note.
        let done = notes.and_then(|notes| {
            let line = notes.lines().find_map(|line| line.strip_prefix(&mark))?;
            let (_, was) = line.split_once(WAS)?;
            serde_json::from_str::<String>(was).ok()
        });
        if let Some(before) = done {
            let after = amendment.text.clone();
            return Ok((Amended { before, after }, String::new()));
        }
        let (criteria, before) = command::amend(&task.text.acceptance, amendment).map_err(|e| {
            let hint = format!(
                "`ralph tasks show {}` lists them; `--amend 2=TEXT` replaces the second",
                task.id
            );
            CommandRefusal::hinted(e.to_string(), hint)
        })?;
        let was = serde_json::Value::from(before.clone()).to_string();
        let why = sanitize::fold(question.in_short());
        let note = format!("{mark} (question {}: {why}){WAS}{was}", question.id);
        let changes = vec![
            Change::Acceptance(criteria),
            Change::Notes(with_line(notes, &note)),
        ];
        let title = format!("amend an acceptance criterion of {}", task.id);
        let body = format!("{}\n\nIt was: {before}", amendment.text);
        let written = self.write(&task, changes, (&title, &body)).await?;
        // What follows changes the same task, and must start from what it says now.
        self.reread()?;
        let after = amendment.text.clone();
        Ok((Amended { before, after }, written))
    }
}

fn answered(row: &CommandRow, how: AnswerKind) -> Answered {
    Answered {
        how,
        by: row.who.clone(),
        at: row.at,
        told: None,
        amended: None,
    }
}

pub(super) fn skipped() -> AnswerKind {
    AnswerKind::Skip
}

pub(super) fn done() -> AnswerKind {
    AnswerKind::Done
}

pub(super) fn retried() -> AnswerKind {
    AnswerKind::Retry
}
