-- code: filter
-- underlined: AVG(price) FILTER (WHERE category = 'park')
-- says: write WHERE
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FILTER (WHERE category = 'park') FROM visits
