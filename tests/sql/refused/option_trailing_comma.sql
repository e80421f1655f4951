-- code: unknown-option
-- underlined: )
-- says: begins with its name
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, ) AVG(price) FROM visits
