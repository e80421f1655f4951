-- code: window
-- underlined: SUM(price) OVER ()
-- says: several users
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SUM(price) OVER () FROM visits
