-- code: create
-- underlined: CREATE TEMP VIEW
-- says: CREATE TEMP VIEW is refused
CREATE TEMP VIEW v AS SELECT 1
