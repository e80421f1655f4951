-- code: argument-count
-- underlined: QUANTILE(price)
-- says: QUANTILE(e, 0.5, 0.9)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) QUANTILE(price) FROM visits
