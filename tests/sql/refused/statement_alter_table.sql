-- code: alter
-- underlined: ALTER TABLE
-- says: ALTER TABLE is refused
ALTER TABLE visits ADD COLUMN x INT
