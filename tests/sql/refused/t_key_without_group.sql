-- code: column-without-group
-- underlined: plan
-- says: GROUP BY plan
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) plan, AVG(price) FROM visits
