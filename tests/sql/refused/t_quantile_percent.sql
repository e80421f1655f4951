-- code: quantile-level
-- underlined: 90
-- says: in (0, 1)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) QUANTILE(price, 90) FROM visits
