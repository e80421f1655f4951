-- code: text-function
-- underlined: LENGTH(category)
-- says: list the values
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(LENGTH(category)) FROM visits
