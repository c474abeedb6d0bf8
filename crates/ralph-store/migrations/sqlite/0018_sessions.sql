-- Loops inside the session of an agent, which its hooks keep going. They land nothing and have no branch, so they
-- are no loops of `loop`; their calls to models add to the same sums.
CREATE TABLE session_loop (
    -- A UUIDv7: in the order of time.
    id                 TEXT PRIMARY KEY,
    repository_id      TEXT NOT NULL REFERENCES repository (id),
    worktree           TEXT NOT NULL,
    agent              TEXT NOT NULL,
    session            TEXT NOT NULL,
    prompt             TEXT NOT NULL,
    max_iterations     INTEGER NOT NULL,
    completion_promise TEXT,
    -- How its promise is verified, as configured when it began; none if it is not.
    config             TEXT,
    iterations         INTEGER NOT NULL DEFAULT 0,
    errors             INTEGER NOT NULL DEFAULT 0,
    tokens             INTEGER NOT NULL DEFAULT 0,
    spent              INTEGER NOT NULL DEFAULT 0,
    started_at         TEXT NOT NULL,
    ended_at           TEXT,
    reason             TEXT
) STRICT;

CREATE INDEX session_loop_by_repository ON session_loop (repository_id, id);

CREATE INDEX session_loop_by_session ON session_loop (session, id);

CREATE TABLE session_iteration (
    loop_id    TEXT NOT NULL REFERENCES session_loop (id),
    n          INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT NOT NULL,
    outcome    TEXT NOT NULL CHECK (outcome IN ('ok', 'error', 'aborted')),
    error      TEXT,
    tool_calls INTEGER NOT NULL,
    calls      TEXT NOT NULL,
    PRIMARY KEY (loop_id, n)
) STRICT, WITHOUT ROWID;
