-- code: anti-join
-- underlined: ANTI JOIN stations USING (station)
-- says: WHERE
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits ANTI JOIN stations USING (station)
