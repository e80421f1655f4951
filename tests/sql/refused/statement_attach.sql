-- code: attach
-- underlined: ATTACH
-- says: ATTACH is refused
ATTACH 'other.duckdb' AS other
