-- code: log
-- underlined: LOG(price + 1)
-- says: LN(price + 1) / LN(10)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(LOG(price + 1)) FROM visits
