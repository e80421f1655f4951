-- code: column-outside-space
-- underlined: ts
-- says: not part of the item space
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) FREQUENCY(ts) FROM visits
