-- code: lookup-null
-- underlined: seats
-- says: NULL
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(seats) FROM visits JOIN kinds USING (category)
