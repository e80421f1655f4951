-- code: insert
-- underlined: INSERT INTO
-- says: INSERT INTO is refused
INSERT INTO visits VALUES (1)
