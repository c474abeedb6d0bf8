//! The team's view on a PostgreSQL server: reads from the schema `ralph_team`, and commands for machines.
//!
//! Runs within a transaction that has the tenant set, so that the policies of the server decide what is seen. Every
//! list has a limit, and an index that begins with the tenant. A row comes as JSON: what can't be read of it is an error
//! of its own.

use ralph_core::command::CommandReport;
use serde::{Deserialize, de::DeserializeOwned};
use sqlx::{
    Arguments as _, ConnectOptions as _, Connection as _, Row as _,
    postgres::{PgArguments, PgRow},
};
use uuid::Uuid;

use super::{Scope, StoreConnection, StoreError, StoreTransaction, StoreUrl, schema, statement};
use crate::team::{
    OrderId, OrderStanding, TeamBudgetRow, TeamCheckpoint, TeamCheckpoints, TeamCostBy, TeamCosts,
    TeamLoop, TeamLoops, TeamMachine, TeamOrder, TeamQuestion, TeamQuestions, TeamSum, TeamSums,
};

/// The purposes of the statements here.
const READ: &str = "be read";
const TELL: &str = "take a command";

/// The store of a team, for one tenant.
#[derive(Debug)]
pub struct TeamReader {
    connection: StoreConnection,
    tenant: Uuid,
}

impl TeamReader {
    /// Connects to a store of this schema, and finds the tenant.
    pub async fn open(url: &StoreUrl, tenant: &str) -> Result<Self, StoreError> {
        let mut connection = StoreConnection::open(url).await?;
        let mut tx = connection.begin(READ, &Scope::default()).await?;
        schema::require(&mut tx).await?;
        tx.commit(READ).await?;
        let tenant = connection.tenant(tenant).await?;
        Ok(Self { connection, tenant })
    }

    async fn begin(&mut self, what: &str) -> Result<StoreTransaction<'_>, StoreError> {
        self.connection.begin(what, &Scope::of(self.tenant)).await
    }

    /// The rows of one statement, in a transaction of its own.
    async fn all<T: DeserializeOwned>(&mut self, asked: Asked) -> Result<Vec<T>, StoreError> {
        let mut tx = self.begin(READ).await?;
        let rows = asked.all(&mut tx, READ).await?;
        tx.commit(READ).await?;
        Ok(rows)
    }

    /// The machines that ever sent something, the one that was heard of last first, with what is open on each and
    /// what it spent since that day; and the journal on the server itself, if there is one.
    pub async fn machines(&mut self, since: &str) -> Result<Vec<TeamMachine>, StoreError> {
        self.all(machines(since)).await
    }

    /// Loops, newest first.
    pub async fn loops(&mut self, which: &TeamLoops) -> Result<Vec<TeamLoop>, StoreError> {
        self.all(loops(which)).await
    }

    /// Sums of what was spent, the highest first; days from the newest on.
    pub async fn costs(&mut self, which: &TeamCosts) -> Result<TeamSums, StoreError> {
        let (rows, total) = costs(which);
        let rows = self.all(rows).await?;
        let total: Vec<TeamSum> = self.all(total).await?;
        Ok(TeamSums {
            rows,
            total: total.into_iter().next().unwrap_or_default(),
        })
    }

    /// Questions, newest first.
    pub async fn questions(
        &mut self,
        which: &TeamQuestions,
    ) -> Result<Vec<TeamQuestion>, StoreError> {
        self.all(questions(which)).await
    }

    /// Checkpoints, newest first.
    pub async fn checkpoints(
        &mut self,
        which: &TeamCheckpoints,
    ) -> Result<Vec<TeamCheckpoint>, StoreError> {
        self.all(checkpoints(which)).await
    }

    /// The budgets of the tenant, with what machines hold of these periods.
    pub async fn budgets(
        &mut self,
        day: &str,
        month: &str,
    ) -> Result<Vec<TeamBudgetRow>, StoreError> {
        self.all(budgets(day, month)).await
    }

    /// Puts a command down for the machine that has the loop; for a journal on the server itself, into its queue.
    pub async fn tell(&mut self, order: &TeamOrder) -> Result<OrderId, StoreError> {
        let (asked, id) = told(order);
        let mut tx = self.begin(TELL).await?;
        let rows = asked.rows(&mut tx, TELL).await?;
        let id = match (id, rows.first()) {
            (Some(id), _) => OrderId::Synced(id),
            (None, Some(row)) => OrderId::Direct(tx.fail(TELL, row.try_get(0))?),
            (None, None) => OrderId::Direct(0),
        };
        tx.commit(TELL).await?;
        Ok(id)
    }

    /// Looks what became of a command.
    pub async fn standing_of(&mut self, order: &OrderId) -> Result<OrderStanding, StoreError> {
        let found: Vec<StandingRow> = self.all(standing(order)).await?;
        let row = found.into_iter().next();
        let (taken, result) = row.map_or((false, None), |row| (row.taken, row.result));
        let report: Option<CommandReport> = match result {
            Some(text) => {
                Some(serde_json::from_str(&text).map_err(|error| unreadable(READ, error))?)
            }
            None => None,
        };
        Ok(match report {
            Some(report) => OrderStanding::Done(report),
            None if taken => OrderStanding::Taken,
            None => OrderStanding::Waiting,
        })
    }

    /// Ends the connection in order.
    pub async fn close(self) -> Result<(), StoreError> {
        self.connection.close().await
    }
}

fn unreadable(what: &str, error: serde_json::Error) -> StoreError {
    StoreError::Query {
        what: what.to_owned(),
        source: Box::new(error),
    }
}

/// A statement with its values, in order. Its text is made here and holds none of them.
#[derive(Default)]
struct Asked {
    sql: String,
    values: Vec<String>,
}

impl Asked {
    /// Adds a value; returns its place.
    fn value(&mut self, value: impl Into<String>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    async fn rows(
        self,
        tx: &mut StoreTransaction<'_>,
        what: &str,
    ) -> Result<Vec<PgRow>, StoreError> {
        let mut values = PgArguments::default();
        for value in self.values {
            let added = values.add(value);
            debug_assert!(added.is_ok(), "a text can always be bound");
        }
        let rows = statement(self.sql, values).fetch_all(tx.db()).await;
        tx.fail(what, rows)
    }

    /// The rows, each of which is one column of JSON.
    async fn all<T: DeserializeOwned>(
        self,
        tx: &mut StoreTransaction<'_>,
        what: &str,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.rows(tx, what).await?;
        let read = rows.iter().map(|row| {
            let text: String = tx.fail(what, row.try_get(0))?;
            serde_json::from_str(&text).map_err(|error| unreadable(what, error))
        });
        read.collect()
    }
}

/// A condition on a table of the view.
struct Where(Vec<String>);

impl Where {
    fn text(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        format!("WHERE {}", self.0.join(" AND "))
    }
}

/// The machines that ever sent something, the one that was heard of last first, and the journal on the server itself.
fn machines(since: &str) -> Asked {
    let mut asked = Asked::default();
    let since = asked.value(since);
    asked.sql = format!(
        "WITH l AS (SELECT origin, count(*) AS n FROM ralph_team.loop WHERE ended_at IS NULL GROUP BY origin),
              q AS (SELECT origin, count(*) AS n FROM ralph_team.question WHERE answered_at IS NULL GROUP BY origin),
              c AS (SELECT origin, sum(spent)::float8 AS spent FROM ralph_team.cost
                    WHERE dimension = 'loop' AND day >= {since} GROUP BY origin),
              d AS (SELECT '' AS origin, 'on the server' AS name
                    WHERE EXISTS (SELECT 1 FROM ralph.repository WHERE origin = ''))
         SELECT row_to_json(r)::text FROM (
           SELECT m.origin, m.name, m.first_seen, m.last_seen, m.clock_skew_ms AS server_ahead_ms,
                  COALESCE(l.n, 0) AS open_loops, COALESCE(q.n, 0) AS open_questions,
                  COALESCE(c.spent, 0) / 1000000 AS spent
           FROM (SELECT origin, name, first_seen, last_seen, clock_skew_ms FROM ralph_team.machine
                 UNION ALL SELECT origin, name, NULL, NULL, NULL FROM d) AS m
           LEFT JOIN l USING (origin) LEFT JOIN q USING (origin) LEFT JOIN c USING (origin)
           ORDER BY m.last_seen DESC NULLS LAST, m.origin) AS r"
    );
    asked
}

/// Loops, newest first.
fn loops(which: &TeamLoops) -> Asked {
    let mut asked = Asked::default();
    let mut only = Where(Vec::new());
    if which.open {
        only.0.push("l.ended_at IS NULL".to_owned());
    }
    if let Some(like) = &which.like {
        let like = asked.value(like);
        only.0.push(format!("starts_with(l.id, {like})"));
    }
    if let Some(since) = which.since {
        let since = asked.value(since.to_string());
        only.0.push(format!("l.started_at >= {since}"));
    }
    asked.sql = format!(
        "SELECT row_to_json(r)::text FROM (
           SELECT l.id, l.origin, l.machine, m.last_seen, l.repository_id, l.common_dir, l.worktree, l.source, l.goal,
                  l.branch, l.agent, l.iterations, l.verified, l.spent::float8 / 1000000 AS spent, l.input_tokens,
                  l.output_tokens, l.started_at, l.ended_at, l.stop, l.paused_at
           FROM ralph_team.loop l LEFT JOIN ralph_team.machine m ON m.origin = l.origin
           {} ORDER BY l.started_at DESC, l.id DESC LIMIT {}) AS r",
        only.text(),
        which.most
    );
    asked
}

/// Sums of what was spent, the highest first; days from the newest on.
fn costs(which: &TeamCosts) -> (Asked, Asked) {
    let mut asked = Asked::default();
    let dimension = match which.by {
        TeamCostBy::Model => "loop_part",
        TeamCostBy::Machine | TeamCostBy::Repository | TeamCostBy::Loop | TeamCostBy::Day => "loop",
    };
    let days = match (&which.since, which.by) {
        (Some(since), _) => format!("c.day >= {}", asked.value(since)),
        (None, TeamCostBy::Day) => "c.day > ''".to_owned(),
        (None, _) => "c.day = ''".to_owned(),
    };
    let (key, name) = match which.by {
        TeamCostBy::Machine => ("c.origin", "max(c.machine)"),
        TeamCostBy::Repository => (
            "c.repository_id",
            "(SELECT max(r.common_dir) FROM ralph.repository r WHERE r.id = c.repository_id)",
        ),
        TeamCostBy::Loop => ("c.loop_id", "max(c.machine)"),
        TeamCostBy::Model => ("split_part(c.key, E'\\x1f', 2)", "NULL::text"),
        TeamCostBy::Day => ("c.day", "NULL::text"),
    };
    let order = match which.by {
        TeamCostBy::Day => "key DESC",
        TeamCostBy::Machine | TeamCostBy::Repository | TeamCostBy::Loop | TeamCostBy::Model => {
            "spent DESC, key"
        }
    };
    let sums = "sum(c.calls)::bigint AS calls, sum(c.input)::bigint AS input, sum(c.output)::bigint AS output,
                sum(c.cache_read)::bigint AS cache_read, sum(c.cache_write)::bigint AS cache_write,
                sum(c.spent)::float8 / 1000000 AS spent, sum(c.estimated)::float8 / 1000000 AS estimated,
                sum(c.unknown_tokens)::bigint AS unknown_tokens";
    let from = format!("FROM ralph_team.cost c WHERE c.dimension = '{dimension}' AND {days}");
    let values = asked.values.clone();
    asked.sql = format!(
        "SELECT row_to_json(r)::text FROM (
           SELECT {key} AS key, {name} AS name, {sums} {from} GROUP BY {key} ORDER BY {order} LIMIT {}) AS r",
        which.most
    );
    let total = Asked {
        sql: format!(
            "SELECT row_to_json(r)::text FROM (
               SELECT '' AS key, NULL::text AS name, {sums} {from} HAVING count(*) > 0) AS r"
        ),
        values,
    };
    (asked, total)
}

/// Questions, newest first.
fn questions(which: &TeamQuestions) -> Asked {
    let mut asked = Asked::default();
    let mut only = Where(Vec::new());
    if !which.all {
        only.0.push("q.answered_at IS NULL".to_owned());
    }
    if let Some(since) = which.since {
        let since = asked.value(since.to_string());
        only.0.push(format!("q.asked_at >= {since}"));
    }
    if let Some(named) = &which.named {
        let named = asked.value(named);
        only.0
            .push(format!("(q.id::text = {named} OR q.task_id = {named})"));
    }
    asked.sql = format!(
        "SELECT row_to_json(r)::text FROM (
           SELECT q.id, q.origin, q.machine, m.last_seen, q.repository_id, q.common_dir, l.worktree, l.id AS loop_id,
                  q.source, q.task_id, q.iteration, q.asked_by, q.question, q.body, q.asked_at, q.answer, q.answered_at
           FROM ralph_team.question q
           LEFT JOIN ralph_team.machine m ON m.origin = q.origin
           LEFT JOIN ralph.iteration i ON i.tenant = q.tenant AND i.origin = q.origin
             AND i.repository_id = q.repository_id AND i.n = q.iteration
           LEFT JOIN ralph.loop l ON l.tenant = q.tenant AND l.origin = q.origin AND l.id = i.loop_id
           {} ORDER BY q.asked_at DESC, q.id DESC LIMIT {}) AS r",
        only.text(),
        which.most
    );
    asked
}

/// Checkpoints, newest first.
fn checkpoints(which: &TeamCheckpoints) -> Asked {
    let mut asked = Asked::default();
    let mut only = Where(Vec::new());
    if let Some(id) = &which.loop_id {
        let id = asked.value(id.as_str());
        only.0.push(format!("c.loop_id = {id}"));
    }
    if let Some(since) = which.since {
        let since = asked.value(since.to_string());
        only.0.push(format!("c.at >= {since}"));
    }
    asked.sql = format!(
        "SELECT row_to_json(r)::text FROM (
           SELECT c.id, c.origin, c.machine, c.repository_id, c.loop_id, c.n, c.iteration, c.phase, c.at, c.hash,
                  c.tip_commit
           FROM ralph_team.checkpoint c {} ORDER BY c.id DESC LIMIT {}) AS r",
        only.text(),
        which.most
    );
    asked
}

/// The statement that puts a command down, and its id where that is not the server's to give.
fn told(order: &TeamOrder) -> (Asked, Option<String>) {
    let mut asked = Asked::default();
    let values = [
        &order.repository_id,
        &order.worktree,
        &order.who,
        &order.body,
    ];
    let places = values.map(|value| asked.value(value)).join(", ");
    if order.origin.is_empty() {
        let at = asked.value(order.at.to_string());
        asked.sql = format!(
            "INSERT INTO ralph.command (repository_id, worktree, who, body, at) VALUES ({places}, {at}) RETURNING id"
        );
        return (asked, None);
    }
    let id = Uuid::now_v7().to_string();
    let (origin, source) = (asked.value(&order.origin), asked.value(&order.source));
    let place = asked.value(&id);
    asked.sql = format!(
        "INSERT INTO ralph.team_command (repository_id, worktree, who, body, origin, source, id)
         VALUES ({places}, {origin}, {source}, {place}::uuid)"
    );
    (asked, Some(id))
}

/// The columns of a command that tell what became of it.
#[derive(Deserialize)]
struct StandingRow {
    taken: bool,
    result: Option<String>,
}

fn standing(order: &OrderId) -> Asked {
    let mut asked = Asked::default();
    asked.sql = match order {
        OrderId::Synced(id) => format!(
            "SELECT json_build_object('taken', taken_at IS NOT NULL, 'result', result)::text
             FROM ralph.team_command WHERE id = {}::uuid",
            asked.value(id)
        ),
        OrderId::Direct(id) => format!(
            "SELECT json_build_object('taken', true, 'result', result)::text
             FROM ralph.command WHERE origin = '' AND id = {}::bigint",
            asked.value(id.to_string())
        ),
    };
    asked
}

fn budgets(day: &str, month: &str) -> Asked {
    let mut asked = Asked::default();
    let (day, month) = (asked.value(day), asked.value(month));
    asked.sql = format!(
        "SELECT row_to_json(r)::text FROM (
           SELECT b.per, b.usd::float8 / 1000000 AS usd, b.set_by, b.set_at,
                  COALESCE(p.taken, 0)::float8 / 1000000 AS taken
           FROM ralph.budget b LEFT JOIN ralph.budget_period p ON p.tenant = b.tenant AND p.per = b.per
             AND p.period = CASE b.per WHEN 'day' THEN {day} WHEN 'month' THEN {month} ELSE 'total' END
           ORDER BY b.per) AS r"
    );
    asked
}

/// The facts about a server that it tells itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFacts {
    pub version: String,
    pub schema: i64,
    pub tls: bool,
    pub pooler: bool,
}

/// Looks whether a store can be used: its version, its schema, the tenant, and how it is reached.
pub async fn look(url: &StoreUrl, tenant: Option<&str>) -> Result<StoreFacts, StoreError> {
    let mut connection = StoreConnection::open(url).await?;
    let mut tx = connection.begin(READ, &Scope::default()).await?;
    schema::require(&mut tx).await?;
    let asked = Asked {
        sql: "SELECT json_build_object('version', current_setting('server_version'),
                'tls', COALESCE((SELECT ssl FROM pg_catalog.pg_stat_ssl WHERE pid = pg_backend_pid()), false))::text"
            .to_owned(),
        values: Vec::new(),
    };
    let found: Vec<FactsRow> = asked.all(&mut tx, READ).await?;
    tx.commit(READ).await?;
    if let Some(name) = tenant {
        connection.tenant(name).await?;
    }
    connection.close().await?;
    let row = found.into_iter().next().unwrap_or_default();
    Ok(StoreFacts {
        version: row.version,
        schema: schema::KNOWN,
        tls: row.tls,
        pooler: is_pooled(url).await,
    })
}

/// A setting that only a server itself takes over from a connection: a pooler refuses it, or drops it.
const MARK: (&str, &str) = ("ralph.direct", "1");

/// Tells if something between here and the server gives transactions connections of others.
async fn is_pooled(url: &StoreUrl) -> bool {
    let options = url.options().options([MARK]);
    let connected = tokio::time::timeout(url.timeout(), options.connect()).await;
    let Ok(Ok(mut db)) = connected else {
        return true;
    };
    let asked = sqlx::query_scalar("SELECT current_setting($1, true)").bind(MARK.0);
    let mark: Result<Option<String>, _> = asked.persistent(false).fetch_one(&mut db).await;
    let _ = db.close().await;
    !mark.is_ok_and(|mark| mark.as_deref() == Some(MARK.1))
}

#[derive(Default, Deserialize)]
struct FactsRow {
    version: String,
    tls: bool,
}
