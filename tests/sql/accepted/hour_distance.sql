-- space: city
-- lipschitz: h=48, rush=48
-- range: h=0..12, rush=0..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(EXTRACT(HOUR FROM ts), 8)) AS h,
  AVG(RAMP(DISTANCE("hour(ts)", 8, 17.5), 2, 1)) AS rush
FROM visits
