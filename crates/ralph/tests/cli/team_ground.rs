//! A server of a team's for a test, and the machines that use it.

use std::path::PathBuf;

use ralph_testkit::{
    TestRepo,
    postgres::{Cluster, Database},
};

use crate::support::{Ran, ralph_with};

/// A cluster with an empty database.
pub(crate) struct TeamServer {
    pub(crate) cluster: Cluster,
    pub(crate) database: Database,
}

impl TeamServer {
    /// With nothing in it.
    pub(crate) fn empty() -> Self {
        let cluster = Cluster::start();
        let database = cluster.database();
        Self { cluster, database }
    }

    /// Set up, with these tenants.
    pub(crate) fn with_tenants(tenants: &[&str]) -> Self {
        let server = Self::empty();
        let keeper = TestRepo::bare_folder();
        server.keep(&keeper, &["db", "init"]).text(0);
        for tenant in tenants {
            server
                .keep(&keeper, &["db", "tenant", "add", tenant])
                .text(0);
        }
        server
    }

    /// Runs ralph as the server's keeper.
    pub(crate) fn keep(&self, place: &TestRepo, args: &[&str]) -> Ran {
        ralph_with(place, args, &[("RALPH_STORE_URL", &self.database.url())])
    }

    /// Makes a role for a tenant, or for any, and returns its URL.
    pub(crate) fn role(&self, name: &str, tenant: Option<&str>) -> String {
        let place = TestRepo::bare_folder();
        let file: PathBuf = place.path("password");
        let mut args = vec!["db", "role", "add", name, "--password-file"];
        let path = file.to_str().unwrap().to_owned();
        args.push(&path);
        if let Some(tenant) = tenant {
            args.extend(["--tenant", tenant]);
        }
        self.keep(&place, &args).text(0);
        let password = std::fs::read_to_string(&file).unwrap();
        self.database.url_of(name, password.trim())
    }
}

/// The variables of a machine that syncs.
pub(crate) fn synced<'v>(url: &'v str, tenant: &'v str) -> [(&'v str, &'v str); 2] {
    [("RALPH_STORE_URL", url), ("RALPH_STORE_TENANT", tenant)]
}
