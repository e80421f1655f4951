-- code: quantile-function
-- underlined: QUANTILE_CONT(price, 0.5)
-- says: QUANTILE(price, 0.5, 0.9)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) QUANTILE_CONT(price, 0.5) FROM visits
