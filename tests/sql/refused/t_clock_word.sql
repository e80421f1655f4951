-- code: clock
-- underlined: current_date
-- says: write a constant
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(current_date) FROM visits
