-- code: not-given-back
-- underlined: 'mean'
-- says: double quotes
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS 'mean' FROM visits
