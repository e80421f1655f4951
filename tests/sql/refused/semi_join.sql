-- code: semi-join
-- underlined: SEMI JOIN stations USING (station)
-- says: USING
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits SEMI JOIN stations USING (station)
