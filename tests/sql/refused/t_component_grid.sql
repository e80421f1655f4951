-- code: several-parts
-- underlined: GRID(1.0)
-- says: GRID(POINT(lat, lon), 1.0) or GRID("time(ts)", 1.0)
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(GRID(1.0)) FROM visits
