-- code: drop
-- underlined: DROP TABLE
-- says: DROP TABLE is refused
DROP TABLE visits
