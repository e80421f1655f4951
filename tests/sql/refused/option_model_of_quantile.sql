-- code: option-family
-- underlined: model = 'local'
-- says: leave it out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, model = 'local') MEDIAN(price) FROM visits
