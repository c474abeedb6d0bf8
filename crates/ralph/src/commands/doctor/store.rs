//! The check of the store of a team: whether it can be reached and used, and how. Asks the server a few questions.

use ralph_core::config::StoreMode;
use ralph_engine::team::{HAS_TEAM, ServerFacts, open_admin};

use super::Check;
use crate::{
    commands::db,
    error::CommandError,
    project::{Project, block_on},
};

const NAME: &str = "store";

pub(super) fn checks(project: &Project) -> Vec<Check> {
    let store = &project.config().store;
    if store.mode() == StoreMode::Local {
        return Vec::new();
    }
    if let Err(error) = db::check_built_in(store, HAS_TEAM) {
        return vec![problem(&error)];
    }
    let facts = block_on(async {
        let mut admin = open_admin(&project.store_address()?)?;
        Ok(admin.facts(store.tenant.as_deref()).await?)
    });
    match facts {
        Ok(facts) => found(&facts, store.tenant.as_deref().unwrap_or_default()),
        Err(error) => vec![problem(&error)],
    }
}

fn problem(error: &CommandError) -> Check {
    let check = Check::problem(NAME, error.sentences().join(": "));
    match error.hint_text() {
        Some(hint) => check.hint(hint),
        None => check,
    }
}

fn found(facts: &ServerFacts, tenant: &str) -> Vec<Check> {
    let (server, version) = (&facts.server, &facts.version);
    let connection = match (facts.tls, facts.local) {
        (true, _) => Check::ok(
            NAME,
            "the connection is encrypted (TLS), and the server's certificate is verified",
        ),
        (false, true) => Check::ok(
            NAME,
            "the connection does not leave this machine; it is not encrypted",
        ),
        (false, false) => Check::problem(NAME, "the connection is not encrypted"),
    };
    let way = if facts.pooler {
        Check::note(
            NAME,
            "a pooler is in between: answers of the team come by a look every 2 s, not at once",
        )
    } else {
        Check::ok(
            NAME,
            "no pooler is in between: answers of the team come at once",
        )
    };
    vec![
        Check::ok(
            NAME,
            format!(
                "{server} is reached: PostgreSQL {version}, schema {}",
                facts.schema
            ),
        ),
        Check::ok(
            NAME,
            format!("tenant {tenant} is there, and this role may see it"),
        ),
        connection,
        way,
    ]
}
