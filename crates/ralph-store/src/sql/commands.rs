//! The queue of commands, guidance, and questions.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    command::{Command, CommandReport},
    escalation::{AnswerKind, Answered, AskedBy, Question},
    id::{CommandId, QuestionId},
    record::Guidance,
    task::TaskId,
};

use super::{
    SqlJournal, WriteTransaction,
    audit::{self, Actor, Deed},
    statement::{Columns, FromColumns, columns, json, sql},
    tasks::upsert_state,
    transaction,
};
use crate::{
    CommandEffects, CommandEnd, CommandRow, CommandStore, NewGuidance, NewQuestion, QuestionStore,
    RepositoryId, Result, TaskHistory,
};

/// Of all that was ever said about a task, the newest are told.
const MOST_GUIDANCE: i64 = 20;
/// Questions that are looked at: all open ones are among them, in any project that a person can
/// still follow.
const MOST_QUESTIONS: i64 = 1_000;

columns!(CommandRow as COMMAND: id, who, at, command = "body");
columns!(Guidance as GUIDANCE: text, by = "who", at);

#[async_trait]
impl CommandStore for SqlJournal {
    async fn submit_command(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
        command: &Command,
        who: &str,
        at: Timestamp,
    ) -> Result<CommandId> {
        let what = "queue a command";
        let insert = "INSERT INTO command (repository_id, worktree, who, at, body) VALUES (?, ?, ?, ?, ?) RETURNING id";
        let insert = sql!(what, insert, repository, worktree, who, at, json(command)?);
        transaction!(self, what, |tx| { insert.one(&mut tx).await })
    }

    async fn waiting_commands(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Vec<CommandRow>> {
        let text = format!(
            "SELECT {COMMAND} FROM command
             WHERE repository_id = ? AND worktree = ? AND done_at IS NULL ORDER BY id"
        );
        self.all(sql!("look for commands", text, repository, worktree))
            .await
    }

    async fn command_result(&mut self, id: CommandId) -> Result<Option<CommandReport>> {
        let text = "SELECT result FROM command WHERE id = ? AND result IS NOT NULL";
        self.first(sql!("look up a command", text, id)).await
    }

    async fn finish_command(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        ended: CommandEnd<'_>,
        effects: &CommandEffects,
    ) -> Result<()> {
        let what = "end a command";
        let end = "UPDATE command SET done_at = ?, result = ? WHERE id = ? AND done_at IS NULL";
        let end = sql!(what, end, ended.at, json(ended.report)?, ended.id);
        let question = effects.answered.as_ref().map(|(question, _)| *question);
        let audited = audit::entry_of_command(ended.id, ended.at, question);
        transaction!(self, what, |tx| {
            if end.run(&mut tx).await? == 0 {
                return Ok(());
            }
            audited.run(&mut tx).await?;
            for (task, state) in &effects.states {
                let state = upsert_state(repository, source, task.as_str(), state)?;
                state.run(&mut tx).await?;
            }
            for guidance in &effects.guidance {
                insert_guidance(&mut tx, repository, source, guidance).await?;
            }
            if let Some((question, answered)) = &effects.answered {
                write_answer(&mut tx, *question, answered).await?;
            }
            Ok(())
        })
    }

    async fn add_guidance(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        new: &NewGuidance,
    ) -> Result<()> {
        transaction!(self, "keep guidance", |tx| {
            insert_guidance(&mut tx, repository, source, new).await
        })
    }

    async fn guidance(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
    ) -> Result<Vec<Guidance>> {
        let text = format!(
            "SELECT {GUIDANCE} FROM
               (SELECT id, text, who, at FROM guidance
                WHERE repository_id = ? AND source = ? AND (task_id = ? OR task_id IS NULL)
                ORDER BY id DESC LIMIT ?) AS newest
             ORDER BY id"
        );
        self.all(sql!(
            "look for guidance",
            text,
            repository,
            source,
            task,
            MOST_GUIDANCE
        ))
        .await
    }

    async fn use_guidance(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        iteration: u64,
    ) -> Result<Vec<Guidance>> {
        let found = self.guidance(repository, source, task).await?;
        if found.is_empty() {
            return Ok(found);
        }
        self.write(sql!(
            "note that guidance is used",
            "UPDATE guidance SET task_id = ?1, iteration = COALESCE(iteration, ?2)
             WHERE repository_id = ?3 AND source = ?4 AND (task_id = ?1 OR task_id IS NULL)
               AND (iteration IS NULL OR task_id IS NULL)",
            task,
            iteration,
            repository,
            source,
        ))
        .await?;
        Ok(found)
    }
}

async fn insert_guidance(
    db: &mut WriteTransaction<'_>,
    repository: &RepositoryId,
    source: &str,
    new: &NewGuidance,
) -> Result<()> {
    sql!(
        "keep guidance",
        "INSERT INTO guidance (repository_id, source, task_id, text, who, at, iteration)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        repository,
        source,
        new.task.as_ref(),
        &new.text,
        &new.who,
        new.at,
        new.iteration,
    )
    .run(db)
    .await?;
    Ok(())
}

/// A row of `escalation`. A task whose id can't be read any more has no question that could be answered.
struct QuestionRow(Option<Question>);

impl FromColumns for QuestionRow {
    fn from_columns(row: &mut Columns<'_>) -> Result<Self> {
        let Ok(task_id) = TaskId::parse(&row.next::<String>()?) else {
            return Ok(Self(None));
        };
        Ok(Self(Some(Question {
            task_id,
            id: row.next()?,
            iteration: row.next()?,
            asked_by: match row.next::<String>()?.as_str() {
                "agent" => AskedBy::Agent,
                _ => AskedBy::Ralph,
            },
            question: row.next()?,
            escalation: row.next()?,
            asked_at: row.next()?,
            answer: row.next()?,
        })))
    }
}

#[async_trait]
impl QuestionStore for SqlJournal {
    async fn ask_question(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        new: &NewQuestion,
        state: &mut TaskHistory,
    ) -> Result<QuestionId> {
        let what = "ask a question";
        let insert = sql!(
            what,
            "INSERT INTO escalation (repository_id, source, task_id, iteration, asked_by, question, body, asked_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            repository,
            source,
            &new.task,
            new.iteration,
            match new.asked_by {
                AskedBy::Agent => "agent",
                AskedBy::Ralph => "ralph",
            },
            &new.question,
            new.escalation.as_ref().map(json).transpose()?,
            new.at,
        );
        transaction!(self, what, |tx| {
            let id = insert.one(&mut tx).await?;
            state.question = Some(new.question.clone());
            state.asked = Some(id);
            let state = upsert_state(repository, source, new.task.as_str(), state)?;
            let actor = match new.asked_by {
                AskedBy::Agent => Actor::Agent {
                    iteration: new.iteration,
                },
                AskedBy::Ralph => Actor::Ralph,
            };
            let subject = format!("question {id}");
            let deed = Deed {
                actor,
                action: "question_asked",
                at: new.at,
                repository: Some(repository),
                loop_id: None,
                task: Some(new.task.as_str()),
                subject: Some(&subject),
                detail: Some(&new.question),
            };
            state.then(audit::entry(deed)).run(&mut tx).await?;
            Ok(id)
        })
    }

    async fn questions(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Vec<Question>> {
        let rows: Vec<QuestionRow> = self.all(sql!(
            "list the questions",
            "SELECT task_id, id, iteration, asked_by, question, body, asked_at, answer FROM
               (SELECT * FROM escalation WHERE repository_id = ? AND source = ? ORDER BY id DESC LIMIT ?) AS newest
             ORDER BY id",
            repository,
            source,
            MOST_QUESTIONS,
        ))
        .await?;
        Ok(rows.into_iter().filter_map(|row| row.0).collect())
    }

    async fn answer_by_edit(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        state: &TaskHistory,
        at: Timestamp,
    ) -> Result<()> {
        let what = "note an answer";
        let answered = Answered {
            how: AnswerKind::Edited,
            by: "an edit of the task file".into(),
            at,
            told: None,
            amended: None,
        };
        let close = sql!(
            what,
            "UPDATE escalation SET answer = ?, answered_at = ?
             WHERE repository_id = ? AND source = ? AND task_id = ? AND answered_at IS NULL",
            json(&answered)?,
            at,
            repository,
            source,
            task,
        );
        let state = upsert_state(repository, source, task.as_str(), state)?;
        let deed = Deed {
            actor: Actor::Person(&answered.by),
            action: "question_answered",
            at,
            repository: Some(repository),
            loop_id: None,
            task: Some(task.as_str()),
            subject: None,
            detail: None,
        };
        let close = close.then(state).then(audit::entry(deed));
        transaction!(self, what, |tx| {
            close.run(&mut tx).await?;
            Ok(())
        })
    }
}

async fn write_answer(
    db: &mut WriteTransaction<'_>,
    question: QuestionId,
    answered: &Answered,
) -> Result<()> {
    sql!(
        "write an answer down",
        "UPDATE escalation SET answer = ?, answered_at = ? WHERE id = ?",
        json(answered)?,
        answered.at,
        question,
    )
    .run(db)
    .await?;
    Ok(())
}
