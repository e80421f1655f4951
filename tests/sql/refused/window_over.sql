-- code: window
-- underlined: AVG(price) OVER (PARTITION BY category)
-- says: GROUP BY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) OVER (PARTITION BY category) FROM visits
