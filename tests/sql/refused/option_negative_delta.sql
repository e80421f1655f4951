-- code: option-value
-- underlined: delta = -1e-9
-- says: from 0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, delta = -1e-9) AVG(price) FROM visits
