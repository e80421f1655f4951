-- code: unlisted-value
-- underlined: 'cafés'
-- says: write 'cafe'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE('cafés')) FROM visits
