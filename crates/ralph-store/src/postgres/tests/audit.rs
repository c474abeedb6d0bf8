//! The audit trail: sealed by the server, and verified from its rows.

use super::{
    super::{
        Scope, StoreConnection, StoreUrl,
        audit::{self, ActorKind, AuditChain, BrokenAudit, NewAuditEntry},
        schema,
    },
    *,
};

/// A store with a trail of tenant `a`: three entries of the server's own, and five of a journal `j`, in two batches.
async fn with_trail() -> (Store, StoreUrl) {
    let store = Store::new().await;
    let app = store.url_of("any", None).await;
    let mut connection = StoreConnection::open(&app).await.unwrap();
    let id = connection.tenant("a").await.unwrap();
    for action in ["one", "two", "three"] {
        let mut tx = connection.begin("test", &Scope::of(id)).await.unwrap();
        let entry = NewAuditEntry {
            at: at(),
            actor_kind: ActorKind::Person,
            actor: "änn",
            machine: "m",
            action,
            subject: None,
            detail: Some("{\"a\":1}"),
        };
        audit::add(tx.db(), id, &entry).await.unwrap();
        tx.commit("test").await.unwrap();
    }
    for numbers in ["1), (2", "3), (5), (6"] {
        let mut tx = connection.begin("test", &Scope::of(id)).await.unwrap();
        let insert = format!(
            "INSERT INTO ralph.audit (origin, n, at, actor_kind, actor, machine, action, loop_id)
             SELECT 'j', n, 't', 'agent', 'claude', 'm', 'x', 'L' FROM (VALUES ({numbers})) AS v (n)"
        );
        schema::run(tx.db(), &insert).await.unwrap();
        tx.commit("test").await.unwrap();
    }
    (store, app)
}

async fn verify(url: &StoreUrl) -> Vec<AuditChain> {
    audit::verify(url, "a").await.unwrap()
}

#[tokio::test]
async fn a_trail_is_read_in_its_order_and_verified() {
    let (store, app) = with_trail().await;
    let mut rows = Vec::new();
    audit::read(&app, "a", None, |row| rows.push(row))
        .await
        .unwrap();
    let short: Vec<(&str, i64, &str)> = rows
        .iter()
        .map(|row| (row.origin.as_str(), row.n, row.action.as_str()))
        .collect();
    let expected = [
        ("", 1, "one"),
        ("", 2, "two"),
        ("", 3, "three"),
        ("j", 1, "x"),
        ("j", 2, "x"),
        ("j", 3, "x"),
        ("j", 5, "x"),
        ("j", 6, "x"),
    ];
    assert_eq!(short, expected);
    assert_eq!(
        (rows[0].actor.as_str(), rows[0].detail.as_deref()),
        ("änn", Some("{\"a\":1}"))
    );
    let mut later = 0;
    let since = rows[3].received_at.parse().unwrap();
    audit::read(&app, "a", Some(since), |_| later += 1)
        .await
        .unwrap();
    assert_eq!(later, 5);
    audit::read(&app, "b", None, |row| {
        panic!("{row:?} is of another tenant")
    })
    .await
    .unwrap();

    let chains = verify(&app).await;
    let found: Vec<_> = chains
        .iter()
        .map(|c| (c.origin.as_str(), c.rows, c.seals, &c.broken))
        .collect();
    assert_eq!(found, [("", 3, 3, &None), ("j", 5, 2, &None)]);
    let seals = store
        .database
        .sql("SELECT hash FROM ralph.audit_seal WHERE origin = 'j' ORDER BY last_n DESC LIMIT 1");
    assert_eq!(chains[1].hash, seals);
    assert!(audit::verify(&app, "b").await.unwrap().is_empty());
}

#[tokio::test]
async fn no_role_of_the_app_changes_what_was_written() {
    let (_store, app) = with_trail().await;
    let mut connection = StoreConnection::open(&app).await.unwrap();
    let id = connection.tenant("a").await.unwrap();
    for change in [
        "UPDATE ralph.audit SET action = 'y'",
        "DELETE FROM ralph.audit",
        "TRUNCATE ralph.audit",
        "UPDATE ralph.audit_seal SET hash = ''",
        "DELETE FROM ralph.audit_seal",
        "INSERT INTO ralph.audit_seal (origin, first_n, last_n, rows, prev_hash, hash) VALUES ('j', 9, 9, 1, '', '')",
        "UPDATE ralph.audit_head SET hash = ''",
        "DELETE FROM ralph.audit_head",
        "ALTER TABLE ralph.audit DISABLE TRIGGER ALL",
        "INSERT INTO ralph.audit (tenant, origin, n, at, actor_kind, actor, machine, action)
         SELECT id, 'j', 99, 't', 'agent', 'x', 'm', 'x' FROM ralph.tenant WHERE name = 'b'
         UNION ALL VALUES (gen_random_uuid(), 'j', 99::bigint, 't', 'agent', 'x', 'm', 'x')",
        "SELECT ralph.audit_is_sealed()",
    ] {
        let mut tx = connection.begin("test", &Scope::of(id)).await.unwrap();
        let refused = schema::run(tx.db(), change).await.unwrap_err();
        let code = super::super::connect::code(&refused);
        assert!(
            matches!(code.as_deref(), Some("42501" | "0A000")),
            "{change}: {refused}"
        );
        tx.rollback().await.unwrap();
    }
    // A row that claims to be older than what is sealed.
    let mut tx = connection.begin("test", &Scope::of(id)).await.unwrap();
    let late = "INSERT INTO ralph.audit (origin, n, at, actor_kind, actor, machine, action)
         VALUES ('j', 4, 't', 'agent', 'x', 'm', 'x')";
    let refused = schema::run(tx.db(), late).await.unwrap_err().to_string();
    assert!(
        refused.contains("audit row 4 of journal \"j\" comes too late: 6 is sealed already"),
        "{refused}"
    );
    tx.rollback().await.unwrap();
    // And what was sent before, once more, changes nothing.
    let mut tx = connection.begin("test", &Scope::of(id)).await.unwrap();
    let again = "INSERT INTO ralph.audit (origin, n, at, actor_kind, actor, machine, action)
         VALUES ('j', 5, 't', 'agent', 'x', 'm', 'x'), ('j', 7, 't', 'agent', 'x', 'm', 'x') ON CONFLICT DO NOTHING";
    schema::run(tx.db(), again).await.unwrap();
    tx.commit("test").await.unwrap();
    let chains = verify(&app).await;
    assert_eq!(
        (chains[1].rows, chains[1].seals, &chains[1].broken),
        (6, 3, &None)
    );
}

/// Each change that a superuser made behind the server's back is found, and named.
#[tokio::test]
async fn tampering_is_found_and_named() {
    type Tampering = (&'static str, &'static str, BrokenAudit, &'static str);
    let cases: [Tampering; 12] = [
        (
            "",
            "UPDATE ralph.audit SET action = 'y' WHERE origin = '' AND n = 2",
            BrokenAudit::Changed { first: 2, last: 2 },
            "row 2 was changed",
        ),
        (
            "",
            "UPDATE ralph.audit SET actor = 'änn', subject = '' WHERE origin = '' AND n = 3",
            BrokenAudit::Changed { first: 3, last: 3 },
            "row 3 was changed",
        ),
        (
            "",
            "UPDATE ralph.audit SET received_at = received_at + interval '1 us' WHERE origin = '' AND n = 1",
            BrokenAudit::Changed { first: 1, last: 1 },
            "row 1 was changed",
        ),
        (
            "j",
            "UPDATE ralph.audit SET actor = 'claud', machine = 'em' WHERE origin = 'j' AND n = 5",
            BrokenAudit::Changed { first: 3, last: 6 },
            "one of the rows 3 to 6 was changed",
        ),
        (
            "j",
            "DELETE FROM ralph.audit WHERE origin = 'j' AND n = 1",
            BrokenAudit::Missing { n: 1, rows: 1 },
            "row 1 is missing",
        ),
        (
            "",
            "DELETE FROM ralph.audit WHERE origin = '' AND n = 3",
            BrokenAudit::Missing { n: 3, rows: 1 },
            "row 3 is missing",
        ),
        (
            "j",
            "DELETE FROM ralph.audit WHERE origin = 'j' AND n > 3",
            BrokenAudit::Missing { n: 6, rows: 2 },
            "2 rows are missing, at row 6",
        ),
        (
            "j",
            "ALTER TABLE ralph.audit DISABLE TRIGGER ALL; INSERT INTO ralph.audit SELECT (a).* FROM (SELECT a #= hstore('n', '4') AS a FROM ralph.audit a WHERE origin = 'j' AND n = 5) x",
            BrokenAudit::Added { n: 6 },
            "row 6 was put in later",
        ),
        (
            "j",
            "ALTER TABLE ralph.audit DISABLE TRIGGER ALL; UPDATE ralph.audit SET n = 9 WHERE origin = 'j' AND n = 6",
            BrokenAudit::Missing { n: 6, rows: 1 },
            "row 6 is missing",
        ),
        (
            "j",
            "UPDATE ralph.audit_seal SET hash = repeat('0', 64) WHERE origin = 'j' AND last_n = 2",
            BrokenAudit::Changed { first: 1, last: 2 },
            "one of the rows 1 to 2 was changed",
        ),
        (
            "",
            "DELETE FROM ralph.audit_seal WHERE origin = '' AND last_n = 2",
            BrokenAudit::SealChanged { first: 3, last: 3 },
            "the seal of the rows 3 to 3 was changed, or one before it is missing",
        ),
        (
            "",
            "DELETE FROM ralph.audit_seal WHERE origin = '' AND last_n = 3; DELETE FROM ralph.audit WHERE origin = '' AND n = 3",
            BrokenAudit::SealMissing { last: 3 },
            "the seals up to row 3 are missing",
        ),
    ];
    let (store, app) = with_trail().await;
    store.database.sql("CREATE EXTENSION hstore SCHEMA public");
    for (origin, tampering, broken, words) in cases {
        // Each on its own copy: a database that is another one's template has no other connections.
        let copy = format!("{}_copy", store.database.name());
        let name = store.database.name();
        Cluster::shared().sql(
            "postgres",
            &format!("DROP DATABASE IF EXISTS {copy}; CREATE DATABASE {copy} TEMPLATE {name}"),
        );
        Cluster::shared().sql(&copy, &format!("SET search_path = public; {tampering}"));
        let url = app.clone().in_database(&copy);
        let chains = verify(&url).await;
        let found: Vec<_> = chains.into_iter().filter(|c| c.broken.is_some()).collect();
        assert_eq!(found.len(), 1, "{tampering}: {found:?}");
        assert_eq!(
            (found[0].origin.as_str(), found[0].broken.as_ref()),
            (origin, Some(&broken)),
            "{tampering}"
        );
        assert_eq!(broken.to_string(), words);
    }
}

#[tokio::test]
async fn entries_without_a_seal_are_named() {
    let (store, app) = with_trail().await;
    store.database.sql(
        "DROP TRIGGER audit_is_sealed ON ralph.audit;
         INSERT INTO ralph.audit SELECT tenant, 'j', 8, at, actor_kind, actor, machine, action FROM ralph.audit WHERE origin = 'j' AND n = 1",
    );
    let chains = verify(&app).await;
    assert_eq!(chains[1].broken, Some(BrokenAudit::Unsealed { n: 8 }));
}

#[tokio::test]
async fn many_who_write_at_once_make_one_chain_without_gaps() {
    let store = Store::new().await;
    let app = store.url_of("any", None).await;
    let mut all = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let app = app.clone();
        all.spawn(async move {
            let mut connection = StoreConnection::open(&app).await.unwrap();
            let id = connection.tenant("a").await.unwrap();
            for n in 0..12 {
                let scope = Scope {
                    isolation: match writer % 2 {
                        0 => super::super::Isolation::ReadCommitted,
                        _ => super::super::Isolation::Serializable,
                    },
                    ..Scope::of(id)
                };
                loop {
                    let mut tx = connection.begin("test", &scope).await.unwrap();
                    let entry = NewAuditEntry {
                        at: at(),
                        actor_kind: ActorKind::Ralph,
                        actor: "ralph",
                        machine: "m",
                        action: "x",
                        subject: None,
                        detail: None,
                    };
                    let added = audit::add(tx.db(), id, &entry).await;
                    let added = tx.fail("test", added);
                    // Every third one is taken back first: its number is given once more.
                    let ended = match added {
                        Ok(()) if n % 3 == 0 && writer == 0 => {
                            tx.rollback().await.unwrap();
                            break;
                        }
                        Ok(()) => tx.commit("test").await,
                        Err(error) => {
                            tx.rollback().await.unwrap();
                            Err(error)
                        }
                    };
                    match ended {
                        Ok(()) => break,
                        Err(error) => assert!(error.is_conflict(), "{error:?}"),
                    }
                }
            }
        });
    }
    all.join_all().await;
    let chains = verify(&app).await;
    assert_eq!((chains[0].rows, &chains[0].broken), (8 * 12 - 4, &None));
    let numbers = store.database.sql("SELECT min(n), max(n) FROM ralph.audit");
    assert_eq!(numbers, "1|92");
}
