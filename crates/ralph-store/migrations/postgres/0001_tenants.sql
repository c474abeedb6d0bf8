-- Who the tenants are, and which one a connection may see. Everything is owned by `ralph_owner`, which no one logs in
-- as; programs connect as members of `ralph_app`. The roles are made by `ralph db init`, since they belong to the
-- whole cluster; this runs as `ralph_owner`.

CREATE TABLE ralph.schema_version (
    version     bigint PRIMARY KEY,
    description text NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- SHA-256 of the migration's text.
    checksum    text NOT NULL
);

CREATE TABLE ralph.tenant (
    id         uuid PRIMARY KEY,
    name       text COLLATE "C" NOT NULL UNIQUE CHECK (name <> ''),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Which tenant a login role may see: machines that are not trusted have one, others any (NULL). A role without a row
-- sees none, so that one which was made for another database of this cluster does not see everything here.
CREATE TABLE ralph.role_tenant (
    role   name PRIMARY KEY,
    tenant uuid REFERENCES ralph.tenant (id)
);

-- The tenant of this transaction. The setting is no proof of who asks: where the role is bound to a tenant, that one
-- counts, and a setting that names another gives none at all. RESET leaves '', hence nullif.
CREATE FUNCTION ralph.current_tenant() RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wanted uuid := nullif(current_setting('ralph.tenant', true), '')::uuid;
    bound  uuid;
BEGIN
    SELECT r.tenant INTO bound FROM ralph.role_tenant r WHERE r.role = session_user;
    IF FOUND AND bound IS NULL THEN
        RETURN wanted;
    END IF;
    IF FOUND THEN
        RETURN CASE WHEN wanted IS NULL OR wanted = bound THEN bound END;
    END IF;
    -- Those who keep the store need no row.
    RETURN CASE WHEN pg_has_role(session_user, 'ralph_owner', 'MEMBER') THEN wanted END;
END
$$;

-- The id of a tenant by its name; a role that is bound to a tenant learns of no other.
CREATE FUNCTION ralph.tenant_id(wanted text) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    named uuid;
    bound uuid;
BEGIN
    SELECT t.id INTO named FROM ralph.tenant t WHERE t.name = wanted;
    SELECT r.tenant INTO bound FROM ralph.role_tenant r WHERE r.role = session_user;
    IF FOUND THEN
        RETURN CASE WHEN bound IS NULL OR bound = named THEN named END;
    END IF;
    RETURN CASE WHEN pg_has_role(session_user, 'ralph_owner', 'MEMBER') THEN named END;
END
$$;

-- These three have no column `tenant` to go by, or are what the policies of all others ask.
ALTER TABLE ralph.schema_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE ralph.schema_version FORCE ROW LEVEL SECURITY;
CREATE POLICY everyone_reads ON ralph.schema_version FOR SELECT TO ralph_app USING (true);
CREATE POLICY owner_keeps ON ralph.schema_version TO ralph_owner USING (true) WITH CHECK (true);

ALTER TABLE ralph.tenant ENABLE ROW LEVEL SECURITY;
ALTER TABLE ralph.tenant FORCE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON ralph.tenant FOR SELECT TO ralph_app USING (id = (SELECT ralph.current_tenant()));
CREATE POLICY owner_keeps ON ralph.tenant TO ralph_owner USING (true) WITH CHECK (true);

ALTER TABLE ralph.role_tenant ENABLE ROW LEVEL SECURITY;
ALTER TABLE ralph.role_tenant FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_keeps ON ralph.role_tenant TO ralph_owner USING (true) WITH CHECK (true);

GRANT USAGE ON SCHEMA ralph, ralph_journal, ralph_team TO ralph_app;
GRANT SELECT ON ralph.schema_version, ralph.tenant TO ralph_app;
REVOKE EXECUTE ON FUNCTION ralph.current_tenant(), ralph.tenant_id(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ralph.current_tenant(), ralph.tenant_id(text) TO ralph_app;
