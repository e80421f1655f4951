-- code: name
-- underlined: ""
-- says: between the quotes
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG("") FROM visits
