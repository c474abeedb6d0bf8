-- History that a person had ralph rewrite: a revert or a squash. Begun before anything is moved, and
-- ended once all of it is done; what has no end is looked up by where the branch is.
CREATE TABLE rewrite (
    id            TEXT PRIMARY KEY,
    repository_id TEXT NOT NULL REFERENCES repository (id),
    worktree      TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('revert', 'squash')),
    branch        TEXT NOT NULL,
    -- Where the branch was, which a ref keeps, and where it is to be.
    from_commit   TEXT NOT NULL,
    to_commit     TEXT NOT NULL,
    -- The commit that was made for it: all in one, or the task file after a revert.
    made_commit   TEXT,
    -- The iterations that it is about, and the tasks that are open again.
    body          TEXT NOT NULL,
    started_at    TEXT NOT NULL,
    ended_at      TEXT,
    outcome       TEXT CHECK (outcome IN ('done', 'given_up'))
) STRICT;

CREATE INDEX rewrite_by_repository ON rewrite (repository_id, started_at);
CREATE INDEX rewrite_unfinished ON rewrite (repository_id, worktree) WHERE ended_at IS NULL;

-- An iteration keeps its record; these say what became of its commit since.
ALTER TABLE iteration ADD COLUMN reverted_by TEXT REFERENCES rewrite (id);
ALTER TABLE iteration ADD COLUMN squashed_by TEXT REFERENCES rewrite (id);

CREATE INDEX iteration_reverted ON iteration (repository_id) WHERE reverted_by IS NOT NULL;
