-- code: unbounded-slope
-- underlined: (price - 1) ** 1.5
-- says: GREATEST(price - 1, 0)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG((price - 1) ** 1.5) FROM visits
