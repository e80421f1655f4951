-- code: frequency-option
-- underlined: model = 'local'
-- says: does not tell all items apart
-- about: shops
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, model = 'local') FREQUENCY(category) FROM visits
