-- code: option-twice
-- underlined: ALPHA = 2
-- says: given twice
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, ALPHA = 2) AVG(price) FROM visits
