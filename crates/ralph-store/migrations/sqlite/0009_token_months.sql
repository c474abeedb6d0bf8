-- What was spent in each month, by task and by loop: which of them cost most since a day long ago is
-- found by months, and only the days of the first month are looked at one by one.
CREATE TABLE token_month (
    repository_id TEXT NOT NULL,
    dimension     TEXT NOT NULL CHECK (dimension IN ('task', 'loop')),
    -- As in 2026-01.
    month         TEXT NOT NULL,
    key           TEXT NOT NULL,
    spent         INTEGER NOT NULL,
    PRIMARY KEY (repository_id, dimension, month, key)
) STRICT, WITHOUT ROWID;

-- What went before, once.
INSERT INTO token_month (repository_id, dimension, month, key, spent)
SELECT repository_id, dimension, substr(day, 1, 7), key, SUM(spent)
FROM token_total WHERE dimension IN ('task', 'loop') AND day > ''
GROUP BY repository_id, dimension, substr(day, 1, 7), key;

-- From here on with the sums of the day, whoever writes them.
CREATE TRIGGER token_total_begins AFTER INSERT ON token_total
WHEN NEW.dimension IN ('task', 'loop') AND NEW.day > ''
BEGIN
    INSERT INTO token_month (repository_id, dimension, month, key, spent)
    VALUES (NEW.repository_id, NEW.dimension, substr(NEW.day, 1, 7), NEW.key, NEW.spent)
    ON CONFLICT (repository_id, dimension, month, key) DO UPDATE SET spent = spent + excluded.spent;
END;

CREATE TRIGGER token_total_grows AFTER UPDATE OF spent ON token_total
WHEN NEW.dimension IN ('task', 'loop') AND NEW.day > ''
BEGIN
    UPDATE token_month SET spent = spent + NEW.spent - OLD.spent
    WHERE repository_id = NEW.repository_id AND dimension = NEW.dimension
      AND month = substr(NEW.day, 1, 7) AND key = NEW.key;
END;
