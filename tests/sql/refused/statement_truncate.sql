-- code: truncate
-- underlined: TRUNCATE
-- says: TRUNCATE is refused
TRUNCATE visits
