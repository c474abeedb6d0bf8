-- What machines send, what they are told, and what they may spend together.

-- Where each journal stands: the last of its changes that is here, and the hash of all before it.
CREATE TABLE ralph.machine (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    origin        text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    seq           bigint NOT NULL DEFAULT 0,
    hash          text COLLATE "C" NOT NULL DEFAULT '',
    first_seen    timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen     timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Its clock less the server's.
    clock_skew_ms bigint,
    PRIMARY KEY (tenant, origin)
);

CREATE TABLE ralph.sync_batch (
    tenant    uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin    text COLLATE "C" NOT NULL,
    from_seq  bigint NOT NULL,
    to_seq    bigint NOT NULL,
    prev_hash text COLLATE "C" NOT NULL,
    hash      text COLLATE "C" NOT NULL,
    rows      bigint NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, origin, to_seq),
    FOREIGN KEY (tenant, origin) REFERENCES ralph.machine (tenant, origin)
);

-- What a person tells the loops of a journal, from any machine.
CREATE TABLE ralph.team_command (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    id            uuid NOT NULL,
    origin        text COLLATE "C" NOT NULL,
    repository_id text COLLATE "C" NOT NULL,
    worktree      text COLLATE "C" NOT NULL,
    source        text COLLATE "C" NOT NULL,
    who           text COLLATE "C" NOT NULL,
    body          text COLLATE "C" NOT NULL,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken_at      timestamptz,
    result        text COLLATE "C",
    done_at       timestamptz,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX team_command_waiting ON ralph.team_command (tenant, origin, at, id) WHERE taken_at IS NULL;
CREATE INDEX team_command_by_origin ON ralph.team_command (tenant, origin, at, id);

-- Every role of the database hears a notification, so it carries ids alone.
CREATE FUNCTION ralph.team_command_is_given() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pg_notify('ralph_command', NEW.tenant || '/' || NEW.origin);
    RETURN NULL;
END
$$;

REVOKE EXECUTE ON FUNCTION ralph.team_command_is_given() FROM PUBLIC;

CREATE TRIGGER team_command_is_given AFTER INSERT ON ralph.team_command
FOR EACH ROW EXECUTE FUNCTION ralph.team_command_is_given();

-- Logs and prompts, which are sent where a person has asked for it alone.
CREATE TABLE ralph.iteration_log (
    tenant       uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    origin       text COLLATE "C" NOT NULL,
    iteration_id text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL CHECK (kind IN ('log', 'prompt')),
    body         text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, origin, iteration_id, kind)
);

-- What the tenant may spend, in millionths of a dollar.
CREATE TABLE ralph.budget (
    tenant uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    per    text COLLATE "C" NOT NULL CHECK (per IN ('day', 'month', 'total')),
    usd    bigint NOT NULL CHECK (usd >= 0),
    set_by text COLLATE "C" NOT NULL,
    set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, per)
);

-- What was handed out to machines of it, in a period such as 2026-11-18, 2026-11 or total.
CREATE TABLE ralph.budget_period (
    tenant uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    per    text COLLATE "C" NOT NULL CHECK (per IN ('day', 'month', 'total')),
    period text COLLATE "C" NOT NULL,
    taken  bigint NOT NULL CHECK (taken >= 0),
    PRIMARY KEY (tenant, per, period)
);

CREATE TABLE ralph.budget_share (
    tenant  uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    origin  text COLLATE "C" NOT NULL,
    per     text COLLATE "C" NOT NULL CHECK (per IN ('day', 'month', 'total')),
    period  text COLLATE "C" NOT NULL,
    granted bigint NOT NULL CHECK (granted >= 0),
    PRIMARY KEY (tenant, origin, per, period)
);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'machine', 'sync_batch', 'team_command', 'iteration_log', 'budget', 'budget_period', 'budget_share'
    ] LOOP
        EXECUTE format('ALTER TABLE ralph.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE ralph.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_tenant ON ralph.%I USING (tenant = (SELECT ralph.current_tenant()))
             WITH CHECK (tenant = (SELECT ralph.current_tenant()))', name);
        EXECUTE format('GRANT SELECT, INSERT ON ralph.%I TO ralph_app', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['machine', 'iteration_log', 'budget', 'budget_period', 'budget_share'] LOOP
        EXECUTE format('GRANT UPDATE ON ralph.%I TO ralph_app', name);
    END LOOP;
END
$$;

-- What was said stays as it was said.
GRANT UPDATE (taken_at, result, done_at) ON ralph.team_command TO ralph_app;
