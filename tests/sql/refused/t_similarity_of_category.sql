-- code: no-part
-- underlined: SIMILARITY(category, 'cafe')
-- says: no vectors of words
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(SIMILARITY(category, 'cafe')) FROM visits
