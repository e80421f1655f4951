-- code: option-value
-- underlined: model = 1
-- says: central, shuffle, local
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, model = 1) FREQUENCY(category) FROM visits
