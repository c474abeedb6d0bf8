//! The schema: set up, brought forward from every version, and refused where it is newer.

use std::path::Path;

use super::{
    super::{
        Scope, StoreConnection, StoreError,
        schema::{self, KNOWN, MIGRATIONS},
    },
    *,
};

/// Everything that the catalog has of the store, as text.
fn shape(database: &Database) -> String {
    database.sql(
        "SELECT format('%s.%s %s %s %s', n.nspname, c.relname, c.relkind, c.relrowsecurity, a.attname || ' ' || format_type(a.atttypid, a.atttypmod))
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
         WHERE n.nspname LIKE 'ralph%' ORDER BY 1",
    )
}

#[tokio::test]
async fn a_store_of_every_older_schema_is_brought_forward() {
    let cluster = Cluster::start();
    let fresh = Store::on(&cluster).await;
    for old in 0..KNOWN {
        let database = cluster.database();
        let admin = url(&database.url());
        let mut connection = StoreConnection::open(&admin).await.unwrap();
        let mut tx = connection.begin("test", &Scope::default()).await.unwrap();
        for name in schema::SCHEMAS {
            let make = format!("CREATE SCHEMA {name} AUTHORIZATION ralph_owner");
            schema::run(tx.db(), &make).await.unwrap();
        }
        if old > 0 {
            let applied = schema::bring_forward(&mut tx, old).await.unwrap();
            assert_eq!(applied, (1..=old).collect::<Vec<_>>());
        }
        tx.commit("test").await.unwrap();
        if old > 0 {
            let refused = admin::add_tenant(&admin, "a").await.unwrap_err();
            assert_eq!(
                refused.to_string(),
                format!(
                    "the store {} was set up by an older ralph (schema {old}, this one needs {KNOWN})",
                    database.name()
                )
            );
            assert_eq!(refused.hint(), Some("run `ralph db migrate`"));
            database.sql("INSERT INTO ralph.tenant (id, name) VALUES ('00000000-0000-0000-0000-00000000000a', 'old')");
        } else {
            assert!(matches!(
                admin::migrate(&admin).await,
                Err(StoreError::SchemaAbsent { .. })
            ));
        }
        let report = if old > 0 {
            admin::migrate(&admin).await.unwrap()
        } else {
            admin::init(&admin).await.unwrap()
        };
        assert_eq!(report.applied, (old + 1..=KNOWN).collect::<Vec<_>>());
        assert_eq!(shape(&database), shape(&fresh.database), "from {old}");
        let kept = database.sql("SELECT count(*) FROM ralph.tenant");
        assert_eq!(kept, if old > 0 { "1" } else { "0" });
        // Once more changes nothing.
        assert!(admin::init(&admin).await.unwrap().applied.is_empty());
        assert!(admin::migrate(&admin).await.unwrap().applied.is_empty());
    }
}

#[tokio::test]
async fn a_newer_store_is_refused_by_name_and_stays_as_it_is() {
    let store = Store::new().await;
    store.database.sql(
        "INSERT INTO ralph.schema_version (version, description, checksum) VALUES (99, 'x', 'x')",
    );
    let app = store.admin.clone();
    for refused in [
        admin::init(&app).await.unwrap_err(),
        admin::migrate(&app).await.unwrap_err(),
        admin::tenants(&app).await.unwrap_err(),
    ] {
        assert_eq!(
            refused.to_string(),
            format!(
                "the store {} was set up by a newer ralph (schema 99, this one knows {KNOWN})",
                store.database.name()
            )
        );
    }
}

#[tokio::test]
async fn many_who_set_up_stores_at_once_do_each_other_no_harm() {
    // In a cluster that has no roles yet: three databases, each by three at once.
    let cluster = Cluster::start();
    let databases = [cluster.database(), cluster.database(), cluster.database()];
    let mut all = tokio::task::JoinSet::new();
    for database in databases.iter().chain(&databases).chain(&databases) {
        let admin = url(&database.url());
        all.spawn(async move { admin::init(&admin).await });
    }
    let reports = all.join_all().await;
    let applied: Vec<usize> = reports
        .into_iter()
        .map(|report| report.unwrap().applied.len())
        .filter(|applied| *applied > 0)
        .collect();
    assert_eq!(applied, [MIGRATIONS.len(); 3]);
}

#[tokio::test]
async fn a_role_that_is_no_superuser_can_set_a_store_up() {
    let cluster = Cluster::start();
    let database = cluster.database();
    database.sql(&format!(
        "CREATE ROLE keeper LOGIN CREATEROLE PASSWORD 'secret'; GRANT CREATE ON DATABASE {} TO keeper",
        database.name()
    ));
    let keeper = url(&database.url_of("keeper", "secret"));
    assert_eq!(admin::init(&keeper).await.unwrap().version, KNOWN);
    admin::add_tenant(&keeper, "a").await.unwrap();
    let new = NewRole {
        name: "worker",
        tenant: Some("a"),
        password: Some("secret"),
    };
    admin::add_role(&keeper, new).await.unwrap();
    let worker = url(&database.url_of("worker", "secret"));
    let mut connection = StoreConnection::open(&worker).await.unwrap();
    connection.tenant("a").await.unwrap();
    // And one that may nothing is told so.
    let refused = admin::init(&worker).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the store's role worker may not make its roles"
    );
}

#[tokio::test]
async fn what_is_there_under_our_names_is_refused() {
    let cluster = Cluster::start();
    let database = cluster.database();
    let admin = url(&database.url());
    database.sql("CREATE SCHEMA ralph_team");
    let refused = admin::init(&admin).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the schema ralph_team is there already, and belongs to postgres"
    );
    // Nothing is half done.
    assert_eq!(
        database.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'ralph'"),
        "0"
    );
    database.sql("ALTER ROLE ralph_app BYPASSRLS");
    let refused = admin::init(&admin).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the role ralph_app is there already, and can log in or pass by row-level security"
    );
}

#[test]
fn every_migration_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let listed: Vec<String> = MIGRATIONS
        .iter()
        .map(|m| format!("{:04}_{}.sql", m.version, m.description.replace(' ', "_")))
        .collect();
    assert_eq!(files, listed);
}

#[tokio::test]
async fn tenants_come_and_go_with_all_of_their_rows() {
    let store = Store::new().await;
    let names = |tenants: Vec<admin::Tenant>| -> Vec<String> {
        tenants.into_iter().map(|tenant| tenant.name).collect()
    };
    assert_eq!(
        names(admin::tenants(&store.admin).await.unwrap()),
        ["a", "b"]
    );
    let refused = admin::add_tenant(&store.admin, "a").await.unwrap_err();
    assert_eq!(refused.to_string(), "there is a tenant a already");
    for bad in ["", "a b", "a/b", "ä"] {
        let refused = admin::add_tenant(&store.admin, bad).await.unwrap_err();
        assert!(
            refused.to_string().contains("is no name of a tenant"),
            "{refused}"
        );
    }
    let role = store.url_of("bound", Some("a")).await;
    let change = admin::BudgetChange {
        tenant: "a",
        term: admin::BudgetTerm::Day,
        usd: ralph_core::dollars::Dollars::from_millionths(5),
        by: "ann",
        machine: "here",
        at: at(),
    };
    admin::set_budget(&role, change).await.unwrap();
    admin::set_budget(
        &role,
        admin::BudgetChange {
            tenant: "a",
            ..change
        },
    )
    .await
    .unwrap();
    // The budget, two entries of the trail, their seals, and the end of the chain.
    let refused = admin::remove_tenant(&store.admin, "a", admin::Removal::Empty)
        .await
        .unwrap_err();
    assert_eq!(refused.to_string(), "the tenant a has 6 rows");
    let removed = admin::remove_tenant(&store.admin, "a", admin::Removal::WithRows)
        .await
        .unwrap();
    assert_eq!(
        (removed.rows, &removed.roles[..]),
        (6, &[role.role().to_owned()][..])
    );
    assert_eq!(names(admin::tenants(&store.admin).await.unwrap()), ["b"]);
    // Its role sees nothing, and not what any role may see.
    let mut connection = StoreConnection::open(&role).await.unwrap();
    for tenant in ["a", "b"] {
        assert!(matches!(
            connection.tenant(tenant).await,
            Err(StoreError::NoTenant { .. })
        ));
    }
    let removed = admin::remove_tenant(&store.admin, "b", admin::Removal::Empty)
        .await
        .unwrap();
    assert_eq!(removed.rows, 0);
}

/// `TABLES` is every table with a tenant, in an order in which rows can be deleted.
#[tokio::test]
async fn all_tables_are_known_by_name() {
    let store = Store::new().await;
    let found = store.database.sql(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'
         WHERE c.relnamespace = 'ralph'::regnamespace AND c.relkind = 'r' AND c.relname <> 'role_tenant' ORDER BY 1",
    );
    let mut known = super::super::catalog::TABLES.to_vec();
    known.sort_unstable();
    assert_eq!(found.lines().collect::<Vec<_>>(), known);
}

/// A new store has no statistics, and the first journal that is sent to it may be long: what a foreign key looks for has
/// to be found by the whole key, not by its tenant.
#[tokio::test]
async fn rows_of_a_new_store_are_found_by_their_whole_key() {
    let store = Store::new().await;
    for table in ["repository", "loop", "iteration", "session_loop"] {
        let plan = store.database.sql(&format!(
            "EXPLAIN (COSTS OFF) SELECT 1 FROM ONLY ralph.{table} WHERE tenant = '00000000-0000-0000-0000-00000000000a' AND origin = 'o' AND id = 'x' FOR KEY SHARE"
        ));
        assert!(
            plan.contains(&format!("using {table}_pkey"))
                || plan.contains(&format!("on {table}_pkey")),
            "{plan}"
        );
    }
}
