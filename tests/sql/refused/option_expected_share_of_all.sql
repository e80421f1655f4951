-- code: option-unused
-- underlined: expected_share = 0.5
-- says: WHERE or GROUP BY chooses
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, expected_share = 0.5) AVG(price) FROM visits WHERE plan = 'pro'
