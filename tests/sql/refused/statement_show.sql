-- code: show
-- underlined: SHOW
-- says: SHOW is refused
SHOW TABLES
