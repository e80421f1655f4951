-- code: user-column-as-number
-- underlined: age
-- says: WHERE or GROUP BY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price * age) FROM visits
