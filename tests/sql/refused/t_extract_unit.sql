-- code: extract-component
-- underlined: EXTRACT(SECOND FROM ts)
-- says: use one of hour
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(EXTRACT(SECOND FROM ts)) FROM visits
