-- code: misplaced
-- underlined: GRID(1.0)
-- says: as in FREQUENCY(GRID(POINT(lat, lon), 1.0))
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(GRID(1.0)) FROM visits
