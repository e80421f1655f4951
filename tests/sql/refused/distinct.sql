-- code: distinct
-- underlined: DISTINCT
-- says: GROUP BY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) DISTINCT category FROM visits
