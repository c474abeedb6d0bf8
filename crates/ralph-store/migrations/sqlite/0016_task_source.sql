-- The task file or folder that a person chose for the repository: as they see it from its top. None: what is
-- found there.
ALTER TABLE repository ADD COLUMN task_source TEXT;
