-- code: time-zone
-- underlined: at AT TIME ZONE 'UTC'
-- says: a local time is a column of the space
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(EXTRACT(HOUR FROM at AT TIME ZONE 'UTC')) FROM visits
