-- code: unknown-column
-- underlined: bar
-- says: write 'bar'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(category, bar)) FROM visits
