-- code: asof-join
-- underlined: ASOF JOIN prices ON visits.hour >= prices.hour
-- says: key
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits ASOF JOIN prices ON visits.hour >= prices.hour
