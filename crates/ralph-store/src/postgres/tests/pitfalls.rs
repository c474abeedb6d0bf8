//! The eleven ways in which row-level security lets rows through: each is shown on a table that was made without care,
//! and then to be closed in the store.

use super::*;

const A: &str = "'00000000-0000-0000-0000-00000000000a'";
const B: &str = "'00000000-0000-0000-0000-00000000000b'";

/// A store with a loop of tenant A's and a budget of B's, and beside it `public.plain`, a table with a policy and with
/// nothing else. `careless` made it, `reader` reads it.
struct Pitfall {
    database: Database,
    cluster: Cluster,
}

impl Pitfall {
    async fn new() -> Self {
        let cluster = Cluster::start();
        let database = cluster.database();
        admin::init(&url(&database.url())).await.unwrap();
        database.sql(&format!(
            "INSERT INTO ralph.tenant (id, name) VALUES ({A}, 'a'), ({B}, 'b');
             SET ralph.tenant = {A};
             INSERT INTO ralph.repository (id, common_dir, created_at) VALUES ('R', '/r', 't');
             INSERT INTO ralph.loop (id, repository_id, worktree, source, branch, base_commit, agent, config, started_at)
             VALUES ('L', 'R', 'w', 's', 'b', 'c', 'a', '{{}}', 't');
             SET ralph.tenant = {B};
             INSERT INTO ralph.budget (per, usd, set_by) VALUES ('day', 1, 'bob');
             CREATE ROLE careless; CREATE ROLE reader; GRANT CREATE, USAGE ON SCHEMA public TO careless, reader;
             SET ROLE careless;
             CREATE TABLE public.plain (id text PRIMARY KEY, tenant uuid NOT NULL);
             ALTER TABLE public.plain ENABLE ROW LEVEL SECURITY;
             CREATE POLICY own ON public.plain USING (tenant = current_setting('app.tenant')::uuid);
             GRANT ALL ON public.plain TO reader;
             RESET ROLE;
             INSERT INTO public.plain VALUES ('L', {A}), ('M', {B});"
        ));
        Self { database, cluster }
    }

    /// Runs statements in a session of that role, which looks as tenant B.
    fn as_role(&self, role: &str, text: &str) -> Result<String, String> {
        self.database.try_sql(&format!(
            "SET SESSION AUTHORIZATION DEFAULT; SET ROLE {role}; SET app.tenant = {B}; SET ralph.tenant = {B}; {text}"
        ))
    }

    fn careless(&self, text: &str) -> String {
        self.as_role("careless", text).unwrap()
    }

    fn reader(&self, text: &str) -> Result<String, String> {
        self.as_role("reader", text)
    }

    fn app(&self, text: &str) -> Result<String, String> {
        self.as_role("ralph_app", text)
    }
}

#[tokio::test]
async fn an_owner_is_held_to_the_policies() {
    let store = Pitfall::new().await;
    assert_eq!(store.careless("SELECT count(*) FROM public.plain"), "2");
    assert_eq!(
        store
            .as_role("ralph_owner", "SELECT count(*) FROM ralph.loop")
            .unwrap(),
        "0"
    );
}

#[tokio::test]
async fn a_view_asks_as_its_reader() {
    let store = Pitfall::new().await;
    store.careless("CREATE VIEW public.shown AS SELECT * FROM public.plain; GRANT SELECT ON public.shown TO reader");
    assert_eq!(
        store.reader("SELECT count(*) FROM public.shown").unwrap(),
        "2"
    );
    for view in ["ralph_journal.loop", "ralph_team.loop"] {
        assert_eq!(
            store.app(&format!("SELECT count(*) FROM {view}")).unwrap(),
            "0"
        );
    }
}

#[tokio::test]
async fn functions_of_the_owner_show_no_rows_of_another_tenant() {
    let store = Pitfall::new().await;
    store.careless("CREATE FUNCTION public.shown() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM public.plain'");
    assert_eq!(store.reader("SELECT public.shown()").unwrap(), "2");
    // Were one made by the owner, it would be held to the policies; and `check` names it.
    store
        .database
        .sql("GRANT CREATE, USAGE ON SCHEMA public TO ralph_owner");
    store.as_role("ralph_owner", "CREATE FUNCTION public.loops() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM ralph.loop'").unwrap();
    assert_eq!(store.app("SELECT public.loops()").unwrap(), "0");
    // A schema of the caller's own before the others changes nothing in those that there are.
    store.database.sql(&format!(
        "CREATE SCHEMA trap AUTHORIZATION reader; GRANT USAGE ON SCHEMA trap TO ralph_app;
         CREATE FUNCTION trap.current_setting(text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT {A} $$"
    ));
    let tried =
        store.app("SET search_path = trap, pg_catalog, ralph; SELECT count(*) FROM ralph.loop");
    assert_eq!(tried.unwrap(), "0");
}

#[tokio::test]
async fn there_is_no_materialized_view() {
    let store = Pitfall::new().await;
    store.careless("CREATE MATERIALIZED VIEW public.shown AS SELECT * FROM public.plain; GRANT SELECT ON public.shown TO reader");
    assert_eq!(
        store.reader("SELECT count(*) FROM public.shown").unwrap(),
        "2"
    );
    assert_eq!(
        store
            .database
            .sql("SELECT count(*) FROM pg_matviews WHERE schemaname LIKE 'ralph%'"),
        "0"
    );
}

#[tokio::test]
async fn a_taken_key_tells_nothing() {
    let store = Pitfall::new().await;
    let told = store
        .reader(&format!("INSERT INTO public.plain VALUES ('L', {B})"))
        .unwrap_err();
    assert!(
        told.contains("Key (id)=(L) already exists") || told.contains("plain_pkey"),
        "{told}"
    );
    store
        .app("INSERT INTO ralph.repository (id, common_dir, created_at) VALUES ('R', '/r', 't')")
        .unwrap();
    // Nor does an update of what is not there to be seen.
    assert_eq!(store.app("UPDATE ralph.repository SET common_dir = 'x' WHERE id = 'R' AND common_dir = '/r' RETURNING id").unwrap(), "R");
    assert_eq!(
        store.database.sql(&format!(
            "SELECT common_dir FROM ralph.repository WHERE tenant = {A}"
        )),
        "/r"
    );
}

#[tokio::test]
async fn a_foreign_key_stays_within_its_tenant() {
    let store = Pitfall::new().await;
    store.careless("CREATE TABLE public.part (of text REFERENCES public.plain (id), tenant uuid); GRANT ALL ON public.part TO reader");
    store
        .reader(&format!("INSERT INTO public.part VALUES ('L', {B})"))
        .unwrap();
    let loops = "INSERT INTO ralph.loop (id, repository_id, worktree, source, branch, base_commit, agent, config, started_at)
         VALUES ('N', 'R', 'w', 's', 'b', 'c', 'a', '{}', 't')";
    let refused = store.app(loops).unwrap_err();
    assert!(
        refused.contains("violates foreign key constraint"),
        "{refused}"
    );
    assert!(!refused.contains("0000-00000000000a"), "{refused}");
}

#[tokio::test]
async fn no_table_can_be_emptied() {
    let store = Pitfall::new().await;
    store.reader("TRUNCATE public.plain").unwrap();
    assert_eq!(store.database.sql("SELECT count(*) FROM public.plain"), "0");
    for table in super::super::catalog::TABLES {
        let refused = store
            .app(&format!("TRUNCATE ralph.{table} CASCADE"))
            .unwrap_err();
        assert!(refused.contains("permission denied"), "{refused}");
    }
}

#[tokio::test]
async fn a_setting_ends_with_its_transaction_behind_a_pooler() {
    let store = Pitfall::new().await;
    let admin_url = url(&store.database.url());
    let new = NewRole {
        name: "worker",
        tenant: None,
        password: Some("secret"),
    };
    admin::add_role(&admin_url, new).await.unwrap();
    // One connection to the server for all clients.
    let pooler =
        ralph_testkit::postgres::Pgbouncer::start(&store.cluster, &[("worker", "secret")], 1);
    let through = url(&pooler.url_of(&store.database, "worker", "secret"));
    let mut first = StoreConnection::open(&through).await.unwrap();
    let mut second = StoreConnection::open(&through).await.unwrap();
    let seen = "SELECT coalesce(current_setting('ralph.tenant', true), '') || '/' || count(*) FROM ralph.loop";
    // Careless: the session's setting is the next client's.
    schema::run(first.db(), &format!("SET ralph.tenant = {A}"))
        .await
        .unwrap();
    let leaked: String = sqlx::query_scalar(seen)
        .persistent(false)
        .fetch_one(second.db())
        .await
        .unwrap();
    assert_eq!(leaked, format!("{}/1", A.trim_matches('\'')));
    schema::run(first.db(), "RESET ralph.tenant").await.unwrap();
    // As all of ours do.
    let id = first.tenant("a").await.unwrap();
    let mut tx = first.begin("test", &Scope::of(id)).await.unwrap();
    let own: String = sqlx::query_scalar(seen)
        .persistent(false)
        .fetch_one(tx.db())
        .await
        .unwrap();
    assert_eq!(own, leaked);
    tx.commit("test").await.unwrap();
    let other: String = sqlx::query_scalar(seen)
        .persistent(false)
        .fetch_one(second.db())
        .await
        .unwrap();
    assert_eq!(other, "/0");
}

#[tokio::test]
async fn an_empty_setting_shows_nothing_and_is_no_error() {
    let store = Pitfall::new().await;
    let broken = store
        .reader("RESET app.tenant; SELECT count(*) FROM public.plain")
        .unwrap_err();
    assert!(
        broken.contains("invalid input syntax for type uuid"),
        "{broken}"
    );
    assert_eq!(
        store
            .app("RESET ralph.tenant; SELECT count(*) FROM ralph.loop")
            .unwrap(),
        "0"
    );
    let refused = store.app(
        "RESET ralph.tenant; INSERT INTO ralph.budget (per, usd, set_by) VALUES ('day', 1, 'x')",
    );
    assert!(refused.is_err());
}

#[tokio::test]
async fn a_role_of_one_tenant_can_not_choose_another() {
    let store = Pitfall::new().await;
    let chosen = store.reader(&format!(
        "SET app.tenant = {A}; SELECT count(*) FROM public.plain"
    ));
    assert_eq!(chosen.unwrap(), "1");
    let admin_url = url(&store.database.url());
    for (name, tenant) in [("of_b", Some("b")), ("of_any", None)] {
        let new = NewRole {
            name,
            tenant,
            password: Some("secret"),
        };
        admin::add_role(&admin_url, new).await.unwrap();
    }
    store
        .database
        .sql("CREATE ROLE unknown LOGIN PASSWORD 'secret' IN ROLE ralph_app");
    let ask = |role: &str, setting: &str| {
        let text = format!(
            "SET SESSION AUTHORIZATION {role}; SET ralph.tenant = {setting};
             SELECT (SELECT count(*) FROM ralph.loop) || '/' || (SELECT count(*) FROM ralph.budget) || '/' || (SELECT count(*) FROM ralph.tenant)"
        );
        store.database.sql(&text)
    };
    assert_eq!(ask("of_any", A), "1/0/1");
    assert_eq!(ask("of_any", B), "0/1/1");
    assert_eq!(ask("of_b", A), "0/0/0");
    assert_eq!(ask("of_b", B), "0/1/1");
    assert_eq!(ask("of_b", "''"), "0/1/1");
    // One that was made for another database of the cluster.
    assert_eq!(ask("unknown", A), "0/0/0");
    for text in [
        format!("INSERT INTO ralph.budget (tenant, per, usd, set_by) VALUES ({A}, 'day', 1, 'x')"),
        format!("UPDATE ralph.budget SET tenant = {A}"),
        "UPDATE ralph.role_tenant SET tenant = NULL".to_owned(),
        "SET ROLE ralph_owner".to_owned(),
    ] {
        let tried = format!("SET SESSION AUTHORIZATION of_b; SET ralph.tenant = {B}; {text}");
        assert!(store.database.try_sql(&tried).is_err(), "{text}");
    }
    assert_eq!(store.database.sql("SET SESSION AUTHORIZATION of_b; SELECT ralph.tenant_id('a') IS NULL, ralph.tenant_id('b') IS NULL"), "t|f");
}

#[tokio::test]
async fn a_notification_holds_ids_alone() {
    let store = Pitfall::new().await;
    let admin_url = url(&store.database.url());
    for (name, tenant) in [("of_a", "a"), ("of_b", "b")] {
        let new = NewRole {
            name,
            tenant: Some(tenant),
            password: Some("secret"),
        };
        admin::add_role(&admin_url, new).await.unwrap();
    }
    // A role of another tenant hears it all the same.
    let other = store.database.url_of("of_b", "secret");
    let mut listener = super::super::connect::listen(&url(&other)).await.unwrap();
    let own = url(&store.database.url_of("of_a", "secret"));
    let mut connection = StoreConnection::open(&own).await.unwrap();
    let id = connection.tenant("a").await.unwrap();
    let mut tx = connection.begin("test", &Scope::of(id)).await.unwrap();
    let command = "INSERT INTO ralph.team_command (id, origin, repository_id, worktree, source, who, body)
         VALUES (gen_random_uuid(), 'j1', 'secret-repository', '/secret', 'secret.json', 'secret-ann', '{\"say\":\"secret\"}')";
    schema::run(tx.db(), command).await.unwrap();
    tx.commit("test").await.unwrap();
    let heard = tokio::time::timeout(std::time::Duration::from_secs(20), listener.recv()).await;
    assert_eq!(heard.unwrap().unwrap().payload(), format!("{id}/j1"));
}
