-- The journal: the tables and columns of the SQLite one as it is after its migration 18. Rows are added; only the end
-- of a loop or of an iteration is filled in later, once.
--
-- `origin` is the SQLite journal that a row was synced from, and '' for journals that have no SQLite: two journals
-- that hold the same ids never collide. Every key begins with the tenant. Text is sorted by its bytes, as SQLite does,
-- whatever the database sorts by; times and JSON are text, as there.

-- What the shared statements ask of JSON, by SQLite's names. A text that is no JSON is an error to `json_extract`.
CREATE FUNCTION ralph_journal.json_valid(body text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN body::json IS NOT NULL;
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END
$$;

-- The value at a path as in '$.usage.costUsd', as text. A NUL, which agents do say, can't be in a text here and would
-- be an error wherever in the document it stands; it is read as the sign for what can't be shown. Its escape has as
-- many letters, so that one behind an escaped \ stays valid.
CREATE FUNCTION ralph_journal.json_extract(body text, path text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN replace(body, '\u0000', '\ufffd')::json #>> string_to_array(substr(path, 3), '.');

REVOKE EXECUTE ON FUNCTION ralph_journal.json_valid(text), ralph_journal.json_extract(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ralph_journal.json_valid(text), ralph_journal.json_extract(text, text) TO ralph_app;

CREATE TABLE ralph.repository (
    tenant         uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    origin         text COLLATE "C" NOT NULL DEFAULT '',
    id             text COLLATE "C" NOT NULL,
    common_dir     text COLLATE "C" NOT NULL,
    created_at     text COLLATE "C" NOT NULL,
    next_iteration bigint NOT NULL DEFAULT 1,
    task_source    text COLLATE "C"
);

CREATE TABLE ralph.loop (
    tenant          uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin          text COLLATE "C" NOT NULL DEFAULT '',
    id              text COLLATE "C" NOT NULL,
    repository_id   text COLLATE "C" NOT NULL,
    worktree        text COLLATE "C" NOT NULL,
    source          text COLLATE "C" NOT NULL,
    branch          text COLLATE "C" NOT NULL,
    base_commit     text COLLATE "C" NOT NULL,
    agent           text COLLATE "C" NOT NULL,
    config          text COLLATE "C" NOT NULL,
    baseline        text COLLATE "C",
    started_at      text COLLATE "C" NOT NULL,
    ended_at        text COLLATE "C",
    stop            text COLLATE "C",
    paused_at       text COLLATE "C",
    goal            text COLLATE "C" NOT NULL DEFAULT '',
    iterations      bigint NOT NULL DEFAULT 0,
    verified        bigint NOT NULL DEFAULT 0,
    cost_millionths bigint,
    input_tokens    bigint NOT NULL DEFAULT 0,
    output_tokens   bigint NOT NULL DEFAULT 0,
    forecast        text COLLATE "C",
    clean_check     text COLLATE "C",
    checkpoints     bigint NOT NULL DEFAULT 0
);
CREATE INDEX loop_by_repository ON ralph.loop (tenant, origin, repository_id, worktree, started_at);
CREATE INDEX loop_by_time ON ralph.loop (tenant, origin, repository_id, started_at, id);
CREATE INDEX loop_open ON ralph.loop (tenant, origin, started_at)
    WHERE ended_at IS NULL;

-- What reverted or squashed it has no foreign key: the row of a synced iteration is sent as it is by then, and may
-- come before the rewrite that it names.
CREATE TABLE ralph.iteration (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    id            text COLLATE "C" NOT NULL,
    repository_id text COLLATE "C" NOT NULL,
    loop_id       text COLLATE "C" NOT NULL,
    n             bigint NOT NULL,
    task_id       text COLLATE "C" NOT NULL,
    attempt       bigint NOT NULL,
    base_commit   text COLLATE "C" NOT NULL,
    start         text COLLATE "C" NOT NULL,
    started_at    text COLLATE "C" NOT NULL,
    ended_at      text COLLATE "C",
    verdict       text COLLATE "C",
    outcome       text COLLATE "C",
    result_commit text COLLATE "C",
    record        text COLLATE "C",
    reverted_by   text COLLATE "C",
    squashed_by   text COLLATE "C"
);
CREATE INDEX iteration_by_loop ON ralph.iteration (tenant, origin, loop_id, n);
CREATE INDEX iteration_unfinished ON ralph.iteration (tenant, origin, loop_id)
    WHERE ended_at IS NULL;
CREATE INDEX iteration_by_task ON ralph.iteration (tenant, origin, repository_id, task_id, n);
CREATE INDEX iteration_reverted ON ralph.iteration (tenant, origin, repository_id)
    WHERE reverted_by IS NOT NULL;

CREATE TABLE ralph.step (
    tenant       uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin       text COLLATE "C" NOT NULL DEFAULT '',
    iteration_id text COLLATE "C" NOT NULL,
    seq          bigint NOT NULL,
    at           text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL CHECK (kind IN ('intent', 'done')),
    body         text COLLATE "C" NOT NULL
);

CREATE TABLE ralph.task_state (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    repository_id text COLLATE "C" NOT NULL,
    source        text COLLATE "C" NOT NULL,
    task_id       text COLLATE "C" NOT NULL,
    state         text COLLATE "C" NOT NULL
);
CREATE INDEX task_state_held ON ralph.task_state (tenant, origin, repository_id, source)
    WHERE ralph_journal.json_extract(state, '$.question') IS NOT NULL
       OR ralph_journal.json_extract(state, '$.blocked') IS NOT NULL;
CREATE INDEX task_state_skipped ON ralph.task_state (tenant, origin, repository_id, source)
    WHERE ralph_journal.json_extract(state, '$.skipped') IS NOT NULL;

CREATE TABLE ralph.task_list (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    repository_id text COLLATE "C" NOT NULL,
    source        text COLLATE "C" NOT NULL,
    ids           text COLLATE "C" NOT NULL
);

CREATE TABLE ralph.suggestion (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    id            bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    repository_id text COLLATE "C" NOT NULL,
    iteration     bigint NOT NULL,
    title         text COLLATE "C" NOT NULL,
    description   text COLLATE "C" NOT NULL,
    taken_as      text COLLATE "C"
);

CREATE TABLE ralph.command (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    id            bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    repository_id text COLLATE "C" NOT NULL,
    worktree      text COLLATE "C" NOT NULL,
    who           text COLLATE "C" NOT NULL,
    at            text COLLATE "C" NOT NULL,
    body          text COLLATE "C" NOT NULL,
    done_at       text COLLATE "C",
    result        text COLLATE "C"
);
CREATE INDEX command_waiting ON ralph.command (tenant, origin, repository_id, worktree, id)
    WHERE done_at IS NULL;

CREATE TABLE ralph.guidance (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    id            bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    repository_id text COLLATE "C" NOT NULL,
    source        text COLLATE "C" NOT NULL,
    task_id       text COLLATE "C",
    text          text COLLATE "C" NOT NULL,
    who           text COLLATE "C" NOT NULL,
    at            text COLLATE "C" NOT NULL,
    iteration     bigint
);
CREATE INDEX guidance_by_task ON ralph.guidance (tenant, origin, repository_id, source, task_id, id);

CREATE TABLE ralph.escalation (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    id            bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    repository_id text COLLATE "C" NOT NULL,
    source        text COLLATE "C" NOT NULL,
    task_id       text COLLATE "C" NOT NULL,
    iteration     bigint NOT NULL,
    asked_by      text COLLATE "C" NOT NULL CHECK (asked_by IN ('agent', 'ralph')),
    question      text COLLATE "C" NOT NULL,
    body          text COLLATE "C",
    asked_at      text COLLATE "C" NOT NULL,
    answer        text COLLATE "C",
    answered_at   text COLLATE "C"
);
CREATE INDEX escalation_by_source ON ralph.escalation (tenant, origin, repository_id, source, id);

CREATE TABLE ralph.rewrite (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    id            text COLLATE "C" NOT NULL,
    repository_id text COLLATE "C" NOT NULL,
    worktree      text COLLATE "C" NOT NULL,
    kind          text COLLATE "C" NOT NULL CHECK (kind IN ('revert', 'squash')),
    branch        text COLLATE "C" NOT NULL,
    from_commit   text COLLATE "C" NOT NULL,
    to_commit     text COLLATE "C" NOT NULL,
    made_commit   text COLLATE "C",
    body          text COLLATE "C" NOT NULL,
    started_at    text COLLATE "C" NOT NULL,
    ended_at      text COLLATE "C",
    outcome       text COLLATE "C" CHECK (outcome IN ('done', 'given_up'))
);
CREATE INDEX rewrite_by_repository ON ralph.rewrite (tenant, origin, repository_id, started_at);
CREATE INDEX rewrite_unfinished ON ralph.rewrite (tenant, origin, repository_id, worktree)
    WHERE ended_at IS NULL;

CREATE TABLE ralph.checkpoint (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    id            text COLLATE "C" NOT NULL,
    repository_id text COLLATE "C" NOT NULL,
    loop_id       text COLLATE "C" NOT NULL,
    n             bigint NOT NULL,
    iteration     bigint,
    phase         text COLLATE "C" NOT NULL,
    at            text COLLATE "C" NOT NULL,
    body          text COLLATE "C" NOT NULL,
    hash          text COLLATE "C" NOT NULL,
    prev_hash     text COLLATE "C",
    tip_commit    text COLLATE "C" NOT NULL
);
CREATE INDEX checkpoint_by_repository ON ralph.checkpoint (tenant, origin, repository_id, id);

CREATE TABLE ralph.token_record (
    tenant           uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin           text COLLATE "C" NOT NULL DEFAULT '',
    iteration_id     text COLLATE "C" NOT NULL,
    seq              bigint NOT NULL,
    run              bigint NOT NULL,
    agent            text COLLATE "C" NOT NULL,
    model            text COLLATE "C",
    caller           text COLLATE "C" NOT NULL CHECK (caller IN ('agent', 'subagent', 'rest')),
    input            bigint NOT NULL,
    output           bigint NOT NULL,
    cache_read       bigint NOT NULL,
    cache_write      bigint NOT NULL,
    cost_input       bigint,
    cost_output      bigint,
    cost_cache_read  bigint,
    cost_cache_write bigint,
    told             bigint,
    spent            bigint NOT NULL,
    basis            text COLLATE "C" NOT NULL DEFAULT 'listed' CHECK (basis IN ('listed', 'estimated'))
);

CREATE TABLE ralph.token_total (
    tenant           uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    origin           text COLLATE "C" NOT NULL DEFAULT '',
    repository_id    text COLLATE "C" NOT NULL,
    dimension        text COLLATE "C" NOT NULL
        CHECK (dimension IN ('total', 'model', 'loop', 'task', 'loop_task', 'loop_part')),
    key              text COLLATE "C" NOT NULL,
    day              text COLLATE "C" NOT NULL,
    calls            bigint NOT NULL,
    tool_calls       bigint NOT NULL,
    input            bigint NOT NULL,
    output           bigint NOT NULL,
    cache_read       bigint NOT NULL,
    cache_write      bigint NOT NULL,
    cost_input       bigint NOT NULL,
    cost_output      bigint NOT NULL,
    cost_cache_read  bigint NOT NULL,
    cost_cache_write bigint NOT NULL,
    unpriced_tokens  bigint NOT NULL,
    told             bigint NOT NULL,
    told_by_table    bigint NOT NULL,
    spent            bigint NOT NULL,
    estimated_tokens bigint NOT NULL DEFAULT 0,
    unknown_tokens   bigint NOT NULL DEFAULT 0,
    estimated        bigint NOT NULL DEFAULT 0
);
CREATE INDEX token_total_by_spent ON ralph.token_total (tenant, origin, repository_id, dimension, day, spent);

CREATE TABLE ralph.token_month (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    repository_id text COLLATE "C" NOT NULL,
    dimension     text COLLATE "C" NOT NULL CHECK (dimension IN ('task', 'loop')),
    month         text COLLATE "C" NOT NULL,
    key           text COLLATE "C" NOT NULL,
    spent         bigint NOT NULL
);

CREATE TABLE ralph.side_run (
    tenant        uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin        text COLLATE "C" NOT NULL DEFAULT '',
    id            text COLLATE "C" NOT NULL,
    repository_id text COLLATE "C" NOT NULL,
    work          text COLLATE "C" NOT NULL CHECK (work IN ('plan', 'interview')),
    at            text COLLATE "C" NOT NULL,
    tool_calls    bigint NOT NULL,
    calls         text COLLATE "C" NOT NULL
);
CREATE INDEX side_run_by_repository ON ralph.side_run (tenant, origin, repository_id, id);

CREATE TABLE ralph.loop_note (
    tenant   uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin   text COLLATE "C" NOT NULL DEFAULT '',
    id       bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    loop_id  text COLLATE "C" NOT NULL,
    worktree text COLLATE "C" NOT NULL,
    kind     text COLLATE "C" NOT NULL,
    sentence text COLLATE "C" NOT NULL,
    at       text COLLATE "C" NOT NULL
);
CREATE INDEX loop_note_by_loop ON ralph.loop_note (tenant, origin, loop_id, id);
CREATE INDEX loop_note_by_worktree ON ralph.loop_note (tenant, origin, worktree, kind, at);

-- Loops of sessions have events too, so there is no foreign key to `loop`.
CREATE TABLE ralph.loop_event (
    tenant    uuid NOT NULL DEFAULT ralph.current_tenant() REFERENCES ralph.tenant (id),
    origin    text COLLATE "C" NOT NULL DEFAULT '',
    id        bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    loop_id   text COLLATE "C" NOT NULL,
    iteration bigint,
    at        text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    body      text COLLATE "C" NOT NULL
);
CREATE INDEX loop_event_by_loop ON ralph.loop_event (tenant, origin, loop_id, id);

CREATE TABLE ralph.session_loop (
    tenant             uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin             text COLLATE "C" NOT NULL DEFAULT '',
    id                 text COLLATE "C" NOT NULL,
    repository_id      text COLLATE "C" NOT NULL,
    worktree           text COLLATE "C" NOT NULL,
    agent              text COLLATE "C" NOT NULL,
    session            text COLLATE "C" NOT NULL,
    prompt             text COLLATE "C" NOT NULL,
    max_iterations     bigint NOT NULL,
    completion_promise text COLLATE "C",
    config             text COLLATE "C",
    iterations         bigint NOT NULL DEFAULT 0,
    errors             bigint NOT NULL DEFAULT 0,
    tokens             bigint NOT NULL DEFAULT 0,
    spent              bigint NOT NULL DEFAULT 0,
    started_at         text COLLATE "C" NOT NULL,
    ended_at           text COLLATE "C",
    reason             text COLLATE "C"
);
CREATE INDEX session_loop_by_repository ON ralph.session_loop (tenant, origin, repository_id, id);
CREATE INDEX session_loop_by_session ON ralph.session_loop (tenant, origin, session, id);

CREATE TABLE ralph.session_iteration (
    tenant     uuid NOT NULL DEFAULT ralph.current_tenant(),
    origin     text COLLATE "C" NOT NULL DEFAULT '',
    loop_id    text COLLATE "C" NOT NULL,
    n          bigint NOT NULL,
    started_at text COLLATE "C" NOT NULL,
    ended_at   text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL CHECK (outcome IN ('ok', 'error', 'aborted')),
    error      text COLLATE "C",
    tool_calls bigint NOT NULL,
    calls      text COLLATE "C" NOT NULL
);

-- What a team asks over all of its journals.
CREATE INDEX loop_of_team ON ralph.loop (tenant, id, origin);
CREATE INDEX loop_of_team_by_time ON ralph.loop (tenant, started_at, id);
CREATE INDEX loop_of_team_open ON ralph.loop (tenant, started_at, id) WHERE ended_at IS NULL;
CREATE INDEX escalation_of_team ON ralph.escalation (tenant, asked_at, id);
CREATE INDEX escalation_of_team_open ON ralph.escalation (tenant, asked_at, id) WHERE answered_at IS NULL;
CREATE INDEX escalation_of_team_twice ON ralph.escalation (tenant, repository_id, id, origin);
CREATE INDEX checkpoint_of_team ON ralph.checkpoint (tenant, id, origin);
CREATE INDEX checkpoint_of_team_by_loop ON ralph.checkpoint (tenant, loop_id, n);
CREATE INDEX token_total_of_team ON ralph.token_total (tenant, dimension, day, spent);
CREATE INDEX token_total_of_team_by_key ON ralph.token_total (tenant, dimension, key, day);

-- The keys come behind all other indexes: of two that look the same to a planner without statistics the newer one is
-- taken, and in a new store the first rows to arrive would be looked for by their tenant alone.
ALTER TABLE ralph.iteration ADD UNIQUE (tenant, origin, repository_id, n);
ALTER TABLE ralph.suggestion ADD UNIQUE (tenant, origin, repository_id, title);
ALTER TABLE ralph.checkpoint ADD UNIQUE (tenant, origin, loop_id, n);
ALTER TABLE ralph.repository ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.loop ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.iteration ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.step ADD PRIMARY KEY (tenant, origin, iteration_id, seq);
ALTER TABLE ralph.task_state ADD PRIMARY KEY (tenant, origin, repository_id, source, task_id);
ALTER TABLE ralph.task_list ADD PRIMARY KEY (tenant, origin, repository_id, source);
ALTER TABLE ralph.suggestion ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.command ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.guidance ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.escalation ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.rewrite ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.checkpoint ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.token_record ADD PRIMARY KEY (tenant, origin, iteration_id, seq);
ALTER TABLE ralph.token_total ADD PRIMARY KEY (tenant, origin, repository_id, dimension, key, day);
ALTER TABLE ralph.token_month ADD PRIMARY KEY (tenant, origin, repository_id, dimension, month, key);
ALTER TABLE ralph.side_run ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.loop_note ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.loop_event ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.session_loop ADD PRIMARY KEY (tenant, origin, id);
ALTER TABLE ralph.session_iteration ADD PRIMARY KEY (tenant, origin, loop_id, n);

ALTER TABLE ralph.loop ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.iteration ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.iteration ADD FOREIGN KEY (tenant, origin, loop_id) REFERENCES ralph.loop (tenant, origin, id);
ALTER TABLE ralph.step ADD FOREIGN KEY (tenant, origin, iteration_id) REFERENCES ralph.iteration (tenant, origin, id);
ALTER TABLE ralph.task_state ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.task_list ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.suggestion ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.command ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.guidance ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.escalation ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.rewrite ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.checkpoint ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.checkpoint ADD FOREIGN KEY (tenant, origin, loop_id) REFERENCES ralph.loop (tenant, origin, id);
ALTER TABLE ralph.token_record ADD FOREIGN KEY (tenant, origin, iteration_id) REFERENCES ralph.iteration (tenant, origin, id);
ALTER TABLE ralph.side_run ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.loop_note ADD FOREIGN KEY (tenant, origin, loop_id) REFERENCES ralph.loop (tenant, origin, id);
ALTER TABLE ralph.session_loop ADD FOREIGN KEY (tenant, origin, repository_id) REFERENCES ralph.repository (tenant, origin, id);
ALTER TABLE ralph.session_iteration ADD FOREIGN KEY (tenant, origin, loop_id) REFERENCES ralph.session_loop (tenant, origin, id);

-- What is kept up by the database itself. Rows of another origin bring their sums with them.

CREATE FUNCTION ralph.iteration_ends() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    told numeric := ralph_journal.json_extract(NEW.record, '$.usage.costUsd')::numeric;
BEGIN
    UPDATE ralph.loop SET
        iterations = iterations + 1,
        verified = verified + coalesce((NEW.verdict IN ('verified', 'progress'))::int, 0),
        cost_millionths = CASE
            WHEN told IS NULL THEN cost_millionths
            ELSE coalesce(cost_millionths, 0) + round(told * 1000000)::bigint
        END,
        input_tokens = input_tokens + coalesce(ralph_journal.json_extract(NEW.record, '$.usage.inputTokens')::bigint, 0),
        output_tokens = output_tokens + coalesce(ralph_journal.json_extract(NEW.record, '$.usage.outputTokens')::bigint, 0)
    WHERE tenant = NEW.tenant AND origin = NEW.origin AND id = NEW.loop_id;
    RETURN NULL;
END
$$;

CREATE TRIGGER iteration_ends AFTER UPDATE OF ended_at ON ralph.iteration
FOR EACH ROW WHEN (NEW.origin = '' AND OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL)
EXECUTE FUNCTION ralph.iteration_ends();

CREATE FUNCTION ralph.iteration_is_taken_back() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE ralph.loop SET verified = verified - 1
    WHERE tenant = NEW.tenant AND origin = NEW.origin AND id = NEW.loop_id;
    RETURN NULL;
END
$$;

CREATE TRIGGER iteration_is_taken_back AFTER UPDATE OF reverted_by ON ralph.iteration
FOR EACH ROW WHEN (
    NEW.origin = '' AND OLD.reverted_by IS NULL AND NEW.reverted_by IS NOT NULL
    AND NEW.verdict IN ('verified', 'progress')
)
EXECUTE FUNCTION ralph.iteration_is_taken_back();

CREATE FUNCTION ralph.token_total_begins() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO ralph.token_month AS m (tenant, origin, repository_id, dimension, month, key, spent)
    VALUES (NEW.tenant, NEW.origin, NEW.repository_id, NEW.dimension, substr(NEW.day, 1, 7), NEW.key, NEW.spent)
    ON CONFLICT (tenant, origin, repository_id, dimension, month, key)
    DO UPDATE SET spent = m.spent + excluded.spent;
    RETURN NULL;
END
$$;

CREATE TRIGGER token_total_begins AFTER INSERT ON ralph.token_total
FOR EACH ROW WHEN (NEW.origin = '' AND NEW.dimension IN ('task', 'loop') AND NEW.day > '')
EXECUTE FUNCTION ralph.token_total_begins();

CREATE FUNCTION ralph.token_total_grows() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE ralph.token_month SET spent = spent + NEW.spent - OLD.spent
    WHERE tenant = NEW.tenant AND origin = NEW.origin AND repository_id = NEW.repository_id
      AND dimension = NEW.dimension AND month = substr(NEW.day, 1, 7) AND key = NEW.key;
    RETURN NULL;
END
$$;

CREATE TRIGGER token_total_grows AFTER UPDATE OF spent ON ralph.token_total
FOR EACH ROW WHEN (NEW.origin = '' AND NEW.dimension IN ('task', 'loop') AND NEW.day > '')
EXECUTE FUNCTION ralph.token_total_grows();

CREATE FUNCTION ralph.checkpoint_is_made() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE ralph.loop SET checkpoints = greatest(checkpoints, NEW.n)
    WHERE tenant = NEW.tenant AND origin = NEW.origin AND id = NEW.loop_id;
    RETURN NULL;
END
$$;

CREATE TRIGGER checkpoint_is_made AFTER INSERT ON ralph.checkpoint
FOR EACH ROW WHEN (NEW.origin = '')
EXECUTE FUNCTION ralph.checkpoint_is_made();

REVOKE EXECUTE ON FUNCTION ralph.iteration_ends(), ralph.iteration_is_taken_back(), ralph.token_total_begins(),
    ralph.token_total_grows(), ralph.checkpoint_is_made() FROM PUBLIC;

-- Each tenant sees and writes its own rows alone, whoever asks, the owner too. The tenant is asked for once in a
-- statement, hence the SELECT. And a view of each table with the rows of journals without SQLite, by the same name:
-- with `ralph_journal` first in the search path they take the statements of the SQLite journal.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'repository', 'loop', 'iteration', 'step', 'task_state', 'task_list', 'suggestion', 'command', 'guidance',
        'escalation', 'rewrite', 'checkpoint', 'token_record', 'token_total', 'token_month', 'side_run', 'loop_note',
        'loop_event', 'session_loop', 'session_iteration'
    ] LOOP
        EXECUTE format('ALTER TABLE ralph.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE ralph.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_tenant ON ralph.%I USING (tenant = (SELECT ralph.current_tenant()))
             WITH CHECK (tenant = (SELECT ralph.current_tenant()))', name);
        EXECUTE format(
            $view$CREATE VIEW ralph_journal.%1$I WITH (security_invoker = true) AS
                  SELECT * FROM ralph.%1$I WHERE origin = '' WITH LOCAL CHECK OPTION$view$, name);
        EXECUTE format('GRANT SELECT, INSERT ON ralph.%1$I, ralph_journal.%1$I TO ralph_app', name);
    END LOOP;
    -- Those that change. The others are only added to.
    FOREACH name IN ARRAY ARRAY[
        'repository', 'loop', 'iteration', 'task_state', 'task_list', 'suggestion', 'command', 'guidance', 'escalation',
        'rewrite', 'token_total', 'token_month', 'session_loop'
    ] LOOP
        EXECUTE format('GRANT UPDATE ON ralph.%1$I, ralph_journal.%1$I TO ralph_app', name);
    END LOOP;
END
$$;

GRANT DELETE ON ralph.task_state, ralph_journal.task_state TO ralph_app;
