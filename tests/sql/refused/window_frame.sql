-- code: window
-- underlined: AVG(price) OVER (ORDER BY hour ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)
-- says: several users
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) OVER (ORDER BY hour ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS smooth FROM visits
