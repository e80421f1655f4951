-- code: columns
-- underlined: COLUMNS('a')
-- says: name the columns
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) LEAST(*COLUMNS('a')) FROM visits
