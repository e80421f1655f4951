-- code: case-condition
-- underlined: plan = 'pro'
-- says: WHERE or GROUP BY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CASE WHEN plan = 'pro' THEN 1 ELSE 0 END) FROM visits
