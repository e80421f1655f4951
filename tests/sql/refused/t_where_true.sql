-- code: truth-value
-- underlined: TRUE
-- says: leave the condition out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE TRUE AND category = 'cafe'
