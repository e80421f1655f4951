-- code: text-without-list
-- underlined: note
-- says: list them in a Categories part
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) FREQUENCY(note) FROM visits
