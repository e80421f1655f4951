-- code: create
-- underlined: CREATE TABLE
-- says: CREATE TABLE is refused
CREATE TABLE t AS SELECT 1
