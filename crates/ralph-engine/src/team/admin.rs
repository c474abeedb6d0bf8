//! The work of the keeper of a team's store: sets it up, adds tenants and roles, proves its rules, reads its audit trail.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{dollars::Dollars, economics::Per};

use super::{StoreAddress, TeamError};

/// The store of a team, as its keeper sees it.
#[async_trait(?Send)]
pub trait StoreAdmin {
    /// Sets the database up, or brings it forward. What is there stays.
    async fn init(&mut self) -> Result<SchemaChange, TeamError>;

    /// Brings the database forward.
    async fn migrate(&mut self) -> Result<SchemaChange, TeamError>;

    async fn add_tenant(&mut self, name: &str) -> Result<TenantEntry, TeamError>;

    async fn tenants(&mut self) -> Result<Vec<TenantEntry>, TeamError>;

    /// Removes a tenant; one that has rows only where they are to go too.
    async fn remove_tenant(
        &mut self,
        name: &str,
        rows: TenantRows,
    ) -> Result<GoneTenant, TeamError>;

    /// Makes a role that ralph logs in as, for one tenant or for any. Returns its password, which is made up where there
    /// is none.
    async fn add_role(
        &mut self,
        name: &str,
        tenant: Option<&str>,
        password: Option<&str>,
    ) -> Result<String, TeamError>;

    /// Tries the rules of the database on the database itself.
    async fn check(&mut self) -> Result<Vec<CheckedGroup>, TeamError>;

    /// Gives each row of the audit trail of a tenant that the server took since then to `take`, in that order.
    async fn audit(
        &mut self,
        tenant: &str,
        since: Option<Timestamp>,
        take: &mut (dyn FnMut(AuditEntry) + Send),
    ) -> Result<(), TeamError>;

    /// Computes the seals of the audit trail again.
    async fn verify_audit(&mut self, tenant: &str) -> Result<Vec<AuditChain>, TeamError>;

    async fn set_budget(&mut self, budget: &NewTeamBudget<'_>) -> Result<(), TeamError>;

    /// The budgets of a tenant, with what machines hold of the periods that `now` is in.
    async fn budgets(
        &mut self,
        tenant: &str,
        now: Timestamp,
    ) -> Result<Vec<BudgetStanding>, TeamError>;

    /// Asks for what `ralph doctor` says of the server.
    async fn facts(&mut self, tenant: Option<&str>) -> Result<ServerFacts, TeamError>;
}

/// The result of setting up or bringing forward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// The versions that were missing.
    pub applied: Vec<i64>,
    /// The version that it has now.
    pub version: i64,
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantEntry {
    pub name: String,
    pub id: String,
    pub created_at: String,
}

/// The fate of a tenant's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TenantRows {
    /// It may have none.
    Refused,
    Removed,
}

/// Things that went with a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoneTenant {
    pub rows: u64,
    /// Roles that were bound to it: they see nothing any more.
    pub roles: Vec<String>,
}

/// A group of rules that were tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedGroup {
    pub name: String,
    /// The number of those that hold.
    pub held: usize,
    pub failures: Vec<String>,
    /// Those that could not be proven, and why.
    pub unproven: Vec<String>,
}

/// A row of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub origin: String,
    pub n: i64,
    pub at: String,
    pub actor_kind: String,
    pub actor: String,
    pub machine: String,
    pub action: String,
    pub repository_id: Option<String>,
    pub loop_id: Option<String>,
    pub task_id: Option<String>,
    pub subject: Option<String>,
    pub detail: Option<String>,
    /// When the server took it, by its own clock.
    pub received_at: String,
}

/// One chain of the audit trail, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditChain {
    pub origin: String,
    pub rows: u64,
    pub seals: u64,
    /// The hash of its last seal: written down elsewhere, it proves the chain later.
    pub hash: String,
    /// Why it does not hold.
    pub broken: Option<String>,
}

/// A budget to be set.
#[derive(Debug, Clone)]
pub struct NewTeamBudget<'a> {
    pub tenant: &'a str,
    pub per: Per,
    pub usd: Dollars,
    /// The person who sets it, and the machine on which they do.
    pub who: &'a str,
    pub machine: &'a str,
    pub at: Timestamp,
}

/// A budget of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetStanding {
    pub per: Per,
    pub usd: Dollars,
    pub set_by: String,
    pub set_at: Timestamp,
    /// The amount that machines hold of the current period.
    pub taken: Dollars,
}

/// The facts about a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    /// As messages name it.
    pub server: String,
    pub version: String,
    pub schema: i64,
    /// True if what is sent is encrypted.
    pub tls: bool,
    /// True if it is reached without a network: by a Unix socket or on this machine.
    pub local: bool,
    /// True if a pooler is in between.
    pub pooler: bool,
}

/// Finds the store that a keeper works on. Nothing is connected yet.
#[cfg(feature = "team")]
pub fn open_admin(address: &StoreAddress) -> Result<Box<dyn StoreAdmin>, TeamError> {
    super::server::open_admin(address)
}

/// Refuses, because it is not part of this build.
#[cfg(not(feature = "team"))]
pub fn open_admin(_address: &StoreAddress) -> Result<Box<dyn StoreAdmin>, TeamError> {
    Err(TeamError::NotBuilt)
}
