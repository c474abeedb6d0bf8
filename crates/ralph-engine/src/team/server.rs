//! The store of a team on its PostgreSQL server: what its functions and errors are to the rest of ralph.

use std::path::PathBuf;

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::economics::Per;

use super::{
    AuditChain, AuditEntry, BudgetStanding, CheckedGroup, GoneTenant, NewTeamBudget, SchemaChange,
    ServerFacts, StoreAddress, StoreAdmin, TeamError, TeamView, TenantEntry, TenantRows, UrlPlace,
    in_one_line,
};
use crate::store::{
    OrderId, OrderStanding, TeamCheckpoint, TeamCheckpoints, TeamCosts, TeamLoop, TeamLoops,
    TeamMachine, TeamOrder, TeamQuestion, TeamQuestions, TeamSums, first_day,
    postgres::{
        PasswordSources, StoreError, StoreUrl, UrlSource,
        admin::{self, BudgetChange, BudgetTerm, NewRole, Removal},
        audit, check,
        team::{self, TeamReader},
    },
};

/// The address as the store reads it, with its password.
pub(super) fn url(address: &StoreAddress) -> Result<StoreUrl, TeamError> {
    let source = match &address.place {
        UrlPlace::Environment | UrlPlace::CommandLine => UrlSource::Environment,
        UrlPlace::File(path) => UrlSource::File(PathBuf::clone(path)),
    };
    let passwords = PasswordSources::from_environment(|name| {
        let found = address.variables.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.clone())
    });
    Ok(StoreUrl::parse(&address.url, &source)?.with_password(&passwords)?)
}

pub(super) async fn open_view(
    address: &StoreAddress,
    tenant: &str,
) -> Result<Box<dyn TeamView>, TeamError> {
    let reader = TeamReader::open(&url(address)?, tenant).await?;
    Ok(Box::new(ServerView(reader)))
}

pub(super) fn open_admin(address: &StoreAddress) -> Result<Box<dyn StoreAdmin>, TeamError> {
    Ok(Box::new(ServerAdmin { url: url(address)? }))
}

/// The team's view by its server.
struct ServerView(TeamReader);

#[async_trait(?Send)]
impl TeamView for ServerView {
    async fn machines(&mut self, since: &str) -> Result<Vec<TeamMachine>, TeamError> {
        Ok(self.0.machines(since).await?)
    }

    async fn loops(&mut self, which: &TeamLoops) -> Result<Vec<TeamLoop>, TeamError> {
        Ok(self.0.loops(which).await?)
    }

    async fn costs(&mut self, which: &TeamCosts) -> Result<TeamSums, TeamError> {
        Ok(self.0.costs(which).await?)
    }

    async fn questions(&mut self, which: &TeamQuestions) -> Result<Vec<TeamQuestion>, TeamError> {
        Ok(self.0.questions(which).await?)
    }

    async fn checkpoints(
        &mut self,
        which: &TeamCheckpoints,
    ) -> Result<Vec<TeamCheckpoint>, TeamError> {
        Ok(self.0.checkpoints(which).await?)
    }

    async fn tell(&mut self, order: &TeamOrder) -> Result<OrderId, TeamError> {
        Ok(self.0.tell(order).await?)
    }

    async fn standing_of(&mut self, order: &OrderId) -> Result<OrderStanding, TeamError> {
        Ok(self.0.standing_of(order).await?)
    }

    async fn close(self: Box<Self>) {
        // All is read or committed by now.
        let _ = self.0.close().await;
    }
}

/// The keeper's work by its server.
struct ServerAdmin {
    url: StoreUrl,
}

#[async_trait(?Send)]
impl StoreAdmin for ServerAdmin {
    async fn init(&mut self) -> Result<SchemaChange, TeamError> {
        Ok(admin::init(&self.url).await?.into())
    }

    async fn migrate(&mut self) -> Result<SchemaChange, TeamError> {
        Ok(admin::migrate(&self.url).await?.into())
    }

    async fn add_tenant(&mut self, name: &str) -> Result<TenantEntry, TeamError> {
        Ok(admin::add_tenant(&self.url, name).await?.into())
    }

    async fn tenants(&mut self) -> Result<Vec<TenantEntry>, TeamError> {
        let found = admin::tenants(&self.url).await?;
        Ok(found.into_iter().map(TenantEntry::from).collect())
    }

    async fn remove_tenant(
        &mut self,
        name: &str,
        rows: TenantRows,
    ) -> Result<GoneTenant, TeamError> {
        let removal = match rows {
            TenantRows::Refused => Removal::Empty,
            TenantRows::Removed => Removal::WithRows,
        };
        let gone = admin::remove_tenant(&self.url, name, removal).await?;
        Ok(GoneTenant {
            rows: gone.rows,
            roles: gone.roles,
        })
    }

    async fn add_role(
        &mut self,
        name: &str,
        tenant: Option<&str>,
        password: Option<&str>,
    ) -> Result<String, TeamError> {
        let new = NewRole {
            name,
            tenant,
            password,
        };
        Ok(admin::add_role(&self.url, new).await?.password)
    }

    async fn check(&mut self) -> Result<Vec<CheckedGroup>, TeamError> {
        Ok(grouped(check::check(&self.url).await?))
    }

    async fn audit(
        &mut self,
        tenant: &str,
        since: Option<Timestamp>,
        take: &mut (dyn FnMut(AuditEntry) + Send),
    ) -> Result<(), TeamError> {
        let read = audit::read(&self.url, tenant, since, |row| take(row.into()));
        Ok(read.await?)
    }

    async fn verify_audit(&mut self, tenant: &str) -> Result<Vec<AuditChain>, TeamError> {
        let chains = audit::verify(&self.url, tenant).await?;
        let chains = chains.into_iter().map(|chain| AuditChain {
            origin: chain.origin,
            rows: chain.rows,
            seals: chain.seals,
            hash: chain.hash,
            broken: chain.broken.map(|broken| broken.to_string()),
        });
        Ok(chains.collect())
    }

    async fn set_budget(&mut self, budget: &NewTeamBudget<'_>) -> Result<(), TeamError> {
        let change = BudgetChange {
            tenant: budget.tenant,
            term: match budget.per {
                Per::Day => BudgetTerm::Day,
                Per::Month => BudgetTerm::Month,
                Per::Total => BudgetTerm::Total,
            },
            usd: budget.usd,
            by: budget.who,
            machine: budget.machine,
            at: budget.at,
        };
        Ok(admin::set_budget(&self.url, change).await?)
    }

    async fn budgets(
        &mut self,
        tenant: &str,
        now: Timestamp,
    ) -> Result<Vec<BudgetStanding>, TeamError> {
        let mut reader = TeamReader::open(&self.url, tenant).await?;
        let day = first_day(Per::Day, now).unwrap_or_default();
        let month = day.get(..7).unwrap_or_default();
        let found = reader.budgets(&day, month).await?;
        reader.close().await?;
        let found = found.into_iter().map(|budget| BudgetStanding {
            per: match budget.per.as_str() {
                "day" => Per::Day,
                "month" => Per::Month,
                _ => Per::Total,
            },
            usd: budget.usd,
            set_by: budget.set_by,
            set_at: budget.set_at,
            taken: budget.taken,
        });
        Ok(found.collect())
    }

    async fn facts(&mut self, tenant: Option<&str>) -> Result<ServerFacts, TeamError> {
        let facts = team::look(&self.url, tenant).await?;
        Ok(ServerFacts {
            server: self.url.server(),
            version: facts.version,
            schema: facts.schema,
            tls: facts.tls,
            local: self.url.is_local(),
            pooler: facts.pooler,
        })
    }
}

/// The kinds of things that a database has, by the words that their checks begin with.
const KINDS: [(&str, &str); 9] = [
    ("table", "tables"),
    ("column", "columns"),
    ("constraint", "keys and constraints"),
    ("index", "indexes"),
    ("policy", "policies"),
    ("grant", "grants"),
    ("trigger", "triggers"),
    ("function", "functions"),
    ("view", "views"),
];
/// The name of all other checks: not of what there is, but of what it comes to.
const RULES: &str = "what they come to";

/// The checks by kind, in the order of the kinds.
fn grouped(checks: Vec<check::Check>) -> Vec<CheckedGroup> {
    let names = KINDS.iter().map(|(_, name)| *name).chain([RULES]);
    let mut groups: Vec<CheckedGroup> = names
        .map(|name| CheckedGroup {
            name: name.to_owned(),
            held: 0,
            failures: Vec::new(),
            unproven: Vec::new(),
        })
        .collect();
    for check in checks {
        let word = check.name.split(' ').next().unwrap_or_default();
        let place = KINDS.iter().position(|(first, _)| *first == word);
        let Some(group) = groups.get_mut(place.unwrap_or(KINDS.len())) else {
            continue;
        };
        match check.result {
            check::CheckResult::Ok => group.held += 1,
            check::CheckResult::Failed(why) => {
                group.failures.push(format!("{}: {why}", check.name))
            }
            check::CheckResult::NotProven(why) => {
                group.unproven.push(format!("{}: {why}", check.name));
            }
        }
    }
    groups.retain(|group| group.held + group.failures.len() + group.unproven.len() > 0);
    groups
}

impl From<admin::SchemaReport> for SchemaChange {
    fn from(report: admin::SchemaReport) -> Self {
        Self {
            applied: report.applied,
            version: report.version,
        }
    }
}

impl From<admin::Tenant> for TenantEntry {
    fn from(tenant: admin::Tenant) -> Self {
        Self {
            name: tenant.name,
            id: tenant.id.to_string(),
            created_at: tenant.created_at,
        }
    }
}

impl From<audit::AuditRow> for AuditEntry {
    fn from(row: audit::AuditRow) -> Self {
        Self {
            origin: row.origin,
            n: row.n,
            at: row.at,
            actor_kind: row.actor_kind,
            actor: row.actor,
            machine: row.machine,
            action: row.action,
            repository_id: row.repository_id,
            loop_id: row.loop_id,
            task_id: row.task_id,
            subject: row.subject,
            detail: row.detail,
            received_at: row.received_at,
        }
    }
}

impl From<StoreError> for TeamError {
    fn from(error: StoreError) -> Self {
        let hint = error.hint().map(str::to_owned);
        // What the server said beyond these is of no use to a person.
        let says_all = match &error {
            StoreError::Silent { .. } | StoreError::DiskFull { .. } => true,
            StoreError::PasswordFile { .. }
            | StoreError::Tls { .. }
            | StoreError::Refused { .. } => false,
            error => error.is_users(),
        };
        let line = if says_all {
            error.to_string()
        } else {
            in_one_line(&error)
        };
        if error.is_users() {
            Self::Users { line, hint }
        } else {
            Self::Server { line, hint }
        }
    }
}
