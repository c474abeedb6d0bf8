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
    JournalError, SqliteJournal, failed, from_row, lock, signed, tasks::upsert_state, unreadable,
    unsigned,
};
use crate::store::{NewQuestion, QuestionStore, RepositoryId, TaskHistory};

/// Questions that are looked at: all open ones are among them, in any project that a person can
/// still follow.
const MOST: i64 = 1_000;

struct QuestionColumns {
    id: i64,
    task_id: String,
    iteration: i64,
    asked_by: String,
    question: String,
    body: Option<String>,
    asked_at: String,
    answer: Option<String>,
}

from_row!(QuestionColumns {} [id, task_id, iteration, asked_by, question, body, asked_at, answer]);

#[async_trait]
impl QuestionStore for SqliteJournal {
    async fn ask_question(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        new: &NewQuestion,
        state: &mut TaskHistory,
    ) -> Result<QuestionId, JournalError> {
        let failed = || failed("ask a question");
        let body = new.escalation.as_ref().map(serde_json::to_string);
        let body = body.transpose().map_err(unreadable("a question"))?;
        let mut tx = lock::begin(&mut self.db, &self.path, "ask a question").await?;
        let (id,): (i64,) = sqlx::query_as(
            "INSERT INTO escalation (repository_id, source, task_id, iteration, asked_by, question, body, asked_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        )
        .bind(&repository.0)
        .bind(source)
        .bind(new.task.as_str())
        .bind(signed(new.iteration))
        .bind(match new.asked_by {
            AskedBy::Agent => "agent",
            AskedBy::Ralph => "ralph",
        })
        .bind(&new.question)
        .bind(body)
        .bind(new.at.to_string())
        .fetch_one(&mut *tx)
        .await
        .map_err(failed())?;
        state.question = Some(new.question.clone());
        let id = QuestionId::new(unsigned(id));
        state.asked = Some(id);
        upsert_state(&mut tx, repository, source, new.task.as_str(), state).await?;
        tx.commit().await.map_err(failed())?;
        Ok(id)
    }

    async fn questions(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Vec<Question>, JournalError> {
        let rows: Vec<QuestionColumns> = sqlx::query_as(
            "SELECT id, task_id, iteration, asked_by, question, body, asked_at, answer FROM
               (SELECT * FROM escalation WHERE repository_id = ? AND source = ? ORDER BY id DESC LIMIT ?)
             ORDER BY id",
        )
        .bind(&repository.0)
        .bind(source)
        .bind(MOST)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("list the questions"))?;
        // A task whose id can't be read any more has no question that could be answered.
        rows.into_iter()
            .filter_map(|row| TaskId::parse(&row.task_id).ok().map(|task| (task, row)))
            .map(|(task, row)| question(task, row))
            .collect()
    }

    async fn answer_by_edit(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        state: &TaskHistory,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        let failed = || failed("note an answer");
        let answered = Answered {
            how: AnswerKind::Edited,
            by: "an edit of the task file".into(),
            at,
            told: None,
            amended: None,
        };
        let answer = serde_json::to_string(&answered).map_err(unreadable("an answer"))?;
        let mut tx = lock::begin(&mut self.db, &self.path, "note an answer").await?;
        sqlx::query(
            "UPDATE escalation SET answer = ?, answered_at = ?
             WHERE repository_id = ? AND source = ? AND task_id = ? AND answered_at IS NULL",
        )
        .bind(answer)
        .bind(at.to_string())
        .bind(&repository.0)
        .bind(source)
        .bind(task.as_str())
        .execute(&mut *tx)
        .await
        .map_err(failed())?;
        upsert_state(&mut tx, repository, source, task.as_str(), state).await?;
        tx.commit().await.map_err(failed())
    }
}

pub(super) async fn write_answer(
    db: &mut SqliteConnection,
    question: QuestionId,
    answered: &Answered,
) -> Result<(), JournalError> {
    let answer = serde_json::to_string(answered).map_err(unreadable("an answer"))?;
    sqlx::query("UPDATE escalation SET answer = ?, answered_at = ? WHERE id = ?")
        .bind(answer)
        .bind(answered.at.to_string())
        .bind(signed(question.get()))
        .execute(db)
        .await
        .map_err(failed("write an answer down"))?;
    Ok(())
}

fn question(task_id: TaskId, row: QuestionColumns) -> Result<Question, JournalError> {
    let parse = |text: &str| serde_json::from_str(text).map_err(unreadable("a question"));
    Ok(Question {
        id: QuestionId::new(unsigned(row.id)),
        task_id,
        iteration: unsigned(row.iteration),
        asked_by: if row.asked_by == "agent" {
            AskedBy::Agent
        } else {
            AskedBy::Ralph
        },
        asked_at: row.asked_at.parse().unwrap_or_default(),
        question: row.question,
        escalation: row.body.as_deref().map(parse).transpose()?,
        answer: row
            .answer
            .as_deref()
            .map(|text| serde_json::from_str(text).map_err(unreadable("an answer")))
            .transpose()?,
    })
}
