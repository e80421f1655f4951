-- code: window
-- underlined: RANK() OVER (ORDER BY price DESC)
-- says: several users
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) RANK() OVER (ORDER BY price DESC) FROM visits
