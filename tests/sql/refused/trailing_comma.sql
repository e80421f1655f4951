-- code: not-given-back
-- underlined: ,
-- says: remove the comma
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price), FROM visits
