-- code: syntax
-- underlined: FRM
-- says: write FROM
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FRM visits
