-- code: time-zone
-- underlined: at AT TIME ZONE 'UTC'
-- says: zone that you mean
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(EXTRACT(HOUR FROM at AT TIME ZONE 'UTC')) FROM visits
