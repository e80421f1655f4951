-- code: unnest
-- underlined: UNNEST(prices)
-- says: several records
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(UNNEST(prices)) FROM visits
