-- code: option-value
-- underlined: method = 'median'
-- says: histogram
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, method = 'median') FREQUENCY(category) FROM visits
