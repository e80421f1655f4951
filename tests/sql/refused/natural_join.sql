-- code: natural-join
-- underlined: NATURAL JOIN stations
-- says: USING
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits NATURAL JOIN stations
