-- code: right-join
-- underlined: RIGHT JOIN stations USING (station)
-- says: nobody
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits RIGHT JOIN stations USING (station)
