-- code: quantile-function
-- underlined: QUANTILE_CONT(price, 0.5)
-- says: QUANTILE(e, 0.5, 0.9)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) QUANTILE_CONT(price, 0.5) FROM visits
