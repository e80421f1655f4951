-- code: option-value
-- underlined: noise = 'cauchy'
-- says: laplace
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, noise = 'cauchy') AVG(price) FROM visits
