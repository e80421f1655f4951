-- code: merge
-- underlined: MERGE INTO
-- says: MERGE INTO is refused
MERGE INTO visits USING s ON a
