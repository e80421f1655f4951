-- space: plain
-- lipschitz: km=67.98773829
-- range: km=0..35.21561197
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(POINT(40.7484, -73.9857), POINT(40.7, -74.0))) AS km FROM visits
