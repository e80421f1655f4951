-- code: clamp-ends
-- underlined: CLAMP(price, 2, 1)
-- says: swap them
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CLAMP(price, 2, 1)) FROM visits
