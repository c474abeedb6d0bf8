//! `ralph db`, with a real server.

use std::os::unix::fs::PermissionsExt as _;

use ralph_testkit::{TestRepo, postgres::Cluster};
use serde_json::Value;

use crate::{
    support::{ralph, ralph_with},
    team_ground::{TeamServer, synced},
};

#[test]
fn a_database_is_set_up_outside_of_a_repository_and_again() {
    let server = TeamServer::empty();
    let place = TestRepo::bare_folder();
    let said = server.keep(&place, &["db", "init"]);
    let first = said.text(0).to_owned();
    assert!(first.contains(" is set up (schema "), "{first}");
    let again = server.keep(&place, &["db", "init"]);
    assert!(
        again.text(0).contains(" was set up before (schema "),
        "{again:?}"
    );
    let newest = server.keep(&place, &["db", "migrate"]);
    assert!(
        newest.text(0).contains(" has the newest schema already"),
        "{newest:?}"
    );
    assert_eq!(std::fs::read_dir(place.data_dir()).unwrap().count(), 0);
}

#[test]
fn tenants_are_added_listed_and_removed() {
    let server = TeamServer::with_tenants(&[]);
    let place = TestRepo::bare_folder();
    let keep = |args: &[&str]| server.keep(&place, args);
    assert_eq!(
        keep(&["db", "tenant", "list"]).text(0),
        "no tenants yet: `ralph db tenant add NAME` adds one\n"
    );
    assert_eq!(
        keep(&["db", "tenant", "add", "acme"]).text(0),
        "tenant acme is added\n"
    );
    assert_eq!(
        keep(&["db", "tenant", "add", "acme"]).error(2),
        "error: there is a tenant acme already\n"
    );
    assert_eq!(
        keep(&["db", "tenant", "add", "a b"]).error(2),
        "error: \"a b\" is no name of a tenant: it has 1 to 63 letters, digits, -, _ and .\n"
    );
    assert_eq!(
        keep(&["db", "tenant", "list"]).text(0),
        "acme  added just now\n"
    );
    let listed = keep(&["db", "tenant", "list", "--json"]).json(0);
    assert_eq!(listed["tenants"][0]["name"], "acme");
    // A budget is a row of the tenant's, and so is its trail.
    let budget = [
        "db", "budget", "set", "5", "--per", "day", "--tenant", "acme",
    ];
    keep(&budget).text(0);
    let refused = keep(&["db", "tenant", "remove", "acme"]);
    let said = refused.error(2);
    assert!(said.starts_with("error: the tenant acme has "), "{said}");
    assert!(
        said.contains("hint: `--with-rows` deletes them too"),
        "{said}"
    );
    let gone = keep(&["db", "tenant", "remove", "acme", "--with-rows"]);
    assert!(
        gone.text(0).starts_with("tenant acme is removed, with "),
        "{gone:?}"
    );
    let said = keep(&["db", "tenant", "remove", "acme"]);
    assert!(said.error(2).contains("has no tenant acme"), "{said:?}");
}

#[test]
fn a_role_gets_a_password_that_is_its_own_or_the_one_in_a_file() {
    let server = TeamServer::with_tenants(&["acme"]);
    let place = TestRepo::bare_folder();
    let keep = |args: &[&str]| server.keep(&place, args);
    let said = keep(&["db", "role", "add", "ada", "--tenant", "acme"]);
    let said = said.text(0);
    assert!(
        said.starts_with(
            "role ada is added, for tenant acme\n  its password, which is shown this once: "
        ),
        "{said}"
    );
    let password = said.trim().rsplit(' ').next().unwrap();
    assert_eq!(password.len(), 32, "{said}");
    let url = server.database.url_of("ada", password);
    ralph_with(&place, &["team"], &synced(&url, "acme")).text(0);

    let file = place.path("bob.password");
    let path = file.to_str().unwrap();
    let args = ["db", "role", "add", "bob", "--password-file", path];
    let said = keep(&args);
    assert_eq!(
        said.text(0),
        format!("role bob is added, for any tenant\n  its password is in {path}\n")
    );
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(keep(&args).error(2), "error: there is a role bob already\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written);

    let args = ["db", "role", "add", "eve", "--password-file", path];
    assert!(
        keep(&args)
            .text(0)
            .ends_with(&format!("  with the password in {path}\n"))
    );
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let args = ["db", "role", "add", "zoe", "--password-file", path];
    assert_eq!(
        keep(&args).error(2),
        format!(
            "error: others can read {path}, which holds a password\nhint: chmod 600 makes it yours alone\n"
        )
    );
    // One that is refused leaves no file with a password of no role.
    let new = place.path("new.password");
    let args = [
        "db",
        "role",
        "add",
        "ada",
        "--password-file",
        new.to_str().unwrap(),
    ];
    keep(&args).error(2);
    assert!(!new.exists());
}

#[test]
fn check_has_a_line_a_group_and_names_what_was_taken_out() {
    let server = TeamServer::with_tenants(&["acme"]);
    let place = TestRepo::bare_folder();
    let said = server.keep(&place, &["db", "check"]);
    let said = said.text(0);
    for group in [
        "policies",
        "grants",
        "keys and constraints",
        "what they come to",
    ] {
        assert!(said.contains(&format!("ok  {group}")), "{group}: {said}");
    }
    assert!(said.ends_with("\n0 failures, 0 not proven\n"), "{said}");
    server.database.sql("DROP POLICY own_tenant ON ralph.loop");
    let failed = server.keep(&place, &["db", "check"]);
    let failed = failed.text(1);
    assert!(
        failed.contains("policy own_tenant on ralph.loop: it is not there"),
        "{failed}"
    );
    let json = server.keep(&place, &["db", "check", "--json"]).json(1);
    assert_eq!(json["ok"], false);
}

#[test]
fn a_role_of_a_machine_can_check_what_the_catalog_says_and_says_what_it_could_not_prove() {
    let server = TeamServer::with_tenants(&["acme"]);
    let place = TestRepo::bare_folder();
    let ada = server.role("ada", Some("acme"));
    let said = ralph_with(&place, &["db", "check"], &[("RALPH_STORE_URL", &ada)]);
    assert!(
        said.text(0).contains(
            "can't become ralph_owner and ralph_app, to try it (permission denied to set role \"ralph_owner\")"
        ),
        "{said:?}"
    );
}

#[test]
fn the_audit_trail_is_shown_in_three_forms_and_verified() {
    let server = TeamServer::with_tenants(&["acme"]);
    let place = TestRepo::bare_folder();
    let keep = |args: &[&str]| server.keep(&place, &[args, &["--tenant", "acme"]].concat());
    assert_eq!(keep(&["db", "audit"]).text(0), "nothing was done\n");
    let set = ["db", "budget", "set", "12.50", "--per", "month"];
    assert_eq!(keep(&set).text(0), "tenant acme may spend $12.50 a month\n");
    let said = keep(&["db", "audit"]);
    assert!(said.text(0).contains("budget set  month"), "{said:?}");
    let line = keep(&["db", "audit", "--json"]);
    let row: Value = serde_json::from_str(line.text(0)).unwrap();
    assert_eq!(row["action"], "budget_set");
    assert_eq!(row["detail"]["millionths"], 12_500_000);
    let csv = keep(&["db", "audit", "--csv"]);
    let csv = csv.text(0);
    assert!(csv.starts_with("received_at,at,actor_kind,actor,"), "{csv}");
    assert!(
        csv.contains(",budget_set,,,,month,\"{\"\"per\"\":"),
        "{csv}"
    );
    assert_eq!(
        keep(&["db", "audit", "--since", "0m"]).text(0),
        "nothing was done\n"
    );
    let verified = keep(&["db", "audit", "--verify"]);
    assert!(
        verified
            .text(0)
            .starts_with("ok  the server itself  1 row, the last seal is "),
        "{verified:?}"
    );
    server
        .database
        .sql("UPDATE ralph.audit SET actor = 'nobody'");
    let broken = keep(&["db", "audit", "--verify"]);
    assert!(broken.text(1).contains("row 1 was changed"), "{broken:?}");
    assert_eq!(
        keep(&["db", "audit", "--verify", "--json"]).json(1)["ok"],
        false
    );
}

#[test]
fn budgets_are_set_and_listed() {
    let server = TeamServer::with_tenants(&["acme"]);
    let place = TestRepo::bare_folder();
    let ada = server.role("ada", Some("acme"));
    let vars = synced(&ada, "acme");
    let run = |args: &[&str]| ralph_with(&place, args, &vars);
    assert_eq!(
        run(&["db", "budget", "list"]).text(0),
        "tenant acme has no budget\n"
    );
    run(&["db", "budget", "set", "200", "--per", "month"]).text(0);
    let said = run(&["db", "budget", "list"]);
    assert!(
        said.text(0)
            .starts_with("$200.00 a month  $0.00 held  $200.00 left  set by "),
        "{said:?}"
    );
    let json = run(&["db", "budget", "list", "--json"]).json(0);
    assert_eq!(json["budgets"][0]["usd"], 200.0);
    for amount in ["-1", "x", "NaN", "1e12"] {
        let said = run(&["db", "budget", "set", amount, "--per", "day"]);
        assert_eq!(said.code, 2, "{said:?}");
    }
}

/// One line that says what is wrong, a way out, and nothing half-done.
#[test]
fn bad_input_is_one_line_and_a_hint() {
    let server = TeamServer::with_tenants(&["acme"]);
    let place = TestRepo::bare_folder();
    let socket = server.cluster.socket_folder().display().to_string();
    let ada = server.role("ada", Some("acme"));
    let with =
        |url: &str, tenant: &str, args: &[&str]| ralph_with(&place, args, &synced(url, tenant));

    let wrong_scheme = with("mysql://ada@db/ralph", "acme", &["team"]);
    assert!(
        wrong_scheme
            .error(2)
            .contains("expected the URL of a PostgreSQL database"),
        "{wrong_scheme:?}"
    );
    let no_host = with("postgresql://ada@/ralph", "acme", &["team"]);
    assert_eq!(
        no_host.error(2),
        "error: the store's URL can't be used: it names no host\n\
         hint: as in postgres://ROLE@HOST/DATABASE\n"
    );
    let wrong_password = with(&server.database.url_of("ada", "wrong"), "acme", &["team"]);
    assert_eq!(
        wrong_password.error(2),
        format!(
            "error: the store at {socket} refuses ada: wrong password, or no such role\nhint: the password \
             comes from RALPH_STORE_URL, PGPASSWORD, the file that RALPH_STORE_PASSWORD_FILE names, or ~/.pgpass\n"
        )
    );
    let other = server.database.url().replace("/test_1", "/nothing");
    let no_database = with(&other, "acme", &["db", "init"]);
    assert_eq!(
        no_database.error(2),
        format!(
            "error: the store at {socket} has no database nothing\nhint: createdb makes one, then run `ralph db init`\n"
        )
    );
    let no_tenant = with(&ada, "evil", &["team"]);
    assert_eq!(
        no_tenant.error(2),
        "error: the store test_1 has no tenant evil for ada\nhint: the keeper of the server lists them by \
         `ralph db tenant list` and adds one by `ralph db tenant add`; a role that is bound to a tenant sees that \
         one alone\n"
    );
    let no_right = with(&ada, "acme", &["db", "tenant", "add", "evil"]);
    let said = no_right.error(2);
    assert!(
        said.starts_with("error: the store's role ada may not add a tenant\n"),
        "{said}"
    );
    assert!(
        said.contains(
            "hint: `ralph db role add` makes a role for machines; what keeps the store needs one"
        ),
        "{said}"
    );
    let empty = server.cluster.database();
    let not_set_up = with(&empty.url(), "acme", &["team"]);
    assert_eq!(
        not_set_up.error(2),
        "error: the store test_2 is not set up\nhint: run `ralph db init`\n"
    );
    server.database.sql(
        "INSERT INTO ralph.schema_version (version, description, checksum) VALUES (99, 'later', '')",
    );
    let newer = with(&ada, "acme", &["team"]);
    let said = newer.error(2);
    assert!(
        said.starts_with(
            "error: the store test_1 was set up by a newer ralph (schema 99, this one knows "
        ),
        "{said}"
    );
    let away = with("postgresql://ada@localhost:1/ralph", "acme", &["team"]);
    let said = away.error(1);
    assert!(
        said.starts_with("error: can't reach the store at localhost:1"),
        "{said}"
    );
    assert_eq!(
        said,
        "error: can't reach the store at localhost:1: Connection refused (os error 111)\n"
    );
    let weak = with(
        "postgresql://ada@db.test.invalid/ralph?sslmode=require",
        "acme",
        &["team"],
    );
    let said = weak.error(2);
    assert!(
        said.starts_with("error: sslmode=require does not make sure who "),
        "{said}"
    );
}

#[test]
fn a_password_in_an_argument_or_a_file_is_refused_and_never_shown() {
    let place = TestRepo::bare_folder();
    let said = ralph(
        &place,
        &["db", "init", "--url", "postgresql://ada:geheim@db/ralph"],
    );
    let said = said.error(2);
    assert!(
        said.starts_with(
            "error: --url holds a password, which every process of this machine could read\nhint: "
        ),
        "{said}"
    );
    assert!(!said.contains("geheim"), "{said}");
    place.file(
        "ralph.yaml",
        "store:\n  url: postgresql://ada:geheim@db/ralph\n  tenant: acme\n",
    );
    let said = ralph(&place, &["team"]);
    assert!(
        said.error(2)
            .contains("the password does not belong into a URL"),
        "{said:?}"
    );
    assert!(!said.err.contains("geheim"), "{said:?}");
}

#[test]
fn without_a_server_or_a_tenant_it_says_what_to_set() {
    let place = TestRepo::bare_folder();
    let said = ralph(&place, &["db", "init"]);
    assert_eq!(
        said.error(2),
        "error: no server is named\nhint: name it by `--url postgresql://ROLE@HOST/DATABASE`, or set \
         RALPH_STORE_URL or `store.url`\n"
    );
    let expected =
        "error: no server is named\nhint: set `store.url` in ralph.yaml or RALPH_STORE_URL\n";
    assert_eq!(ralph(&place, &["sync"]).error(2), expected);
    assert_eq!(ralph(&place, &["team"]).error(2), expected);
    let url = [("RALPH_STORE_URL", "postgresql://ada@localhost:1/ralph")];
    let said = ralph_with(&place, &["db", "audit"], &url);
    assert_eq!(
        said.error(2),
        "error: no tenant is named\nhint: name one by `--tenant`, or set `store.tenant` or RALPH_STORE_TENANT\n"
    );
    let said = ralph_with(&place, &["team"], &url);
    assert_eq!(
        said.error(2),
        "error: environment variable RALPH_STORE_URL: `store.url`: no tenant is named: set `store.tenant` or \
         RALPH_STORE_TENANT\n"
    );
}

/// A server whose disk is full takes nothing back that it took, and takes nothing more.
#[test]
fn a_full_disk_on_the_server_is_said_and_is_the_servers_fault() {
    let cluster = Cluster::options().set("temp_file_limit", "64kB").start();
    let database = cluster.database();
    let place = TestRepo::bare_folder();
    // The server itself gives this answer where it has no room left.
    let vars = [("RALPH_STORE_URL", database.url())];
    let vars: Vec<(&str, &str)> = vars.iter().map(|(n, v)| (*n, v.as_str())).collect();
    ralph_with(&place, &["db", "init"], &vars).text(0);
    database.sql(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER full_disk BEFORE INSERT ON ralph.tenant EXECUTE FUNCTION full_disk();",
    );
    let said = ralph_with(&place, &["db", "tenant", "add", "acme"], &vars);
    let socket = cluster.socket_folder().display();
    assert_eq!(
        said.error(1),
        format!("error: the store can't add a tenant: the disk of {socket} is full\n")
    );
    database.sql("DROP TRIGGER full_disk ON ralph.tenant");
    let listed = ralph_with(&place, &["db", "tenant", "list", "--json"], &vars).json(0);
    assert_eq!(listed["tenants"], serde_json::json!([]));
}
