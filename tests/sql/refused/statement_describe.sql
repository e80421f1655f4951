-- code: describe
-- underlined: DESCRIBE
-- says: DESCRIBE is refused
DESCRIBE visits
