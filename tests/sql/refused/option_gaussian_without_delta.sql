-- code: option-value
-- underlined: noise = gaussian
-- says: delta = 1e-9
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, noise = gaussian) AVG(price) FROM visits
