//! The store on a real PostgreSQL.

mod audit;
mod bad_input;
mod checks;
mod migrations;
mod pitfalls;
mod shares;
mod storm;
mod team;

use ralph_testkit::postgres::{Cluster, Database};

use super::{
    Scope, StoreConnection, StoreUrl, UrlSource,
    admin::{self, NewRole},
    schema,
};

/// A URL from the environment.
fn url(text: &str) -> StoreUrl {
    StoreUrl::parse(text, &UrlSource::Environment).unwrap()
}

fn at() -> jiff::Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

/// A store that is set up, in the cluster of all tests of this process, with the tenants `a` and `b`.
struct Store {
    database: Database,
    admin: StoreUrl,
}

impl Store {
    async fn new() -> Self {
        Self::on(Cluster::shared()).await
    }

    async fn on(cluster: &Cluster) -> Self {
        let database = cluster.database();
        let admin = url(&database.url());
        admin::init(&admin).await.unwrap();
        for tenant in ["a", "b"] {
            admin::add_tenant(&admin, tenant).await.unwrap();
        }
        Self { database, admin }
    }

    /// Makes a role, whose name no other database of the cluster has, and returns it with its password.
    async fn role(&self, name: &str, tenant: Option<&str>) -> (String, String) {
        let name = format!("{}_{name}", self.database.name());
        let new = NewRole {
            name: &name,
            tenant,
            password: None,
        };
        let added = admin::add_role(&self.admin, new).await.unwrap();
        (added.name, added.password)
    }

    /// Where a new role finds the store.
    async fn url_of(&self, name: &str, tenant: Option<&str>) -> StoreUrl {
        let (role, password) = self.role(name, tenant).await;
        url(&self.database.url_of(&role, &password))
    }
}
