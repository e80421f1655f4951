-- code: insert
-- underlined: INSERT INTO
-- says: is refused
WITH q AS (SELECT price FROM visits) INSERT INTO t SELECT price FROM q
