-- code: syntax
-- underlined: )
-- says: closes nothing
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price)) FROM visits
