-- code: clock
-- underlined: NOW()
-- says: write a constant
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(NOW()) FROM visits
