-- code: constant-quantile
-- underlined: 2 + 3
-- says: varies
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) QUANTILE(2 + 3, 0.5) FROM visits
