-- code: label-needed
-- underlined: price
-- says: SIMILARITY('linux')
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(SIMILARITY(category, price)) FROM visits
