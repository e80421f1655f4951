-- code: unknown-option
-- underlined: "alpha"
-- says: without quotes
SELECT WITH EMD_PRIVACY OPTIONS ("alpha" = 1) AVG(price) FROM visits
