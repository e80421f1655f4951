-- code: comparison
-- underlined: "time(ts)" < 24
-- says: RAMP(DISTANCE("time(ts)", 0), 2, 1)
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SHARE() FROM visits WHERE "time(ts)" < 24
