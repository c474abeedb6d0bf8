-- What the check of a loop's last commit in a fresh clone found.
ALTER TABLE loop ADD COLUMN clean_check TEXT;
