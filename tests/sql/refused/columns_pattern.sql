-- code: columns
-- underlined: COLUMNS('pri.*')
-- says: name the columns
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(COLUMNS('pri.*')) FROM visits
