-- code: quantile-level
-- underlined: 0.5
-- says: comes twice
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) QUANTILE(price, 0.1, 0.5, 0.5) FROM visits
