-- code: filter
-- underlined: AVG(price) FILTER (category = 'park')
-- says: CASE
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FILTER (category = 'park') FROM visits
