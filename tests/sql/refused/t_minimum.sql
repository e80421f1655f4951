-- code: extreme
-- underlined: MIN(price)
-- says: QUANTILE(price, 0.05, 0.95)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) MIN(price) FROM visits
