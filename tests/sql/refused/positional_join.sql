-- code: positional-join
-- underlined: POSITIONAL JOIN stations
-- says: no order
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits POSITIONAL JOIN stations
