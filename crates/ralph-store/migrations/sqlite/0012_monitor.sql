-- What `ralph monitor` saw of a loop and did about it, from outside its process. Only added to.
CREATE TABLE loop_note (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    loop_id  TEXT NOT NULL REFERENCES loop (id),
    -- Restarts are counted by working tree: a loop that ended goes on under another id.
    worktree TEXT NOT NULL,
    kind     TEXT NOT NULL,
    sentence TEXT NOT NULL,
    at       TEXT NOT NULL
) STRICT;

CREATE INDEX loop_note_by_loop ON loop_note (loop_id, id);
CREATE INDEX loop_note_by_worktree ON loop_note (worktree, kind, at);

-- Loops without an end are few among all that ever were.
CREATE INDEX loop_open ON loop (started_at) WHERE ended_at IS NULL;
