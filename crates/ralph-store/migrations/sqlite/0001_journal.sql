-- The journal: what happened, in the order in which it did. Rows are added; only the end of a loop
-- or of an iteration is filled in later, once.

CREATE TABLE repository (
    id             TEXT PRIMARY KEY,
    common_dir     TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    -- Iterations are numbered per repository and a number is never used again.
    next_iteration INTEGER NOT NULL DEFAULT 1
) STRICT;

CREATE TABLE loop (
    id            TEXT PRIMARY KEY,
    repository_id TEXT NOT NULL REFERENCES repository (id),
    worktree      TEXT NOT NULL,
    source        TEXT NOT NULL,
    branch        TEXT NOT NULL,
    base_commit   TEXT NOT NULL,
    agent         TEXT NOT NULL,
    -- The configuration as it stood when the loop began: an agent's edit can't change it.
    config        TEXT NOT NULL,
    baseline      TEXT,
    started_at    TEXT NOT NULL,
    ended_at      TEXT,
    stop          TEXT
) STRICT;

CREATE INDEX loop_by_repository ON loop (repository_id, worktree, started_at);

CREATE TABLE iteration (
    id            TEXT PRIMARY KEY,
    repository_id TEXT NOT NULL REFERENCES repository (id),
    loop_id       TEXT NOT NULL REFERENCES loop (id),
    n             INTEGER NOT NULL,
    task_id       TEXT NOT NULL,
    attempt       INTEGER NOT NULL,
    base_commit   TEXT NOT NULL,
    start         TEXT NOT NULL,
    started_at    TEXT NOT NULL,
    ended_at      TEXT,
    verdict       TEXT,
    outcome       TEXT,
    result_commit TEXT,
    record        TEXT,
    UNIQUE (repository_id, n)
) STRICT;

CREATE INDEX iteration_by_loop ON iteration (loop_id, n);
CREATE INDEX iteration_unfinished ON iteration (loop_id) WHERE ended_at IS NULL;

-- Results of every step, and an intent before the two that can't be taken back.
CREATE TABLE step (
    iteration_id TEXT NOT NULL REFERENCES iteration (id),
    seq          INTEGER NOT NULL,
    at           TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('intent', 'done')),
    body         TEXT NOT NULL,
    PRIMARY KEY (iteration_id, seq)
) STRICT, WITHOUT ROWID;

-- What a task's history comes to, so that nobody has to read all of it.
CREATE TABLE task_state (
    repository_id TEXT NOT NULL REFERENCES repository (id),
    source        TEXT NOT NULL,
    task_id       TEXT NOT NULL,
    state         TEXT NOT NULL,
    PRIMARY KEY (repository_id, source, task_id)
) STRICT, WITHOUT ROWID;

-- Follow-up tasks that agents suggested, until a person takes or drops them.
CREATE TABLE suggestion (
    id            INTEGER PRIMARY KEY,
    repository_id TEXT NOT NULL REFERENCES repository (id),
    iteration     INTEGER NOT NULL,
    title         TEXT NOT NULL,
    description   TEXT NOT NULL,
    taken_as      TEXT,
    UNIQUE (repository_id, title)
) STRICT;
