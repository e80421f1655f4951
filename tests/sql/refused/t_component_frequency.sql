-- code: frequency-column
-- underlined: time(ts)
-- says: write FREQUENCY(GRID("time(ts)", 1.0))
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(time(ts)) FROM visits
