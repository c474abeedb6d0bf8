-- Who did what, when and from where. Only added to, and sealed by the server: each statement that adds rows makes one
-- seal over them and the seal before it. One chain for a tenant and a journal.

CREATE TABLE ralph.audit (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    -- Grows along a chain. Given by the journal that it comes from, or here where there is none.
    n             bigint NOT NULL,
    at            text COLLATE "C" NOT NULL,
    actor_kind    text COLLATE "C" NOT NULL CHECK (actor_kind IN ('person', 'agent', 'ralph')),
    actor         text COLLATE "C" NOT NULL,
    machine       text COLLATE "C" NOT NULL,
    action        text COLLATE "C" NOT NULL,
    repository_id text COLLATE "C",
    loop_id       text COLLATE "C",
    task_id       text COLLATE "C",
    subject       text COLLATE "C",
    detail        text COLLATE "C",
    received_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, origin, n)
);

CREATE INDEX audit_by_time ON ralph.audit (tenant, received_at, origin, n);

CREATE TABLE ralph.audit_seal (
    tenant    uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    origin    text COLLATE "C" NOT NULL,
    first_n   bigint NOT NULL,
    last_n    bigint NOT NULL,
    rows      bigint NOT NULL,
    prev_hash text COLLATE "C" NOT NULL,
    hash      text COLLATE "C" NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, origin, last_n)
);

-- The end of each chain. Its row is the lock of the chain, and not an advisory lock: a transaction that has waited for
-- it and can't see what was written meanwhile fails, and is tried again, where it would fork the chain.
CREATE TABLE ralph.audit_head (
    tenant uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    origin text COLLATE "C" NOT NULL,
    -- The last number that was given out, and the last one that is sealed.
    given  bigint NOT NULL DEFAULT 0,
    sealed bigint NOT NULL DEFAULT 0,
    hash   text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, origin)
);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['audit', 'audit_seal', 'audit_head'] LOOP
        EXECUTE format('ALTER TABLE ralph.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE ralph.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_tenant ON ralph.%I USING (tenant = (SELECT ralph.current_tenant()))
             WITH CHECK (tenant = (SELECT ralph.current_tenant()))', name);
        EXECUTE format('GRANT SELECT ON ralph.%I TO ralph_app', name);
    END LOOP;
END
$$;

GRANT INSERT ON ralph.audit TO ralph_app;

-- One field in front of the next can't be taken for another: each has its length in bytes before it.
CREATE FUNCTION ralph.audit_field(value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(octet_length(value) || ':' || value, '~');

-- A time in one form, whatever the session's time zone is.
CREATE FUNCTION ralph.audit_time(value timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_char(value AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- Gives rows without a journal their numbers: one after the other, without gaps.
CREATE FUNCTION ralph.audit_is_numbered() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO ralph.audit_head AS h (tenant, origin, given) VALUES (NEW.tenant, NEW.origin, 1)
    ON CONFLICT (tenant, origin) DO UPDATE SET given = h.given + 1
    RETURNING given INTO NEW.n;
    RETURN NEW;
END
$$;

CREATE TRIGGER audit_is_numbered BEFORE INSERT ON ralph.audit
FOR EACH ROW WHEN (NEW.origin = '')
EXECUTE FUNCTION ralph.audit_is_numbered();

-- Seals what a statement has added. Written as `ralph_owner`: no other role can write a seal.
CREATE FUNCTION ralph.audit_is_sealed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    batch  record;
    head   record;
    sealed_at timestamptz;
    seal   text;
BEGIN
    FOR batch IN
        SELECT a.tenant, a.origin, min(a.n) AS first_n, max(a.n) AS last_n, count(*) AS rows,
               string_agg(
                   ralph.audit_field(a.n::text) || ralph.audit_field(a.at) || ralph.audit_field(a.actor_kind)
                   || ralph.audit_field(a.actor) || ralph.audit_field(a.machine) || ralph.audit_field(a.action)
                   || ralph.audit_field(a.repository_id) || ralph.audit_field(a.loop_id)
                   || ralph.audit_field(a.task_id) || ralph.audit_field(a.subject) || ralph.audit_field(a.detail)
                   || ralph.audit_field(ralph.audit_time(a.received_at)),
                   '' ORDER BY a.n
               ) AS body
        FROM added AS a GROUP BY a.tenant, a.origin ORDER BY a.tenant, a.origin
    LOOP
        INSERT INTO ralph.audit_head AS h (tenant, origin) VALUES (batch.tenant, batch.origin)
        ON CONFLICT (tenant, origin) DO UPDATE SET sealed = h.sealed
        RETURNING h.sealed, h.hash INTO head;
        IF batch.first_n <= head.sealed THEN
            RAISE EXCEPTION 'audit row % of journal "%" comes too late: % is sealed already',
                batch.first_n, batch.origin, head.sealed USING ERRCODE = 'check_violation';
        END IF;
        sealed_at := clock_timestamp();
        seal := encode(sha256(convert_to(
            ralph.audit_field(head.hash) || ralph.audit_field(batch.tenant::text) || ralph.audit_field(batch.origin)
            || ralph.audit_field(batch.first_n::text) || ralph.audit_field(batch.last_n::text)
            || ralph.audit_field(batch.rows::text) || ralph.audit_field(ralph.audit_time(sealed_at)) || batch.body,
            'UTF8'
        )), 'hex');
        INSERT INTO ralph.audit_seal (tenant, origin, first_n, last_n, rows, prev_hash, hash, at)
        VALUES (batch.tenant, batch.origin, batch.first_n, batch.last_n, batch.rows, head.hash, seal, sealed_at);
        UPDATE ralph.audit_head SET sealed = batch.last_n, hash = seal
        WHERE tenant = batch.tenant AND origin = batch.origin;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE TRIGGER audit_is_sealed AFTER INSERT ON ralph.audit
REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION ralph.audit_is_sealed();

REVOKE EXECUTE ON FUNCTION ralph.audit_field(text), ralph.audit_time(timestamptz), ralph.audit_is_numbered(),
    ralph.audit_is_sealed() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ralph.audit_time(timestamptz) TO ralph_app;

-- Journals that have no SQLite add to it by the statement of the others.
CREATE VIEW ralph_journal.audit WITH (security_invoker = true) AS
    SELECT * FROM ralph.audit WHERE origin = '' WITH LOCAL CHECK OPTION;
GRANT SELECT, INSERT ON ralph_journal.audit TO ralph_app;
