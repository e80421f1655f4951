-- code: constant-quantile
-- underlined: 0.5
-- says: write the expression first and the levels after it
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) QUANTILE(0.5, price) FROM visits
