-- What a team's store has to know of this journal, and what came from it. Nothing of it is written to until sync is
-- enabled, but for the audit trail.

-- Who did what to which loop, task, question or budget, and when. Only added to.
CREATE TABLE audit (
    n             INTEGER PRIMARY KEY AUTOINCREMENT,
    at            TEXT NOT NULL,
    actor_kind    TEXT NOT NULL CHECK (actor_kind IN ('person', 'agent', 'ralph')),
    actor         TEXT NOT NULL,
    machine       TEXT NOT NULL,
    action        TEXT NOT NULL,
    repository_id TEXT,
    loop_id       TEXT,
    task_id       TEXT,
    subject       TEXT,
    detail        TEXT
) STRICT;

-- One row.
CREATE TABLE sync_state (
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    enabled         INTEGER NOT NULL DEFAULT 0,
    -- The name of this journal on the server, a UUIDv7: minted when sync is first enabled.
    origin          TEXT,
    -- The last batch that the server is known to have.
    acked_seq       INTEGER,
    acked_hash      TEXT,
    -- Changes up to this one were taken out of `sync_change`.
    pruned_to       INTEGER NOT NULL DEFAULT 0,
    -- What leaves the machine, as it was chosen when the last batch was made.
    include         TEXT NOT NULL DEFAULT '',
    -- Whether logs or prompts do.
    logs            INTEGER NOT NULL DEFAULT 0,
    -- For `ralph status`: where it goes, without a password, and how it went.
    server          TEXT,
    tenant          TEXT,
    last_ok_at      TEXT,
    last_error      TEXT,
    last_error_at   TEXT,
    server_ahead_ms INTEGER
) STRICT;

INSERT INTO sync_state (one) VALUES (1);

-- Rows that were added, changed or deleted, in the order in which it happened. They are read when they are sent.
CREATE TABLE sync_change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    tab TEXT NOT NULL,
    -- Its key columns as a JSON array; an empty one stands for all rows of the table.
    key TEXT NOT NULL,
    -- In seconds: how long it waits.
    at  INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;

-- Batches, written down before they are sent: a server that has one of them as its last is known again.
CREATE TABLE sync_batch (
    to_seq INTEGER NOT NULL,
    hash   TEXT NOT NULL,
    acked  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (to_seq, hash)
) STRICT, WITHOUT ROWID;

-- Iterations whose logs or prompts are to be sent.
CREATE TABLE sync_log (
    iteration_id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Commands that came from the server: each is taken once.
CREATE TABLE team_command (
    id         TEXT PRIMARY KEY,
    command_id INTEGER NOT NULL REFERENCES command (id),
    -- The server has its result.
    told       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX team_command_open ON team_command (command_id) WHERE told = 0;

-- What this machine may spend of a budget of the team while the server is out of reach, in millionths of a dollar.
CREATE TABLE budget_share (
    per        TEXT NOT NULL CHECK (per IN ('day', 'month', 'total')),
    -- As in 2026-11-18, 2026-11, total.
    period     TEXT NOT NULL,
    granted    INTEGER NOT NULL,
    -- The budget of the whole team.
    cap        INTEGER NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (per, period)
) STRICT, WITHOUT ROWID;

-- From here on each change of what is synced is written down in the transaction that makes it, whoever does.

CREATE TRIGGER sync_repository_added AFTER INSERT ON repository WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('repository', json_array(NEW.id));
END;

CREATE TRIGGER sync_repository_changed AFTER UPDATE ON repository WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('repository', json_array(NEW.id));
END;

CREATE TRIGGER sync_loop_added AFTER INSERT ON loop WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('loop', json_array(NEW.id));
END;

CREATE TRIGGER sync_loop_changed AFTER UPDATE ON loop WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('loop', json_array(NEW.id));
END;

CREATE TRIGGER sync_session_loop_added AFTER INSERT ON session_loop WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('session_loop', json_array(NEW.id));
END;

CREATE TRIGGER sync_session_loop_changed AFTER UPDATE ON session_loop WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('session_loop', json_array(NEW.id));
END;

CREATE TRIGGER sync_rewrite_added AFTER INSERT ON rewrite WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('rewrite', json_array(NEW.id));
END;

CREATE TRIGGER sync_rewrite_changed AFTER UPDATE ON rewrite WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('rewrite', json_array(NEW.id));
END;

CREATE TRIGGER sync_iteration_added AFTER INSERT ON iteration WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('iteration', json_array(NEW.id));
END;

CREATE TRIGGER sync_iteration_changed AFTER UPDATE ON iteration WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('iteration', json_array(NEW.id));
END;

CREATE TRIGGER sync_step_added AFTER INSERT ON step WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('step', json_array(NEW.iteration_id, NEW.seq));
END;

CREATE TRIGGER sync_task_state_added AFTER INSERT ON task_state WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('task_state', json_array(NEW.repository_id, NEW.source, NEW.task_id));
END;

CREATE TRIGGER sync_task_state_changed AFTER UPDATE ON task_state WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('task_state', json_array(NEW.repository_id, NEW.source, NEW.task_id));
END;

CREATE TRIGGER sync_task_state_gone AFTER DELETE ON task_state WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('task_state', json_array(OLD.repository_id, OLD.source, OLD.task_id));
END;

CREATE TRIGGER sync_task_list_added AFTER INSERT ON task_list WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('task_list', json_array(NEW.repository_id, NEW.source));
END;

CREATE TRIGGER sync_task_list_changed AFTER UPDATE ON task_list WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('task_list', json_array(NEW.repository_id, NEW.source));
END;

CREATE TRIGGER sync_suggestion_added AFTER INSERT ON suggestion WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('suggestion', json_array(NEW.id));
END;

CREATE TRIGGER sync_suggestion_changed AFTER UPDATE ON suggestion WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('suggestion', json_array(NEW.id));
END;

CREATE TRIGGER sync_command_added AFTER INSERT ON command WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('command', json_array(NEW.id));
END;

CREATE TRIGGER sync_command_changed AFTER UPDATE ON command WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('command', json_array(NEW.id));
END;

CREATE TRIGGER sync_guidance_added AFTER INSERT ON guidance WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('guidance', json_array(NEW.id));
END;

CREATE TRIGGER sync_guidance_changed AFTER UPDATE ON guidance WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('guidance', json_array(NEW.id));
END;

CREATE TRIGGER sync_escalation_added AFTER INSERT ON escalation WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('escalation', json_array(NEW.id));
END;

CREATE TRIGGER sync_escalation_changed AFTER UPDATE ON escalation WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('escalation', json_array(NEW.id));
END;

CREATE TRIGGER sync_checkpoint_added AFTER INSERT ON checkpoint WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('checkpoint', json_array(NEW.id));
END;

CREATE TRIGGER sync_token_record_added AFTER INSERT ON token_record WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('token_record', json_array(NEW.iteration_id, NEW.seq));
END;

CREATE TRIGGER sync_token_total_added AFTER INSERT ON token_total WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('token_total', json_array(NEW.repository_id, NEW.dimension, NEW.key, NEW.day));
END;

CREATE TRIGGER sync_token_total_changed AFTER UPDATE ON token_total WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('token_total', json_array(NEW.repository_id, NEW.dimension, NEW.key, NEW.day));
END;

CREATE TRIGGER sync_token_month_added AFTER INSERT ON token_month WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('token_month', json_array(NEW.repository_id, NEW.dimension, NEW.month, NEW.key));
END;

CREATE TRIGGER sync_token_month_changed AFTER UPDATE ON token_month WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('token_month', json_array(NEW.repository_id, NEW.dimension, NEW.month, NEW.key));
END;

CREATE TRIGGER sync_side_run_added AFTER INSERT ON side_run WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('side_run', json_array(NEW.id));
END;

CREATE TRIGGER sync_loop_note_added AFTER INSERT ON loop_note WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('loop_note', json_array(NEW.id));
END;

CREATE TRIGGER sync_loop_event_added AFTER INSERT ON loop_event WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('loop_event', json_array(NEW.id));
END;

CREATE TRIGGER sync_session_iteration_added AFTER INSERT ON session_iteration WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('session_iteration', json_array(NEW.loop_id, NEW.n));
END;

CREATE TRIGGER sync_audit_added AFTER INSERT ON audit WHEN (SELECT enabled FROM sync_state)
BEGIN
    INSERT INTO sync_change (tab, key) VALUES ('audit', json_array(NEW.n));
END;

CREATE TRIGGER sync_log_waits AFTER UPDATE OF ended_at ON iteration
WHEN OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND (SELECT enabled AND logs FROM sync_state)
BEGIN
    INSERT INTO sync_log (iteration_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
END;
