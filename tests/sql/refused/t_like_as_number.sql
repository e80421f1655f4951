-- code: like
-- underlined: category LIKE 'c%'
-- says: CASE column WHEN
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(category LIKE 'c%') FROM visits
