-- code: grant
-- underlined: GRANT
-- says: GRANT is refused
GRANT ALL ON visits TO x
