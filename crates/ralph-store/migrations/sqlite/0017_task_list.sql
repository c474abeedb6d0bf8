-- The ids of tasks that have them from their titles, in the order of their file: by it an edited title is told
-- from a new task.
CREATE TABLE task_list (
    repository_id TEXT NOT NULL REFERENCES repository (id),
    source        TEXT NOT NULL,
    ids           TEXT NOT NULL,
    PRIMARY KEY (repository_id, source)
) STRICT, WITHOUT ROWID;
