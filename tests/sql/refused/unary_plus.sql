-- code: not-given-back
-- underlined: +
-- says: without +
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price * +2) FROM visits
