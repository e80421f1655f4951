-- code: header-place
-- underlined: WITH EMD_PRIVACY
-- says: write SELECT, then
SELECT DISTINCT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(price) FROM visits
