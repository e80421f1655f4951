-- code: cycle-as-number
-- underlined: "hour(ts)"
-- says: DISTANCE("hour(ts)", 8)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG("hour(ts)") FROM visits
