//! `check` names what is wrong, and that alone: everything that keeps tenants apart is dropped once.

use super::{
    super::{
        Scope, StoreConnection, StoreUrl,
        check::{self, Check, CheckResult, EXPECTED},
        probe, schema,
    },
    *,
};

/// The catalog of a fresh store. With `RALPH_UPDATE_EXPECTED=1` the file is written, after a migration was
/// added; the difference is for a person to read.
#[tokio::test]
async fn what_is_expected_is_what_the_migrations_make() {
    let store = Store::new().await;
    let mut connection = StoreConnection::open(&store.admin).await.unwrap();
    let lines = check::catalog_lines(connection.db()).await.unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if std::env::var_os("RALPH_UPDATE_EXPECTED").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/postgres/expected.txt");
        std::fs::write(path, &text).unwrap();
        return;
    }
    let expected: Vec<&str> = EXPECTED.lines().collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

/// The checks that did not come out well.
async fn bad(url: &StoreUrl) -> Vec<Check> {
    let checks = check::check(url).await.unwrap();
    let bad = checks
        .into_iter()
        .filter(|check| check.result != CheckResult::Ok);
    bad.collect()
}

#[tokio::test]
async fn a_fresh_store_has_nothing_that_is_not_proven() {
    let store = Store::new().await;
    assert_eq!(bad(&store.admin).await, []);
    // Nothing of it stays.
    assert_eq!(store.database.sql("SELECT count(*) FROM ralph.tenant"), "2");
    assert_eq!(
        store
            .database
            .sql("SELECT count(*) FROM pg_roles WHERE rolname = 'ralph_probe'"),
        "0"
    );
}

#[tokio::test]
async fn a_role_of_the_app_is_told_what_it_can_not_prove() {
    let store = Store::new().await;
    let app = store.url_of("any", None).await;
    let found = bad(&app).await;
    let names: Vec<&str> = found.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["rows of one tenant are out of reach of another"]);
    assert!(
        matches!(found[0].result, CheckResult::NotProven(_)),
        "{found:?}"
    );
}

/// A store in which everything is damaged once, and one thing at a time: each in a transaction that is taken back.
struct Damage {
    connection: StoreConnection,
}

impl Damage {
    async fn new() -> Self {
        let store = Store::new().await;
        let connection = StoreConnection::open(&store.admin).await.unwrap();
        Self { connection }
    }

    /// The checks that fail once these statements have run as a superuser: by the catalog, and by trying. By trying only where
    /// asked for, since it takes longer.
    async fn done(&mut self, damage: &str, is_tried: bool) -> (Vec<String>, Vec<String>) {
        let mut tx = self
            .connection
            .begin("test", &Scope::default())
            .await
            .unwrap();
        let done = schema::run(tx.db(), damage).await;
        done.unwrap_or_else(|error| panic!("{error}: {damage}"));
        let by_catalog = failed(check::catalog(tx.db()).await.unwrap());
        let by_trying = match is_tried {
            true => failed(probe::probe(&mut tx).await.unwrap()),
            false => Vec::new(),
        };
        tx.rollback().await.unwrap();
        (by_catalog, by_trying)
    }

    /// Exactly these fail by the catalog, the rules set aside, whose names hold no object.
    async fn names(&mut self, damage: &str, expected: &[&str]) {
        let (found, _) = self.done(damage, false).await;
        let objects: Vec<&str> = found
            .iter()
            .map(String::as_str)
            .filter(|name| !is_rule(name))
            .collect();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(objects, expected, "{damage}");
    }
}

fn failed(checks: Vec<Check>) -> Vec<String> {
    let failed = checks
        .into_iter()
        .filter(|check| matches!(check.result, CheckResult::Failed(_)));
    failed.map(|check| check.name).collect()
}

fn is_rule(name: &str) -> bool {
    !EXPECTED.contains(name)
        && ![
            "policy ",
            "constraint ",
            "index ",
            "grant ",
            "view ",
            "materialized ",
            "trigger ",
            "function ",
            "table ",
            "column ",
        ]
        .iter()
        .any(|kind| name.starts_with(kind))
}

/// The expected lines of a kind: what is named, what it is on (for those that have it), and what it is.
fn expected(kind: &str) -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    let lines = EXPECTED
        .lines()
        .filter_map(|line| Some((line, line.strip_prefix(kind)?.strip_prefix(' ')?)));
    let parts = lines.map(|(line, rest)| {
        let (name, what) = rest.split_once(": ").unwrap_or((rest, ""));
        let (name, on) = name.split_once(" on ").unwrap_or((name, ""));
        let full = line.split_once(": ").map_or(line, |(full, _)| full);
        (full, name, on, what)
    });
    parts.collect()
}

#[tokio::test]
async fn each_policy_is_missed() {
    let mut damage = Damage::new().await;
    let policies = expected("policy");
    assert_eq!(policies.len(), 35);
    for (full, name, table, what) in policies {
        damage
            .names(&format!("DROP POLICY {name} ON {table}"), &[full])
            .await;
        if what.contains("current_tenant") {
            let open = format!("ALTER POLICY {name} ON {table} USING (true)");
            damage.names(&open, &[full]).await;
        }
        // Policies are joined by OR: one more that lets everything through is enough.
        let more = format!("CREATE POLICY more ON {table} USING (true)");
        damage
            .names(&more, &[&format!("policy more on {table}")])
            .await;
    }
}

#[tokio::test]
async fn each_table_without_row_level_security_is_named_and_what_leaks_is_shown() {
    let mut damage = Damage::new().await;
    let tables = expected("table");
    assert_eq!(tables.len(), 33);
    for (full, table, ..) in tables {
        let name = table.strip_prefix("ralph.").unwrap();
        let has_tenant = !["schema_version", "tenant", "role_tenant"].contains(&name);
        let off = format!("ALTER TABLE {table} DISABLE ROW LEVEL SECURITY");
        let (found, leaks) = damage.done(&off, has_tenant).await;
        assert_eq!(
            found,
            [
                full,
                "every table has row-level security, forced, with a policy"
            ]
        );
        if has_tenant {
            let leak = format!("rows of one tenant in {table} are out of reach of another");
            assert!(leaks.contains(&leak), "{leaks:?}");
        }
        let free = format!("ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY");
        let (found, leaks) = damage.done(&free, has_tenant).await;
        assert_eq!(
            found,
            [
                full,
                "every table has row-level security, forced, with a policy"
            ]
        );
        if has_tenant {
            assert_eq!(
                leaks,
                ["the owner sees no tenant's rows without its setting"],
                "{table}"
            );
        }
        let owned = format!("ALTER TABLE {table} OWNER TO postgres");
        let (found, _) = damage.done(&owned, false).await;
        assert!(found.contains(&full.to_owned()), "{found:?}");
    }
}

#[tokio::test]
async fn each_constraint_is_missed() {
    let mut damage = Damage::new().await;
    let constraints = expected("constraint");
    assert_eq!(constraints.len(), 89);
    for (full, name, table, what) in constraints {
        let drop = format!("ALTER TABLE {table} DROP CONSTRAINT {name} CASCADE");
        if what.starts_with("PRIMARY KEY") || what.starts_with("UNIQUE") {
            // Its index goes with it, and the foreign keys that need it.
            let index = format!("index ralph.{name}");
            let is_primary = what.starts_with("PRIMARY KEY");
            let needs_it = format!("REFERENCES {table}(");
            let keys = expected("constraint").into_iter();
            let keys = keys.filter(|(.., what)| is_primary && what.contains(&needs_it));
            let mut gone: Vec<&str> = keys.map(|(full, ..)| full).collect();
            gone.extend([full, &index]);
            damage.names(&drop, &gone).await;
        } else {
            damage.names(&drop, &[full]).await;
        }
    }
}

/// A key without the tenant tells that another one has it, and a foreign key without it takes another one's rows.
#[tokio::test]
async fn a_key_or_a_foreign_key_without_the_tenant_is_named_and_what_leaks_is_shown() {
    let mut damage = Damage::new().await;
    let rule = "every key and every foreign key begins with the tenant".to_owned();
    let unique = "ALTER TABLE ralph.loop ADD CONSTRAINT loop_id UNIQUE (id)";
    let (found, leaks) = damage.done(unique, true).await;
    assert!(found.contains(&rule), "{found:?}");
    assert!(
        leaks.contains(&"no key tells what another tenant has".to_owned()),
        "{leaks:?}"
    );
    let foreign = "ALTER TABLE ralph.repository ADD UNIQUE (id);
         ALTER TABLE ralph.loop DROP CONSTRAINT loop_tenant_origin_repository_id_fkey,
             ADD FOREIGN KEY (repository_id) REFERENCES ralph.repository (id)";
    let (found, leaks) = damage.done(foreign, true).await;
    assert!(found.contains(&rule), "{found:?}");
    assert!(
        leaks.contains(&"no foreign key reaches into another tenant".to_owned()),
        "{leaks:?}"
    );
    // Dropped altogether, it is the same.
    let none = "ALTER TABLE ralph.step DROP CONSTRAINT step_tenant_origin_iteration_id_fkey";
    let (_, leaks) = damage.done(none, true).await;
    assert_eq!(leaks, ["no foreign key reaches into another tenant"]);
    let (found, _) = damage
        .done("ALTER TABLE ralph.step DISABLE TRIGGER ALL", false)
        .await;
    assert_eq!(found, ["foreign keys are enforced"]);
}

#[tokio::test]
async fn each_grant_is_missed_and_each_one_more_is_named() {
    let mut damage = Damage::new().await;
    let grants = expected("grant");
    assert_eq!(grants.len(), 151);
    let mut objects = std::collections::BTreeSet::new();
    for (full, right, on, _) in grants {
        let (object, to) = on.split_once(" to ").unwrap();
        assert_eq!(to, "ralph_app");
        let parts: Vec<&str> = object.split('.').collect();
        let revoke = match parts[..] {
            [schema, table, column] if !object.contains('(') => {
                format!("REVOKE {right} ({column}) ON {schema}.{table} FROM ralph_app")
            }
            _ => format!("REVOKE {right} ON {object} FROM ralph_app"),
        };
        damage.names(&revoke, &[full]).await;
        if parts.len() == 2 && !object.contains('(') {
            objects.insert(object);
        }
    }
    for object in objects {
        let has =
            |right: &str| EXPECTED.contains(&format!("grant {right} on {object} to ralph_app\n"));
        for right in ["UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"] {
            if has(right) {
                continue;
            }
            let grant = format!("GRANT {right} ON {object} TO ralph_app");
            damage
                .names(
                    &grant,
                    &[&format!("grant {right} on {object} to ralph_app")],
                )
                .await;
        }
        let public = format!("GRANT SELECT ON {object} TO PUBLIC");
        damage
            .names(&public, &[&format!("grant SELECT on {object} to public")])
            .await;
    }
    for (grant, name) in [
        (
            "GRANT CREATE ON SCHEMA ralph TO ralph_app",
            "grant CREATE on schema ralph to ralph_app",
        ),
        (
            "GRANT USAGE ON SCHEMA ralph TO PUBLIC",
            "grant USAGE on schema ralph to public",
        ),
        (
            "GRANT UPDATE ON SEQUENCE ralph.command_id_seq TO ralph_app",
            "grant UPDATE on ralph.command_id_seq to ralph_app",
        ),
        (
            "GRANT EXECUTE ON FUNCTION ralph.audit_is_sealed() TO ralph_app",
            "grant EXECUTE on function ralph.audit_is_sealed() to ralph_app",
        ),
        (
            "GRANT UPDATE (body) ON ralph.team_command TO ralph_app",
            "grant UPDATE on ralph.team_command.body to ralph_app",
        ),
    ] {
        damage.names(grant, &[name]).await;
    }
    let (_, leaks) = damage
        .done("GRANT TRUNCATE ON ralph.loop TO ralph_app", true)
        .await;
    // With what hangs on it, it takes more rights.
    assert!(leaks.is_empty(), "{leaks:?}");
    let (_, leaks) = damage
        .done("GRANT TRUNCATE ON ralph.step TO ralph_app", true)
        .await;
    assert_eq!(leaks, ["no table can be emptied past its policy"]);
    let ahead = "ALTER DEFAULT PRIVILEGES FOR ROLE ralph_owner IN SCHEMA ralph GRANT SELECT ON TABLES TO ralph_app";
    let (found, _) = damage.done(ahead, false).await;
    assert_eq!(found, ["nothing is granted ahead"]);
}

#[tokio::test]
async fn each_trigger_function_and_view_that_changed_is_named() {
    let mut damage = Damage::new().await;
    for (full, name, table, _) in expected("trigger") {
        damage
            .names(&format!("DROP TRIGGER {name} ON {table}"), &[full])
            .await;
        damage
            .names(
                &format!("ALTER TABLE {table} DISABLE TRIGGER {name}"),
                &[full],
            )
            .await;
    }
    for (full, name, _, what) in expected("function") {
        if what.contains("search_path") {
            let reset = format!("ALTER FUNCTION {name} RESET search_path");
            damage.names(&reset, &[full]).await;
        }
        let other = match what.contains("security definer") {
            true => format!("ALTER FUNCTION {name} SECURITY INVOKER"),
            false => format!("ALTER FUNCTION {name} SECURITY DEFINER"),
        };
        damage.names(&other, &[full]).await;
    }
    for (full, name, ..) in expected("view") {
        let plain = format!("ALTER VIEW {name} SET (security_invoker = false)");
        damage.names(&plain, &[full]).await;
    }
    let rule = |name: &str| vec![name.to_owned()];
    let (found, _) = damage
        .done(
            "ALTER FUNCTION ralph.current_tenant() RESET search_path",
            false,
        )
        .await;
    assert!(
        found.contains(
            &"functions with the rights of their owner have a fixed search path".to_owned()
        ),
        "{found:?}"
    );
    let text = "CREATE OR REPLACE FUNCTION ralph.current_tenant() RETURNS uuid LANGUAGE sql STABLE SECURITY DEFINER
         SET search_path = pg_catalog, pg_temp AS $$ SELECT current_setting('ralph.tenant')::uuid $$";
    damage
        .names(text, &["function ralph.current_tenant()"])
        .await;
    // What others made beside it.
    let no_view = rule("no view shows rows as its owner sees them");
    for text in [
        "CREATE VIEW public.all_loops AS SELECT * FROM ralph.loop",
        "CREATE MATERIALIZED VIEW public.all_loops AS SELECT * FROM ralph.loop",
        "CREATE VIEW public.all_loops AS SELECT * FROM ralph_team.loop",
    ] {
        assert_eq!(damage.done(text, false).await.0, no_view, "{text}");
    }
    let (found, leaks) = damage
        .done("ALTER VIEW ralph_team.loop OWNER TO postgres; ALTER VIEW ralph_team.loop SET (security_invoker = false)", true)
        .await;
    assert_eq!(
        found,
        [
            "view ralph_team.loop",
            "no view shows rows as its owner sees them"
        ]
    );
    assert_eq!(leaks, ["no view shows rows of another tenant"]);
    let function = "CREATE FUNCTION public.all_loops() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$ SELECT count(*) FROM ralph.loop $$";
    let (found, _) = damage.done(function, false).await;
    assert_eq!(
        found,
        rule("no other function reads the store with the rights of its owner")
    );
    let child = "CREATE TABLE public.more () INHERITS (ralph.loop)";
    let (found, _) = damage.done(child, false).await;
    assert_eq!(
        found,
        rule("no table of the store has a child, a rule or a publication of its own")
    );
    let matview = "CREATE MATERIALIZED VIEW ralph_team.every_loop AS SELECT * FROM ralph.loop";
    let (found, _) = damage.done(matview, false).await;
    assert_eq!(
        found,
        [
            "materialized view ralph_team.every_loop",
            "no view shows rows as its owner sees them"
        ]
    );
}

/// Roles are the cluster's, so this test has one of its own.
#[tokio::test]
async fn a_role_that_passes_by_policies_is_named() {
    let cluster = Cluster::start();
    let store = Store::on(&cluster).await;
    let connection = StoreConnection::open(&store.admin).await.unwrap();
    let mut damage = Damage { connection };
    let apart = "the roles ralph_owner and ralph_app pass by no policy and can't log in";
    let app = "no role of the app passes by a policy or may become the owner";
    for (text, expected) in [
        ("ALTER ROLE ralph_app BYPASSRLS", apart),
        ("ALTER ROLE ralph_owner BYPASSRLS", apart),
        ("ALTER ROLE ralph_owner SUPERUSER", apart),
        ("ALTER ROLE ralph_app LOGIN", apart),
        ("CREATE ROLE worker LOGIN BYPASSRLS IN ROLE ralph_app", app),
        (
            "CREATE ROLE worker LOGIN IN ROLE ralph_app, ralph_owner",
            app,
        ),
    ] {
        let (found, _) = damage.done(text, false).await;
        assert_eq!(found, [expected], "{text}");
    }
    let (_, leaks) = damage.done("ALTER ROLE ralph_app BYPASSRLS", true).await;
    assert!(leaks.len() > 30, "{leaks:?}");
}
