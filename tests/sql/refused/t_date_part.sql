-- code: date-function
-- underlined: date_part('hour', ts)
-- says: EXTRACT(HOUR FROM column)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(date_part('hour', ts)) FROM visits
