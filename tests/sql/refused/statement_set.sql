-- code: set
-- underlined: SET
-- says: SET is refused
SET threads = 1
