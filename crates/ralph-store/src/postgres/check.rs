//! Proves on the live database that tenants are kept apart.
//!
//! Three kinds of checks. What the catalog says is compared, line by line, with what it said right after the migrations
//! (`expected.txt`): every policy, constraint, grant, trigger, function and view. Rules go over everything that is
//! there, no matter by which role. And a probe writes rows as one tenant and tries to get at them as another, in a transaction
//! that is taken back. Nothing is changed, and what could not be proven is said.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;

use super::{
    Scope, StoreConnection, StoreError, StoreUrl, probe,
    schema::{self, MIGRATIONS},
};

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckResult {
    Ok,
    /// The reason.
    Failed(String),
    /// The reason why it is not known.
    NotProven(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// As in `policy own_tenant on ralph.loop`.
    pub name: String,
    pub result: CheckResult,
}

impl Check {
    pub(super) fn ok(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            result: CheckResult::Ok,
        }
    }

    pub(super) fn failed(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            result: CheckResult::Failed(why.into()),
        }
    }

    pub(super) fn not_proven(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            result: CheckResult::NotProven(why.into()),
        }
    }

    /// One that failed where there is anything to say.
    pub(super) fn of(name: impl Into<String>, found: &[String]) -> Self {
        if found.is_empty() {
            return Self::ok(name);
        }
        Self::failed(name, found.join("; "))
    }
}

/// Checks a store. The probe needs a role that may become `ralph_owner` and `ralph_app`; with another one all that the
/// catalog says is checked.
pub async fn check(url: &StoreUrl) -> Result<Vec<Check>, StoreError> {
    let what = "be checked";
    let mut connection = StoreConnection::open(url).await?;
    let mut tx = connection.begin(what, &Scope::default()).await?;
    schema::require(&mut tx).await?;
    let found = catalog(tx.db()).await;
    let mut checks = tx.fail(what, found)?;
    tx.commit(what).await?;
    checks.extend(probe::run(&mut connection).await?);
    connection.close().await?;
    Ok(checks)
}

/// All that is known without a try.
pub(super) async fn catalog(db: &mut PgConnection) -> Result<Vec<Check>, sqlx::Error> {
    let name = "migrations are those of this ralph";
    let mut checks = vec![Check::of(name, &changed_migrations(db).await?)];
    checks.extend(compare(&expected(), &catalog_lines(db).await?));
    for (name, text) in RULES {
        let found = sqlx::query_scalar(text).persistent(false);
        let found: Vec<String> = found.fetch_all(&mut *db).await?;
        checks.push(Check::of(name, &found));
    }
    Ok(checks)
}

/// The lines of the catalog right after the migrations.
pub(super) const EXPECTED: &str = include_str!("expected.txt");

fn expected() -> BTreeSet<String> {
    EXPECTED.lines().map(str::to_owned).collect()
}

/// The name of what a line is about: what stands before its first `: `.
fn name_of(line: &str) -> &str {
    line.split_once(": ").map_or(line, |(name, _)| name)
}

/// A check for each thing that is expected or there.
fn compare(expected: &BTreeSet<String>, found: &BTreeSet<String>) -> Vec<Check> {
    let mut names: BTreeMap<&str, [Vec<&str>; 2]> = BTreeMap::new();
    for (at, lines) in [expected, found].into_iter().enumerate() {
        for line in lines {
            let name = name_of(line);
            let what = line[name.len()..].trim_start_matches(": ");
            names.entry(name).or_default()[at].push(what);
        }
    }
    names
        .into_iter()
        .map(
            |(name, [expected, found])| match (&expected[..], &found[..]) {
                (expected, found) if expected == found => Check::ok(name),
                (_, []) => Check::failed(name, "it is not there"),
                ([], _) => Check::failed(name, "it should not be there"),
                _ => Check::failed(
                    name,
                    format!(
                        "it is {:?} and should be {:?}",
                        found.join(", "),
                        expected.join(", ")
                    ),
                ),
            },
        )
        .collect()
}

async fn changed_migrations(db: &mut PgConnection) -> Result<Vec<String>, sqlx::Error> {
    let text = "SELECT version, checksum FROM ralph.schema_version ORDER BY version";
    let found = sqlx::query_as(text).persistent(false);
    let found: Vec<(i64, String)> = found.fetch_all(db).await?;
    let known: Vec<(i64, String)> = MIGRATIONS
        .iter()
        .map(|m| (m.version, m.checksum()))
        .collect();
    Ok(known
        .iter()
        .filter(|one| !found.contains(one))
        .map(|(version, _)| format!("migration {version} is not the one that was applied"))
        .collect())
}

/// Everything of the store that the catalog knows, a line each: `NAME: WHAT IT IS`.
pub(super) async fn catalog_lines(db: &mut PgConnection) -> Result<BTreeSet<String>, sqlx::Error> {
    let mut lines = BTreeSet::new();
    for text in CATALOG {
        let found: Vec<String> = sqlx::query_scalar(text)
            .persistent(false)
            .fetch_all(&mut *db)
            .await?;
        lines.extend(found);
    }
    Ok(lines)
}

/// Texts that differ between versions of PostgreSQL (of views, of functions without a text) are left out: what they
/// may do is decided by what is here.
const CATALOG: [&str; 9] = [
    // Whose it is, and who is held to its policies.
    "SELECT format('table %s.%s: %s, row-level security %s', n.nspname, c.relname, pg_get_userbyid(c.relowner),
            CASE WHEN NOT c.relrowsecurity THEN 'off' WHEN NOT c.relforcerowsecurity THEN 'not forced' ELSE 'forced' END)
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team') AND c.relkind IN ('r', 'p', 'f')",
    "SELECT format('column %s.%s.%s: %s%s%s%s', n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
            CASE WHEN a.attcollation <> 0 AND l.collname <> 'default' THEN ' collate ' || l.collname ELSE '' END,
            CASE WHEN a.attnotnull THEN ' not null' ELSE '' END,
            coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''))
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     LEFT JOIN pg_collation l ON l.oid = a.attcollation
     WHERE n.nspname = 'ralph' AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped",
    "SELECT format('policy %s on %s.%s: %s %s to %s using %s check %s', p.polname, n.nspname, c.relname,
            CASE WHEN p.polpermissive THEN 'permissive' ELSE 'restrictive' END, p.polcmd,
            (SELECT string_agg(CASE WHEN r = 0 THEN 'public' ELSE pg_get_userbyid(r)::text END, ',' ORDER BY r) FROM unnest(p.polroles) r),
            coalesce(pg_get_expr(p.polqual, p.polrelid), '-'), coalesce(pg_get_expr(p.polwithcheck, p.polrelid), '-'))
     FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team')",
    // NOT NULL is the column's; newer servers have it here too.
    "SELECT format('constraint %s on %s.%s: %s%s', o.conname, n.nspname, c.relname, pg_get_constraintdef(o.oid),
            CASE WHEN o.convalidated THEN '' ELSE ' NOT VALID' END)
     FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team') AND o.contype IN ('p', 'u', 'f', 'c', 'x')",
    "SELECT format('index %s.%s: %s', n.nspname, c.relname, pg_get_indexdef(i.indexrelid))
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team') AND i.indisvalid",
    "SELECT format('trigger %s on %s.%s: %s%s', t.tgname, n.nspname, c.relname, pg_get_triggerdef(t.oid),
            CASE WHEN t.tgenabled = 'O' THEN '' ELSE ' enabled ' || t.tgenabled::text END)
     FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team') AND NOT t.tgisinternal",
    // Triggers of foreign keys do nothing either once they are disabled.
    "SELECT format('function %s.%s(%s): %s, %s, %s, settings %s, text %s', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid),
            pg_get_userbyid(p.proowner), CASE WHEN p.prosecdef THEN 'security definer' ELSE 'security invoker' END,
            p.provolatile, coalesce(array_to_string(p.proconfig, ' '), '-'), md5(p.prosrc))
     FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team')",
    "SELECT format('%s %s.%s: %s, %s', CASE c.relkind WHEN 'm' THEN 'materialized view' ELSE 'view' END, n.nspname, c.relname,
            pg_get_userbyid(c.relowner), coalesce(array_to_string(c.reloptions, ' '), 'no options'))
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team') AND c.relkind IN ('v', 'm')",
    // What anyone but the owner may do, on schemas, tables, views, sequences, columns and functions.
    "SELECT format('grant %s on %s to %s%s', g.privilege_type, g.what,
            CASE WHEN g.grantee = 0 THEN 'public' ELSE pg_get_userbyid(g.grantee)::text END,
            CASE WHEN g.is_grantable THEN ' with grant option' ELSE '' END)
     FROM (
        SELECT a.*, 'schema ' || n.nspname AS what, n.nspowner AS owner
        FROM pg_namespace n, aclexplode(n.nspacl) a WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team')
        UNION ALL
        SELECT a.*, n.nspname || '.' || c.relname, c.relowner
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a
        WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team')
        UNION ALL
        SELECT x.*, n.nspname || '.' || c.relname || '.' || a.attname, c.relowner
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(a.attacl) x
        WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team')
        UNION ALL
        SELECT a.*, format('function %s.%s(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)), p.proowner
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team')
     ) g WHERE g.grantee <> g.owner",
];

/// Rules for everything that is there: the name of each, and a statement that finds what breaks it.
const RULES: [(&str, &str); 10] = [
    (
        "the roles ralph_owner and ralph_app pass by no policy and can't log in",
        "SELECT format('%s has %s', rolname, concat_ws(', ', CASE WHEN rolsuper THEN 'SUPERUSER' END, CASE WHEN rolbypassrls THEN 'BYPASSRLS' END, CASE WHEN rolcanlogin THEN 'LOGIN' END))
         FROM pg_roles WHERE rolname IN ('ralph_owner', 'ralph_app') AND (rolsuper OR rolbypassrls OR rolcanlogin) ORDER BY 1",
    ),
    (
        "no role of the app passes by a policy or may become the owner",
        "SELECT format('%s %s', r.rolname, concat_ws(', ', CASE WHEN r.rolsuper THEN 'has SUPERUSER' END, CASE WHEN r.rolbypassrls THEN 'has BYPASSRLS' END,
                CASE WHEN pg_has_role(r.oid, 'ralph_owner', 'MEMBER') THEN 'may become ralph_owner' END))
         FROM pg_roles r WHERE pg_has_role(r.oid, 'ralph_app', 'MEMBER') AND r.rolname <> 'ralph_app'
           AND EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid AND m.roleid = 'ralph_app'::regrole)
           AND NOT EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid AND m.roleid = 'ralph_app'::regrole AND m.admin_option)
           AND (r.rolsuper OR r.rolbypassrls OR pg_has_role(r.oid, 'ralph_owner', 'MEMBER')) ORDER BY 1",
    ),
    (
        "every table has row-level security, forced, with a policy",
        "SELECT format('%s.%s', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team') AND c.relkind IN ('r', 'p', 'f')
           AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)) ORDER BY 1",
    ),
    (
        "every key and every foreign key begins with the tenant",
        "SELECT format('%s on %s.%s', i.relname, n.nspname, c.relname)
         FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
         LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[0]
         WHERE n.nspname = 'ralph' AND x.indisunique AND c.relname NOT IN ('schema_version', 'tenant', 'role_tenant')
           AND a.attname IS DISTINCT FROM 'tenant'
         UNION ALL
         SELECT format('%s on %s.%s', o.conname, n.nspname, c.relname)
         FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = o.conkey[1]
         JOIN pg_attribute f ON f.attrelid = o.confrelid AND f.attnum = o.confkey[1]
         WHERE n.nspname = 'ralph' AND o.contype = 'f'
           AND (a.attname <> 'tenant' OR (f.attname <> 'tenant' AND o.confrelid <> 'ralph.tenant'::regclass)) ORDER BY 1",
    ),
    (
        "foreign keys are enforced",
        "SELECT DISTINCT format('%s.%s', n.nspname, c.relname) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'ralph' AND t.tgisinternal AND t.tgenabled <> 'O' ORDER BY 1",
    ),
    (
        "no view shows rows as its owner sees them",
        "SELECT DISTINCT format('%s.%s', vn.nspname, v.relname)
         FROM pg_depend d JOIN pg_rewrite w ON w.oid = d.objid AND d.classid = 'pg_rewrite'::regclass
         JOIN pg_class v ON v.oid = w.ev_class JOIN pg_namespace vn ON vn.oid = v.relnamespace
         JOIN pg_class c ON c.oid = d.refobjid AND d.refclassid = 'pg_class'::regclass JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team') AND v.oid <> c.oid
           AND (v.relkind = 'm' OR (v.relkind = 'v'
                AND NOT coalesce('security_invoker=true' = ANY (v.reloptions) OR 'security_invoker=on' = ANY (v.reloptions)
                                 OR 'security_invoker=1' = ANY (v.reloptions), false))) ORDER BY 1",
    ),
    (
        "functions with the rights of their owner have a fixed search path",
        "SELECT format('%s.%s', n.nspname, p.proname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname IN ('ralph', 'ralph_journal', 'ralph_team') AND p.prosecdef
           AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false) ORDER BY 1",
    ),
    // One that reads our tables as a superuser shows everyone's.
    (
        "no other function reads the store with the rights of its owner",
        "SELECT format('%s.%s', n.nspname, p.proname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname NOT IN ('ralph', 'ralph_journal', 'ralph_team', 'pg_catalog', 'information_schema') AND p.prosecdef
           AND (p.proowner = 'ralph_owner'::regrole
                OR ((p.prosrc ILIKE '%ralph%' OR pg_get_function_identity_arguments(p.oid) ILIKE '%ralph%') AND EXISTS (
                    SELECT FROM pg_roles r WHERE r.oid = p.proowner AND (r.rolsuper OR r.rolbypassrls OR pg_has_role(r.oid, 'ralph_owner', 'MEMBER')))))
         ORDER BY 1",
    ),
    (
        "no table of the store has a child, a rule or a publication of its own",
        "SELECT format('%s inherits', i.inhrelid::regclass) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent WHERE c.relnamespace = 'ralph'::regnamespace
         UNION ALL SELECT format('rule %s on %s', w.rulename, w.ev_class::regclass) FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class
         WHERE c.relnamespace IN ('ralph'::regnamespace, 'ralph_journal'::regnamespace, 'ralph_team'::regnamespace) AND w.rulename <> '_RETURN'
         ORDER BY 1",
    ),
    // Rights that whatever is made next in these schemas would have.
    (
        "nothing is granted ahead",
        "SELECT format('%s on %s of %s', a.privilege_type, d.defaclobjtype, pg_get_userbyid(d.defaclrole))
         FROM pg_default_acl d, aclexplode(d.defaclacl) a
         WHERE (d.defaclnamespace IN ('ralph'::regnamespace, 'ralph_journal'::regnamespace, 'ralph_team'::regnamespace) OR d.defaclrole = 'ralph_owner'::regrole)
           AND a.grantee <> d.defaclrole ORDER BY 1",
    ),
];
