-- code: header-place
-- underlined: WITH EMD_PRIVACY
-- says: write SELECT, then
WITH EMD_PRIVACY OPTIONS (alpha = 1) SELECT AVG(price) FROM visits
