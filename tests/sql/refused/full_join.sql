-- code: full-join
-- underlined: FULL OUTER JOIN stations USING (station)
-- says: nobody
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits FULL OUTER JOIN stations USING (station)
