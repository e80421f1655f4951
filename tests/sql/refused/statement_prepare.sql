-- code: prepare
-- underlined: PREPARE
-- says: PREPARE is refused
PREPARE q AS SELECT 1
