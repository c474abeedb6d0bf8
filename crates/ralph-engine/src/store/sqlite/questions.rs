//! Questions in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    escalation::{AnswerKind, Answered, AskedBy, Question},
    id::QuestionId,
    task::TaskId,
};
use sqlx::SqliteConnection;

use super::{
    Result, SqliteJournal,
    statement::{Columns, FromColumns, json, sql},
    tasks::upsert_state,
};
use crate::store::{NewQuestion, QuestionStore, RepositoryId, TaskHistory};

/// Questions that are looked at: all open ones are among them, in any project that a person can
/// still follow.
const MOST: i64 = 1_000;

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
impl QuestionStore for SqliteJournal {
    async fn ask_question(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        new: &NewQuestion,
        state: &mut TaskHistory,
    ) -> Result<QuestionId> {
        let what = "ask a question";
        let mut tx = self.begin(what).await?;
        let id = sql!(
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
        let id = id.one(&mut tx).await?;
        state.question = Some(new.question.clone());
        state.asked = Some(id);
        upsert_state(&mut tx, repository, source, new.task.as_str(), state).await?;
        tx.commit().await?;
        Ok(id)
    }

    async fn questions(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Vec<Question>> {
        let rows: Vec<QuestionRow> = sql!(
            "list the questions",
            "SELECT task_id, id, iteration, asked_by, question, body, asked_at, answer FROM
               (SELECT * FROM escalation WHERE repository_id = ? AND source = ? ORDER BY id DESC LIMIT ?)
             ORDER BY id",
            repository,
            source,
            MOST,
        )
        .all(&mut self.db)
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
        let mut tx = self.begin(what).await?;
        sql!(
            what,
            "UPDATE escalation SET answer = ?, answered_at = ?
             WHERE repository_id = ? AND source = ? AND task_id = ? AND answered_at IS NULL",
            json(&answered)?,
            at,
            repository,
            source,
            task,
        )
        .run(&mut tx)
        .await?;
        upsert_state(&mut tx, repository, source, task.as_str(), state).await?;
        tx.commit().await
    }
}

pub(super) async fn write_answer(
    db: &mut SqliteConnection,
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
