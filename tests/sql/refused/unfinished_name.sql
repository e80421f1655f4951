-- code: unfinished
-- underlined: "price) FROM visits
-- says: close it with "
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG("price) FROM visits
