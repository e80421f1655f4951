-- code: syntax
-- underlined: FORM
-- says: write FROM
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS a, SHARE() AS b FORM visits
