-- code: columns
-- underlined: COLUMNS(*)
-- says: name the columns
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(COLUMNS(*)) FROM visits
