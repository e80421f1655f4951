-- space: plain
-- lipschitz: north=6.114275752
-- range: north=0..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(RAMP(lat, 40.7, 40.8)) AS north FROM visits
