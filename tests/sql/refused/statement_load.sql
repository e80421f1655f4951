-- code: load
-- underlined: LOAD
-- says: LOAD is refused
LOAD httpfs
